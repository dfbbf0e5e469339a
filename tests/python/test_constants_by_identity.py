"""Constants that Python compares and hashes by their identity: what re finds, and the callables of
operator. Each call makes new ones; those that exist stay what they are."""

from __future__ import annotations

import logging
import operator
import re
from collections.abc import Callable
from typing import Any

import armature
import pytest
from armature import _C

PATTERN = re.compile("a(b)?")
FIRST, SECOND = operator.itemgetter(0), operator.itemgetter(0)
MATCH, OTHER_MATCH = PATTERN.match("ab"), PATTERN.match("ab")
NUMBERS: dict[Any, int] = {FIRST: 1, MATCH: 2}
KEPT: list[Any] = []

MAKERS: dict[str, Callable[[str], Any]] = {
    "match": lambda s: re.match("a", s),
    "method": lambda s: PATTERN.match(s),
    "search": lambda s: PATTERN.search("xx" + s),
    "fullmatch": lambda s: re.fullmatch("a.", s),
    "position": lambda s: PATTERN.match("x" + s, 1),
    "found": lambda s: list(PATTERN.finditer(s + s))[1],
    "next": lambda s: next(PATTERN.finditer(s)),
    "bytes": lambda s: re.match(b"a", s.encode()),
    "itemgetter": lambda s: operator.itemgetter(0, s),
    "attrgetter": lambda s: operator.attrgetter("real"),
    "methodcaller": lambda s: operator.methodcaller("upper"),
    "in a tuple": lambda s: (s, PATTERN.match(s)),
    "in a list": lambda s: [PATTERN.match(s)] * 2,
    "in a dict": lambda s: {"m": PATTERN.match(s), "g": operator.itemgetter(1)},
    "behind a break": lambda s: (PATTERN.match(s), armature.graph_break())[0],
    "a closure": lambda s: (lambda found: lambda: found)(PATTERN.match(s))(),
}


def parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [part for part in value if type(part) is not str]
        if type(value) in (list, tuple)
        else [value]
    )


def told(value: Any) -> Any:
    if isinstance(value, re.Match):
        return value.re, value.string, value.pos, value.endpos, value.regs, value.lastindex
    return value.__reduce__()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_each_call_makes_another(make: Callable[[str], Any]) -> None:
    compiled = armature.compile(make)
    made = [part for _ in range(3) for part in set(parts(compiled("ab")))]
    expected = list(set(parts(make("ab"))))
    assert len(made) == len(set(made)) == 3 * len(expected)
    assert {told(one) for one in made} == {told(one) for one in expected}
    assert len(_C.entries(compiled)) <= 2


def test_one_object_on_all_its_paths() -> None:
    def f(s: str) -> Any:
        found = PATTERN.match(s)
        KEPT.append(found)
        armature.graph_break()
        return found, [found], {"found": found}, KEPT[-1] is found

    compiled = armature.compile(f)
    for _ in range(3):
        found, (item,), named, is_kept = compiled("ab")
        assert found is item is named["found"] is KEPT[-1] and is_kept
    assert len(set(KEPT)) == 3


def test_made_here_is_nothing_else() -> None:
    def f(s: str) -> Any:
        found, again = PATTERN.match(s), PATTERN.match(s)
        return found == again, found != again, found == found, found in (again,), again in [again]

    assert armature.compile(f)("ab") == f("ab") == (False, True, True, False, True)


COMPARISONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a is b,
    lambda a, b: b in [a],
    lambda a, b: b in (a,),
    lambda a, b: {a: 1}.get(b),
    lambda a, b: len({a, b}),
    lambda a, b: [a].count(b),
    lambda a, b: [1, a].index(b) if b in [1, a] else None,
    lambda a, b: (1, a) == (1, b),
    lambda a, b: {"k": a} == {"k": b},
    lambda a, b: hash(a) == hash(b),
    lambda a, b: operator.eq(a, b),
    lambda a, b: NUMBERS.get(b),
    lambda a, b: (b in NUMBERS, a in NUMBERS),
    lambda a, b: (a, b)[1],
]


@pytest.mark.parametrize("number", range(len(COMPARISONS)))
def test_told_apart(number: int) -> None:
    compare = COMPARISONS[number]
    compiled = armature.compile(compare)
    for a, b in ((FIRST, SECOND), (MATCH, OTHER_MATCH)):
        for pair in ((a, b), (a, a), (b, a), (b, b), (a, b)):
            found, expected = compiled(*pair), compare(*pair)
            assert found == expected, pair


def test_a_new_one_in_each_call_is_one_translation(caplog: pytest.LogCaptureFixture) -> None:
    def f(rows: list[Any], getter: Any, found: Any) -> Any:
        return sorted(rows, key=getter), found.group(), found

    compiled = armature.compile(f)
    with caplog.at_level(logging.WARNING, "armature"):
        for _ in range(12):
            found = PATTERN.match("ab")
            rows, text, returned = compiled([[2], [1]], operator.itemgetter(0), found)
            assert rows == [[1], [2]] and text == "ab" and returned is found
    assert not caplog.records and len(_C.entries(compiled)) == 1

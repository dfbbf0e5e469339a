"""How many digits may be converted between ints and text is for the program to set, at any time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest

LIMITS = (4300, 640, 0, 1000, 5000, 2048, 1500)
DIGITS = "1" * 2000
NUMBER = 10**1999
FIELDS, PERCENT, PAIR = "{} {}", "%d", "%s %s"


class Number(int):
    pass


class Text(str):
    pass


def negative(number: int) -> str:
    return f"{number:d}, {-number}"


CONVERSIONS: list[Callable[[], Any]] = [
    lambda: int(DIGITS),
    lambda: int(DIGITS, 10),
    lambda: int(DIGITS.encode()),
    lambda: int(Text(DIGITS)),
    lambda: Number(DIGITS),
    lambda: int(DIGITS, 16),
    lambda: str(NUMBER),
    lambda: repr(NUMBER),
    lambda: ascii((1, NUMBER)),
    lambda: str([NUMBER]),
    lambda: f"{NUMBER}",
    lambda: f"{NUMBER:d}",
    lambda: f"{NUMBER:x}",
    lambda: negative(NUMBER),
    lambda: f"{NUMBER!r:>10}",
    lambda: FIELDS.format(1, NUMBER),
    lambda: PERCENT % NUMBER,
    lambda: PAIR % (1, NUMBER),
    lambda: str(Number(NUMBER)),
    lambda: NUMBER.__format__("d"),
    lambda: NUMBER.__repr__(),
    lambda: int("z" * 2000),
]


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(before)


def outcome(call: Callable[[], Any]) -> str:
    try:
        result = call()
        return f"{type(result).__name__} {hash(result)}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("index", range(len(CONVERSIONS)))
@pytest.mark.parametrize("first", [4300, 640])
def test_limit_is_the_one_of_the_call(index: int, first: int) -> None:
    def run() -> str:
        return outcome(CONVERSIONS[index])

    compiled = armature.compile(run)
    for digits in (first, *LIMITS):
        sys.set_int_max_str_digits(digits)
        assert compiled() == run(), digits
        assert sys.get_int_max_str_digits() == digits


def test_few_digits_are_converted_in_the_trace() -> None:
    def run(text: str) -> tuple[int, str, str]:
        long = "x" * 1000
        return int(text), str(10**600), f"{long}{10**600}"

    assert armature.compile(run, fullgraph=True)("1" * 640) == run("1" * 640)

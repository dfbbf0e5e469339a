"""re over constant text in traced code."""

import re

import armature
import pytest
import torch
from differential import check, compilations

PATTERN = re.compile(r"(?P<letter>[a-z])(?P<number>\d+)?")
TEXTS = ["k3", "k", "", "3k", "a1b22c"]
QUESTIONS = {
    "match": lambda s: re.match(r"(\w)(\d+)", s),
    "groups": lambda s: (m := PATTERN.search(s)) and (m.groups(), m.groups("-"), m.groupdict()),
    "group": lambda s: (m := PATTERN.match(s)) and (m.group(), m.group(1, 2), m["letter"], m[2]),
    "missing group": lambda s: (m := PATTERN.match(s)) and m.group(7),
    "span": lambda s: (m := PATTERN.search(s)) and (m.span(), m.start(1), m.end("letter")),
    "attributes": lambda s: (m := PATTERN.search(s)) and (m.string, m.re is PATTERN, m.pos),
    "expand": lambda s: (m := PATTERN.match(s)) and m.expand(r"<\1>"),
    "truth": lambda s: bool(PATTERN.fullmatch(s)),
    "sub": lambda s: (PATTERN.sub("-", s), re.sub("a", "b", s, count=1), re.subn("a", "b", s)),
    "sub by a function": lambda s: re.sub("[a-z]", lambda m: m.group().upper(), s),
    "findall": lambda s: (re.findall(r"\d", s), PATTERN.findall(s)),
    "finditer": lambda s: [m.span() for m in PATTERN.finditer(s)],
    "split": lambda s: re.split(r"\d", s),
    "flags": lambda s: (re.search("K", s, re.IGNORECASE) is not None, re.compile("a", re.M | re.S)),
    "pattern": lambda s: (PATTERN.pattern, PATTERN.flags, PATTERN.groups),
    "escape": lambda s: re.escape(s),
    "bytes": lambda s: re.match(b"k", s.encode()) is not None,
    "mixed": lambda s: re.match(b"k", s),
    "bad": lambda s: re.compile("("),
    "number": lambda s: re.match("a", 3),
    "made anew": lambda s: re.compile("x" + s).search("xk3"),
}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("text", TEXTS)
def test_question(name, text):
    question = QUESTIONS[name]

    def function(s, x):
        try:
            answer = question(s)
        except Exception as error:
            answer = type(error), str(error)
        if isinstance(answer, re.Match):
            answer = answer.group(), answer.span()
        return answer, x + 1

    check(function, text, torch.ones(2), more=tuple((t, torch.ones(2)) for t in TEXTS))


def test_captured_whole():
    def function(x):
        m = re.match(r"(\w)(\d+)", "a12")
        return x * int(m.group(2)), re.sub("a", "b", "aa"), PATTERN.match("k3")["letter"]

    check(function, torch.ones(2), breaks=0)


def test_given_patterns_and_matches():
    def function(pattern, match, x):
        found = pattern.search("a1b2")
        return found and found.span(), match.group(), x + 1

    compiled = armature.compile(function)
    for _ in range(2):
        for pattern, match in [("b", "q"), ("1", "q"), ("b", "r"), ("z", "q")]:
            given = re.compile(pattern), re.match("[qr]", match), torch.ones(1)
            assert compiled(*given) == function(*given)


def test_matches_that_are_made_anew():
    def function(match, x):
        if match:
            return match.group(), match.span(), match.lastindex, match, x + 1
        return x - 1

    compiled = armature.compile(function)
    with compilations() as finished:
        for _ in range(3):
            for pattern, text in [("(a)|(b)", "ab"), ("(a)|(b)", "ba"), ("a", "ab"), ("a", "b")]:
                match = re.match(pattern, text)
                result = compiled(match, torch.ones(1))
                expected = function(match, torch.ones(1))
                assert result == expected
                assert match is None or result[3] is match
    assert len(finished) == 4


def test_a_match_of_another_part_of_the_text():
    pattern = re.compile("a*")

    def function(match, x):
        return match.string, match.pos, match.endpos, match.span(), x + 1

    compiled = armature.compile(function)
    for where in [(0,), (1,), (0, 2), (0, 1), (1, 1), (0,)]:
        match = pattern.match("aab", *where)
        assert compiled(match, torch.ones(1)) == function(match, torch.ones(1))


def test_a_pattern_that_changes():
    class Holder:
        pattern = re.compile("a")

    def function(x):
        return bool(Holder.pattern.match("abc")), x + 1

    compiled = armature.compile(function)
    for text in ("a", "b", "a", "c"):
        Holder.pattern = re.compile(text)
        assert compiled(torch.ones(1)) == function(torch.ones(1))


class Text(str):
    pass


def test_texts_of_subclasses():
    version = re.compile(r"(\d+)\.(\d+)")

    def program(text):
        match = version.match(text)
        found = version.findall(text), version.sub("x", text), version.search(text) is None
        return found, None if match is None else (match.groups(), match[0], match.span())

    check(program, Text("2.13.0"), more=((Text("none"),), (Text(""),), ("1.2",)), breaks=0)


def test_a_match_keeps_the_text_it_was_given():
    def program(text):
        match = re.match("a", text)
        return type(match.string), match.string is text

    text = Text("abc")
    assert armature.compile(program)(text) == program(text) == (Text, True)

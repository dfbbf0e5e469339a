"""Judges one program in a process of its own."""

from __future__ import annotations

import dataclasses
import json

from fuzz.differences import CRASH, HANG, Difference, Outcome, compare
from fuzz.isolation import Child
from fuzz.program import Program

_SECONDS = 90.0


def to_line(outcome: Outcome) -> str:
    return json.dumps(dataclasses.asdict(outcome))


def from_line(line: str) -> Outcome:
    fields = json.loads(line)
    if fields["difference"]:
        fields["difference"] = Difference(**fields["difference"])
    return Outcome(**fields)


def judge(program: Program, seconds: float = _SECONDS, *, deep: bool = False) -> Outcome:
    child = Child(lambda send: send(to_line(compare(program, deep=deep))))
    outcome, hung = None, False
    try:
        for line in child.lines(seconds):
            outcome = from_line(line)
    except TimeoutError:
        hung = True
    ended = child.end(kill=hung)
    if hung:
        return Outcome(0, Difference(HANG, -1, f"no end within {seconds:.0f} seconds"))
    if ended:
        return Outcome(0, Difference(CRASH, -1, ended))
    return outcome or Outcome(0, Difference(CRASH, -1, "no answer"))

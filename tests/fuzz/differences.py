"""Compares what a program did in the plain world and in the captured one."""

from __future__ import annotations

import dataclasses
import itertools
import re

from fuzz.program import Program
from fuzz.world import NoWorld, Observation, TimeLimit, run

# The parts of an observation that must be equal, the most telling first.
PARTS = ("error", "result", "printed", "effects", "lifetimes")
TRACEBACK = "traceback"
RECOMPILES = "recompiles"
CRASH = "crash"
HANG = "hang"
_CONTEXT = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    step: int
    detail: str

    @property
    def signature(self) -> str:
        """What differences of one cause have in common: the kind, and what was raised instead."""
        if self.kind in ("error", CRASH):
            return f"{self.kind}: {re.sub(r'[0-9]+', 'N', self.detail)}"
        return self.kind


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Of one program: how many calls were compared, and the first difference."""

    calls: int = 0
    difference: Difference | None = None
    inconclusive: bool = False  # plain Python fails, takes too long, or runs out of stack


def compare(program: Program, *, deep: bool = False) -> Outcome:
    """Runs the program in both worlds. A crash takes this process with it.

    ``deep``: that plain Python runs out of stack is part of what is compared. Elsewhere it is not,
    because how far a program comes before depends on who calls it.
    """
    try:
        plain = run(program, captured=False)
    except (TimeLimit, NoWorld):
        return Outcome(inconclusive=True)
    if not deep and any(
        "RecursionError" in line for seen in plain for line in (*seen.error, *seen.effects)
    ):
        return Outcome(inconclusive=True)
    calls = sum(step.is_call for step in program.steps)
    try:
        captured = run(program, captured=True)
    except TimeLimit:
        return Outcome(calls, Difference(HANG, -1, "the captured program does not end"))
    for number, (expected, actual) in enumerate(zip(plain, captured, strict=True)):
        for part in (*PARTS, TRACEBACK) if program.tracebacks else PARTS:
            if getattr(expected, part) != getattr(actual, part):
                sides = getattr(expected, part), getattr(actual, part)
                detail = _errors(*sides) if part == "error" else _detail(*sides)
                return Outcome(calls, Difference(part, number, detail))
        repeats = _is_repetition(program, plain, number) and not program.break_every
        if repeats and actual.compilations:
            detail = f"{actual.compilations} compilations in a call that only repeats the last"
            return Outcome(calls, Difference(RECOMPILES, number, detail))
    return Outcome(calls)


def _is_repetition(program: Program, plain: list[Observation], number: int) -> bool:
    """Whether the call before was the same, and left the world as it had found it."""
    if number == 0 or not program.observed:
        return False
    if "hash(" in program.source:  # of an address, which is another number in another call
        return False
    return program.steps[number] == program.steps[number - 1] and plain[number - 1].pure


def _errors(expected: list[str], actual: list[str]) -> str:
    """Both exceptions in short: type and arguments come in their first line."""
    return "\n".join(
        sign + (lines[1].split(" cause ")[0].removeprefix("#0: ") if lines else "no error")
        for sign, lines in (("-", expected), ("+", actual))
    )


def _detail(expected: list[str] | str, actual: list[str] | str) -> str:
    before = expected.splitlines() if isinstance(expected, str) else expected
    after = actual.splitlines() if isinstance(actual, str) else actual
    # Lines after the first may differ in the numbers only.
    for expected_line, actual_line in itertools.zip_longest(before, after, fillvalue=""):
        if expected_line != actual_line:
            start = _common_length(expected_line, actual_line)
            start = 0 if start < _CONTEXT else start - _CONTEXT
            part = slice(start, start + 4 * _CONTEXT)
            return f"-{expected_line[part]}\n+{actual_line[part]}"
    return ""


def _common_length(a: str, b: str) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length

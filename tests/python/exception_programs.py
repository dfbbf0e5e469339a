"""Small programs, run plainly and captured: what they return, and what shows of what they raise.

Each is called at rest and inside of a handler of its caller, which a trace must not mix up.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import armature
import torch


def shown(error: BaseException | None, seen: tuple[BaseException, ...] = ()) -> Any:
    """An exception with its attributes, its traceback's functions and lines, and its chain."""
    if error is None or any(error is other for other in seen):
        return error is None
    seen += (error,)
    frames = [
        (frame.name, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__
    ]
    return (
        (type(error), str(error), repr(error), sorted(error.__dict__), frames),
        error.__suppress_context__,
        shown(error.__cause__, seen),
        shown(error.__context__, seen),
    )


def outcome(call: Callable[[], Any]) -> tuple[str | None, Any]:
    try:
        return re.sub("0x[0-9a-f]+", "…", repr(call())), None
    except BaseException as error:
        return None, shown(error)


def inside_a_handler(call: Callable[[], Any]) -> tuple[str | None, Any]:
    try:
        raise LookupError("the caller's")
    except LookupError:
        return outcome(call)


class Programs:
    """A decorator of programs, and a sequence of their names."""

    def __init__(self) -> None:
        self._programs: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {}

    def __call__(self, program: Callable[..., Any]) -> Callable[..., Any]:
        self._programs[program.__name__] = (program, None)
        return program

    def used_by(self, use: Callable[..., Any]) -> Callable[..., Any]:
        """What is compared is the result of use(program, x)."""

        def register(program: Callable[..., Any]) -> Callable[..., Any]:
            self._programs[program.__name__] = (program, use)
            return program

        return register

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def compare(self, name: str) -> None:
        program, use = self._programs[name]

        def call(function: Callable[..., Any]) -> Callable[[], Any]:
            x = torch.arange(3.0)
            return (lambda: use(function, x)) if use else (lambda: function(x))

        compiled = armature.compile(program)
        for where in (outcome, inside_a_handler, outcome, inside_a_handler):
            assert where(call(compiled)) == where(call(program))

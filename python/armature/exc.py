"""The exceptions and warnings of the package."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any


def format_stack(stack: Iterable[tuple[str, int, str]]) -> list[str]:
    """The file, line and function of each frame as a traceback shows them, with their code."""
    frames = [traceback.FrameSummary(*frame, lookup_line=False) for frame in stack]
    return [line.rstrip() for line in "".join(traceback.format_list(frames)).splitlines()]


class Unsupported(RuntimeError):
    """What ``fullgraph=True`` and ``error_on_graph_break`` raise where the graph would break.

    ``reason`` holds the break's gb_type, context, explanation, hints, filename, function and line,
    and its stack: the file, line and function of each frame from the compiled function's to that
    which breaks.
    """

    def __init__(self, reason: dict[str, Any]) -> None:
        self.reason = reason
        hints = "".join(f"\n  Hint: {hint}" for hint in reason["hints"])
        super().__init__(
            f"{reason['gb_type']}\n  Explanation: {reason['explanation']}\n"
            f"  Context: {reason['context']}{hints}\n"
            f'  At: File "{reason["filename"]}", line {reason["line"]}, in {reason["function"]}\n'
            f"From the user's code (most recent call last):\n"
            + "\n".join(format_stack(reason["stack"]))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Unsupported, (self.reason,)


class InternalError(RuntimeError):
    """An error of Armature's own, which ``config.strict`` raises.

    Without it, the call runs as plain Python, and the error is logged.
    """


class InvalidBackend(ValueError):
    """The name given as ``backend`` is not that of a backend."""

    def __init__(self, name: str, known: list[str]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"there is no backend {name!r}; known backends: {', '.join(known)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return InvalidBackend, (self.name, self.known)

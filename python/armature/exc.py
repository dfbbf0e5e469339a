"""The exceptions of the package."""

from __future__ import annotations

from typing import Any


class Unsupported(RuntimeError):
    """What ``fullgraph=True`` raises where the graph would break.

    ``reason`` holds the break's gb_type, context, explanation, hints, filename, function and line.
    """

    def __init__(self, reason: dict[str, Any]) -> None:
        self.reason = reason
        hints = "".join(f"\n  Hint: {hint}" for hint in reason["hints"])
        super().__init__(
            f"{reason['gb_type']}\n  Explanation: {reason['explanation']}\n"
            f"  Context: {reason['context']}{hints}\n"
            f'  At: File "{reason["filename"]}", line {reason["line"]}, in {reason["function"]}'
        )

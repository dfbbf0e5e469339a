"""What the fuzzer runs: source text, and steps that call its entry or change its world."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

# The name of the function that is captured.
ENTRY = "entry"
# The file that tracebacks and warnings of a program name.
FILENAME = "<program>"


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A call of the entry, ``text`` being its arguments as source; or a change, being statements.

    Both are evaluated in the namespace of the program.
    """

    text: str
    is_call: bool

    def __str__(self) -> str:
        return f"{ENTRY}({self.text})" if self.is_call else self.text


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """``observed`` says whether the whole world is looked at after each step, or at the end only.

    To look at an object can change how Python stores it (an instance's dict), so both are needed.
    """

    source: str
    steps: tuple[Step, ...]
    observed: bool = True
    tracebacks: bool = False  # whether the lines of tracebacks are compared
    break_every: int = (
        0  # the captured side breaks before every so many instructions; 0: it doesn't
    )
    backend: str = "eager"  # of library_state.BACKENDS

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        fields: dict[str, Any] = json.loads(text)
        steps = tuple(Step(**step) for step in fields["steps"])
        return Program(**{**fields, "steps": steps})

    @property
    def size(self) -> int:
        return len(self.source) + sum(len(step.text) for step in self.steps)

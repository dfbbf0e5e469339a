"""Programs in a world that changes between two calls, run plainly and captured, and compared.

A program is source text with a function ``entry``; its steps are calls of it (``entry(...)``) and
changes of the world (other statements). Each call is made twice, and the second compiles nothing,
unless the first has changed the world. What is compared is all that ``tests/fuzz`` can see.
"""

from __future__ import annotations

import contextlib
import gc
import pathlib
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from fuzz.differences import compare
from fuzz.program import ENTRY, Program, Step
from fuzz.world import run


def program(source: str, *steps: str, repeat: bool = True) -> Program:
    listed: list[Step] = []
    for text in steps:
        text = textwrap.dedent(text).strip()
        if text.startswith(f"{ENTRY}("):
            step = Step(text[len(ENTRY) + 1 : -1], True)
            listed += [step, step] if repeat else [step]
        else:
            listed.append(Step(text, False))
    return Program(textwrap.dedent(source).strip() + "\n", tuple(listed))


def check_world(source: str, *steps: str, repeat: bool = True) -> None:
    """Asserts that each step does what it does in plain Python."""
    outcome = compare(program(source, *steps, repeat=repeat), deep=True)
    assert not outcome.inconclusive
    found = outcome.difference
    assert found is None, f"step {found.step}: {found.kind}\n{found.detail}"


def compilations(source: str, *steps: str) -> list[int]:
    """How many compilations each step took, the steps being made once each."""
    observations = run(program(source, *steps, repeat=False), captured=True)
    return [observation.compilations for observation in observations]


class Cases(dict[str, tuple[str, ...]]):
    """Programs and their steps by the name of what they show.

    Those that are listed in ``open_differences.txt`` are left out of ``parameters``: each is an
    open defect.
    """

    def __init__(self, subject: str) -> None:
        super().__init__()
        self.subject = subject

    def add(self, name: str, source: str, *steps: str) -> None:
        if name in self:
            raise ValueError(f"two cases are named {name!r}")
        self[name] = (source, *steps)

    @property
    def parameters(self) -> list[Any]:
        left_out = open_differences()
        return [
            pytest.param(source, steps, id=name)
            for name, (source, *steps) in self.items()
            if f"{self.subject}: {name}" not in left_out
        ]


def open_differences() -> set[str]:
    lines = (pathlib.Path(__file__).parent / "open_differences.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


@contextlib.contextmanager
def quick_collections() -> Iterator[None]:
    """Keeps what exists, all of torch, out of the collections that follow each step."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()

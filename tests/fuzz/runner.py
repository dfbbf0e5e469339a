"""Runs many programs, confirms and shrinks those that differ, and counts."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import pathlib
import re
import select
import time
from collections.abc import Callable, Iterator

from fuzz.differences import CRASH, HANG, Difference, Outcome, compare
from fuzz.isolation import Child
from fuzz.judge import from_line, judge, to_line
from fuzz.program import Program
from fuzz.reproducer import write_reproducer
from fuzz.shrinker import shrink

_BATCH = 25
_SILENCE = 90.0  # seconds after which a batch is taken to hang


@dataclasses.dataclass(slots=True)
class Summary:
    programs: int = 0
    calls: int = 0
    inconclusive: int = 0
    differences: dict[int, Difference] = dataclasses.field(default_factory=dict)

    def add(self, seed: int, outcome: Outcome) -> None:
        self.programs += 1
        self.calls += outcome.calls
        self.inconclusive += outcome.inconclusive
        if outcome.difference is not None:
            self.differences[seed] = outcome.difference

    def __str__(self) -> str:
        kinds = collections.Counter(found.kind for found in self.differences.values())
        lines = [
            f"programs run       {self.programs}",
            f"calls compared     {self.calls}",
            f"inconclusive       {self.inconclusive}",
            f"programs differing {len(self.differences)}",
            *(f"  {kind:<16} {count}" for kind, count in kinds.most_common()),
        ]
        return "\n".join(lines)


@dataclasses.dataclass(slots=True)
class _Batch:
    """A child that works through a range of seeds."""

    seeds: list[int]
    child: Child
    current: int | None = None
    heard: float = 0.0


def run_seeds(
    write: Callable[[int], Program],
    seeds: Iterator[int],
    jobs: int,
    seconds: float | None = None,
    *,
    verbose: bool = False,
) -> Summary:
    """Judges the programs of the seeds, in ``jobs`` processes, until they or the time end."""
    summary = Summary()
    deadline = None if seconds is None else time.monotonic() + seconds
    running: list[_Batch] = []
    waiting: list[list[int]] = []
    while True:
        over = deadline is not None and time.monotonic() > deadline
        while len(running) < jobs and not over:
            batch = waiting.pop() if waiting else list(itertools.islice(seeds, _BATCH))
            if not batch:
                break
            running.append(_start(write, batch))
        if not running:
            return summary
        files = {batch.child.file: batch for batch in running}
        ready, _, _ = select.select(list(files), [], [], 1.0)
        for file in ready:
            _listen(files[file], summary, running, waiting, verbose)
        for batch in [b for b in running if time.monotonic() - b.heard > _SILENCE]:
            _finish(batch, summary, running, waiting, hung=True)
        if over and deadline is not None and time.monotonic() > deadline + 10:
            for batch in running:
                batch.child.end(kill=True)
            return summary


def _start(write: Callable[[int], Program], seeds: list[int]) -> _Batch:
    def work(send: Callable[[str], None]) -> None:
        for seed in seeds:
            send(f"start {seed}")
            outcome = to_line(compare(write(seed)))
            send(f"done {outcome}")

    return _Batch(list(seeds), Child(work), heard=time.monotonic())


def _listen(
    batch: _Batch,
    summary: Summary,
    running: list[_Batch],
    waiting: list[list[int]],
    verbose: bool,
) -> None:
    lines = batch.child.available()
    if lines is None:
        _finish(batch, summary, running, waiting, hung=False)
        return
    batch.heard = time.monotonic()
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "start":
            batch.current = int(rest)
        elif batch.current is not None:
            outcome = from_line(rest)
            summary.add(batch.current, outcome)
            batch.seeds.remove(batch.current)
            if verbose and outcome.difference:
                print(f"{batch.current}: {outcome.difference.signature!r}", flush=True)
            batch.current = None


def _finish(
    batch: _Batch, summary: Summary, running: list[_Batch], waiting: list[list[int]], *, hung: bool
) -> None:
    """Takes note of a batch's end; what came after a crash goes into a new batch."""
    running.remove(batch)
    ended = batch.child.end(kill=hung)
    if (ended or hung) and batch.current is not None:
        kind = HANG if hung else CRASH
        summary.add(batch.current, Outcome(0, Difference(kind, -1, ended)))
        batch.seeds.remove(batch.current)
        if batch.seeds:
            waiting.append(batch.seeds)


def confirm_and_shrink(
    write: Callable[[int], Program],
    seed: int,
    found: Difference,
    directory: pathlib.Path,
    seconds: float,
) -> tuple[Difference, pathlib.Path]:
    """Judges the program alone and writes the smallest that fails in the same way."""
    program = write(seed)
    alone = judge(program).difference
    if alone is None:  # It needs the programs before it: what they left behind is the finding.
        path = write_reproducer(directory, f"company-{seed}", seed, program, found)
        return found, path
    smallest = alone

    def fails(candidate: Program) -> bool:
        nonlocal smallest
        difference = judge(candidate, 30.0).difference
        if difference is None or difference.signature != alone.signature:
            return False
        smallest = difference
        return True

    small = shrink(program, fails, seconds)
    name = re.sub(r"\W+", "-", alone.kind) + f"-{seed}"
    return smallest, write_reproducer(directory, name, seed, small, smallest)

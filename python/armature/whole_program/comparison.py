"""CPython's own tests as the judge: the same outcome, test by test, captured and plain."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armature._frames import FrameCounts
from armature.whole_program import add, format_counts, percent

RUNNER = Path(__file__).with_name("test_runner.py")

# After so many ends of the process the rest of a module is given up.
MOST_RESTARTS = 40


@dataclass
class Outcomes:
    """Of the tests of one module, by their names, and what became of the frames."""

    tests: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    problem: str = ""  # of the module as a whole


@dataclass
class ModuleComparison:
    module: str
    plain: Outcomes
    captured: Outcomes
    seconds: tuple[float, float]

    @property
    def different(self) -> dict[str, tuple[str, str]]:
        names = {**self.plain.tests, **self.captured.tests}
        pairs = {
            name: (
                self.plain.tests.get(name, "did not run"),
                self.captured.tests.get(name, "did not run"),
            )
            for name in names
        }
        return {name: pair for name, pair in pairs.items() if kind(pair[0]) != kind(pair[1])}

    @property
    def frames(self) -> FrameCounts:
        empty = {"whole": 0, "broken": 0, "excluded": {}, "break_reasons": {}}
        return FrameCounts(**{**empty, **self.captured.counts})


def kind(outcome: str) -> str:
    """What must agree: not the text of an error, in which there may be an address."""
    return ": ".join(outcome.split(": ")[:2])


def compare(modules: list[str], jobs: int, seconds: float) -> int:
    """Compares each module and prints what was found; the number of those that differ."""
    with ThreadPoolExecutor(jobs) as pool:
        compared = []
        for result in pool.map(lambda name: compare_module(name, seconds), modules):
            print(format_module(result), flush=True)
            compared.append(result)
    print(format_total(compared), flush=True)
    return sum(bool(result.different or result.captured.problem) for result in compared)


def compare_module(module: str, seconds: float) -> ModuleComparison:
    start = time.monotonic()
    plain = outcomes(module, seconds, captured=False)
    middle = time.monotonic()
    captured = outcomes(module, seconds, captured=True)
    return ModuleComparison(module, plain, captured, (middle - start, time.monotonic() - middle))


def outcomes(module: str, seconds: float, captured: bool) -> Outcomes:
    """Runs the module; a test that ends the process, or the time, is told so, and left out of
    another run of the rest."""
    found = Outcomes()
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(MOST_RESTARTS):
            end = _run(module, Path(folder), deadline, found, captured)
            if not end:
                return found
            if time.monotonic() >= deadline:
                break
    found.problem = found.problem or end
    return found


def _run(module: str, folder: Path, deadline: float, found: Outcomes, captured: bool) -> str:
    """How the process has ended; "" if it has come to its end."""
    results, report, done = folder / "results", folder / "report", folder / "done"
    results.write_text("")
    report.unlink(missing_ok=True)
    done.write_text("\n".join(found.tests))
    command = [sys.executable]
    if captured:
        command += ["-m", "armature.whole_program", "--report", str(report)]
    command += [str(RUNNER), module, str(results), str(done)]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "ARMATURE_STRICT": "0"}
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(1, deadline - time.monotonic()),
        )
        end = f"the process ended with {ended.returncode}" if ended.returncode else ""
        said = ended.stderr.decode(errors="replace").strip().splitlines()
    except subprocess.TimeoutExpired:
        end, said = "took too long", []
    began = ""
    for name, outcome in _lines(results.read_text()):
        if name == "begin":
            began = outcome
        else:
            found.tests[name] = canonical(outcome)
            began = ""
    if began and end:
        found.tests[began] = end
    elif end:
        found.problem = f"{end}: {said[-1] if said else ''}"
        return "" if end != "took too long" else end
    if report.exists():
        add(found.counts, json.loads(report.read_text()))
    return end


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        try:
            name, outcome = json.loads(line)
        except ValueError:  # cut off in the middle
            return
        yield name, outcome


def canonical(text: str) -> str:
    """In one line, and without what differs from run to run: addresses and temporary files."""
    return re.sub(r"0x[0-9a-fA-F]+|tmp\w+|@test_\w+", "…", " ".join(text.split()))


def format_module(result: ModuleComparison) -> str:
    same = len({**result.plain.tests, **result.captured.tests}) - len(result.different)
    lines = [
        f"{result.module}: {len(result.plain.tests)} tests, {same} the same, "
        f"{len(result.different)} different; {result.seconds[0]:.1f} s plain, "
        f"{result.seconds[1]:.1f} s captured"
    ]
    for which, outcome in (("plain", result.plain), ("captured", result.captured)):
        if outcome.problem:
            lines.append(f"  {which}: {outcome.problem}")
    for name, (plain, captured) in result.different.items():
        lines.append(f"  different: {name}: {plain[:200]} -> {captured[:300]}")
    lines += ["  " + line for line in format_counts(result.frames).splitlines()]
    return "\n".join(lines)


def format_total(results: list[ModuleComparison]) -> str:
    total: dict[str, Any] = {"whole": 0, "broken": 0, "excluded": {}, "break_reasons": {}}
    for result in results:
        add(total, vars(result.frames))
    tests = sum(len(result.plain.tests) for result in results)
    different = sum(len(result.different) for result in results)
    lines = [f"{len(results)} modules, {tests} tests, {different} different"]
    for result in results:
        begun = result.frames.whole + result.frames.broken
        if begun and result.frames.whole < 0.9 * begun:
            lines.append(
                f"  below 90 %: {result.module} {percent(result.frames.whole, begun)} of {begun}"
            )
    return "\n".join([*lines, format_counts(FrameCounts(**total))])

"""CPython's own tests of what unwinds: each method has the same outcome when it is compiled,
and when it is compiled with a graph break before every instruction."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
from changing_world import open_differences

RUNNER = pathlib.Path(__file__).with_name("cpython_suite_runner.py")

SUITES = [
    "test_baseexception",
    "test_contextlib",
    "test_coroutines",
    "test_except_star",
    "test_exception_group",
    "test_exceptions",
    "test_generator_stop",
    "test_generators",
    "test_raise",
    "test_traceback",
    "test_with",
    "test_yield_from",
]

# Tests of the interpreter itself, which a compiled function is not: the method, and why.
ABOUT_THE_INTERPRETER = {
    "test_raise.TestTracebackType.test_attrs": "the frame that runs, by identity",
    "test_coroutines.CoroutineTest.test_for_2": "counts references",
    "test_traceback.PyExcReportingTests.test_KeyboardInterrupt_at_first_line_of_frame": "the "
    "first instruction of the frame that runs",
}


def outcomes(suite: str, mode: str) -> dict[str, str]:
    try:
        run = subprocess.run(
            [sys.executable, RUNNER, f"test.{suite}", mode],
            capture_output=True,
            text=True,
            timeout=400,
        )
        lines, end = run.stdout.splitlines(), f"ended the process with {run.returncode}"
    except subprocess.TimeoutExpired as expired:
        lines, end = (expired.stdout or b"").decode().splitlines(), "took too long"
    found: dict[str, str] = {}
    for line in lines:
        first, second = json.loads(line)
        found[second if first == "begin" else first] = end if first == "begin" else second
    return found


@pytest.mark.parametrize("mode", ["captured", "broken"])
@pytest.mark.parametrize("suite", SUITES)
def test_outcomes_are_the_same(suite: str, mode: str) -> None:
    plain, captured = outcomes(suite, "plain"), outcomes(suite, mode)
    assert plain and all(not text.startswith("ended") for text in plain.values())
    different = {
        name: (text, captured.get(name))
        for name, text in plain.items()
        if captured.get(name) != text
    }
    left_out = open_differences()
    for name in list(different):
        full = f"{suite}.{name}"
        if full in ABOUT_THE_INTERPRETER or f"cpython: {full}" in left_out:
            del different[name]
    assert not different

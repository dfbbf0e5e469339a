"""Runs a module of CPython's own tests, plainly or with each test method compiled.

``python cpython_suite_runner.py MODULE plain|captured|broken`` prints one line of JSON for each
method: its name and its outcome ("ok", "skipped …", or the error with its text). "broken": with a
graph break before every instruction that Python can run instead.
"""

from __future__ import annotations

import importlib
import io
import json
import logging
import re
import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any


def methods(suite: Any) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from methods(test)
        elif type(test).__module__.startswith("test."):  # not a doctest's
            yield test


def canonical(text: str) -> str:
    """What differs from run to run, left out: addresses and temporary files."""
    return re.sub(r"0x[0-9a-fA-F]+|tmp\w+|@test_\w+", "…", text)


def compile_method(test: unittest.TestCase) -> None:
    import armature

    name = test._testMethodName
    for base in type(test).__mro__:
        function = vars(base).get(name)
        if isinstance(function, types.FunctionType):
            setattr(type(test), name, armature.compile(function))
        if function is not None:
            return


def outcome(test: unittest.TestCase) -> str:
    result = unittest.TestResult()
    test.run(result)
    for kind in ("errors", "failures"):
        for _, text in getattr(result, kind):
            return f"{kind}: {canonical(text.strip().splitlines()[-1])}"
    for _, reason in result.skipped:
        return f"skipped {reason}"
    if result.expectedFailures:
        return "expected failure"
    return "ok" if result.wasSuccessful() else "unexpected success"


def main(module: str, mode: str) -> None:
    out, sys.stdout = sys.stdout, io.StringIO()  # for what the tests print
    # Not the stderr that a test looks at.
    logging.getLogger("armature").addHandler(logging.StreamHandler(sys.stderr))
    if mode == "broken":
        from armature import _C

        _C.inject_fault("break every", 1)
    for test in methods(
        unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))
    ):
        name = ".".join(test.id().split(".")[-2:])
        print(json.dumps(["begin", name]), file=out, flush=True)
        if mode != "plain":
            compile_method(test)
        print(json.dumps([name, outcome(test)]), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

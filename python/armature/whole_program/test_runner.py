"""Runs a module of CPython's own tests and writes what becomes of each, at once, to a file.

``python test_runner.py MODULE RESULTS [DONE]``: a line of JSON when a test begins, ["begin", name],
and one when it has ended, [name, outcome]. The tests that the file DONE names are left out. It
imports nothing of the package, so that it also runs in plain Python.
"""

from __future__ import annotations

import collections
import importlib
import json
import os
import sys
import tempfile
import types
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO


class Results(unittest.TestResult):
    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self.process = os.getpid()
        self.outcome: str | None = None

    def write(self, *line: str) -> None:
        if os.getpid() == self.process:
            self.stream.write(json.dumps(line) + "\n")
            self.stream.flush()

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.outcome = None
        self.write("begin", test.armature_name)

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        self.write(test.armature_name, self.outcome or "ok")

    def _end(self, test: Any, outcome: str) -> None:
        if not hasattr(test, "armature_name"):  # a class or module that could not be set up
            self.write(test.id(), outcome)
        elif self.outcome is None:
            self.outcome = outcome

    def addError(self, test: Any, error: Any) -> None:
        super().addError(test, error)
        self._end(test, f"error: {error[0].__name__}: {error[1]}")

    def addFailure(self, test: Any, error: Any) -> None:
        super().addFailure(test, error)
        self._end(test, f"failed: {error[0].__name__}: {error[1]}")

    def addSubTest(self, test: Any, subtest: Any, error: Any) -> None:
        super().addSubTest(test, subtest, error)
        if error is not None:
            parameters = subtest._subDescription()
            self._end(test, f"failed: {error[0].__name__}: {error[1]} {parameters}")

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._end(test, "skipped")

    def addExpectedFailure(self, test: Any, error: Any) -> None:
        super().addExpectedFailure(test, error)
        self._end(test, "expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self._end(test, "unexpected success")


def tests_of(suite: Any) -> Iterator[Any]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def main(module: str, results: str, done: set[str]) -> None:
    support: Any = importlib.import_module("test.support")
    support.use_resources = []  # as regrtest: no network, no huge files, no minutes of work
    tests: types.ModuleType = importlib.import_module(f"test.{module}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
    chosen = unittest.TestSuite()
    seen: collections.Counter[str] = collections.Counter()
    for test in list(tests_of(suite)):
        name = test.id().removeprefix(f"test.{module}.")
        seen[name] += 1
        test.armature_name = name if seen[name] == 1 else f"{name} ({seen[name]})"
        if test.armature_name not in done:
            chosen.addTest(test)
    with open(results, "a") as stream, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        chosen.run(Results(stream))
        os.chdir("/")


if __name__ == "__main__":
    names = Path(sys.argv[3]).read_text().splitlines() if len(sys.argv) > 3 else []
    main(sys.argv[1], sys.argv[2], set(names))

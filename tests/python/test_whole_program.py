"""Whole-program mode: a program with every frame captured does what it does plainly."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from armature._frames import FrameCounts
from armature.whole_program import comparison, format_counts

SCRIPT = """
import json, sys, threading

def square(x):
    return x * x

def main():
    print(sys.argv[1:], __name__, json.dumps({"a": [square(i) for i in range(4)]}))
    print(sorted("bca", key=lambda text: -ord(text)), file=sys.stderr)
    sys.exit(3)

if __name__ == "__main__":
    main()
"""


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, **options
    )


@pytest.mark.parametrize("as_module", [False, True])
def test_programs_run_as_they_are(as_module, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    program = ["-m", "program"] if as_module else [script]
    plain = run(*program, "a", "-b", cwd=tmp_path)
    captured = run("-m", "armature.whole_program", *program, "a", "-b", cwd=tmp_path)
    assert plain.returncode == captured.returncode == 3
    assert captured.stdout == plain.stdout
    said, *counts = captured.stderr.splitlines()
    assert said == plain.stderr.strip()
    assert "frames begun" in counts[0]


def test_errors_have_the_tracebacks_of_the_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("def f(x):\n    return g(x)\n\ndef g(x):\n    return 1 // x\n\nf(0)\n")
    plain = run(script)
    captured = run(
        "-m", "armature.whole_program", "--report", tmp_path / "counts", script, cwd=tmp_path
    )
    assert captured.returncode == plain.returncode == 1
    lines = plain.stderr.splitlines()[1:]
    assert captured.stderr.splitlines()[-len(lines) :] == lines
    assert json.loads((tmp_path / "counts").read_text())["broken"] > 0


# Some seconds each, and together most of the language.
QUICK = ["test_binop", "test_call", "test_compare", "test_contextlib", "test_copy", "test_scope"]


@pytest.mark.parametrize("module", QUICK)
def test_tests_of_cpython_have_the_same_outcome(module):
    result = comparison.compare_module(module, seconds=120)
    assert len(result.plain.tests) > 5
    assert not result.plain.problem and not result.captured.problem
    assert result.different == {}
    assert result.frames.whole > 100
    assert not any("Internal error" in reason for reason in result.frames.break_reasons)


# A module of tests as CPython's, with each thing that may become of one.
MODULE = """
import os, unittest

class Cases(unittest.TestCase):
    def test_good(self):
        self.assertEqual(sum([1, 2]), 3)
    def test_bad(self):
        self.assertEqual(1, 2)
    def test_skipped(self):
        self.skipTest("no")
    def test_parts(self):
        for i in range(2):
            with self.subTest(i=i):
                self.assertEqual(i, 0)
    def test_only_plain(self):
        import sys
        self.assertNotIn("armature", sys.modules)
    def test_ends_the_process(self):
        import sys
        if "armature" in sys.modules:
            os._exit(9)

class NotSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no")
    def test_never(self):
        pass
"""


def test_each_difference_is_found(tmp_path, monkeypatch):
    (tmp_path / "test_of_all_kinds.py").write_text(MODULE)
    # Into the package of CPython's tests, by its path.
    (tmp_path / "sitecustomize.py").write_text(
        f"import test; test.__path__.append({str(tmp_path)!r})"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(comparison.__file__).parents[2]}")
    result = comparison.compare_module("test_of_all_kinds", seconds=60)
    found = {name.split(".")[-1]: kind for name, kind in result.plain.tests.items()}
    assert found.pop("test_good") == "ok"
    assert found.pop("test_bad") == "failed: AssertionError: 1 != 2"
    assert found.pop("test_skipped") == "skipped"
    assert found.pop("test_parts") == "failed: AssertionError: 1 != 0 (i=1)"
    assert found.pop("test_only_plain") == found.pop("test_ends_the_process") == "ok"
    (fixture,) = found.values()
    assert fixture == "error: OSError: no"
    different = {name.split(".")[-1]: pair for name, pair in result.different.items()}
    assert different.pop("test_ends_the_process") == ("ok", "the process ended with 9")
    plain, captured = different.pop("test_only_plain")
    assert plain == "ok" and captured.startswith("failed: AssertionError")
    assert not different
    assert "test_of_all_kinds: 7 tests, 5 the same, 2 different" in comparison.format_module(result)


def test_counts_are_ranked():
    counts = FrameCounts(3, 1, {"a": 2}, {f"reason {i}": i for i in range(20)})
    lines = format_counts(counts).splitlines()
    assert lines[0] == "4 frames begun: 3 captured whole (75.0 %), 1 broken; 2 skipped"
    assert [line.split()[-1] for line in lines[1:-1]] == [str(i) for i in range(19, 9, -1)]

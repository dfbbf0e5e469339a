"""Looks for references that compiling, running and dropping leave behind: `./dev leaks [MODULES]`.

Each test method of CPython's own suites is compiled, run and forgotten in rounds, in a debug build
of CPython, which counts all references (sys.gettotalrefcount). Plain rounds of the same method in a
process of their own are the measure: what those leave behind is CPython's. Ends with 1 if a method
leaves more a round.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import types
import typing
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))
import itertools

from cpython_suite_runner import methods, outcome

MODULES = """
    test_augassign test_binop test_bool test_call test_class test_compare test_contains
    test_contextlib test_copy test_dataclasses test_decorators test_defaultdict test_deque test_dict
    test_dictviews test_enumerate test_except_star test_exception_group test_extcall test_float
    test_functools test_generators test_genexps test_grammar test_heapq test_index test_iter
    test_itertools test_keywordonlyarg test_list test_listcomps test_named_expressions test_operator
    test_ordered_dict test_patma test_property test_raise test_range test_richcmp test_scope
    test_set test_slice test_sort test_super test_tuple test_unpack_ex test_userdict test_userlist
    test_with test_yield_from
""".split()
WARM_UP, ROUNDS = 4, 6


def function_of(test: unittest.TestCase) -> tuple[type, str, types.FunctionType] | None:
    name = test._testMethodName
    for base in type(test).__mro__:
        function = vars(base).get(name)
        if isinstance(function, types.FunctionType):
            return base, name, function
        if function is not None:
            return None
    return None


def captured_round(test: unittest.TestCase) -> None:
    import armature

    found = function_of(test)
    if found:
        base, name, function = found
        setattr(base, name, armature.compile(function))
        try:
            outcome(test)
        finally:
            setattr(base, name, function)
        armature.reset()


def growth(run: Callable[[unittest.TestCase], Any], test: unittest.TestCase) -> list[int]:
    """How many references each round has left."""
    counts = []
    for _ in range(WARM_UP + ROUNDS):
        run(test)
        # typing remembers what it has made of classes, and with that the classes of each round
        # (dash_R_cleanup of CPython's test.libregrtest.refleak).
        for forget in typing._cleanups:
            forget()
        for _ in range(3):
            gc.collect()
        counts.append(sys.gettotalrefcount())
    counts = counts[WARM_UP - 1 :]
    return [after - before for before, after in itertools.pairwise(counts)]


def measure(module: str, mode: str) -> None:
    warnings.simplefilter("ignore")
    # Not into a StringIO, which keeps each line of a warning that comes again in every round.
    out = sys.stdout
    sys.stdout = sys.stderr = open(os.devnull, "w")
    run = captured_round if mode == "captured" else outcome
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))
    for test in methods(suite):
        name = ".".join(test.id().split(".")[-2:])
        print(json.dumps([name, growth(run, test)]), file=out, flush=True)


def measured(module: str, mode: str, limit: float) -> Iterator[tuple[str, list[int]]]:
    command = [sys.executable, __file__, "--measure", mode, f"test.{module}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        output = done.stdout
        if done.returncode:
            print(f"{module}, {mode}: ended with status {done.returncode}\n{done.stderr[-500:]}")
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode()
    for line in output.splitlines():
        name, rounds = json.loads(line)
        yield name, rounds


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev leaks", description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--limit", type=float, default=120, help="seconds for a module and mode")
    parser.add_argument("--measure", choices=["plain", "captured"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.modules[0], options.measure)
        return 0
    compared = leaking = 0
    for module in options.modules:
        plain = dict(measured(module, "plain", options.limit))
        for name, rounds in measured(module, "captured", options.limit):
            if name not in plain:
                continue
            compared += 1
            # A container that grows now and then is no leak: the least of the rounds counts.
            if min(rounds) > max(0, *plain[name]):
                leaking += 1
                print(f"{module}.{name}: {rounds} references a round, plainly {plain[name]}")
        print(f"{module}: {compared} methods compared so far, {leaking} leaking", flush=True)
    return 1 if leaking or not compared else 0


if __name__ == "__main__":
    sys.exit(main())

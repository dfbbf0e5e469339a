"""Breaks every stage of a compilation on purpose, and compares what becomes of the program.

Each fault site that a program passes on its first calls (a step of a stage, a result of CPython's
that is checked, memory taken for an object of C++) is made to fail once, in each way in which it
can fail. The program must behave as in plain Python, or raise MemoryError where memory ran out;
afterwards it must be captured as if nothing had been, and every object must have the references
that it has in plain Python.

    python tests/python/fault_injection.py [--stride N] [--program NAME] [--kind KIND] [--cold]

tries every N-th site (default: all). With --cold, each runs in a process of its own, in which
nothing was ever captured before.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import gc
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import armature
import numpy as np
import torch
from armature import _C
from differential import compare, observe

KINDS = ("error", "break", "MemoryError", "out of memory")
# Of these the user may hear, as of any MemoryError.
MEMORY_KINDS = ("MemoryError", "out of memory")

X = torch.arange(3.0)
LINEAR = torch.nn.Linear(3, 2)
TABLE = {"scale": 2, ("a", 1): [1, 2]}
LOG: list[Any] = []


def reset_globals() -> None:
    """What a program that stopped in its middle has left."""
    LOG.clear()
    TABLE.clear()
    TABLE.update({"scale": 2, ("a", 1): [1, 2]})


class Counter:
    kind = "counter"

    def __init__(self) -> None:
        self.count = 0
        self.items: list[Any] = []

    def add(self, value: Any) -> Counter:
        self.count += 1
        self.items.append(value)
        return self

    @property
    def twice(self) -> int:
        return self.count * 2


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def __add__(self, other: Slotted) -> Slotted:
        return Slotted(self.left + other.left, self.right)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.steps = 0

    def forward(self, x: Any) -> Any:
        self.steps += 1
        return self.layers(x) + x


def arithmetic(x, n):
    return (x + n) * 2, n + 1


def effects(counter, x):
    print("counted", counter.count, counter.twice)
    counter.add(x * 2).add(x + 1)
    counter.kind = "changed"
    return counter


def global_effects(n):
    LOG.append(n)
    TABLE["scale"] += n
    TABLE["new"] = LOG
    result = list(LOG), dict(TABLE)
    LOG.clear()
    del TABLE["new"]
    TABLE["scale"] = 2
    return result


def containers(items, table):
    items.append(len(items))
    table["new"] = [*items, *table]
    ordered = collections.OrderedDict(table)
    ordered.move_to_end("old")
    return {k: v for k, v in table.items()}, items[::-1], tuple(items), {1, 2, *items}, ordered


def closures(n):
    total = 0

    def add(k, *, weight=1):
        nonlocal total
        total += k * weight
        return lambda: (total, k)

    made = [add(i, weight=2) for i in range(n)]
    return [m() for m in made], total, add


def breaks(x, items):
    y = x + 1
    items.append(1)
    print("between")
    items.append(2)
    z = y * 2
    print("again", len(items))
    return y + z, items


def nested_breaks(x, items):
    def inner(y):
        items.append("inner")
        print("inside", len(items))
        return y * 2

    def middle(y):
        z = inner(y + 1)
        return z, [z]

    for i in range(2):
        x, _ = middle(x + i)
    return x


def raises(items):
    items.append(1)
    try:
        items[10]
    except IndexError as error:
        items.append(str(error))
    try:
        {}["missing"]
    except KeyError:
        pass
    finally:
        items.append("finally")
    raise ValueError(items)


def generators(n):
    def numbers():
        for i in range(n):
            got = yield i * i
            if got:
                yield got

    given = numbers()
    return sum(numbers()), list(zip(numbers(), "abc", strict=False)), next(given), given.send(5)


def formatting(a, b):
    return f"{a!r:>5} {b}", "%s and %d" % (a, b), a.upper().split("B")  # noqa: UP031


def classes(n):
    left, right = Slotted(n, []), Slotted(n + 1, {})
    left.right.append(right)
    both = left + right
    return both.left, both, isinstance(both, Slotted), Counter().add(n)


def loops(x):
    for i in range(4):
        if i == 2:
            continue
        x = x + i
    return x, torch.sum(x).reshape(1)


def contexts(items, x):
    with contextlib.suppress(KeyError), torch.no_grad():
        y = x * 3
        print("broken", y.requires_grad)
        items["missing"]
    return x * 3, torch.is_grad_enabled()


def module_call(x):
    return LINEAR(x).relu()


def own_module(block, x):
    return block(x), block.steps


def shapes(x):
    y = x.reshape(-1, 1) @ x.reshape(1, -1)
    if y.shape[0] > 2 and y.dtype == torch.float32:
        return torch.cat([y, y]).transpose(0, 1), y.shape
    return y


def arrays(a):
    b = np.add(a, 1) * a
    return b.sum(), b[1:], b.shape


def cycles(items):
    items.append(items)
    made = [1]
    made.append((made, items))
    return made


def sorting(items):
    items.sort(key=lambda pair: pair[1], reverse=True)
    best = max(items, key=lambda pair: pair[0])
    return sorted(x for x, _ in items), best, any(x > 2 for x, _ in items)


def backend(module, examples):
    return module.forward


@dataclasses.dataclass
class Program:
    function: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    more: Callable[[], tuple[Any, ...]] | None = None  # the arguments of a call that recompiles

    @property
    def name(self) -> str:
        return self.function.__name__ + ("_backend" if self.options else "")


PROGRAMS = [
    Program(arithmetic, lambda: (X.clone(), 3), more=lambda: (X.clone(), 4)),
    Program(arithmetic, lambda: (X.clone(), 3), {"backend": backend}),
    Program(effects, lambda: (Counter(), X.clone()), more=lambda: (Counter(), 3)),
    Program(global_effects, lambda: (4,), more=lambda: (5,)),
    Program(containers, lambda: ([1, 2], {"old": 1}), more=lambda: ([1], {"old": 1, 2: 3})),
    Program(closures, lambda: (3,), more=lambda: (2,)),
    Program(breaks, lambda: (X.clone(), [])),
    Program(breaks, lambda: (X.clone(), []), {"backend": backend}),
    Program(nested_breaks, lambda: (X.clone(), [])),
    Program(raises, lambda: ([],), more=lambda: ([0] * 20,)),
    Program(generators, lambda: (4,)),
    Program(formatting, lambda: ("abc", 2)),
    Program(classes, lambda: (5,)),
    Program(loops, lambda: (X.clone(),)),
    Program(contexts, lambda: ({}, X.clone())),
    Program(module_call, lambda: (X.clone(),)),
    Program(own_module, lambda: (Block(), X.clone())),
    Program(shapes, lambda: (X.clone(),), more=lambda: (torch.ones(2),)),
    Program(arrays, lambda: (np.arange(4.0),)),
    Program(cycles, lambda: ([0],)),
    Program(sorting, lambda: ([(1, 2), (3, 1), (2, 5)],)),
]


class Difference(AssertionError):
    """A broken compilation can be seen by the program."""


def reference_counts(program: Program) -> list[int]:
    """Of what the program's compilations look at, and of what all of them share."""
    known = (program.function, program.function.__code__, Counter, Slotted, Block, LOG, TABLE, X)
    known += (LINEAR, LINEAR.weight, LINEAR.__dict__, Counter.add, torch.nn.Linear.forward)
    known += (program.function.__globals__, torch.sum, ValueError, torch.float32)
    return [sys.getrefcount(o) for o in known]


def observe_calls(program: Program, function: Callable[..., Any]) -> list[Any]:
    seen = []
    for make in (program.make, program.make, program.more or program.make):
        torch.manual_seed(0)
        seen.append(observe(function, make(), {}, None))
    return seen


def argument_counts(observations: list[Any]) -> list[int]:
    """The references to the arguments of calls, once their results are gone."""
    for observation in observations:
        observation.result = observation.error = None
    gc.collect()  # Tracebacks are cyclic.
    counts = []
    for observation in observations:
        for argument in observation.state[0]:
            if not isinstance(argument, int | str):
                counts.append(sys.getrefcount(argument))
                parts = [o for o in gc.get_referents(argument) if isinstance(o, list | dict)]
                counts += [sys.getrefcount(o) for o in parts]
    return counts


def try_site(program: Program, kind: str, number: int, warm: bool) -> tuple[bool, int]:
    """Lets one site fail. Whether it was reached, and how many sites there were. References to
    shared objects are compared where all that is made only once is there: `warm`."""
    before = reference_counts(program)
    expected = observe_calls(program, program.function)
    compiled = compile_afresh(program.function, **program.options)
    _C.inject_fault(kind, number)
    try:
        actual = observe_calls(program, compiled)
    finally:
        happened, passed = _C.clear_fault()
    # The calls after the one that failed find nothing half done.
    again = observe_calls(program, compiled)
    for plain, captured in zip(expected, actual, strict=True):
        out_of_memory = isinstance(captured.error, MemoryError)
        if not (happened and kind in MEMORY_KINDS and out_of_memory):
            compare(plain, captured)
    for plain, captured in zip(expected, again, strict=True):
        compare(plain, captured)
    if happened and kind == "error":
        errors = _C.internal_errors(compiled)
        if not any("injected fault" in error for error in errors):
            raise Difference("the error was not recorded")
    # The results may be cyclic, and hold on to the function.
    del compiled, actual, plain, captured
    counts, plainly = argument_counts(again), argument_counts(expected)
    if counts != plainly:
        raise Difference(f"references to arguments: {plainly} became {counts}")
    del again, expected
    gc.collect()
    after = reference_counts(program)
    if warm and before != after:
        raise Difference(f"references: {before} became {after}")
    return happened, passed


@contextlib.contextmanager
def lenient() -> Iterator[None]:
    """What fails runs as plain Python, in silence."""
    logger = logging.getLogger("armature")
    disabled = logger.disabled
    logger.disabled = True
    gc.collect()
    gc.freeze()  # A collection is quick where it need not look at all of torch.
    try:
        with armature.config.patch(strict=False, recompile_limit=50), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.unfreeze()
        logger.disabled = disabled
        _C.clear_fault()


def compile_afresh(function: Callable[..., Any], **options: Any) -> Any:
    """As compile(), but that no translation is there which was made before."""
    armature.reset()
    return armature.compile(function, **options)


def count_sites(program: Program, kind: str) -> int:
    for _ in range(3):  # More than once, as what is found out once is known then.
        _, sites = try_site(program, kind, 1 << 62, warm=False)
    return sites


def in_child(action: Callable[[], Any]) -> str:
    """Runs it in a copy of this process; what went wrong."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            text = ""
        except BaseException:
            text = traceback.format_exc()
        os.write(write, text.encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else text + f"\nthe process ended by status {status}"


def try_program(program: Program, kind: str, stride: int, cold: bool = False) -> Iterator[str]:
    """Lets every `stride`-th site fail; says what went wrong."""
    with lenient():
        if not cold:
            sites = count_sites(program, kind)
        number = 0
        while cold or number < sites:
            if cold:

                def run(number: int = number) -> None:
                    happened, _ = try_site(program, kind, number, warm=False)
                    if not happened:
                        os._exit(77)

                problem = in_child(run)
                if problem.endswith(f"by status {77 << 8}"):
                    return
            else:
                problem = ""
                try:
                    try_site(program, kind, number, warm=True)
                except Exception:
                    problem = traceback.format_exc()
            if problem:
                yield f"{program.name}, {kind} at site {number}:\n{problem}"
            number += stride


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--program")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    failures = 0
    for program in PROGRAMS:
        if options.program not in (None, program.name):
            continue
        for kind in [options.kind] if options.kind else KINDS:
            print(program.name, kind, flush=True)
            for problem in try_program(program, kind, options.stride, options.cold):
                failures += 1
                print(problem, flush=True)
    sys.exit(f"{failures} failures" if failures else 0)


if __name__ == "__main__":
    main()

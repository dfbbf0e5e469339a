"""Runs a program's steps in one world and writes down all that can be seen."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import io
import os
import signal
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import armature.logging
import numpy as np
from armature import _C

from fuzz.canonical import describe, without_addresses
from fuzz.library_state import BACKENDS, library_state, set_library_state
from fuzz.program import ENTRY, FILENAME, Program, Step

# The list of weak references by which a program watches its objects.
WATCHED = "WATCHED"


@dataclasses.dataclass(slots=True)
class Observation:
    """What one step did."""

    error: list[str]  # of the exception that left it; empty without
    result: list[str]
    printed: str
    effects: list[str]
    traceback: list[str]
    lifetimes: list[str]
    compilations: int
    pure: bool  # a call that left the world as it was


class NoWorld(Exception):
    """The definitions of a program fail."""


class TimeLimit(BaseException):
    """A step took too long; no program catches it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Of processor time, which does not depend on what else the machine does."""

    def expire(*_: object) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# Programs that do not end are left; the descriptions of a large world take seconds on a slow
# machine. Under AddressSanitizer (see `dev`), all takes longer.
_TIMES = 12 if "libasan" in os.environ.get("LD_PRELOAD", "") else 1


def run(program: Program, *, captured: bool) -> list[Observation]:
    """The observations of all steps. Raises TimeLimit or NoWorld."""
    with (
        _library_as_it_was(),
        time_limit(_TIMES * (30 if captured else 10)),
        armature.config.patch(strict=True),
    ):
        gc.collect()
        gc.disable()
        if captured and program.break_every:
            _C.inject_fault("break every", program.break_every)
        try:
            return _World(program, captured).run()
        finally:
            _C.clear_fault()
            gc.enable()
            armature.reset()
            armature.logging.set_logs()


@contextlib.contextmanager
def _library_as_it_was() -> Iterator[None]:
    settings = np.geterr()
    filters = warnings.filters[:]
    state = library_state()
    limit = sys.getrecursionlimit()
    warnings.simplefilter("ignore")
    try:
        yield
    finally:
        set_library_state(state)
        np.seterr(**settings)
        warnings.filters[:] = filters
        sys.setrecursionlimit(limit)


class _World:
    def __init__(self, program: Program, captured: bool) -> None:
        self.program = program
        self.captured = captured
        self.compilations = 0
        self.last = ""

    def count(self, _entry: object) -> None:
        self.compilations += 1

    def run(self) -> list[Observation]:
        if self.captured:
            _C.set_hooks(
                compiled=self.count,
                recompile_limit=None,
                unsupported=armature.Unsupported,
                internal_error=armature.logging._on_internal_error,
            )
        module = types.ModuleType("program")
        self.namespace = module.__dict__
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(self.program.source, FILENAME, "exec"), self.namespace)
            except Exception as error:
                raise NoWorld from error
        self.function: Callable[..., Any] = self.namespace[ENTRY]
        if self.captured:
            backend = BACKENDS[self.program.backend]
            self.function = armature.compile(self.function, backend=backend)
        self.last = "\n".join(describe({"world": self.namespace}, self.namespace))
        return [
            self.step(step, number == len(self.program.steps) - 1)
            for number, step in enumerate(self.program.steps)
        ]

    def step(self, step: Step, last: bool) -> Observation:
        printed, compilations = io.StringIO(), self.compilations
        with contextlib.redirect_stdout(printed):
            observation = self.call(step, last) if step.is_call else self.change(step, last)
            # What the step left behind dies here, and may print as it does.
            observation.lifetimes = self.lifetimes()
            gc.collect()
            observation.lifetimes += self.lifetimes()
        if observation.pure:  # Not if what died has changed the world.
            self.last, before = (
                "\n".join(describe({"world": self.namespace}, self.namespace)),
                self.last,
            )
            observation.pure = self.last == before
        observation.printed = without_addresses(printed.getvalue())
        observation.compilations = self.compilations - compilations
        return observation

    def call(self, step: Step, last: bool) -> Observation:
        call = {"capture": lambda *args, **kwargs: (args, kwargs)}
        arguments, keywords, result, error = (), {}, None, None
        try:
            arguments, keywords = eval(f"capture({step.text})", self.namespace, call)
            result = self.function(*arguments, **keywords)
        except TimeLimit:
            raise
        except BaseException as caught:
            error = caught
        return self.observe(error, result, (arguments, keywords), last)

    def change(self, step: Step, last: bool) -> Observation:
        error = None
        try:
            exec(compile(step.text, "<change>", "exec"), self.namespace)
        except TimeLimit:
            raise
        except BaseException as caught:
            error = caught
        return self.observe(error, None, None, last)

    def observe(
        self, error: BaseException | None, result: Any, arguments: Any, last: bool
    ) -> Observation:
        world = self.namespace
        roots = {"arguments": arguments, "result": result, "error": error}
        pure = False
        if self.program.observed or last:
            effects = describe({"world": world, **roots}, world)
            text = "\n".join(describe({"world": world}, world))
            pure, self.last = text == self.last, text
        else:
            effects = describe(roots, world, within=True)
        effects.append(f"torch: {library_state()}")
        return Observation(
            error=[] if error is None else describe({"error": error}, world, within=True),
            result=describe({"result": result}, world, within=True),
            printed="",
            effects=effects,
            traceback=_lines_of(error),
            lifetimes=[],
            compilations=0,
            pure=pure,
        )

    def lifetimes(self) -> list[str]:
        watched = self.namespace.get(WATCHED)
        if type(watched) is not list:
            return []
        return [
            "dead" if weakref.ref.__call__(reference) is None else "alive"
            for reference in watched
            if type(reference) is weakref.ref
        ]


def _lines_of(error: BaseException | None) -> list[str]:
    """The lines of the program in the exception's traceback."""
    lines = []
    traceback = error.__traceback__ if error is not None else None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == FILENAME:
            lines.append(f"{code.co_name}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return lines

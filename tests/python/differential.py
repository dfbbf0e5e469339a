"""Runs a function plainly and captured on equal inputs and compares all that a program can see.

Compared are results (types, values, tensors, and which objects in them are one and the same, or
are the arguments), exceptions, printed text, and the state of the arguments and of whatever else
a test names in ``watch`` afterwards.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import io
import math
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import armature
import numpy as np
import pytest
import torch
from armature import _C


@dataclasses.dataclass
class Observation:
    result: Any
    error: BaseException | None
    printed: str
    state: Any  # arguments and watched objects after the call


@contextlib.contextmanager
def breaking_every(every: int) -> Iterator[None]:
    """Traces break at each `every`-th of their instructions; 0: where the program does."""
    if every:
        _C.inject_fault("break every", every)
    try:
        yield
    finally:
        _C.clear_fault()


def observe(fn: Callable[..., Any], args: Any, kwargs: Any, watch: Any) -> Observation:
    printed = io.StringIO()
    result, error = None, None
    with contextlib.redirect_stdout(printed):
        try:
            result = fn(*args, **kwargs)
        except Exception as caught:
            error = caught
    return Observation(result, error, printed.getvalue(), (args, kwargs, watch))


_ATOMS = (int, str, bytes, bool, type(None), complex, range, type, types.ModuleType, enum.Enum)


class Comparison:
    """Two object graphs that must have the same shape. Each object of one may correspond to one
    object of the other only, which is how aliasing is compared."""

    def __init__(self) -> None:
        self.partner: dict[int, int] = {}
        self.keep: list[Any] = []

    def equal(self, a: Any, b: Any, where: str) -> None:
        if type(a) is not type(b) and not self.same_named_class(a, b):
            raise AssertionError(f"{where}: {type(a)} {a!r} became {type(b)} {b!r}")
        if isinstance(a, float):
            same = (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
            if not same:
                raise AssertionError(f"{where}: {a!r} became {b!r}")
            return
        if isinstance(a, _ATOMS) and type(a).__module__ in ("builtins", type(b).__module__):
            if a != b:
                raise AssertionError(f"{where}: {a!r} became {b!r}")
            return
        if a is not b and not isinstance(a, (tuple, frozenset)):  # whose identity is Python's own
            expected = self.partner.setdefault(id(a), id(b))
            reverse = self.partner.setdefault(-id(b), -id(a))
            if expected != id(b) or reverse != -id(a):
                raise AssertionError(f"{where}: aliasing differs, {a!r} and {b!r}")
        if any(a is kept for kept in self.keep):
            return
        self.keep += [a, b]
        self.parts(a, b, where)

    @staticmethod
    def same_named_class(a: Any, b: Any) -> bool:
        """Classes made inside the function are made anew in each call."""
        names = [(kind.__module__, kind.__qualname__) for kind in (type(a), type(b))]
        module, name = names[0]
        return names[0] == names[1] and not hasattr(sys.modules.get(module), name)

    def parts(self, a: Any, b: Any, where: str) -> None:
        if isinstance(a, torch.nn.Module):
            self.equal(sorted(a.__dict__), sorted(b.__dict__), f"{where}.__dict__")
            for name in a.__dict__:
                self.equal(a.__dict__[name], b.__dict__[name], f"{where}.{name}")
        elif isinstance(a, torch.Tensor):
            described = [
                (t.dtype, t.shape, t.stride(), t.requires_grad, t.device, t.is_leaf) for t in (a, b)
            ]
            if described[0] != described[1]:
                raise AssertionError(f"{where}: {described[0]} became {described[1]}")
            if not torch.equal(a, b) and not torch.allclose(a, b, equal_nan=True):
                raise AssertionError(f"{where}: {a} became {b}")
            self.equal(
                a.grad if a.is_leaf else None, b.grad if b.is_leaf else None, where + ".grad"
            )
        elif isinstance(a, (np.ndarray, np.generic)):
            np.testing.assert_array_equal(a, b, err_msg=where, strict=True)
        elif isinstance(a, dict):
            # The order of an OrderedDict is its own, and not that of the dict within it.
            if isinstance(a, collections.OrderedDict):
                kind = collections.OrderedDict
            else:
                kind = dict
            self.sequence(kind.keys(a), kind.keys(b), where + ".keys()")
            self.sequence(kind.values(a), kind.values(b), where)
            self.attributes(a, b, where)
        elif isinstance(a, (set, frozenset)):
            if a != b and len(a) != len(b):
                raise AssertionError(f"{where}: {a!r} became {b!r}")
            self.sequence(sorted(a, key=repr), sorted(b, key=repr), where)
        elif isinstance(a, collections.deque):
            self.equal(a.maxlen, b.maxlen, where + ".maxlen")
            items = collections.deque.__iter__
            self.sequence(items(a), items(b), where)
            self.attributes(a, b, where)
        elif isinstance(a, (list, tuple)):
            self.sequence(
                list.__iter__(a) if isinstance(a, list) else tuple.__iter__(a),
                list.__iter__(b) if isinstance(b, list) else tuple.__iter__(b),
                where,
            )
            self.attributes(a, b, where)
        elif isinstance(a, types.FunctionType):
            if a is b:
                return
            self.equal(a.__code__.co_code, b.__code__.co_code, where)
            self.equal((a.__name__, a.__qualname__), (b.__name__, b.__qualname__), where)
            self.equal((a.__doc__, a.__module__), (b.__doc__, b.__module__), where)
            self.equal(a.__defaults__, b.__defaults__, where + ".__defaults__")
            self.equal(a.__kwdefaults__, b.__kwdefaults__, where + ".__kwdefaults__")
            self.equal(a.__annotations__, b.__annotations__, where + ".__annotations__")
            self.equal(a.__closure__, b.__closure__, where + ".__closure__")
            self.attributes(a, b, where)
        elif isinstance(a, types.CellType):
            contents = [getattr(cell, "cell_contents", "<empty>") for cell in (a, b)]
            self.equal(*contents, where + ".cell_contents")
        elif isinstance(a, types.MethodType):
            self.equal(a.__func__, b.__func__, where + ".__func__")
            self.equal(a.__self__, b.__self__, where + ".__self__")
        elif isinstance(a, slice):
            self.equal((a.start, a.stop, a.step), (b.start, b.stop, b.step), where)
        elif isinstance(a, BaseException):
            self.equal(a.args, b.args, where + ".args")
            self.equal(str(a), str(b), f"str({where})")
            self.equal(a.__cause__, b.__cause__, where + ".__cause__")
            self.equal(a.__context__, b.__context__, where + ".__context__")
            self.equal(
                a.__suppress_context__, b.__suppress_context__, where + ".__suppress_context__"
            )
        else:
            self.attributes(a, b, where)
            if not hasattr(a, "__dict__") and not hasattr(type(a), "__slots__"):
                if isinstance(a, types.BuiltinMethodType):
                    self.equal(a.__name__, b.__name__, where)
                elif hasattr(a, "__next__"):
                    self.equal(list(copy.copy(a)), list(copy.copy(b)), f"list({where})")

    def attributes(self, a: Any, b: Any, where: str) -> None:
        for kind in type(a).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__"):
                    missing = "<no value>"
                    self.equal(
                        getattr(a, name, missing), getattr(b, name, missing), f"{where}.{name}"
                    )
        if hasattr(a, "__dict__") and not isinstance(a, type):
            self.equal(dict(vars(a)), dict(vars(b)), f"vars({where})")

    def sequence(self, a: Any, b: Any, where: str) -> None:
        a, b = list(a), list(b)
        if len(a) != len(b):
            raise AssertionError(f"{where}: {a!r} became {b!r}")
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            self.equal(x, y, f"{where}[{index}]")


def compare(expected: Observation, actual: Observation) -> None:
    if (expected.error is None) != (actual.error is None):
        raise AssertionError(f"{expected.error!r} became {actual.error!r}") from actual.error
    comparison = Comparison()
    comparison.equal(expected.state, actual.state, "state")
    comparison.equal(expected.result, actual.result, "result")
    comparison.equal(expected.error, actual.error, "error")
    if expected.printed != actual.printed:
        raise AssertionError(f"printed: {expected.printed!r} became {actual.printed!r}")


def check(
    fn: Callable[..., Any],
    *args: Any,
    more: tuple[tuple[Any, ...], ...] = (),
    kwargs: dict[str, Any] | None = None,
    watch: Any = None,
    restore: Callable[[], None] | None = None,
    calls: int = 3,
    breaks: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Compares ``fn`` and its captured form over ``args``, then over each of ``more``, then over
    ``args`` again. ``watch`` is state beyond the arguments, compared too; ``restore`` brings it
    back to what it was before a call. ``breaks``: how often the first translation may break, or
    None where that is of no interest. Returns the compiled function."""
    kwargs = kwargs or {}
    compiled = armature.compile(fn, **(options or {}))
    inputs = [args] * (calls - 1) + [*more, args]
    for call, given in enumerate(inputs):
        if restore:
            restore()
        expected = observe(fn, *copy.deepcopy((given, kwargs)), watch)
        if watch is not None:
            expected.state, expected.result = copy.deepcopy((expected.state, expected.result))
        if restore:
            restore()
        actual = observe(compiled, *copy.deepcopy((given, kwargs)), watch)
        try:
            compare(expected, actual)
        except AssertionError as difference:
            raise AssertionError(f"call {call}: {difference}\n{report(compiled)}") from difference
        if call == 0 and breaks is not None:
            found = break_reasons(compiled)
            assert len(found) == breaks, f"{len(found)} graph breaks: {found}"
    return compiled


def entries(compiled: Any) -> list[dict[str, Any]]:
    """The translations of a compiled function, or of a method of one."""
    return _C.entries(getattr(compiled, "__func__", compiled))


def break_reasons(compiled: Any) -> list[dict[str, Any]]:
    return [entry["break_reason"] for entry in entries(compiled) if entry["break_reason"]]


def translations(compiled: Any) -> int:
    return len(entries(compiled))


@contextlib.contextmanager
def compilations() -> Iterator[list[dict[str, Any]]]:
    """Collects the translations that are finished meanwhile, whether they stay alive or not."""
    finished: list[dict[str, Any]] = []
    _C.set_hooks(
        compiled=finished.append,
        recompile_limit=armature.logging._on_recompile_limit,
        unsupported=armature.exc.Unsupported,
        internal_error=armature.logging._on_internal_error,
    )
    try:
        yield finished
    finally:
        armature.logging.set_logs()


def report(compiled: Any) -> str:
    lines = []
    for entry in entries(compiled):
        lines.append(f"--- {entry['name']} from {entry['resumes_at']}, {entry['break_reason']}")
        lines += [entry["graph"], entry["guards"], entry["bytecode"]]
    return "\n".join(lines)


class Cases(list):
    """Collects functions to check: ``@cases.add(*args, **options of check)``; the list is what
    ``pytest.mark.parametrize(("fn", "args", "options"), cases)`` takes."""

    def add(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        def decorate(fn: Any) -> Any:
            self.append(pytest.param(fn, args, options, id=fn.__name__))
            return fn

        return decorate

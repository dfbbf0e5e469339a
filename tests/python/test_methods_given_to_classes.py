"""Special methods that a trace gives to an existing class: its instances have them at once, on
whatever the class is built."""

from __future__ import annotations

import collections
import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import armature
import pytest

# Each special method with what calls it.
USES: dict[str, Callable[[Any], Any]] = {
    "__add__": lambda i: i + 1,
    "__radd__": lambda i: 1 + i,
    "__iadd__": lambda i: operator.iadd(i, 1),
    "__sub__": lambda i: i - 1,
    "__rsub__": lambda i: 1 - i,
    "__mul__": lambda i: i * 2,
    "__rmul__": lambda i: 2 * i,
    "__matmul__": lambda i: i @ 1,
    "__rmatmul__": lambda i: 1 @ i,
    "__truediv__": lambda i: i / 2,
    "__floordiv__": lambda i: i // 2,
    "__mod__": lambda i: i % 2,
    "__rmod__": lambda i: 5 % i,
    "__divmod__": lambda i: divmod(i, 2),
    "__pow__": lambda i: i**2,
    "__rpow__": lambda i: 2**i,
    "__lshift__": lambda i: i << 1,
    "__or__": lambda i: i | 1,
    "__ror__": lambda i: 1 | i,
    "__and__": lambda i: i & 1,
    "__neg__": lambda i: -i,
    "__invert__": lambda i: ~i,
    "__abs__": lambda i: abs(i),
    "__round__": lambda i: round(i),
    "__trunc__": lambda i: math.trunc(i),
    "__index__": lambda i: [1, 2, 3][i],
    "__int__": lambda i: int(i),
    "__float__": lambda i: float(i),
    "__complex__": lambda i: complex(i),
    "__bool__": lambda i: bool(i),
    "__len__": lambda i: len(i),
    "__length_hint__": lambda i: operator.length_hint(i),
    "__iter__": lambda i: list(i),
    "__reversed__": lambda i: list(reversed(i)),
    "__next__": lambda i: next(i),
    "__contains__": lambda i: 5 in i,
    "__getitem__": lambda i: i[0],
    "__setitem__": lambda i: operator.setitem(i, 0, 1),
    "__delitem__": lambda i: operator.delitem(i, 0),
    "__call__": lambda i: i(3),
    "__eq__": lambda i: i == 1,
    "__ne__": lambda i: i != 1,
    "__lt__": lambda i: i < 1,
    "__gt__": lambda i: i > 1,
    "__hash__": lambda i: hash(i),
    "__str__": lambda i: str(i),
    "__repr__": lambda i: repr(i),
    "__format__": lambda i: format(i, "q"),
    "__bytes__": lambda i: bytes(i),
    "__getattr__": lambda i: i.absent,
    "__getattribute__": lambda i: i.absent,
    "__setattr__": lambda i: setattr(i, "given", 1),
    "__delattr__": lambda i: delattr(i, "given"),
    "__reduce__": lambda i: i.__reduce__(),
    "__copy__": lambda i: copy.copy(i),
}
RESULTS: dict[str, Any] = {
    "__iter__": lambda: iter([1, 2]),
    "__reversed__": lambda: iter([3]),
    "__index__": lambda: 1,
    "__int__": lambda: 4,
    "__float__": lambda: 2.5,
    "__complex__": lambda: 1j,
    "__len__": lambda: 5,
    "__length_hint__": lambda: 9,
    "__bool__": lambda: False,
    "__contains__": lambda: True,
    "__hash__": lambda: 77,
    "__str__": lambda: "S",
    "__repr__": lambda: "R",
    "__format__": lambda: "F",
    "__bytes__": lambda: b"q",
}
BASES = {
    base.__name__: base
    for base in (
        object,
        tuple,
        list,
        dict,
        set,
        frozenset,
        int,
        float,
        complex,
        str,
        bytes,
        Exception,
        collections.deque,
        collections.OrderedDict,
        collections.defaultdict,
    )
}


def new_class(base: str) -> Any:
    if base == "namedtuple":
        return collections.namedtuple("Given", "a b", defaults=(1, 2))
    if base == "slots":
        return type("Given", (), {"__slots__": ()})
    return type("Given", (BASES[base],), {})


class Raising:
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise KeyError("__get__")


class Bound:
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return lambda *a: ("bound", instance is None, *a)


def method(name: str) -> Any:
    """One that does what it is for."""
    result = RESULTS.get(name)
    return lambda self, *a: result() if result else (name, *a)


KINDS: dict[str, Callable[[str], Any]] = {
    "method": method,
    "None": lambda name: None,
    "number": lambda name: 5,
    "not implemented": lambda name: lambda *a: NotImplemented,
    "of another type": lambda name: lambda *a: 1.5,
    "static method": lambda name: staticmethod(method(name)),
    "class method": lambda name: classmethod(method(name)),
    "property": lambda name: property(lambda self: lambda *a: ("property", *a)),
    "descriptor": lambda name: Bound(),
    "raising descriptor": lambda name: Raising(),
    "generator": lambda name: lambda *a: (yield a[1:]),
}


@pytest.mark.parametrize("when", ["before", "after", "subclass"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", ["namedtuple", "slots", *BASES])
def test_a_method_given_to_a_class(base: str, kind: str, when: str) -> None:
    different = []
    for name, use in USES.items():
        value = KINDS[kind](name)

        def program(
            given: Any, before: Any, name: str = name, use: Any = use, value: Any = value
        ) -> Any:
            if when == "subclass":

                class Below(given):
                    pass

            setattr(given, name, value)
            instance = before if when == "before" else given() if when == "after" else Below()
            try:
                return repr(use(instance))
            except Exception as error:
                return type(error).__name__, str(error)

        def run(function: Callable[..., Any]) -> Any:
            given = new_class(base)
            return function(given, given())

        expected, compiled = run(program), armature.compile(program)
        found = [run(compiled) for _ in range(2)]
        # An address differs, and so does what CPython reports of an error of its own.
        is_comparable = " at 0x" not in str(expected) and expected[0] != "SystemError"
        if is_comparable and found != [expected, expected]:
            different.append((name, expected, found))
        armature.reset()
    assert not different

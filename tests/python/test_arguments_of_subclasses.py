"""Calls of classes over builtin types: which arguments the __new__ and the __init__ of the type
take, refuse or pass over, depends on which of the two the class has of its own."""

from __future__ import annotations

import collections
import functools
import itertools
from typing import Any

import armature
import pytest

# Each type with arguments that it takes.
TYPES: dict[type, tuple[Any, ...]] = {
    object: (),
    float: (1.5,),
    int: (3,),
    complex: (1j,),
    str: ("ab",),
    bytes: (b"ab",),
    bytearray: (b"ab",),
    tuple: ((1, 2),),
    list: ([1],),
    dict: ({"a": 1},),
    set: ([1],),
    frozenset: ([1],),
    collections.deque: ([1],),
    collections.OrderedDict: ({"a": 1},),
    collections.defaultdict: (int,),
    collections.Counter: ("ab",),
    collections.UserDict: ({"a": 1},),
    Exception: (1,),
    OSError: (1, "why"),
    StopIteration: (1,),
    ImportError: ("why",),
    functools.partial: (len,),
    property: (len,),
    type: ("Made", (), {}),
    itertools.count: (1,),
    itertools.repeat: (1, 2),
    enumerate: ([1],),
    zip: ([1],),
    reversed: ([1],),
}


def with_init(base: type) -> Any:
    class Made(base):
        def __init__(self, *a, unit=None):
            self.unit = unit

    return Made


def with_forwarding_init(base: type) -> Any:
    class Made(base):
        def __init__(self, *a, unit=None):
            super().__init__()
            self.unit = unit

    return Made


def with_new(base: type) -> Any:
    class Made(base):
        def __new__(cls, *a, unit=None):
            return super().__new__(cls, *a)

    return Made


def with_forwarding_new(base: type) -> Any:
    class Made(base):
        def __new__(cls, *a, **k):
            return super().__new__(cls, *a, **k)

    return Made


def with_both(base: type) -> Any:
    class Made(base):
        def __new__(cls, *a, **k):
            return super().__new__(cls, *a, **k)

        def __init__(self, *a, unit=None):
            self.unit = unit

    return Made


def with_neither(base: type) -> Any:
    return type("Made", (base,), {})


CALLS = [
    lambda made, base, a: made(*a),
    lambda made, base, a: made(*a, unit=5),
    lambda made, base, a: made(unit=5),
    lambda made, base, a: made(),
    lambda made, base, a: made(*a, 1, 2, 3),
    lambda made, base, a: made.__new__(made, *a, unit=1),
    lambda made, base, a: base.__new__(made, *a, unit=1),
    lambda made, base, a: base.__new__(base, unit=1),
    lambda made, base, a: base(*a, unit=1),
    lambda made, base, a: made.__init__(made(*a), unit=7),
    lambda made, base, a: made.__init__(made(*a)),
]
KINDS = [with_init, with_forwarding_init, with_new, with_forwarding_new, with_both, with_neither]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("base", TYPES, ids=lambda base: base.__name__)
def test_arguments(base: type, kind: Any) -> None:
    different = []
    for number, make in enumerate(CALLS):

        def program(made: Any, arguments: Any, make: Any = make) -> Any:
            try:
                result = make(made, base, arguments)
            except Exception as error:
                return type(error).__name__, str(error)
            text = repr(vars(result) if isinstance(result, collections.UserDict) else result)
            return type(result).__name__, getattr(result, "unit", 0), " at 0x" in text or text

        compiled = armature.compile(program)
        expected = program(kind(base), TYPES[base])
        found = [compiled(kind(base), TYPES[base]) for _ in range(2)]
        if found != [expected, expected]:
            different.append((number, expected, found))
        armature.reset()
    assert not different

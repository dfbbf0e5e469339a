"""Programs of one operation over every kind of value: methods of builtin types, builtin functions
and operators, on values that are well behaved, hostile, cyclic, deep or huge.

    python hostile_values.py START STEP COUNT

runs the samples START, START + STEP, … below COUNT, plainly and captured, and prints a line of JSON
for each that differs: {"case", "program", "difference"}. A line "@N" before each sample names the
one at which a crash happened.
"""

from __future__ import annotations

import array
import builtins
import collections
import ctypes
import dataclasses
import datetime
import decimal
import enum
import faulthandler
import fractions
import functools
import io
import itertools
import json
import math
import operator
import os
import re
import resource
import sys
import textwrap
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import armature
import numpy as np
import torch

LOG: list[Any] = []  # What the special methods of the program have done, in order.
KEPT: list[Any] = []  # The arguments of a sample's calls, so that none has another's address.
DEPTH = 20_000
SPREAD = 10_000_019  # A prime that the number of cases is no multiple of.
HUGE = 2**70


class Base:
    """An object whose printed form holds no address."""

    __slots__ = ()


def special(name: str, answer: Callable[[], Any]) -> Any:
    """A class of one special method, which answers so."""

    def method(self: Any, *args: Any) -> Any:
        LOG.append(name)
        return answer()

    return type("Special", (Base,), {name: method})


def fail() -> Any:
    raise ZeroDivisionError("hostile")


SPECIAL: dict[str, list[Callable[[], Any]]] = {
    "__index__": [
        lambda: 2,
        lambda: -1,
        lambda: HUGE,
        lambda: "x",
        lambda: True,
        lambda: 1.5,
        fail,
    ],
    "__int__": [lambda: 3, lambda: "x", lambda: True, fail],
    "__float__": [lambda: 1.5, lambda: 2, lambda: "x", fail],
    "__complex__": [lambda: 1j, lambda: 2],
    "__hash__": [lambda: 1, lambda: HUGE, lambda: -1, lambda: "x", lambda: None, fail],
    "__len__": [lambda: 2, lambda: -1, lambda: HUGE, lambda: "x", lambda: True, fail],
    "__bool__": [lambda: False, lambda: 1, lambda: None, fail],
    "__iter__": [lambda: iter([1, 2]), lambda: 1, lambda: [1], lambda: None, fail],
    "__next__": [lambda: 1 if len(LOG) < 5 else fail(), fail],
    "__str__": [lambda: "text", lambda: 1, lambda: None, lambda: "\ud800", fail],
    "__repr__": [lambda: "text", lambda: 1, lambda: None, lambda: "\ud800", fail],
    "__format__": [lambda: "text", lambda: 1, lambda: None, fail],
    "__contains__": [lambda: True, lambda: "x", lambda: [], fail],
    "__getitem__": [lambda: 1 if len(LOG) < 5 else [][0], fail],
    "__length_hint__": [lambda: 2, lambda: -1, lambda: HUGE, lambda: "x", lambda: NotImplemented],
    "__reversed__": [lambda: iter([2, 1]), lambda: 1],
    "__eq__": [lambda: True, lambda: 1, lambda: "", lambda: NotImplemented, fail],
    "__lt__": [lambda: True, lambda: 1, lambda: NotImplemented, fail],
    "__add__": [lambda: 1, lambda: NotImplemented, fail],
    "__radd__": [lambda: 1, lambda: NotImplemented, fail],
    "__iadd__": [lambda: 1, lambda: NotImplemented],
    "__mul__": [lambda: 1, fail],
    "__neg__": [lambda: 1, fail],
    "__abs__": [lambda: "x", fail],
    "__round__": [lambda: "x", fail],
    "__trunc__": [lambda: 1, lambda: "x"],
    "__divmod__": [lambda: 1, fail],
    "__pow__": [lambda: 1, fail],
    "__bytes__": [lambda: b"x", lambda: 1],
    "__dir__": [lambda: ["a"], lambda: 1],
    "__call__": [lambda: 1, fail],
    "__enter__": [lambda: 1],
    "__exit__": [lambda: 1],
    "__getattr__": [lambda: 1, fail],
    "__fspath__": [lambda: "x", lambda: 1],
    "__missing__": [lambda: 1],
    "__set_name__": [lambda: 1],
    "__instancecheck__": [lambda: 1],
    "__index__ and __eq__": [],
    "keys": [lambda: ["a"], lambda: 1, lambda: [1], fail],
}


class Plain(Base):
    __slots__ = ("__dict__",)

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Manager(Base):
    def __enter__(self) -> int:
        LOG.append("enter")
        return 1

    def __exit__(self, *args: Any) -> bool:
        LOG.append("exit")
        return True


class OddInit(Base):
    def __init__(self) -> Any:
        return 1


class OddNew(Base):
    def __new__(cls) -> Any:
        return 3


class Mapping(Base):
    """What dict() and ** take: keys() and __getitem__."""

    def keys(self) -> Any:
        return ["a", "b"]

    def __getitem__(self, key: Any) -> Any:
        LOG.append("getitem")
        if not isinstance(key, str):
            raise IndexError(key)
        return key


class OddList(list):
    def __len__(self) -> int:
        return 7


class OddDict(dict):
    def __missing__(self, key: Any) -> Any:
        LOG.append("missing")
        return 5


class OddStr(str):
    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        LOG.append("eq")
        return True


class OddInt(int):
    def __add__(self, other: Any) -> Any:
        return "added"


class OddFloat(float):
    pass


class OddTuple(tuple):
    def __iter__(self) -> Any:
        return iter([7])


class OddSet(set):
    def __contains__(self, item: Any) -> Any:
        return "yes"


class OddBytes(bytes):
    pass


class OddBytearray(bytearray):
    pass


class OddDeque(collections.deque):
    def __len__(self) -> int:
        return 1


class Color(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Text(str, enum.Enum):  # noqa: UP042
    A = "a"


class Flags(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass(order=True)
class Record:
    x: int
    y: list[int]


Point = collections.namedtuple("Point", "x y")


def nested(make: Callable[[Any], Any], innermost: Any, depth: int = DEPTH) -> Any:
    for _ in range(depth):
        innermost = make(innermost)
    return innermost


def cyclic_list() -> Any:
    value: list[Any] = [1]
    value.append(value)
    return value


def cyclic_tuple() -> Any:
    inside: list[Any] = []
    value = (1, inside)
    inside.append(value)
    return value


def cyclic_dict() -> Any:
    value: dict[Any, Any] = {}
    value["self"] = value
    return value


def cyclic_iterator() -> Any:
    value: list[Any] = [1]
    iterator = iter(value)
    value.append(iterator)
    return iterator


def cyclic_slice() -> Any:
    value: list[Any] = []
    result = slice(value, 1)
    value.append(result)
    return result


def cyclic_view() -> Any:
    value: dict[Any, Any] = {}
    value[1] = value.values()
    return value.values()


def cyclic_default() -> Any:
    value: list[Any] = []

    def f(x: Any = value) -> Any:
        return x

    value.append(f)
    return f


def linked() -> Any:
    node = None
    for _ in range(1000):
        node = Plain(next=node)
    return node


def generator() -> Iterator[int]:
    yield 1
    yield 2


async def coroutine() -> None:
    pass


# Each value is made anew for each call.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "2": lambda: 2,
    "-1": lambda: -1,
    "2**62": lambda: 2**62,
    "2**70": lambda: HUGE,
    "-2**70": lambda: -HUGE,
    "1.5": lambda: 1.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "1j": lambda: 1j,
    "''": lambda: "",
    "'abc'": lambda: "abc",
    "'{} %s'": lambda: "{} %s",
    "surrogate": lambda: "\ud800",
    "null byte": lambda: "a\0b",
    "b'ab'": lambda: b"ab",
    "bytearray": lambda: bytearray(b"ab"),
    "memoryview": lambda: memoryview(b"ab"),
    "[]": lambda: [],
    "[1, 2]": lambda: [1, 2],
    "[[1]]": lambda: [[1]],
    "pairs": lambda: [("a", 1), ("b", [])],
    "()": lambda: (),
    "(1, 2)": lambda: (1, 2),
    "(1, [2])": lambda: (1, [2]),
    "{}": lambda: {},
    "{'a': 1}": lambda: {"a": 1},
    "{1: 2}": lambda: {1: 2},
    "odd keys": lambda: {(1,): 1, None: 2, 1.5: 3, "\ud800": 4, int: 5},
    "object keys": lambda: {Plain(): 1, (2, Plain()): 2},
    "set()": lambda: set(),
    "{1, 2}": lambda: {1, 2},
    "{Plain()}": lambda: {Plain()},
    "frozenset": lambda: frozenset({1, 2}),
    "range": lambda: range(3),
    "huge range": lambda: range(HUGE, HUGE + 2),
    "slice": lambda: slice(0, 2),
    "huge slice": lambda: slice(None, HUGE),
    "odd slice": lambda: slice("a", [], {}),
    "list iterator": lambda: iter([1, 2]),
    "dict iterator": lambda: iter({"a": 1}),
    "dict view": lambda: {"a": 1}.keys(),
    "items view": lambda: {"a": [1]}.items(),
    "generator": generator,
    "map": lambda: map(str, [1, 2]),
    "zip": lambda: zip([1], [2], strict=False),
    "enumerate": lambda: enumerate([1]),
    "function": lambda: lambda x=0: x,
    "method": lambda: Manager().__enter__,
    "builtin method": lambda: [1].append,
    "partial": lambda: functools.partial(int, base=2),
    "len": lambda: len,
    "int": lambda: int,
    "str": lambda: str,
    "ValueError": lambda: ValueError,
    "property": lambda: property(lambda self: 1),
    "object()": lambda: object(),
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "error": lambda: ValueError("x"),
    "module": lambda: math,
    "tensor": lambda: torch.ones(2),
    "scalar tensor": lambda: torch.tensor(1),
    "OrderedDict": lambda: collections.OrderedDict(a=1, b=2),
    "defaultdict": lambda: collections.defaultdict(list, {1: [2]}),
    "Counter": lambda: collections.Counter("aab"),
    "deque": lambda: collections.deque([1, 2], 3),
    "Point": lambda: Point(1, [2]),
    "Plain": lambda: Plain(a=1),
    "Plain class": lambda: Plain,
    "Manager": Manager,
    "OddInit": lambda: OddInit,
    "OddNew": lambda: OddNew,
    "Mapping": Mapping,
    "OddList": lambda: OddList([1, 2]),
    "OddDict": lambda: OddDict(a=1),
    "OddStr": lambda: OddStr("abc"),
    "OddInt": lambda: OddInt(2),
    "OddFloat": lambda: OddFloat(2.5),
    "OddTuple": lambda: OddTuple((1, 2)),
    "OddSet": lambda: OddSet({1}),
    "OddBytes": lambda: OddBytes(b"ab"),
    "cyclic list": cyclic_list,
    "cyclic tuple": cyclic_tuple,
    "cyclic dict": cyclic_dict,
    "cyclic iterator": cyclic_iterator,
    "cyclic slice": cyclic_slice,
    "cyclic view": cyclic_view,
    "cyclic default": cyclic_default,
    "linked list": linked,
    "deep list": lambda: nested(lambda x: [x], []),
    "deep tuple": lambda: nested(lambda x: (x,), ()),
    "deep dict": lambda: nested(lambda x: {1: x}, {}),
}


# Of types of C that the trace does not look into.
VALUES |= {
    "array": lambda: array.array("b", [1, 2]),
    "array of floats": lambda: array.array("d", [1.5]),
    "c_int": lambda: ctypes.c_int(2),
    "c array": lambda: (ctypes.c_char * 2)(b"a", b"b"),
    "BytesIO": lambda: io.BytesIO(b"ab"),
    "StringIO": lambda: io.StringIO("ab"),
    "Decimal": lambda: decimal.Decimal("1.5"),
    "Fraction": lambda: fractions.Fraction(3, 2),
    "date": lambda: datetime.date(2020, 1, 2),
    "timedelta": lambda: datetime.timedelta(2),
    "pattern": lambda: re.compile("a(b)"),
    "match": lambda: re.match("a(b)", "abc"),
    "np.array": lambda: np.array([1, 2]),
    "np.bytes_": lambda: np.bytes_(b"ab"),
    "np.str_": lambda: np.str_("ab"),
    "np.int64": lambda: np.int64(2),
    "np.float64": lambda: np.float64(1.5),
    "np.bool_": lambda: np.bool_(True),
    "np.dtype": lambda: np.dtype("f4"),
    "mappingproxy": lambda: types.MappingProxyType({"a": 1}),
    "chain": lambda: itertools.chain([1], [2]),
    "repeat": lambda: itertools.repeat([], 2),
    "islice": lambda: itertools.islice([1, 2, 3], 1, 3),
    "list[int]": lambda: list[int],
    "int | str": lambda: int | str,
    "struct sequence": lambda: time.struct_time(range(9)),
    "UserList": lambda: collections.UserList([1, 2]),
    "UserDict": lambda: collections.UserDict(a=1),
    "UserString": lambda: collections.UserString("ab"),
    "ChainMap": lambda: collections.ChainMap({"a": 1}),
    "Color.RED": lambda: Color.RED,
    "Number.ONE": lambda: Number.ONE,
    "Text.A": lambda: Text.A,
    "Flags": lambda: Flags.A | Flags.B,
    "Record": lambda: Record(1, [2]),
    "OddBytearray": lambda: OddBytearray(b"ab"),
    "OddDeque": lambda: OddDeque([1, 2]),
    "torch.Size": lambda: torch.Size([2]),
    "dtype": lambda: torch.float32,
    "device": lambda: torch.device("cpu"),
    "group": lambda: ExceptionGroup("g", [ValueError("x")]),
    "reference": lambda: weakref.ref(Base),
    "itemgetter": lambda: operator.itemgetter(1),
    "cell": lambda: types.CellType([1]),
    "code": lambda: generator.__code__,
    "coroutine function": lambda: coroutine,
}


def add_special_values() -> None:
    for name, answers in SPECIAL.items():
        for number, answer in enumerate(answers):
            VALUES[f"{name} {number}"] = functools.partial(
                lambda name, answer: special(name, answer)(), name, answer
            )


add_special_values()

# --- Programs: their text, with a, b and c for the values.

RECEIVERS = [
    [], (), {}, set(), frozenset(), "", b"", bytearray(), 1, 1.5, 1j, True, range(1), slice(1),
    memoryview(b""), generator(), generator, Manager().__enter__, property(), None, object, int,
    collections.OrderedDict(), collections.defaultdict(), collections.Counter(),
    collections.deque(), iter([]), {}.keys(), {}.values(), {}.items(), zip(), ValueError(), len,
    [].append, ...,
]  # fmt: skip

OPERATORS = [
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "a @ b", "a & b", "a | b", "a ^ b",
    "a << 2", "a >> 2", "a ** 2", "2 ** a if type(a) is not int else 0",
    "-a", "+a", "~a", "not a", "a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b", "a is b",
    "a is not b", "a in b", "a not in b", "a[b]", "a[b:]", "a[:b]", "a[b::b]", "a and b", "a or b",
    "1 if a else 2", "[*a]", "(*a,)", "{*a}", "{*a, *b}", "{**a}", "{**a, **b}", "{a}", "{a: b}",
    "[a, b]", "(a, b)", "(a, a)", "f'{a}'", "f'{a!r}'", "f'{a!s}'", "f'{a!a}'", "f'{a:>5}'",
    "f'{a:{b}}'", "'%s' % a", "'%r' % (a,)", "'%d' % a", "'%s %s' % (a, b)", "'%(a)s' % a",
    "'%*d' % (3, a)", "'%.2f' % a", "'%c' % a", "b'%s' % a",
    "[x for x in a]", "{x for x in a}", "{x: x for x in a}", "list(x for x in a)", "len([*a])",
    "a(b)", "a(*b)", "a(**b)", "a(b, *b)", "dict(**a)", "dict(a, **b)", "a.__class__", "a.__dict__",
    "a.__doc__", "type(a).__name__", "a.missing", "a.a", "lambda: a", "[a] == [b]", "(a,) < (b,)",
    "{1: a} == {1: b}", "[a] * 2 == [a] * 2", "a in [b]", "a in (b, a)", "[b].index(a)",
    "sorted([a, b])", "max(a, b)", "set([a, b])", "{a, b} == {b, a}", "dict([(a, b)])",
    "hash((a, b))", "str([a])", "repr((a, {1: b}))", "str({1: a})", "repr({'k': [a]})",
    "[a].count(b)", "(a, b).index(b)", "'a'.join([a, b])", "{1: a}.get(b)", "{1: a}.pop(b, 0)",
    "{}.setdefault(a, b)", "{1: a}.items() == {1: b}.items()", "dict.fromkeys([a], b)",
    "torch.stack(a)", "torch.ones(2) + a", "torch.ones(2)[a]", "torch.cat([a, b])",
    "torch.ones(a)", "torch.ones(3).reshape(a)", "torch.add(torch.ones(1), alpha=a, other=b)",
    "functools.reduce(lambda x, y: x, a)", "list(itertools.chain(a, b))",
    "list(map(lambda x: x, a))", "list(zip(a, b))", "list(enumerate(a))",
    "collections.OrderedDict(a)", "collections.Counter(a)", "collections.deque(a)",
    "functools.partial(a, b)", "types.SimpleNamespace(x=a)", "collections.defaultdict(a, b)",
]  # fmt: skip

STATEMENTS = [
    "x, y = a\n    return x, y",
    "x, *y = a\n    return x, y",
    "(x, [y]) = a\n    return x, y",
    "a += b\n    return a",
    "a *= 2\n    return a",
    "a |= b\n    return a",
    "a[b] = 1\n    return a",
    "a[b:] = b\n    return a",
    "del a[b]\n    return a",
    "a.x = b\n    return a",
    "a.__dict__[b] = 1\n    return a",
    "a.__class__ = b\n    return a",
    "del a.a\n    return a",
    "with a as x:\n        return x, b",
    "with a:\n        raise ValueError(b)",
    "for x in a:\n        return x\n    else:\n        return b",
    "n = 0\n    for x in a:\n        n += 1\n    return n",
    "raise a",
    "raise a from b",
    "raise ValueError from a",
    "try:\n        raise ValueError(b)\n    except a:\n        return 1",
    "try:\n        raise ValueError(a)\n    except ValueError as e:\n        return e.args, str(e)",
    "try:\n        a[b]\n    except Exception as e:\n        return (lambda: e)",
    "try:\n        return [*a]\n    except Exception as e:\n        return type(e), e.args",
    "try:\n        return hash(a)\n    except Exception as e:\n        return type(e), e.args",
    "try:\n        return a < b\n    except Exception as e:\n        return type(e), e.args",
    "try:\n        return a == b\n    except RecursionError as e:\n        return e.args",
    "assert a, b\n    return 1",
    "class C(a):\n        pass\n    return C.__mro__[1]",
    "def g(x=a, *, y=b):\n        return x, y\n    return g",
    "def g(*args, **kwargs):\n        return args, kwargs\n    return g(*a, **b)",
    "def g():\n        yield from a\n    return list(g())",
    "g = (x for x in a)\n    return next(g), g",
    "match a:\n        case [x, *y]:\n            return x, y\n        case {'a': x}:\n"
    "            return x\n        case str() | int():\n            return 1\n    return b",
    "print(a, b)",
    "print(a, sep=b)",
    "x = [a]\n    x.append(x)\n    return str(x) if b is None else x == x",
    "x = [a]\n    y = [a]\n    x.append(y)\n    y.append(x)\n    return x == y",
    "x = {}\n    x[1] = (x, a)\n    return ascii(x)",
    "x = []\n    x.append((x, a))\n    return repr(x), x",
]

SKIPPED_BUILTINS = {
    "breakpoint", "copyright", "credits", "exit", "help", "input", "license", "open", "quit",
    "exec", "eval", "compile", "globals", "locals", "vars", "__import__", "__build_class__", "id",
    "__loader__", "__spec__", "__debug__",
}  # fmt: skip

# Attributes whose answers are addresses, or that end the process by themselves.
SKIPPED_METHODS = {"__sizeof__", "__init_subclass__", "__subclasshook__", "__reduce__",
                   "__reduce_ex__", "__getstate__", "__subclasses__", "mro", "__dir__"}  # fmt: skip

Program = tuple[str, tuple[str, ...]]  # the text, the names of the values


def program(body: str) -> str:
    if "return" in body or "\n" in body or body.startswith(("raise", "print")):
        return f"def f(a, b):\n    {body}\n"
    return f"def f(a, b):\n    return {body}\n"


def caught(text: str) -> str:
    """The same program, whose exception is a value of it: one that leaves may come from Python."""
    head, body = text.split("\n", 1)
    handler = "    except Exception as error:\n        return error\n"
    return f"{head}\n    try:\n{textwrap.indent(body, '    ')}{handler}"


def every_text() -> list[str]:
    texts = [program(body) for body in OPERATORS + STATEMENTS]
    for name in sorted(vars(builtins)):
        if name in SKIPPED_BUILTINS or name.startswith("_"):
            continue
        value = getattr(builtins, name)
        if isinstance(value, type) and issubclass(value, BaseException) and name != "ValueError":
            continue
        texts += [program(f"{name}(a)"), program(f"{name}(a, b)"), program(f"{name}(*a)")]
        texts += [program(f"{name}(a, key=b)"), program(f"{name}([a, b])")]
    for name in ("getattr", "setattr", "hasattr", "delattr"):
        texts += [program(f"{name}(a, b)"), program(f"{name}(Plain(a=1), a, b)")]
    texts += [program("pow(a, b, 7)"), program("int(a, b)"), program("str(a, 'ascii')")]
    return texts


def every_method() -> list[tuple[str, str]]:
    """(name of the value that has it, text)"""
    names = {}
    for value_name, make in VALUES.items():
        value = make()
        if value_name.startswith("__") or isinstance(value, (torch.Tensor, types.ModuleType)):
            continue
        names.setdefault(type(value), value_name)
    result = []
    for receiver, value_name in names.items():
        for name in sorted(dir(receiver)):
            found = getattr(receiver, name, None)
            if name in SKIPPED_METHODS or not callable(found):
                continue
            result.append((value_name, program(f"a.{name}()")))
            result.append((value_name, program(f"a.{name}(b)")))
            result.append((value_name, program(f"a.{name}(b, b)")))
            if receiver.__module__ in ("builtins", "collections") and not name.startswith("__"):
                kind = receiver.__name__
                holder = "collections." if receiver.__module__ == "collections" else ""
                if hasattr(builtins if holder == "" else collections, kind):
                    result.append((value_name, program(f"{holder}{kind}.{name}(b, a)")))
    return result


class Cases:
    """All programs with all values, by number."""

    def __init__(self) -> None:
        self.values = list(VALUES)
        self.texts = every_text()
        self.methods = every_method()
        self.square = len(self.values) ** 2
        self.texts_end = len(self.texts) * self.square
        self.total = self.texts_end + len(self.methods) * len(self.values)

    def __len__(self) -> int:
        return 2 * self.total

    def __getitem__(self, number: int) -> Program:
        if number >= self.total:
            text, names = self[number - self.total]
            return caught(text), names
        count = len(self.values)
        if number < self.texts_end:
            text, values = divmod(number, self.square)
            a, b = divmod(values, count)
            return self.texts[text], (self.values[a], self.values[b])
        method, b = divmod(number - self.texts_end, count)
        receiver, text = self.methods[method]
        return text, (receiver, self.values[b])


# --- What can be seen of a value, without running its code.


# Addresses, and the type by which an error names a method, which CPython takes from the method or
# from the object, as its call goes.
UNSTABLE = re.compile(r"(?s)0x[0-9a-f]{6,}|Exception raised from .*|\b\w+(?=\.\w+\(\) takes )")


def fingerprint(roots: list[Any]) -> list[Any]:
    seen: dict[int, int] = {}
    keep = []
    result: list[Any] = []
    stack = list(reversed(roots))
    while stack:
        value = stack.pop()
        kind = type(value)
        if kind in (int, bool, type(None), complex, bytes, range):
            result.append((kind.__name__, str(value) if kind is not int else hex(value)))
            continue
        if kind in (str, float):
            result.append((kind.__name__, UNSTABLE.sub("…", repr(value))))
            continue
        if isinstance(value, type):
            result.append(("class", kind.__name__, type.__repr__(value)))
            continue
        if kind is tuple and not value:
            result.append("()")
            continue
        if id(value) in seen:
            result.append(("seen", seen[id(value)]))
            continue
        seen[id(value)] = len(seen)
        keep.append(value)
        result.append(kind.__qualname__)
        stack.extend(reversed(parts(value, kind, seen)))
    return result


def parts(value: Any, kind: type, seen: dict[int, int]) -> list[Any]:
    found: list[Any] = []
    if isinstance(value, list):
        found = list.__getitem__(value, slice(None))
    elif isinstance(value, tuple):
        found = list(tuple.__getitem__(value, slice(None)))
    elif isinstance(value, collections.OrderedDict):
        for key in collections.OrderedDict.keys(value):
            found += [key, dict.__getitem__(value, key)]
    elif isinstance(value, dict):
        for key, item in dict.items(value):
            found += [key, item]
    elif isinstance(value, (set, frozenset)):
        base = set if isinstance(value, set) else frozenset
        # Those that are alike go by the order in which they were met elsewhere.
        found = sorted(
            base.__iter__(value),
            key=lambda item: (repr(fingerprint([item])[:20]), seen.get(id(item), -1)),
        )
    elif isinstance(value, bytearray):
        found = [bytes(value)]
    elif isinstance(value, memoryview):
        try:
            found = [bytes(value)]
        except ValueError:  # It has been released.
            pass
    elif isinstance(value, slice):
        found = [value.start, value.stop, value.step]
    elif isinstance(value, torch.Tensor):
        found = [str(value.dtype), str(value.shape), str(value.tolist())]
    elif isinstance(value, BaseException):
        found = [value.args, value.__cause__, value.__suppress_context__]
        if not isinstance(value, RecursionError):
            found.append(value.__context__)
    elif isinstance(value, types.FunctionType):
        found = [value.__qualname__, value.__defaults__, value.__kwdefaults__]
    elif isinstance(value, types.MethodType):
        found = [value.__func__, value.__self__]
    elif isinstance(value, types.BuiltinMethodType):
        found = [value.__name__, value.__self__]
    elif isinstance(value, collections.deque):
        found = [value.maxlen, *collections.deque.__copy__(value)]
    elif isinstance(value, functools.partial):
        found = [value.func, value.args, value.keywords]
    elif isinstance(value, (int, float, str, bytes)):
        base = next(base for base in (int, float, str, bytes) if isinstance(value, base))
        found = [base.__repr__(value)]
    elif isinstance(value, types.GeneratorType):
        found = [value.__name__, value.gi_frame is None]
    elif kind.__module__ in ("builtins", "itertools"):
        try:
            found = [object.__reduce_ex__(value, 2)]
        except Exception:
            pass
    try:
        found = [*found, object.__getattribute__(value, "__dict__")]
    except AttributeError:
        pass
    return found


# --- Running a case.


def outcome(fn: Callable[..., Any], makers: Iterable[Callable[[], Any]]) -> list[Any]:
    """What can be seen of a call, with arguments that are made for it."""
    LOG.clear()
    args = [make() for make in makers]
    KEPT.append(args)
    LOG.clear()
    printed, out = io.StringIO(), sys.stdout
    result, error = None, None
    sys.stdout = printed
    try:
        result = fn(*args)
    except Exception as caught:
        error = caught
    finally:
        sys.stdout = out
    log = list(LOG)
    text = UNSTABLE.sub("…", printed.getvalue())
    return fingerprint([args, result, type(error), error, text, log])


def first_difference(expected: list[Any], actual: list[Any]) -> str:
    for position, (x, y) in enumerate(itertools.zip_longest(expected, actual)):
        if x != y:
            around = expected[max(0, position - 4) : position]
            return f"after {around}: {x!r} became {actual[position : position + 6]!r}"[:600]
    return ""


def difference(case: Program) -> str | None:
    text, names = case
    namespace = {"torch": torch, "functools": functools, "collections": collections, "LOG": LOG}
    namespace |= {
        "itertools": itertools,
        "types": types,
        "Plain": Plain,
        "math": math,
        "os": os,
        "re": re,
    }
    exec(compile(text, "<case>", "exec"), namespace)
    fn = namespace["f"]
    assert isinstance(fn, types.FunctionType)
    makers = [VALUES[name] for name in names]
    KEPT.clear()
    expected = outcome(fn, makers)
    if expected != outcome(fn, makers):
        return None  # The program itself is not the same twice: addresses, hashes.
    compiled = armature.compile(fn)
    for call in range(2):
        found = first_difference(expected, outcome(compiled, makers))
        if found:
            return f"call {call}: {found}"
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    # Beyond what is mapped: AddressSanitizer maps terabytes, of which it uses little.
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (6 << 30), mapped + (6 << 30)))
    cases = Cases()
    start, step, count = (int(argument) for argument in sys.argv[1:4])
    for sample in range(start, count, step):
        # Spread over all cases, in an order that repeats none.
        number = sample * SPREAD % len(cases)
        print(f"@{sample}", flush=True)
        faulthandler.dump_traceback_later(60, exit=True)
        case = cases[number]
        try:
            found = difference(case)
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        faulthandler.cancel_dump_traceback_later()
        if found:
            line = {"case": number, "program": case, "difference": found}
            print(json.dumps(line), flush=True)
        if sample % 64 == 0:
            armature.reset()
    print("@end", flush=True)


if __name__ == "__main__":
    main()

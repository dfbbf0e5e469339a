"""What stands for a callable object has its operators and special methods and no others."""

import asyncio
import collections.abc
import contextlib
import copy
import math
import operator
import os
import sys

import armature
import pytest


class Recorder:
    """What a special method has been given, as its result."""

    def __init__(self, name, result=None):
        self.name = name
        self.result = result

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        def method(*args):
            return (self.name, *args) if self.result is None else self.result

        return method


NUMBERS = "add sub mul mod pow lshift rshift and xor or floordiv truediv matmul divmod".split()
BINARY = [f"__{kind}{name}__" for name in NUMBERS for kind in ("", "r", "i")]
UNARY = ["__neg__", "__pos__", "__abs__", "__invert__", "__reversed__", "__trunc__"]
UNARY += ["__floor__", "__ceil__", "__round__", "__getitem__", "__aiter__"]
RESULTS = {
    "__int__": 11,
    "__float__": 1.5,
    "__index__": 3,
    "__complex__": 2j,
    "__bool__": False,
    "__len__": 4,
    "__length_hint__": 5,
    "__bytes__": b"bytes",
    "__fspath__": "a/path",
    "__format__": "formatted",
    "__contains__": True,
    "__sizeof__": 77,
    "__dir__": ["b", "a"],
    "__iter__": iter(()),
    "__next__": "next",
    "__instancecheck__": True,
    "__subclasscheck__": True,
    "__enter__": "entered",
    "__exit__": True,
}


class Nothing:
    def __call__(self):
        return "called"


Everything = type(
    "Everything",
    (Nothing,),
    {name: Recorder(name) for name in BINARY + UNARY}
    | {name: Recorder(name, result) for name, result in RESULTS.items()},
)


class Itself(Nothing):
    """Its operators return the object itself."""

    def same(self, *args):
        return self

    __iter__ = __pos__ = __iadd__ = __add__ = __radd__ = __ipow__ = __enter__ = __getitem__ = same

    def __exit__(self, *args):
        self.left = args

    def __next__(self):
        raise StopIteration("last")


class Waited(Nothing):
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "awaited"

    def __aiter__(self):
        self.count = 0
        return self

    async def __anext__(self):
        self.count += 1
        if self.count > 3:
            raise StopAsyncIteration
        return self.count

    async def __aenter__(self):
        return "entered"

    async def __aexit__(self, *args):
        return True


class Counted(Nothing):
    """Has what the builtins fall back to."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index >= 3:
            raise IndexError(index)
        return index * 10

    def __index__(self):
        return 7


class Half(Nothing):
    """Lacks what belongs to what it has, has methods that return what is not allowed, or None."""

    __next__ = __reversed__ = None

    def __enter__(self):
        return 1

    async def __aenter__(self):
        return 1

    def __float__(self):
        return "no float"

    def __int__(self):
        raise LookupError("int")

    def __len__(self):
        raise TypeError("len")

    def __length_hint__(self):
        return "no length"

    def __format__(self, specification):
        return 3

    def __complex__(self):
        return 3

    def __sizeof__(self):
        return "no size"


def entered(manager):
    with manager as value:
        raise LookupError("inside")
    return value


async def awaited(x):
    return await x


async def walked(x):
    return [item async for item in aiter(x)]


async def entered_later(manager):
    async with manager as value:
        raise LookupError("inside")
    return value


def in_place(name):
    def change(x):
        before = x
        x = getattr(operator, f"i{name}")(x, 3)
        return "itself" if x is before else x

    return change


def run(function):
    return lambda x: asyncio.run(function(x))


OPERATIONS = {
    **{name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert", "index")},
    **{name: lambda x, name=name: getattr(operator, name)(x, 3) for name in ("add", "matmul")},
    **{f"i{name}": in_place(name) for name in NUMBERS if name not in ("divmod", "and", "or")},
    "iand": in_place("and"),
    "ior": in_place("or"),
    "radd": lambda x: 3 + x,
    "rmatmul": lambda x: 3 @ x,
    "divmod": lambda x: divmod(x, 3),
    "pow of three": lambda x: pow(x, 3, 4),
    "int": int,
    "float": float,
    "complex": complex,
    "bool": bool,
    "round": round,
    "round to digits": lambda x: round(x, 2),
    "round to None": lambda x: round(x, None),
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "hex": hex,
    "range": range,
    "bytes": bytes,
    "fspath": os.fspath,
    "format": lambda x: format(x, ">3"),
    "formatted": lambda x: f"{x:x}",
    "in": lambda x: 3 in x,
    "len": len,
    "length_hint": lambda x: operator.length_hint(x, 9),
    "list": list,
    "reversed": lambda x: type(reversed(x)).__name__,
    "reversed items": lambda x: list(reversed(x)),
    "next": next,
    "next or default": lambda x: next(x, "default"),
    "iterated itself": lambda x: iter(x) is x,
    "item": lambda x: x[1],
    "with": entered,
    "exits": lambda x: contextlib.ExitStack().enter_context(x),
    "await": run(awaited),
    "async for": run(walked),
    "anext": anext,
    "async with": run(entered_later),
    "isinstance": lambda x: isinstance(3, x),
    "issubclass": lambda x: issubclass(int, x),
    "dir": lambda x: dir(x),
    "getsizeof": sys.getsizeof,
    "hash": lambda x: hash(x) == hash(x),
    "unpacked": lambda x: [*x],
    "yield from": lambda x: list(delegates(x)),
    "positive itself": lambda x: +x is x,
    "sum itself": lambda x: (x + 1 is x, 1 + x is x, x[0] is x),
    "entered itself": lambda x: x.__enter__() is x,
}
ABSTRACT = [name for name in collections.abc.__all__ if name not in ("ByteString", "Set")]


def delegates(x):
    yield (yield from x)


def outcome(operation, x):
    try:
        result = operation(x)
        if result is x:
            return "itself", ""
        return type(result), "coroutine" if asyncio.iscoroutine(result) else result
    except Exception as error:
        return type(error), str(error)


# What looks at the type itself raises the error with another text.
LOOKS_AT_THE_TYPE = {"exits", "unpacked"}


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("transform", [armature.compile, armature.disable])
@pytest.mark.parametrize("kind", [Nothing, Everything, Itself, Waited, Counted, Half])
@pytest.mark.parametrize("name", OPERATIONS)
def test_as_of_the_object_itself(transform, kind, name):
    x = kind()
    expected = outcome(OPERATIONS[name], x)
    result = outcome(OPERATIONS[name], transform(x))
    assert result[0] == expected[0]
    if not (name in LOOKS_AT_THE_TYPE and result[0] is TypeError):
        assert result[1] == expected[1]


@pytest.mark.parametrize("kind", [Nothing, Everything, Itself, Waited, Counted, Half])
def test_abstract_classes_ask_the_class_of_the_object(kind):
    x = kind()
    compiled = armature.compile(x)
    for name in ABSTRACT:
        abstract = getattr(collections.abc, name)
        assert isinstance(compiled, abstract) == isinstance(x, abstract), name
    for abstract in (os.PathLike, contextlib.AbstractContextManager):
        assert isinstance(compiled, abstract) == isinstance(x, abstract)
    unhashable = type("Unhashable", (Nothing,), {"__hash__": None})()
    assert not isinstance(armature.compile(unhashable), collections.abc.Hashable)


def test_what_a_method_is_given_and_what_it_raises_are_its_own():
    class Manager(Nothing):
        def __enter__(self):
            return self

        def __exit__(self, *args):
            self.seen = args

    class Exhausted(Nothing):
        def __iter__(self):
            return self

        def __next__(self):
            raise stop

    compiled, error, stop = armature.compile(Manager()), LookupError(), StopIteration((1, 2))
    with pytest.raises(LookupError), compiled as entered:
        raise error
    assert entered is compiled
    assert compiled.seen[:2] == (LookupError, error)
    with pytest.raises(StopIteration) as caught:
        next(armature.compile(Exhausted()))
    assert caught.value is stop
    assert list(delegates(armature.compile(Exhausted()))) == [(1, 2)]


def test_a_path_is_opened(tmp_path):
    class Path(Nothing):
        def __fspath__(self):
            return str(tmp_path / "file")

    compiled = armature.compile(Path())
    with open(compiled, "w") as file:
        file.write("text")
    with open(copy.copy(compiled)) as file:
        assert file.read() == "text"


def test_inside_a_trace():
    def f(x, callable_object):
        return -callable_object, f"{callable_object:x}", x + 1

    compiled = armature.compile(f)
    original = Everything()
    for _ in range(2):
        assert compiled(1, armature.compile(original)) == f(1, original)

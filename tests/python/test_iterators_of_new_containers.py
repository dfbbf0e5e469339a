"""Loops with a break over containers that the function has made, or changed, before.

The iterator is made when its container has its items, or when the changes were done again.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import random
import re
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import armature
import pytest
import torch


class Plain:
    pass


class DictOf(dict[Any, Any]):
    pass


class OrderedOf(OrderedDict[Any, Any]):
    pass


class DequeOf(deque[Any]):
    pass


def words(text: str) -> defaultdict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for word in text:
        counts[word] += 1
    return counts


def instance(x: Any) -> Plain:
    made = Plain()
    made.a, made.b, made.c = 1, x, 3  # type: ignore[attr-defined]
    return made


def second(container: Iterable[Any]) -> Iterator[Any]:
    iterator = iter(container)
    next(iterator)
    return iterator


NEW: dict[str, Callable[[Any], Iterable[Any]]] = {
    "defaultdict": lambda x: words("abcab").items(),
    "Counter": lambda x: Counter("hello").items(),
    "OrderedDict": lambda x: OrderedDict(a=1, b=x, c=3).items(),
    "reversed OrderedDict": lambda x: reversed(OrderedDict(a=1, b=x, c=3)),
    "__dict__": lambda x: instance(x).__dict__.items(),
    "vars": lambda x: vars(instance(x)),
    "dict subclass": lambda x: DictOf(a=1, b=x),
    "OrderedDict subclass": lambda x: OrderedOf(a=1, b=x, c=3).values(),
    "deque subclass": lambda x: DequeOf([1, x, 3]),
    "UserDict": lambda x: UserDict(a=1, b=x).items(),
    "ChainMap": lambda x: ChainMap({"a": 1}, {"b": x}).items(),
    "set": lambda x: {1, 2, 3},
    "set with an order of its own": lambda x: {i * 7 % 11 + 8 for i in range(9)} - {9, 10},
    "set of data": lambda x: set(x.int().tolist()),
    "frozenset": lambda x: frozenset((7, 2, 90)),
    "union": lambda x: {1, 2} | {x.shape[0], 9},
    "finditer": lambda x: re.finditer("[a-z]", "a b c d"),
    "finditer from": lambda x: second(re.compile("[A-Z]", re.I).finditer("a b c d", 2)),
    "enumerate": lambda x: enumerate(Counter("hello")),
    "zip": lambda x: zip(Counter("hello"), {5, 6, 7}),
    "map": lambda x: map(str, Counter("hello").values()),
    "filter": lambda x: filter(None, OrderedDict(a=0, b=2, c=3).values()),
    "chain": lambda x: itertools.chain(Counter("hello"), {1, 2}),
    "values of each other": lambda x: defaultdict(list, q=defaultdict(int, r=1)).values(),
    "second": lambda x: second(OrderedDict(a=1, b=x, c=3)),
}


class World:
    def __init__(self) -> None:
        self.dict: dict[str, Any] = {"a": 0, "b": 1}
        self.set = {1, 2, 3}
        self.ordered: OrderedDict[str, Any] = OrderedDict(a=1, b=2)
        self.list: list[Any] = [1, 2]
        self.deque: deque[Any] = deque([1, 2, 3])
        self.object = Plain()


def add_to_dict(world: World, x: Any) -> Any:
    world.dict[f"n{len(world.dict)}"] = x
    return world.dict.items()


def take_from_dict(world: World, x: Any) -> Any:
    world.dict.pop("a", None)
    world.dict["z"] = x
    return world.dict.values()


def fill_anew(world: World, x: Any) -> Any:
    world.dict.clear()
    world.dict.update(z=x, y=2)
    return enumerate(world.dict)


def put_back(world: World, x: Any) -> Any:
    world.dict["a"] = world.dict.pop("a")
    return reversed(world.dict)


def change_set(world: World, x: Any) -> Any:
    world.set.add(77)
    world.set.discard(1)
    return world.set


def reorder(world: World, x: Any) -> Any:
    world.ordered.move_to_end("a")
    world.ordered["k"] = x
    return second(world.ordered.items())


def lengthen(world: World, x: Any) -> Any:
    world.list += [x, 5]
    iterator = iter(world.list)
    for _ in range(3):
        next(iterator)
    return iterator


def move_in_deque(world: World, x: Any) -> Any:
    world.deque.append(x)
    world.deque.popleft()
    return world.deque


def set_attributes(world: World, x: Any) -> Any:
    world.object.q, world.object.r = x, 4  # type: ignore[attr-defined]
    return zip(vars(world.object).items(), Counter("ab"))


CHANGED = [
    add_to_dict,
    take_from_dict,
    fill_anew,
    put_back,
    change_set,
    reorder,
    lengthen,
    move_in_deque,
    set_attributes,
]


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    if isinstance(value, re.Match):
        return value.span(), value.group()
    return repr(value)


def by_break(iterable: Iterable[Any], x: Any) -> Any:
    seen = []
    for number, item in enumerate(iterable):
        armature.graph_break()
        seen.append((number, shown(item)))
        x = x + 1
    return seen, x.tolist()


def by_print(iterable: Iterable[Any], x: Any) -> Any:
    seen = []
    for item in iterable:
        print(type(item).__name__)
        seen.append(item)
        x = x * 2
    return [shown(item) for item in seen], x.tolist()


def with_two_names(iterable: Iterable[Any], x: Any) -> Any:
    iterator = iter(iterable)
    kept = [iterator]
    seen = []
    for item in iterator:
        armature.graph_break()
        seen.append(shown(item))
        seen.append(shown(next(kept[0], None)))
    return seen, kept[0] is iterator, type(iterator).__name__


LOOPS = [by_break, by_print, with_two_names]


@pytest.fixture
def nothing_left_to_python(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert not [record.getMessage() for record in caplog.get_records("call")]


compiled_whole = pytest.mark.usefixtures("nothing_left_to_python")


def result(program: Callable[..., Any], *arguments: Any) -> Any:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        returned = program(*arguments)
    return returned, output.getvalue()


@compiled_whole
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", NEW)
def test_new(name: str, loop: Any) -> None:
    make = NEW[name]

    def program(x: Any) -> Any:
        return loop(make(x), x)

    compiled = armature.compile(program)
    for turn in range(3):
        x = torch.arange(3.0) + turn
        assert result(compiled, x) == result(program, x)


@compiled_whole
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("change", CHANGED)
def test_changed(change: Any, loop: Any) -> None:
    def program(world: World, x: Any) -> Any:
        return loop(change(world, x), x)

    compiled = armature.compile(program)
    worlds = World(), World()
    for turn in range(3):
        x = torch.arange(3.0) + turn
        assert result(compiled, worlds[0], x) == result(program, worlds[1], x)
        for name, container in vars(worlds[1]).items():
            expected = vars(container) if name == "object" else container
            actual = getattr(worlds[0], name)
            assert repr(vars(actual) if name == "object" else actual) == repr(expected)


@compiled_whole
@pytest.mark.parametrize("change", [lambda d: d.popitem(), lambda d: d.update(new=1)])
@pytest.mark.parametrize(
    "make", [lambda: words("abc"), lambda: OrderedDict(a=1, b=2, c=3), lambda: vars(instance(1))]
)
def test_they_notice_changes(make: Any, change: Any) -> None:
    def program(x: Any) -> Any:
        container = make()
        seen = []
        try:
            for key in container:
                armature.graph_break()
                seen.append(key)
                if key == "b":
                    change(container)
        except RuntimeError as error:
            seen.append(str(error))
        return seen, x + 1

    compiled = armature.compile(program)
    for _ in range(2):
        assert shown(compiled(torch.ones(1))) == shown(program(torch.ones(1)))


@compiled_whole
def test_order_of_sets() -> None:
    def program(steps: list[tuple[str, int]], x: Any) -> Any:
        items = {3, 1}
        for name, item in steps:
            getattr(items, name)(item)
        seen = []
        for item in items:
            armature.graph_break()
            seen.append(item)
        return seen, list(items), x + 1

    random.seed(5)
    for _ in range(60):
        armature.reset()
        steps = [
            (random.choice(["add", "add", "discard"]), random.randrange(40))
            for _ in range(random.randrange(12))
        ]
        compiled = armature.compile(program)
        assert shown(compiled(steps, torch.ones(1))) == shown(program(steps, torch.ones(1)))


def test_what_an_effect_stores_exists_before(caplog: pytest.LogCaptureFixture) -> None:
    def program(world: World, x: Any) -> Any:
        world.object.iterator = None  # type: ignore[attr-defined]
        world.dict["new"] = 1
        world.object.iterator = iter(world.dict)  # type: ignore[attr-defined]
        armature.graph_break()
        return x + 1, list(world.object.iterator)  # type: ignore[attr-defined]

    with armature.config.patch(strict=False):
        compiled = armature.compile(program)
        assert shown(compiled(World(), torch.ones(1))) == shown(program(World(), torch.ones(1)))
    assert "which is stored before" in caplog.text


@compiled_whole
def test_returned() -> None:
    def program(world: World, x: Any) -> Any:
        world.dict["new"] = x
        return second(world.dict), second(Counter("abc").items())

    compiled = armature.compile(program)
    for _ in range(2):
        returned, expected = (each(World(), torch.ones(1)) for each in (compiled, program))
        assert [list(each) for each in returned] == [list(each) for each in expected]


class ByIndex:
    def __getitem__(self, index: int) -> int:
        return [1, 2][index]


class StrOf(str):
    pass


class BytesOf(bytes):
    pass


ITERABLES: list[Callable[[], Iterable[Any]]] = [
    lambda: "ab",
    lambda: "a\u1234",
    lambda: b"ab",
    lambda: (1, 2),
    lambda: [1, 2],
    lambda: range(3),
    lambda: range(2**70, 2**70 + 2),
    lambda: frozenset([1]),
    lambda: {1: 2}.items(),
    lambda: bytearray(b"ab"),
    lambda: ByIndex(),
    lambda: StrOf("ab"),
    lambda: BytesOf(b"ab"),
    lambda: reversed([1, 2]),
    lambda: reversed((1, 2)),
    lambda: reversed(range(3)),
    lambda: iter(iter([1, 2, 3]).__next__, 3),
    lambda: re.finditer("a", "aa"),
]


@pytest.mark.parametrize("steps", [0, 1, 9])
@pytest.mark.parametrize("make", ITERABLES, ids=range(len(ITERABLES)))
def test_iterators_leave_a_trace_as_what_they_are(
    make: Callable[[], Iterable[Any]], steps: int
) -> None:
    def program() -> Any:
        iterator = iter(make())
        return iterator, type(iterator).__name__, list(itertools.islice(iterator, steps))

    def shown(function: Callable[[], Any]) -> str:
        iterator, *rest = function()
        text = repr((type(iterator), iterator.__reduce__(), list(iterator), rest))
        return re.sub("0x[0-9a-f]+", "", text)

    assert shown(armature.compile(program)) == shown(program)

"""copy.copy and copy.deepcopy of objects of the program's, through what they say of themselves."""

from __future__ import annotations

import abc
import collections
import copy
from typing import Any, Generic, TypeVar

import armature
import pytest
import torch
from differential import check, entries

T = TypeVar("T")


class Config:
    def __init__(self, **attributes: Any) -> None:
        self.sizes = [1, 2]
        self.nested = {"rope": {"theta": 1e4, "kinds": ("a", ["b"])}, 3: None}
        self.dtype = torch.float32
        self.__dict__.update(attributes)


class Mapped:
    """Attributes by other names, as the configurations of models have them."""

    names = {"hidden": "width"}

    def __init__(self) -> None:
        self.width = 3

    def __setattr__(self, key: str, value: Any) -> None:
        key = super().__getattribute__("names").get(key, key)
        super().__setattr__(key, value)

    def __getattribute__(self, key: str) -> Any:
        if key != "names":
            key = super().__getattribute__("names").get(key, key)
        return super().__getattribute__(key)


class WithState:
    def __init__(self) -> None:
        self.a, self.b = 1, [2]

    def __getstate__(self) -> Any:
        return {"b": self.b}

    def __setstate__(self, state: Any) -> None:
        self.b = [*state["b"], "set"]


class Base(Generic[T]):
    __slots__ = ()


class OverSlots(Base[int], abc.ABC):
    def __init__(self) -> None:
        self.a = [1]


class Own:
    def __init__(self, n: int) -> None:
        self.n = n

    def __copy__(self) -> Own:
        return Own(self.n + 1)

    def __deepcopy__(self, memo: dict[int, Any]) -> Own:
        made = Own(self.n + 10)
        memo[id(self)] = made
        return made


class Reduced:
    def __init__(self, n: int) -> None:
        self.n = n

    def __reduce__(self) -> Any:
        return Reduced, (self.n * 2,)


class Node:
    def __init__(self) -> None:
        self.next = self
        self.others = [self, {"me": self}]


CONFIG = Config()
MAPPED = Mapped()


def test_of_existing_objects() -> None:
    def f(x: torch.Tensor) -> Any:
        shallow, deep = copy.copy(CONFIG), copy.deepcopy(CONFIG)
        deep.sizes.append(len(deep.nested))
        shallow.extra = 1
        same = shallow.sizes is CONFIG.sizes, deep.sizes is CONFIG.sizes
        return x * deep.sizes[-1], deep, shallow.extra, same, hasattr(CONFIG, "extra")

    check(f, torch.ones(2), breaks=0)
    compiled = armature.compile(f, fullgraph=True)
    compiled(torch.ones(2))
    assert torch.equal(compiled(torch.ones(2))[0], torch.full((2,), 2.0))
    assert len(entries(compiled)) == 1


def test_attributes_by_other_names() -> None:
    def f(x: torch.Tensor) -> Any:
        made = copy.deepcopy(MAPPED)
        made.hidden = 5
        delattr(made, "width")
        made.hidden = MAPPED.hidden + 1
        return x * made.width, made.__dict__ == {"width": 4}, MAPPED.__dict__

    check(f, torch.ones(2), breaks=0)


def test_of_objects_that_the_call_makes() -> None:
    def f(x: torch.Tensor) -> Any:
        shared = [1]
        made = Config(shared=shared, again=shared)
        deep = copy.deepcopy(made)
        deep.shared.append(2)
        return x + deep.again[1], deep, deep.shared is deep.again, made.shared

    check(f, torch.ones(2), breaks=0)


def test_what_classes_say_of_copying() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        stateful = WithState()
        copies = [copy.copy(stateful), copy.deepcopy(stateful)]
        own = copy.copy(Own(n)).n, copy.deepcopy([Own(n), Own(n)])[1].n
        reduced = copy.deepcopy(Reduced(n)).n, copy.copy(Reduced(n)).n
        deep = copy.deepcopy(OverSlots())
        deep.a.append(n)
        return x + n, deep.a, [sorted(each.__dict__.items()) for each in copies], own, reduced

    check(f, torch.ones(2), 3, more=((torch.ones(2), 4),), breaks=0)


def test_cycles() -> None:
    def f(x: torch.Tensor) -> Any:
        node = copy.deepcopy(Node())
        items: list[Any] = [1]
        items.append(items)
        again = copy.deepcopy(items)
        return x + 1, node.next is node, node.others[1]["me"] is node, again[1] is again, node

    check(f, torch.ones(2), breaks=0)


def test_classes_that_change_between_calls() -> None:
    class Plain:
        def __init__(self) -> None:
            self.a = [1]

    def f(x: torch.Tensor) -> Any:
        return x + 1, sorted(copy.deepcopy(Plain()).__dict__.items()), copy.copy(Plain()).a

    compiled = armature.compile(f)

    def same() -> None:
        for _ in range(2):
            assert repr(compiled(torch.ones(1))) == repr(f(torch.ones(1)))

    same()
    Plain.__getstate__ = lambda self: {"a": [7]}  # type: ignore[method-assign, assignment]
    same()
    del Plain.__getstate__
    same()
    Plain.__deepcopy__ = lambda self, memo: Config()  # type: ignore[attr-defined]
    same()
    del Plain.__deepcopy__  # type: ignore[attr-defined]
    Plain.__reduce__ = lambda self: (Config, ())  # type: ignore[method-assign, assignment]
    Plain.a = [9]  # type: ignore[attr-defined]
    Config.a = [8]  # type: ignore[attr-defined]
    try:
        same()
    finally:
        del Config.a  # type: ignore[attr-defined]


def test_configurations_that_change_between_calls() -> None:
    config = Config()

    def f(x: torch.Tensor) -> Any:
        made = copy.deepcopy(config)
        return x + made.sizes[0], made.sizes, sorted(map(str, made.__dict__))

    compiled = armature.compile(f)
    for change in (
        lambda: None,
        lambda: config.sizes.insert(0, 5),
        lambda: setattr(config, "sizes", [6]),
        lambda: setattr(config, "more", {}),
        lambda: delattr(config, "dtype"),
        lambda: config.nested.clear(),
    ):
        change()
        for _ in range(2):
            result, expected = compiled(torch.ones(1)), f(torch.ones(1))
            assert repr(result) == repr(expected)
            assert result[1] is not config.sizes


def test_a_memo_of_the_program() -> None:
    text = "text"

    def f(x: torch.Tensor, memo: dict[int, Any]) -> Any:
        key = [1]
        memo[id(key)] = "found"
        return x + 1, copy.deepcopy(key, memo), copy.deepcopy(["text", 5], memo)

    for memo in ({}, {id(text): "other"}):
        plain, captured = dict(memo), dict(memo)
        compiled = armature.compile(f)
        assert repr(compiled(torch.ones(1), captured)) == repr(f(torch.ones(1), plain))
        assert list(map(str, captured.values())) == list(map(str, plain.values()))


def test_addresses_of_new_objects_leave_the_call() -> None:
    def f(x: torch.Tensor) -> Any:
        made = [1]
        other = {"a": made}
        return (
            x + 1,
            made,
            id(made),
            {id(other): "key"},
            other,
            id(made) == id(other),
            bool(id(made)),
        )

    compiled = armature.compile(f, fullgraph=True)
    for _ in range(3):
        _, made, address, keys, other, equal, truth = compiled(torch.ones(1))
        assert id(made) == address and keys == {id(other): "key"} and not equal and truth


def test_addresses_of_tuples_on_two_paths() -> None:
    def f(x: torch.Tensor, a: Any, b: Any) -> Any:
        seen = {id(a): "a"}
        return x + 1, seen.get(id(b)), id(a) == id(b), id(a) == id(x), copy.deepcopy([a, b])

    one, other = (1, [2]), (1, [2])
    compiled = armature.compile(f)
    for a, b in [(one, one), (one, other), (other, other), (other, one), (one, one)]:
        result, expected = compiled(torch.ones(1), a, b), f(torch.ones(1), a, b)
        assert repr(result) == repr(expected)
        assert (result[4][0] is result[4][1]) == (a is b)


def test_addresses_of_data_are_no_keys() -> None:
    def f(x: torch.Tensor, n: int, text: str) -> Any:
        seen: dict[Any, Any] = {id(n): 1}
        seen[(id(text), 2)] = 2
        numbers = dict.fromkeys([1, 2])
        return x + 1, id(n) in seen, id(text) in seen, (id(text), 2) in seen, id(n) in numbers

    check(f, torch.ones(2), 3000, "a text", more=((torch.ones(2), 3001, "others"),))


def test_instances_of_a_class_that_the_trace_makes():
    def f(values):
        class Held:
            def __init__(self, values):
                self.values = values

        first = Held(values)
        second = copy.deepcopy([first, first])
        return (
            second[0] is second[1],
            second[0] is first,
            second[0].values,
            second[0].values is values,
            type(second[0]) is Held,
            [name for name in vars(Held) if name != "__doc__"],
            id(Held) == id(type(first)),
        )

    compiled = armature.compile(f, fullgraph=True)
    for _ in range(3):
        assert compiled([1, 2]) == f([1, 2])


CONTAINERS = {
    "set": lambda: {1, 2, 300, 5.5},
    "set of objects": lambda: {torch.float32, None, int},
    "empty set": set,
    "OrderedDict": lambda: collections.OrderedDict(b=[1], a={2}),
    "defaultdict": lambda: collections.defaultdict(list, b=[1], a=collections.OrderedDict(x=1)),
    "defaultdict without a factory": lambda: collections.defaultdict(None, b=[1]),
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_containers_that_reduce_themselves(copied, kind, shared):
    def program(x, held):
        first = copied(held)
        both = copied([held, held]) if shared else [first]
        reduced = held["value"].__reduce_ex__(4)[0]
        return x + 1, first, both[0] is both[-1], len(first["value"]), reduced

    compiled = armature.compile(program, fullgraph=True)
    for change in (None, "grow"):
        held = {"value": CONTAINERS[kind]()}
        if change and isinstance(held["value"], dict):
            held["value"]["new"] = [9]
        elif change:
            held["value"].add(900)
        got, expected = compiled(torch.ones(1), held), program(torch.ones(1), held)
        assert repr(got) == repr(expected)
        assert type(got[1]["value"]) is type(held["value"])
        assert (got[1]["value"] is held["value"]) == (expected[1]["value"] is held["value"])
        if isinstance(held["value"], collections.defaultdict):
            assert got[1]["value"].default_factory is held["value"].default_factory


class Breaks:
    def __deepcopy__(self, memo):
        armature.graph_break()
        return 1


class Restored:
    def __setstate__(self, state):
        armature.graph_break()
        self.__dict__.update(state)


def test_addresses_of_constants_outlive_breaks():
    """Keys are data, and so are their addresses, by which a memo goes."""

    def fn(x, key):
        made = Restored()
        made.value = [key]
        given = {"p": x, key: [Breaks(), key]}
        copied = copy.deepcopy(given)
        again = copy.deepcopy([made, made, given])
        return list(copied), copied[key], again[0] is again[1], again[0].value, list(again[2])

    compiled = armature.compile(fn)
    for key in ("a", "".join(["b", "c"]), 5, 1.5, ("t", 1), "a"):
        assert compiled(torch.ones(2), key) == fn(torch.ones(2), key)

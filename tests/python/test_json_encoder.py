"""json.dumps() in a trace: what the encoder in C does (Modules/_json.c), with its errors, its calls
of the program, and its memory of what it is in the middle of."""

from __future__ import annotations

import collections
import enum
import json
import math
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every, check


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    pass


class Number(int):
    def __repr__(self) -> str:
        return "a number"


class Items(list):
    def __iter__(self) -> Any:
        return iter([7, 8])


class Pairs(dict):
    def items(self) -> Any:  # type: ignore[override]
        return [("first", 1), ("second", [2])]


class NoPairs(dict):
    def items(self) -> Any:  # type: ignore[override]
        return [("first", 1, 2)]


class Point:
    def __init__(self, x: Any) -> None:
        self.x = x


def cyclic_list() -> Any:
    items: list[Any] = [1]
    items.append(items)
    return items


def cyclic_dict() -> Any:
    items: dict[str, Any] = {"a": 1}
    items["b"] = [items]
    return items


def nested(depth: int) -> Any:
    items: Any = 1
    for _ in range(depth):
        items = [items]
    return items


Twice = collections.namedtuple("Twice", "a b")

DATA: dict[str, Any] = {
    "atoms": [None, True, False, 1, -2, 2**70, 1.5, -0.0, 1e300, "text", ""],
    "strings": ['"quoted"\\', "\n\t\x00", "ä€😀", "\ud800", Text("own")],
    "not_finite": [math.nan, math.inf, -math.inf],
    "keys": {"s": 1, 2: 2, 3.5: 3, True: 4, None: 5, math.inf: 6, Text("t"): 7, Number(8): 8},
    "bad_key": {(1, 2): 3},
    "numbers": [Level.LOW, Number(3), True],
    "empty": [[], (), {}, [[]], {"a": {}}],
    "subclasses": [Items([1]), Items(), Pairs(a=1), Pairs(), Twice(1, 2)],
    "no_pairs": NoPairs(a=1),
    "order": {"b": 1, "a": {"d": 1, "c": 2}},
    "mixed_keys": {"b": 1, 1: 2},
    "deep": nested(30),
    "deeper": nested(200),
    "cyclic_list": cyclic_list(),
    "cyclic_dict": cyclic_dict(),
    "shared": [[1]] * 3,
    "object": [1, Point(2)],
    "set": {"a": {1}},
    "ordered": collections.OrderedDict(b=1, a=2),
    "counted": collections.Counter("aab"),
    "default": collections.defaultdict(list, a=[1]),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sorted": {"sort_keys": True},
    "skipped": {"skipkeys": True},
    "finite": {"allow_nan": False},
    "unicode": {"ensure_ascii": False},
    "compact": {"separators": (",", ":")},
    "unchecked": {"check_circular": False},
    "default": {"default": lambda o: vars(o) if isinstance(o, Point) else sorted(o)},
}


# Without its check, Python itself comes to no end in what contains itself.
CASES = [
    (data, options)
    for data in DATA
    for options in OPTIONS
    if not (data.startswith("cyclic") and options == "unchecked")
]


@pytest.mark.parametrize(("data", "options"), CASES)
def test_is_as_plain(data: str, options: str) -> None:
    value, keywords = DATA[data], OPTIONS[options]

    def of_a_global(x: torch.Tensor) -> Any:
        return x + 1, json.dumps(value, **keywords)

    check(of_a_global, torch.ones(2))


@pytest.mark.parametrize("options", OPTIONS)
def test_is_in_the_graph(options: str) -> None:
    keywords = OPTIONS[options]

    def fn(x: torch.Tensor) -> Any:
        made = {"a": [1, 2.5, None, True, "x"], "b": {"c": (1, 2)}, "d": {}}
        return x + len(json.dumps(made, **keywords)), json.dumps(x.shape[0])

    check(fn, torch.ones(2), options={"fullgraph": True})


def test_what_the_program_is_asked() -> None:
    asked: list[Any] = []

    def fn(x: torch.Tensor) -> Any:
        def default(o: Any) -> Any:
            asked.append(o.x)
            return [o.x, x.shape[0]]

        return json.dumps([Point(1), {"a": Point(2)}], default=default), x + 1

    check(fn, torch.ones(3), watch=asked, restore=asked.clear, options={"fullgraph": True})


def test_an_object_that_gives_itself() -> None:
    def fn(x: torch.Tensor) -> Any:
        try:
            return json.dumps([Point(1)], default=lambda o: o), x
        except ValueError as error:
            return str(error), x + 1

    check(fn, torch.ones(3))


def test_an_error_of_the_programs() -> None:
    class Encoder(json.JSONEncoder):
        def default(self, o: Any) -> Any:
            if isinstance(o, Point):
                raise KeyError(o.x)
            return super().default(o)

    def fn(x: torch.Tensor, o: Any) -> Any:
        return json.dumps({"a": [o]}, cls=Encoder), x + 1

    check(
        fn,
        torch.ones(3),
        Point(3),
        more=((torch.ones(3), 3), (torch.ones(3), {1}), (torch.ones(3), "a")),
    )


def test_the_data_changes_between_calls() -> None:
    def fn(x: torch.Tensor, data: Any) -> Any:
        return json.dumps(data, sort_keys=True), x + 1

    inputs = [
        {"a": 1},
        {"a": 2},
        {"a": [1]},
        {"a": [1, 2]},
        {"b": "x"},
        [],
        None,
        1.5,
        {"a": Point(1)},
    ]
    check(fn, torch.ones(3), {"a": 0}, more=tuple((torch.ones(3), data) for data in inputs))


def test_a_list_that_grows_meanwhile() -> None:
    def fn(x: torch.Tensor) -> Any:
        items: list[Any] = [Point(1), 2]

        def default(o: Any) -> Any:
            if len(items) < 5:
                items.append(Point(len(items)))
            return o.x

        return json.dumps(items, default=default), x + 1

    check(fn, torch.ones(3))


def test_an_encoder_that_is_given_away() -> None:
    def fn(x: torch.Tensor) -> Any:
        markers: dict[int, Any] = {}
        encoder = json.encoder.JSONEncoder()
        made = json.encoder.c_make_encoder(
            markers,
            encoder.default,
            json.encoder.py_encode_basestring,
            None,
            ":",
            ",",
            True,
            False,
            True,
        )
        inside = made([1, {"b": 2, "a": "x"}], 0)
        return made, markers, inside, made.sort_keys, made.key_separator, x + 1

    results = [run(torch.ones(2)) for run in (fn, armature.compile(fn), armature.compile(fn))]
    for made, markers, inside, *rest in results:
        assert type(made) is json.encoder.c_make_encoder
        assert made.markers is markers and markers == {}
        assert inside == made([1, {"b": 2, "a": "x"}], 0) == results[0][2]
        assert tuple(rest[:2]) == results[0][3:5] == (True, ":")


@pytest.mark.parametrize("every", [1, 2, 7])
def test_breaks_inside(every: int) -> None:
    def fn(x: torch.Tensor) -> Any:
        data = [Point(1), {"a": Point(2), "b": [1, 2.5]}]
        return json.dumps(data, default=vars), x + 1

    with breaking_every(every):
        check(fn, torch.ones(3))

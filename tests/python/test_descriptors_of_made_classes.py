"""Descriptors of slots and of `__dict__` that a class made by the program has, alive at a break."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch


def slot_of_a_class(x: torch.Tensor) -> Any:
    class Point:
        __slots__ = ("x", "y")

    found = Point.x  # type: ignore[attr-defined]
    armature.graph_break()
    point = Point()
    found.__set__(point, 3)
    return x + 1, found is Point.__dict__["x"], point.x, found.__name__, found.__objclass__ is Point


def all_of_a_dict(x: torch.Tensor) -> Any:
    class Point:
        __slots__ = ("__hidden", "__weakref__", "x")
        z = 5

    found = list(Point.__dict__.values())
    armature.graph_break()
    return x + 1, [one is other for one, other in zip(found, Point.__dict__.values(), strict=True)]


def dict_and_weak_references(x: torch.Tensor) -> Any:
    made = type("Made", (), {"a": 1})
    found = made.__dict__["__dict__"], made.__dict__["__weakref__"], made.__dict__["__dict__"]
    one = made()
    one.b = 2  # type: ignore[attr-defined]
    armature.graph_break()
    return x + 1, found[0].__get__(one), found[1].__get__(one), found[0] is found[2]


def slot_in_another_class(x: torch.Tensor) -> Any:
    class Point:
        __slots__ = ("x",)

    class Other(Point):
        y = Point.x  # type: ignore[attr-defined]

    found = Other.y
    armature.graph_break()
    other = Other()
    other.y = 4  # type: ignore[misc]
    return x + 1, found is Point.x, other.x, other.y  # type: ignore[attr-defined]


def slot_taken_away(x: torch.Tensor) -> Any:
    class Point:
        __slots__ = ("x",)

    found, point = Point.x, Point()  # type: ignore[attr-defined]
    del Point.x  # type: ignore[attr-defined]
    armature.graph_break()
    found.__set__(point, 3)
    return x + 1, found.__get__(point), hasattr(point, "x")


def slot_replaced(x: torch.Tensor) -> Any:
    class Point:
        __slots__ = ("x",)

    found, point = Point.x, Point()  # type: ignore[attr-defined]
    Point.x = 7  # type: ignore[attr-defined]
    armature.graph_break()
    found.__set__(point, 3)
    return x + 1, found.__get__(point), point.x  # type: ignore[attr-defined]


def slots_as_result(x: torch.Tensor) -> Any:
    class Point:
        __slots__ = ("x", "y")

    point = Point()
    Point.x.__set__(point, x * 2)  # type: ignore[attr-defined]
    return x + 1, Point.x.__get__(point), {Point.y: Point.y}.popitem()[0] is Point.y  # type: ignore[attr-defined]


PROGRAMS = [
    slot_of_a_class,
    all_of_a_dict,
    dict_and_weak_references,
    slot_in_another_class,
    slot_taken_away,
    slot_replaced,
    slots_as_result,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_descriptors_at_a_break(program: Callable[[torch.Tensor], Any]) -> None:
    compiled = armature.compile(program)
    for _ in range(3):
        (sum_, *plain), (captured_sum, *captured) = program(torch.ones(2)), compiled(torch.ones(2))
        assert torch.equal(sum_, captured_sum)
        assert [repr(item) for item in plain] == [repr(item) for item in captured]


def test_the_class_dies_with_its_descriptor() -> None:
    def f() -> Any:
        class Point:
            __slots__ = ("x",)

        found = Point.x  # type: ignore[attr-defined]
        armature.graph_break()
        return found

    compiled = armature.compile(f)
    for _ in range(3):
        found = compiled()
        owner = weakref.ref(found.__objclass__)
        gc.collect()
        assert owner() is not None
        del found
        gc.collect()
        assert owner() is None


def test_nothing_is_left_to_python(caplog: pytest.LogCaptureFixture) -> None:
    for program in (slot_of_a_class, all_of_a_dict, dict_and_weak_references):
        armature.compile(program)(torch.ones(2))
    assert "failed to compile" not in caplog.text

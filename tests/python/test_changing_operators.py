"""Operators of torch.ops that change their arguments, as their schemas say: which, and whether what
they return is one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from differential import check
from torch import Tensor


@pytest.fixture(scope="module", autouse=True)
def operators() -> Iterator[Any]:
    with torch.library._scoped_library("changing", "FRAGMENT") as library:

        def define(schema: str, function: Callable[..., Any], fake: Callable[..., Any]) -> None:
            name = schema.partition("(")[0]
            library.define(schema)
            library.impl(name, function, "CompositeExplicitAutograd")
            torch.library.register_fake(f"changing::{name}", fake, lib=library)

        def first(x: Tensor) -> Tensor:
            return x.add_(1) * 2

        def both(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
            return a.add_(x) + b.mul_(2)

        def several(ys: list[Tensor], k: int) -> None:
            for y in ys:
                y.add_(k)

        def optional(x: Tensor, y: Tensor | None = None) -> Tensor:
            if y is not None:
                y.add_(1)
            return x + 1

        def named(x: Tensor, *, total: Tensor) -> None:
            total.add_(x)

        def itself(x: Tensor, y: Tensor) -> Tensor:
            return y.add_(x)

        define("first(Tensor(a!) x) -> Tensor", first, torch.empty_like)
        define(
            "both(Tensor x, Tensor(a!) a, Tensor(b!) b) -> Tensor",
            both,
            lambda x, a, b: torch.empty_like(x),
        )
        define("several(Tensor(a!)[] ys, int k) -> ()", several, lambda ys, k: None)
        define(
            "optional(Tensor x, Tensor(a!)? y=None) -> Tensor",
            optional,
            lambda x, y=None: torch.empty_like(x),
        )
        define("named(Tensor x, *, Tensor(a!) total) -> ()", named, lambda x, *, total: None)
        define("itself(Tensor x, Tensor(a!) y) -> Tensor(a!)", itself, lambda x, y: y)
        define("mixed(Tensor(a!) x) -> Tensor", first, torch.empty_like)
        define(
            "mixed.other(Tensor x, Tensor(a!) y) -> Tensor",
            lambda x, y: y.add_(x) * 2,
            lambda x, y: torch.empty_like(x),
        )
        yield torch.ops.changing


def changes_an_input(x: Tensor) -> Any:
    result = torch.ops.changing.first(x)
    result.add_(10)
    return result, x + 1


def changes_its_own(x: Tensor) -> Any:
    y = x + 0
    view = y[1:]
    result = torch.ops.changing.first(y)
    result.add_(10)
    return result, y, view, result is y


def changes_two(x: Tensor) -> Any:
    a, b = torch.ones(2), torch.ones(2)
    result = torch.ops.changing.both(x, a, b=b)
    return result, a + 1, b, x


def changes_a_list(x: Tensor) -> Any:
    ys = [x + 0, x]
    return torch.ops.changing.several(ys, 3), ys, x * 2


def changes_what_may_be_left_out(x: Tensor) -> Any:
    y = x * 2
    one = torch.ops.changing.optional(x)
    two = torch.ops.changing.optional(x, y)
    three = torch.ops.changing.optional(x, y=y)
    return one, two, three.add_(1), y, torch.ops.changing.optional(x, None)


def changes_by_name(x: Tensor) -> Any:
    total = torch.zeros(2)
    for _ in range(3):
        torch.ops.changing.named(x, total=total)
    return total, total.sum()


def returns_the_second(x: Tensor) -> Any:
    y = x + 1
    result = torch.ops.changing.itself(x, y)
    result.mul_(2)
    return result, y


def an_overload(x: Tensor) -> Any:
    y = x + 1
    result = torch.ops.changing.both.default(x, y, x)
    return result, y, x


def one_of_several_overloads(x: Tensor) -> Any:
    y = x + 1
    result = torch.ops.changing.mixed(x, y)
    return result.add_(5), y, x


def noise_of_torch(x: Tensor) -> Any:
    noise = torch.empty(2)
    result = torch.ops.aten.rrelu_with_noise(-x, noise, 0.5, 0.5, True)
    return result.add_(1), noise


PROGRAMS = [
    changes_an_input,
    changes_its_own,
    changes_two,
    changes_a_list,
    changes_what_may_be_left_out,
    changes_by_name,
    returns_the_second,
    an_overload,
    one_of_several_overloads,
    noise_of_torch,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_they_change(program: Callable[..., Any], backend: str) -> None:
    if program is returns_the_second and backend == "aot_eager":
        return  # AOTAutograd takes no operator whose result is an argument
    check(program, torch.ones(2), options={"backend": backend})


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_are_operations_of_the_graph(program: Callable[..., Any]) -> None:
    breaks = armature.explain(program)(torch.ones(2)).graph_break_count
    assert breaks == (program is one_of_several_overloads)

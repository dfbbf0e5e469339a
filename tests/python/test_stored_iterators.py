"""Iterators that existing objects come to hold, over existing containers that the trace has changed
before: they are made when the changes which they show were done again, and stored behind that.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest


class World:
    def __init__(self) -> None:
        self.items = [1]
        self.data = {"a": 1}
        self.ordered = OrderedDict(a=1)
        self.queue = deque([1])
        self.names = {"a"}
        self.walk: Any = None


def over_a_dict(world: World) -> Any:
    world.data["b"] = 2
    world.walk = iter(world.data)
    next(world.walk)
    armature.graph_break()
    return list(world.walk)


def over_a_deque(world: World) -> Any:
    world.queue.append(2)
    world.walk = iter(world.queue)
    next(world.walk)
    armature.graph_break()
    return list(world.walk)


def beyond_a_list(world: World) -> Any:
    world.items.append(2)
    world.walk = iter(world.items)
    next(world.walk), next(world.walk)
    armature.graph_break()
    world.items.append(5)
    return list(world.walk)


def over_ordered_items(world: World) -> Any:
    world.ordered["b"] = 2
    world.walk = iter(world.ordered.items())
    next(world.walk)
    armature.graph_break()
    return list(world.walk)


def over_a_set(world: World) -> Any:
    world.names.add("b")
    world.walk = iter(world.names)
    seen = [next(world.walk)]
    armature.graph_break()
    return sorted([*seen, *world.walk])


def held_by_another(world: World) -> Any:
    world.data["b"] = 2
    world.walk = [enumerate(world.data)]
    next(world.walk[0])
    armature.graph_break()
    return list(world.walk[0])


def held_several_times(world: World) -> Any:
    world.items.append(2)
    world.queue.append(3)
    walks = [iter(world.queue)]
    next(walks[0])
    world.items.append(walks)  # type: ignore[arg-type]
    world.walk = walks
    steps = enumerate(world.items[-1])  # type: ignore[arg-type,var-annotated]
    armature.graph_break()
    same = world.walk is world.items[-1], next(steps)[1] is walks[0]
    return same, list(walks[0]), len(world.items)


def of_a_container_that_is_replaced(world: World) -> Any:
    world.data["b"] = 2
    world.walk = iter(world.data)
    next(world.walk)
    world.data = {}
    armature.graph_break()
    return list(world.walk), world.data


def in_a_cell(world: World) -> Any:
    walk: Any = None

    def begin() -> None:
        nonlocal walk
        world.data["b"] = 2
        walk = iter(world.data)
        next(walk)

    armature.graph_break()
    begin()
    armature.graph_break()
    return list(walk)


def growing(items: Any) -> Iterator[Any]:
    yield 0
    items.append(1)
    items.append(2)
    items.append(3)
    yield from items


def in_a_generator(items: Any) -> Any:
    walk = growing(items)
    seen = [next(walk)]
    armature.graph_break()
    seen += next(walk), next(walk), next(walk)
    armature.graph_break()
    return seen, list(walk), items


def in_a_generator_over_a_list(world: World) -> Any:
    return in_a_generator(world.items)


def in_a_generator_over_a_deque(world: World) -> Any:
    return in_a_generator(world.queue)


def changed_behind_a_generator(world: World) -> Any:
    walk = growing(world.items)
    seen = [next(walk)]
    armature.graph_break()
    seen += next(walk), next(walk), next(walk)
    world.items.append(7)
    world.walk = walk
    armature.graph_break()
    return seen, list(world.walk)


def keys_in_a_generator(world: World) -> Any:
    def growing() -> Iterator[Any]:
        yield 0
        world.data["b"] = 2
        world.data["c"] = 3
        yield from world.data

    walk = growing()
    seen = [next(walk)]
    armature.graph_break()
    seen += next(walk), next(walk)
    armature.graph_break()
    return seen, list(walk)


def in_a_chain(world: World) -> Any:
    walk = itertools.chain.from_iterable([[1], world.queue, world.items])
    seen = [next(walk)]
    armature.graph_break()
    world.queue.append(4)
    world.items.append(8)
    seen += next(walk), next(walk)
    armature.graph_break()
    seen += next(walk), next(walk)
    armature.graph_break()
    return seen, list(walk)


@pytest.mark.parametrize(
    "program",
    [
        over_a_dict,
        over_a_deque,
        beyond_a_list,
        over_ordered_items,
        over_a_set,
        held_by_another,
        held_several_times,
        of_a_container_that_is_replaced,
        in_a_cell,
        in_a_generator_over_a_list,
        in_a_generator_over_a_deque,
        changed_behind_a_generator,
        keys_in_a_generator,
        in_a_chain,
    ],
)
def test_stored_iterators(program: Callable[[World], Any]) -> None:
    expected = program(World())
    compiled = armature.compile(program)
    with armature.capture_frames():
        for _ in range(3):
            assert compiled(World()) == expected

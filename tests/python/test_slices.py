"""Slices that existed before the trace, or a break, with parts that are no data."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable
from typing import Any

import armature
import pytest
from differential import check


class Place(enum.IntEnum):
    FIRST = 1


class Number(int):
    pass


class Index:
    def __init__(self, value: int) -> None:
        self.value = value
        self.asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return self.value


def read(sequence: Any, place: slice) -> Any:
    try:
        return sequence[place]
    except (TypeError, ValueError) as error:
        return type(error), error.args


def assign(sequence: Any, place: slice) -> Any:
    try:
        sequence[place] = sequence[:1]
    except (TypeError, ValueError) as error:
        return type(error), error.args
    return sequence


def delete(sequence: Any, place: slice) -> Any:
    try:
        del sequence[place]
    except (TypeError, ValueError) as error:
        return type(error), error.args
    return sequence


def read_behind_break(sequence: Any, place: slice) -> Any:
    again = slice(place.start, place.stop, place.step)
    armature.graph_break()
    return read(sequence, again), again == place


def attributes(_sequence: Any, place: slice) -> Any:
    return place.start, place.stop, place.step, place, [place, place][0] is place


PROGRAMS = [read, assign, delete, read_behind_break, attributes]
PARTS: list[Callable[[], Any]] = [
    lambda: Place.FIRST,
    lambda: Number(1),
    lambda: Index(1),
    lambda: Index(0),
    lambda: [1],
    lambda: "a",
]
SEQUENCES = [(1, 2, 3), [1, 2, 3], "abc", b"abc", range(3), bytearray(b"abc"), (1, [2], 3)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("part", range(len(PARTS)))
def test_parts(program: Callable[[Any, slice], Any], part: int) -> None:
    def outcome(function: Callable[[Any, slice], Any], sequence: Any, where: int) -> Any:
        made = PARTS[part]()
        parts = [made if i == where else None for i in range(3)]
        found = function(copy.copy(sequence), slice(*parts))
        return repr(found).replace(repr(made), "made"), vars(made).get("asked") if isinstance(
            made, Index
        ) else None

    for sequence in SEQUENCES:
        armature.reset()
        compiled = armature.compile(program)
        for where in range(3):
            assert outcome(compiled, sequence, where) == outcome(program, sequence, where)


def test_a_part_that_changes() -> None:
    index = Index(1)
    place = slice(None, index)

    def program(value: int) -> Any:
        index.value = value
        return [1, 2, 3][place], place.stop is index

    check(program, 1, more=((2,), (0,), (-1,)))


def test_a_slice_of_itself() -> None:
    held: list[Any] = []
    place = slice(held, 1)
    held.append(place)

    def program(other: slice) -> Any:
        return other.start is held, held[0] is other, read([1], other)

    check(program, place)

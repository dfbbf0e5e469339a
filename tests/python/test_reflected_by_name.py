"""Reflected operators and format() of constants, with operands that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest


class Number(int):
    pass


class Specification(str):
    pass


CONSTANT, ITEMS, TWO, ONE = frozenset({4}), {3}, Number(2), (1,)
DIGITS = Specification(".2f")

PROGRAMS: list[Callable[[], Any]] = [
    lambda: CONSTANT.__ror__(ITEMS),
    lambda: CONSTANT.__rsub__(ITEMS),
    lambda: CONSTANT.__rand__(ITEMS),
    lambda: CONSTANT.__rxor__(ITEMS),
    lambda: CONSTANT.__or__(ITEMS),
    lambda: ONE.__rmul__(TWO),
    lambda: ONE.__mul__(TWO),
    lambda: (1).__radd__(TWO),
    lambda: (1).__radd__(2.0),
    lambda: format(1.5, DIGITS),
    lambda: format(1.5, None),  # type: ignore[arg-type]
    lambda: format(1.5, 2),  # type: ignore[arg-type]
]


def outcome(program: Callable[[], Any]) -> Any:
    try:
        result = program()
    except TypeError as error:
        return str(error)
    return type(result), result


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_as_in_python(number: int) -> None:
    captured = armature.compile(PROGRAMS[number])
    for _ in range(2):
        assert outcome(captured) == outcome(PROGRAMS[number])

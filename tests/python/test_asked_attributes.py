"""What copying asks of objects, and of what: themselves or their classes."""

from __future__ import annotations

import copy
from typing import Any

import armature
import pytest

ASKED: list[str] = []


class Missing:
    def __getattr__(self, name: str) -> Any:
        ASKED.append(name)
        raise AttributeError(name)


class Heard:
    def __getattribute__(self, name: str) -> Any:
        ASKED.append(name)
        return object.__getattribute__(self, name)


class Own:
    def __reduce__(self) -> Any:
        ASKED.append("own")
        return Own, ()


class OwnOfInstance:
    def __init__(self) -> None:
        self.__reduce__ = lambda: ASKED.append("never")


@pytest.mark.parametrize("made", [Missing, Heard, Own, OwnOfInstance])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: one.__reduce_ex__(4)])
def test_copies(made: Any, copied: Any) -> None:
    if made is OwnOfInstance and copied is copy.deepcopy:
        made = Own  # What deepcopy() makes of a function of the instance is no question here.
    existing = made()
    captured = armature.compile(copied)
    copied(existing)
    expected = list(ASKED)
    for _ in range(2):
        ASKED.clear()
        captured(existing)
        assert expected == ASKED
    ASKED.clear()

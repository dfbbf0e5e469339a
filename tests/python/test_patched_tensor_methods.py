"""Methods of torch.Tensor that its own Python code calls are replaced between two calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch


def length(x: Any) -> Any:
    return x + len(x)


def turns(x: Any) -> Any:
    return [row + 1 for row in x]


def unpacked(x: Any) -> Any:
    first, *others = x
    return first, others


def summed(x: Any) -> Any:
    return sum(x) + 0


REPLACED: dict[str, Any] = {
    "shape": property(lambda self: (7, 8)),
    "dim": lambda self: 0,
    "unbind": lambda self, dimension=0: [5, 6],
    "__len__": lambda self: 3,
    "__iter__": lambda self: iter([1]),
}


@pytest.mark.parametrize("name", REPLACED)
@pytest.mark.parametrize("function", [length, turns, unpacked, summed])
def test_what_len_and_iter_call(function: Callable[..., Any], name: str, monkeypatch: Any) -> None:
    def outcome(call: Callable[..., Any]) -> str:
        with monkeypatch.context() as world:
            world.setattr(torch.Tensor, name, REPLACED[name], raising=True)
            try:
                result = call(torch.arange(4.0))
            except TypeError as error:
                return str(error)
        return repr(result)

    compiled = armature.compile(function)
    assert repr(compiled(torch.arange(4.0))) == repr(function(torch.arange(4.0)))
    assert outcome(compiled) == outcome(function)
    assert repr(compiled(torch.arange(4.0))) == repr(function(torch.arange(4.0)))

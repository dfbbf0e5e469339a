"""What the program has put in the place of torch's own queries, only the program calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
import torch.utils.checkpoint

LAYER = torch.nn.Linear(3, 3)


def checkpointed(x: torch.Tensor) -> Any:
    return torch.utils.checkpoint.checkpoint(LAYER, x, use_reentrant=False)


def promoted(x: torch.Tensor) -> Any:
    y = x.int() / 2 + 1.5
    return y, y.dtype == torch.float32, torch.full((2,), 1.5).dtype


def in_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
    return y.is_inference(), y.shape


@pytest.mark.parametrize("program", [checkpointed, promoted, in_inference_mode])
@pytest.mark.parametrize(
    "name", ["is_grad_enabled", "get_default_dtype", "is_inference_mode_enabled"]
)
def test_calls(program: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, calls = getattr(torch, name), []

    def query(*arguments: Any) -> Any:
        calls.append(arguments)
        return own(*arguments)

    monkeypatch.setattr(torch, name, query)
    program(torch.ones(2, 3))
    expected = list(calls)
    captured = armature.compile(program)
    for _ in range(3):
        calls.clear()
        captured(torch.ones(2, 3))
        assert calls == expected

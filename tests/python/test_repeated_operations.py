"""Operations that a trace meets again: torch is asked once, and is right for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import check

ASKED: list[tuple[Any, ...]] = []


@torch.library.custom_op("remembered::scaled", mutates_args=())
def scaled(x: torch.Tensor, y: torch.Tensor, factor: float, name: str) -> torch.Tensor:
    return (x + y * factor).contiguous()


@scaled.register_fake
def _(x, y, factor, name):
    ASKED.append((x is y, tuple(x.shape), x.stride(), x.dtype, factor, name))
    return torch.empty(torch.broadcast_shapes(x.shape, y.shape), dtype=x.dtype)


def described(x: torch.Tensor) -> tuple[Any, ...]:
    return tuple(x.shape), x.stride(), x.dtype, x.requires_grad, x.is_leaf, x.is_contiguous()


def asked(program: Callable[..., Any], *args: Any) -> int:
    """How often the trace of the program asks for the operator; its results are plain Python's."""
    compiled = armature.compile(program, fullgraph=True)
    del ASKED[:]
    found, expected = compiled(*args), program(*args)
    assert repr(found) == repr(expected)
    return len(ASKED)


def test_equal_layers():
    def layers(x):
        seen = []
        for _ in range(6):
            x = scaled(x, x, 2.0, "a")
            seen.append(described(x))
        return x, seen

    def once(x):
        x = scaled(x, x, 2.0, "a")
        return x, described(x)

    # The input is none of the results: its dispatch keys are known, and it may be a view.
    assert asked(layers, torch.ones(2, 3)) <= asked(once, torch.ones(2, 3)) + 1


@pytest.mark.parametrize(
    "other",
    [
        lambda x: scaled(x, x.clone(), 2.0, "a"),
        lambda x: scaled(x, x, 3.0, "a"),
        lambda x: scaled(x, x, 2, "a"),
        lambda x: scaled(x, x, -0.0, "a"),
        lambda x: scaled(x, x, 2.0, "b"),
        lambda x: scaled(x, x, factor=2.0, name="a"),
        lambda x: scaled(x.t().clone().t(), x, 2.0, "a"),
        lambda x: scaled(x.double(), x, 2.0, "a"),
        lambda x: scaled(x[:1], x, 2.0, "a"),
        lambda x: scaled(x[:1], x[:1], 2.0, "a"),
        lambda x: scaled(x, x[0], 2.0, "a"),
    ],
)
def test_other_operations_are_asked_for(other):
    def first(x):
        x = x + 1
        y = scaled(x, x, 2.0, "a")
        return described(y), y

    def both(x):
        x = x + 1
        y = scaled(x, x, 2.0, "a")
        z = other(x)
        return described(y), described(z), y, z

    x = torch.ones(2, 3)
    assert asked(both, x) > asked(first, x)


class Block(torch.nn.Module):
    def __init__(self, size: int, dtype: torch.dtype | None) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(size, size)
        self.norm = torch.nn.LayerNorm(size)
        self.dtype = dtype

    def forward(self, x, seen):
        y = self.linear(x)
        seen.append(described(y))
        y = torch.nn.functional.softmax(y @ y.transpose(-1, -2), -1, dtype=self.dtype) @ x
        seen.append(described(y))
        y = torch.cat([y, self.norm(x).to(y.dtype)], -1)[..., : x.shape[-1]]
        seen.append(described(y))
        values, indices = y.topk(2, -1)
        seen.append((described(values), described(indices)))
        return y + values.sum(-1, keepdim=True)


def layers(dtypes: list[torch.dtype | None]) -> torch.nn.ModuleList:
    torch.manual_seed(0)
    return torch.nn.ModuleList(Block(4, dtype) for dtype in dtypes)


MODES: dict[str, Callable[[], Any]] = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference": lambda: torch.inference_mode(),
    "no_grad": lambda: torch.no_grad(),
    "autocast and no_grad": lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("inside", [False, True])
def test_layers_in_modes(mode, inside):
    blocks = layers([None, None, torch.float64, None, torch.float32])

    def program(x):
        seen: list[Any] = []
        for block in blocks:
            x = block(x, seen)
        return x, seen

    def partly(x):
        seen: list[Any] = []
        for i, block in enumerate(blocks):
            if i % 2:
                with MODES[mode]():
                    x = block(x, seen).float()
            else:
                x = block(x.float(), seen)
        return x, seen

    if inside and mode == "inference":
        # Backward is refused for what inference mode has made, as in plain Python.
        partly = torch.no_grad()(partly)
    if inside:
        check(partly, torch.randn(3, 4), breaks=None)
        return
    with MODES[mode]():
        check(program, torch.randn(3, 4), breaks=None)


def test_results_that_are_their_arguments_are_no_others():
    def program(x):
        kept = []
        for _ in range(4):
            x = x * 2
            y = x.relu_()
            kept.append(y is x)
            kept.append(x.contiguous() is x)
            kept.append(x.to(torch.float32) is x)
        return x, kept

    with torch.autocast("cpu", torch.bfloat16):
        check(program, torch.ones(2, 2), breaks=None)
    with torch.inference_mode():
        check(program, torch.ones(2, 2), breaks=None)


def test_data_that_raises():
    def program(x, index):
        found = []
        for _ in range(3):
            try:
                x = torch.nn.functional.embedding(index, x)[0]
            except IndexError as error:
                found.append(str(error))
        return x, found

    with torch.inference_mode():
        check(program, torch.ones(3, 2), torch.tensor([[0, 7]]), breaks=None)
        check(program, torch.ones(3, 2), torch.tensor([[0, 1]]), breaks=None)

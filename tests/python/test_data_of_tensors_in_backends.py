"""`x.data` under backends that compile: changes of it are none that autograd is told of."""

from __future__ import annotations

from typing import Any

import armature
import pytest
import torch


def changed_before_backward(w: torch.Tensor, p: torch.Tensor) -> Any:
    z = w * p
    p.data.zero_()
    z.sum().backward()
    return w.grad, p


def given(w: torch.Tensor, p: torch.Tensor) -> Any:
    z = w * p
    hidden = p.data
    armature.graph_break()
    hidden.add_(1)
    z.sum().backward()
    return w.grad, hidden, p


def given_in_part(w: torch.Tensor, p: torch.Tensor) -> Any:
    z = w * p
    hidden = p.data[1:]
    armature.graph_break()
    hidden.add_(1)
    z.sum().backward()
    return w.grad, hidden, p


@pytest.mark.parametrize("program", [changed_before_backward, given, given_in_part])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_data(program: Any, backend: str) -> None:
    captured = armature.compile(program, backend=backend)
    for _ in range(2):
        inputs = [[torch.ones(3, requires_grad=True) for _ in range(2)] for _ in range(2)]
        expected, actual = program(*inputs[0]), captured(*inputs[1])
        for one, other in zip(expected, actual, strict=True):
            equal = torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
            assert equal, (one, other)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam])
def test_optimizers_with_scalars_of_data(kind: Any) -> None:
    def train(compiled: bool) -> torch.Tensor:
        parameter = torch.nn.Parameter(torch.arange(4.0))
        optimizer = kind([parameter], foreach=True)
        step = armature.compile(optimizer.step, backend="aot_eager") if compiled else optimizer.step
        for i in range(3):
            parameter.grad = torch.full((4,), float(i))
            step()
        return parameter.detach()

    torch.testing.assert_close(train(True), train(False))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_assertion_about_a_tensor_without_data(backend: str) -> None:
    def program(x: torch.Tensor) -> int:
        assert x.sum() > 1, "small"
        return 1

    captured = armature.compile(program, backend=backend)
    for one in (program, captured):
        with pytest.raises(RuntimeError, match=r"item\(\) cannot be called on meta tensors"):
            one(torch.ones(2, device="meta"))

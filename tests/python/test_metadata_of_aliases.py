"""What an array is, is changed through one name and asked for through another."""

from __future__ import annotations

from typing import Any

import armature
import pytest
import torch


def unsqueezed(x: Any, a: Any, b: Any) -> Any:
    a.unsqueeze_(0)
    return x * 2, b.shape, b.dim(), len(b)


def transposed(x: Any, a: Any, b: Any) -> Any:
    a.t_()
    return x * 2 if b.shape[0] == 2 else x * 3


def made_to_require_gradients(x: Any, a: Any, b: Any) -> Any:
    a.requires_grad_()
    return x * 2, (b * 1).requires_grad, b.requires_grad


def swapped_by_an_operator(x: Any, a: Any, b: Any) -> Any:
    torch.ops.aten.transpose_(a, 0, 1)
    return torch.zeros(b.shape), b.stride(), x + 1


def squeezed_behind_a_use(x: Any, a: Any, b: Any) -> Any:
    y = b.sum()
    a.squeeze_()
    return y + x, b.shape


@pytest.mark.parametrize(
    "function",
    [
        unsqueezed,
        transposed,
        made_to_require_gradients,
        swapped_by_an_operator,
        squeezed_behind_a_use,
    ],
)
@pytest.mark.parametrize("order", [(False, True), (True, False), (False, True, False, True)])
def test_arguments_that_may_be_one(function: Any, order: tuple[bool, ...]) -> None:
    def outcome(call: Any, same: bool) -> str:
        a = torch.ones(2, 3)
        b = a if same else torch.ones(2, 3)
        return repr((call(torch.ones(1), a, b), a, b))

    compiled = armature.compile(function)
    for same in order:
        assert outcome(compiled, same) == outcome(function, same)


GLOBAL = torch.ones(2, 3)


def test_a_global_that_is_an_argument() -> None:
    def change(x: Any, a: Any) -> Any:
        a.t_()
        return x + 1, GLOBAL.shape

    global GLOBAL
    compiled = armature.compile(change)
    for same in (False, True):
        results = []
        for call in (change, compiled):
            GLOBAL = torch.ones(2, 3)
            results.append(call(torch.ones(1), GLOBAL if same else torch.ones(2, 3)))
        assert repr(results[0]) == repr(results[1])

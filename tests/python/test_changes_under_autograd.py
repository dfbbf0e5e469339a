"""Changes in place of what autograd knows, as views or as what it keeps, under every backend.

Autograd refuses some of them, and others only when the backward pass is run; compilers of graphs
change what it refuses, and refuse what it allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch

WEIGHT = torch.arange(1.0, 5.0).requires_grad_()


def leaf() -> torch.Tensor:
    return torch.arange(4.0).requires_grad_()


def computed() -> torch.Tensor:
    return leaf() * 2


def plain() -> torch.Tensor:
    return torch.arange(4.0)


def changes_an_item(x: torch.Tensor) -> torch.Tensor:
    x[0] += x[1]
    return x


def changes_a_view(x: torch.Tensor) -> torch.Tensor:
    x.view(2, 2).add_(1)
    return x


def changes_one_of_several(x: torch.Tensor) -> torch.Tensor:
    x.unbind()[0].add_(1)
    return x


def changes_one_of_several_by_gradients(x: torch.Tensor) -> torch.Tensor:
    x.split(2)[0].mul_(WEIGHT[:2])
    return x


def changes_one_of_several_of_its_own(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.chunk(2)[1].add_(1)
    return y


def changes_what_no_grad_saw(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        v = x[:2]
    v.add_(1)
    return x


def catches_the_refusal(x: torch.Tensor) -> Any:
    with torch.no_grad():
        v = x[:2]
    try:
        v.add_(1)
    except RuntimeError:
        return "refused", x
    return "allowed", x


def changes_in_no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x.view(2, 2)
        y.add_(1)
    return y


def gives_a_view_of_what_it_changes(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        r = x[:1]
        x.mul_(0.5)
        return r


def changes_what_was_used(x: torch.Tensor) -> torch.Tensor:
    y = x * x
    with torch.no_grad():
        x.mul_(0.5)
    return y


def changes_a_factor(x: torch.Tensor) -> torch.Tensor:
    y = x * WEIGHT
    x.mul_(2)
    return y


def changes_a_kept_result(x: torch.Tensor) -> torch.Tensor:
    y = (x * WEIGHT).exp()
    y.add_(1)
    return y.detach()


def catches_the_backward_pass(x: torch.Tensor) -> Any:
    y = (x * WEIGHT).exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        return "refused", y.detach()
    return "allowed", y.detach()


def changes_what_nobody_keeps(x: torch.Tensor) -> torch.Tensor:
    y = x + WEIGHT
    y += 1
    y.relu_()
    return y


PROGRAMS = [
    changes_an_item,
    changes_a_view,
    changes_one_of_several,
    changes_one_of_several_by_gradients,
    changes_one_of_several_of_its_own,
    changes_what_no_grad_saw,
    catches_the_refusal,
    changes_in_no_grad,
    gives_a_view_of_what_it_changes,
    changes_what_was_used,
    changes_a_factor,
    changes_a_kept_result,
    catches_the_backward_pass,
    changes_what_nobody_keeps,
]


def outcome(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    try:
        result = function(x)
    except RuntimeError as error:
        result = str(error)
    arrays = torch.utils._pytree.tree_leaves(result)
    values = [each.tolist() if isinstance(each, torch.Tensor) else each for each in arrays]
    return values, x.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("make", [leaf, computed, plain])
@pytest.mark.parametrize("program", PROGRAMS)
def test_autograd_decides(
    program: Callable[[torch.Tensor], Any], make: Callable[[], torch.Tensor], backend: str
) -> None:
    expected = outcome(program, make())
    compiled = armature.compile(program, backend=backend)
    for _ in range(2):
        assert outcome(compiled, make()) == expected


def asserts(x: torch.Tensor, index: torch.Tensor) -> Any:
    torch._assert_async(index[0] < 3)
    return x + 1


def catches_an_assertion(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        torch._assert_async(index[0] < 3)
    except RuntimeError:
        return "refused"
    return "allowed"


def selects_for_nothing(x: torch.Tensor, index: torch.Tensor) -> Any:
    x[index]
    return x + 1


def selects_in_finally(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        return x + 1
    finally:
        x.index_select(0, index)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", [asserts, catches_an_assertion, selects_for_nothing, selects_in_finally]
)
def test_what_nobody_uses_raises(program: Callable[..., Any], backend: str) -> None:
    compiled = armature.compile(program, backend=backend)
    for index in (1, 9, 1, 9):
        results = []
        for each in (program, compiled):
            try:
                results.append(repr(each(plain(), torch.tensor([index]))))
            except (IndexError, RuntimeError) as error:
                results.append(repr(error))
        assert results[0] == results[1]

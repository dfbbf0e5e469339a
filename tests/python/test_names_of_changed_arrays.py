"""By which names arrays go in graphs that change them: those of TorchDynamo's graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
import torch.nn.functional as F
from graph_texts import graph_of


def dropped(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y.add_(1)
    y.mul_(y)
    return y * 2


def of_an_input(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def used_and_dropped(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y.sub_(2)
    z = y.relu_() * 3
    return z + 1


def augmented(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y += 1
    y.relu_()
    y -= 1
    return y + 1


def by_functions(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    F.relu(y, inplace=True)
    torch.relu_(y)
    return y + 1


def by_items(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[0] = 3
    y[1].zero_()
    y.clamp_(max=2)
    return y + 1


def returned(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + 1
    z = y.view(-1)
    y.add_(1)
    return y, z


def in_a_body(x: torch.Tensor) -> torch.Tensor:
    def body(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        y.add_(1)
        return y.sin()

    return torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)


PROGRAMS = [
    dropped,
    of_an_input,
    used_and_dropped,
    augmented,
    by_functions,
    by_items,
    returned,
    in_a_body,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_names(program: Callable[..., Any]) -> None:
    ours = graph_of(armature.compile, program, torch.ones(3))
    assert ours == graph_of(torch.compile, program, torch.ones(3))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_results(program: Callable[..., Any], backend: str) -> None:
    compiled = armature.compile(program, backend=backend)
    for _ in range(2):
        plain, captured = torch.arange(3.0), torch.arange(3.0)
        expected, found = program(plain), compiled(captured)
        assert repr((found, captured)) == repr((expected, plain))


def test_our_own_text_has_the_names() -> None:
    compiled = armature.compile(dropped)
    compiled(torch.ones(3))
    (entry,) = armature._C.entries(compiled)
    assert "mul = y * 2" in str(entry["graph"])

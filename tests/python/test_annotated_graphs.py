"""What backends are told of graphs, to the letter as TorchDynamo's: names, order, annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from graph_texts import graph_of
from torch import nn
from torch.nn import functional

LAYER = nn.Linear(4, 4)


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("offset", torch.ones(4))
        self.plain = torch.ones(4)
        self.list = nn.ParameterList([torch.ones(4), torch.ones(4)])


HOLDER = Holder()
HOOKED = Holder()
HOOKED.layer.register_forward_hook(lambda module, given, result: result * 2)
PREPARED = Holder()
PREPARED.layer.register_forward_pre_hook(lambda module, given: given[0] + 1)


def unused_parameter(x: torch.Tensor) -> torch.Tensor:
    weight = HOLDER.weight
    del weight
    return x + 1


def parameter_asked_first(x: torch.Tensor) -> torch.Tensor:
    weight = HOLDER.weight
    y = x + 1
    return y * weight


def stored_in_a_cell(x: torch.Tensor) -> torch.Tensor:
    mine = x * 2

    def inner() -> torch.Tensor:
        nonlocal mine
        mine = mine.sin()
        other = None

        def innermost() -> None:
            nonlocal other
            other = mine + 1

        innermost()
        return other

    return inner() + mine


PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {
    "layer": lambda x: LAYER(x),
    "layers": lambda x: HOLDER.layer(x) * LAYER(x),
    "parameter": lambda x: x + HOLDER.weight,
    "buffer": lambda x: x + HOLDER.offset,
    "attribute": lambda x: x + HOLDER.plain,
    "parameters of a list": lambda x: x + HOLDER.list[1] * HOLDER.list[0],
    "operand of a function": lambda x: functional.linear(x, HOLDER.layer.weight),
    "unused parameter": unused_parameter,
    "parameter asked first": parameter_asked_first,
    "hook": lambda x: HOOKED.layer(x + 1) + 1,
    "hook before": lambda x: PREPARED.layer(x) + 1,
    "cells": stored_in_a_cell,
    "grad": lambda x: torch.func.grad(lambda y: y.sin().sum())(x),
    "grad of two": lambda x: torch.func.grad(lambda y, z: (y * z).sum(), argnums=(0, 1))(x, x),
    "grad of grad": lambda x: torch.func.grad(torch.func.grad(lambda y: (y**3).sum()))(x.sum()),
    "vjp": lambda x: torch.func.vjp(torch.sin, x)[1](x),
    "jacrev": lambda x: torch.func.jacrev(torch.sin)(x),
    "hessian": lambda x: torch.func.hessian(lambda y: (y**3).sum())(x),
    "vmap of grad": lambda x: torch.vmap(torch.func.grad(lambda y: y.sin().sum()))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_is_torch_dynamos(name: str) -> None:
    program = PROGRAMS[name]
    x = torch.randn(3, 4)
    ours = graph_of(armature.compile, program, x, keeps_annotations=True)
    assert ours == graph_of(torch.compile, program, x, keeps_annotations=True)

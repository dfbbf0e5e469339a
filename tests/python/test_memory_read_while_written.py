"""Operations that write where they read, or twice to one place, and ones that do not fit: whatever
becomes of them under a backend that thinks of arrays as values, plain Python decides."""

from __future__ import annotations

import itertools
from typing import Any

import armature
import pytest
import torch

OVERLAPPING = """
x[:2].add_(x[1:3])
x[1:].copy_(x[:-1])
x[1:] = x[:-1]
x[:, 1:] = x[:, :-1]
x[:, 1:] += x[:, :-1]
x += x.T
x.T.add_(x)
x.mul_(x[0])
x.expand(2, 4, 4).add_(1)
x.expand(2, 4, 4).zero_()
x.expand(2, 4, 4)[:] = 1
x.expand(2, 4, 4).masked_fill_(x > 3, 1)
torch.add(x[:2], 1, out=x[1:3])
torch.add(x, x.T, out=x)
torch.mm(x, x, out=x)
torch.cat([x[:2], x[2:]], out=x)
torch.sum(x, 0, out=x[0])
x.as_strided((3, 3), (1, 1)).add_(1)
x.unfold(0, 2, 1).add_(1)
x.view(-1)[1:9].sub_(x.view(-1)[0:8])
x.index_add_(0, torch.tensor([0, 1]), x[2:])
x[torch.tensor([0, 1])] = x[1:3]
x.scatter_(0, torch.tensor([[0, 1, 2, 3]]), x[1:2])
x.masked_scatter_(x > 3, x)
x.addmm_(x, x)
x.clamp_(x[0], x[1])
torch._foreach_add_([x[:2], x[1:3]], 1)
torch._foreach_add_([x, x], 1)
torch.nn.functional.relu_(x.expand(2, 4, 4))
""".strip().split("\n")
MISFITS = """
x.copy_(torch.ones(9))
x.add_(torch.ones(9))
x += torch.ones(9)
x[0] += torch.ones(9)
x.masked_fill_(torch.ones(9).bool(), 1)
x.T[0] = torch.ones(9)
x[None] = torch.ones(9)
x.data[0] = torch.ones(9)
x[:] = x.new_ones(4, 4, 4, 4)
x[x > 3] = torch.ones(2)
torch.add(x, torch.ones(9), out=x)
""".strip().split("\n")
# What nothing hinders from being in a graph.
APART = """
x[:2].add_(x[2:])
x[:, :2] += x[:, 2:]
x[:, ::2] = x[:, 1::2]
x[0] = x[1]
x[:, 0] = x[:, 3]
x.view(-1)[:8] = x.view(-1)[8:]
x.T[0] = x.T[1]
x.add_(x)
x.mul_(x + 1)
x[1:] = x[:-1].clone()
x[0].addcmul_(x[1], x[2])
torch.add(x, 1, out=x)
torch._foreach_add_([x[:2], x[2:]], 1)
x.diagonal().mul_(2)
""".strip().split("\n")
FITTING = ["", "x = x.view(4, 4)", "x = x.clone()", "x = x[:, :]"]
BEFORE = [*FITTING, "x = x.t()"]


def program(statement: str, before: str) -> Any:
    names: dict[str, Any] = {"torch": torch}
    lines = ["def f(x):", "    y = x + 1", f"    {before or 'pass'}", f"    {statement}"]
    exec("\n".join([*lines, "    return y, x"]), names)
    return names["f"]


def observed(function: Any) -> Any:
    x = torch.arange(16.0).reshape(4, 4)
    try:
        results = [each.tolist() for each in function(x)]
    except RuntimeError as error:
        results = [str(error)]
    return results, x.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("before", BEFORE)
def test_operations_that_overlap_or_do_not_fit(before: str, backend: str) -> None:
    for statement in itertools.chain(OVERLAPPING, MISFITS, APART):
        function = program(statement, before)
        expected = observed(function)
        compiled = armature.compile(function, backend=backend)
        for _ in range(2):
            assert observed(compiled) == expected, statement


@pytest.mark.parametrize("before", FITTING)
def test_what_is_apart_stays_in_the_graph(before: str) -> None:
    for statement in APART:
        function = program(statement, before)
        compiled = armature.compile(function, backend="aot_eager", fullgraph=True)
        assert observed(compiled) == observed(function), statement

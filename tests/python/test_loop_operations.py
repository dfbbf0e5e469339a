"""torch's loops in the graph: while_loop, map, scan, associative_scan; texts as TorchDynamo's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, entries
from graph_texts import graph_of
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

LOG: list[int] = []


def counted(m):
    return while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (torch.tensor(0), m))


def with_closures(m):
    limit = m.sum()
    return while_loop(
        lambda i, v: i < limit, lambda i, v: (i + 1, v * 2 + m), (torch.tensor(0.0), m + 0)
    )


def with_trees(m):
    return while_loop(
        lambda i, d: i < 3,
        lambda i, d: (i + 1, {"a": d["a"] * 2, "b": d["b"] + d["a"]}),
        (torch.tensor(0), {"a": m, "b": m + 1}),
    )


def mapped(m):
    return map_over(lambda row: row * 2, m)


def mapped_with_arguments(m):
    return map_over(lambda row, k: row * k, m, m.sum(0))


def mapped_with_closure(m):
    k = m.sum(0)
    return map_over(lambda row: row * k, m)


def mapped_trees(m):
    return map_over(lambda d: {"o": d["a"] + d["b"], "p": d["a"] * 1}, {"a": m, "b": m * 2})


def mapped_with_number(m):
    return map_over(lambda row, k: row * k, m, 2.0)


def scanned(m):
    return scan(lambda c, v: (c + v, c * v), torch.zeros(3), m)


def scanned_trees(m):
    return scan(lambda c, v: ({"s": c["s"] + v}, [c["s"] * v, v + 1]), {"s": torch.zeros(3)}, m)


def scanned_with_closure(m):
    k = m.sum(0)
    return scan(lambda c, v: (c + v * k, c * k), torch.zeros(3), m)


def scanned_backwards(m):
    return scan(lambda c, v: (c + v, c + 1), torch.zeros(2), m, dim=1, reverse=True)


def associated(m):
    return associative_scan(lambda p, q: p + q, m, 0, combine_mode="generic")


LOOPS_WHILE = [counted, with_closures, with_trees]
FUNCTIONS = [
    counted,
    with_closures,
    with_trees,
    mapped,
    mapped_with_arguments,
    mapped_with_closure,
    mapped_trees,
    mapped_with_number,
    scanned,
    scanned_trees,
    scanned_with_closure,
    scanned_backwards,
    associated,
]


def rows(factor: float = 1.0) -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3) * factor


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(leaf for item in value for leaf in leaves(item))]
    return [value.tolist() if isinstance(value, torch.Tensor) else value]


# TorchDynamo's bodies have a parameter for a number that they do not use, and it names what a body
# uses before the program's variables do.
@pytest.mark.parametrize(
    "function",
    [
        mapped,
        mapped_trees,
        scanned,
        scanned_backwards,
    ],
)
def test_graph_is_the_one_of_torch_dynamo(function) -> None:
    own = graph_of(armature.compile, function, rows())
    assert own == graph_of(torch.compile, function, rows())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_loop_is_one_operation(function, backend) -> None:
    # Backends want symbols for what such a loop carries, and are given none.
    is_left = backend != "eager" and function in LOOPS_WHILE
    compiled = armature.compile(function, backend=backend, fullgraph=not is_left)
    for factor in (1.0, 2.0, -1.0):
        assert leaves(compiled(rows(factor))) == leaves(function(rows(factor)))
    assert is_left or len(entries(compiled)) == 1


@pytest.mark.parametrize("function", [mapped, mapped_with_closure, scanned, scanned_with_closure])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_flow_through_the_loop(function, backend) -> None:
    def gradient(of: Callable[..., Any]) -> torch.Tensor:
        m = rows().requires_grad_()
        result = of(m)
        result = result[1] if isinstance(result, tuple) else result
        (found,) = torch.autograd.grad((result * torch.tensor([1.0, 2.0, 3.0])).sum(), m)
        return found

    compiled = armature.compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        assert torch.allclose(gradient(compiled), gradient(function))


def logs(m):
    def body(row):
        LOG.append(1)
        return row * 2

    return map_over(body, m)


def returns_the_slice(m):
    return map_over(lambda row: row, m)


def changes_the_slice(m):
    return map_over(lambda row: row.add_(1) * 2, m)


def raises(m):
    def body(row):
        raise ValueError(len(row.shape))

    return map_over(body, m)


def carries_other_shapes(m):
    return while_loop(
        lambda i, v: i < 1, lambda i, v: (i + 1, torch.cat([v, v])), (torch.tensor(0), m)
    )


def carries_numbers(m):
    return while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (0, m))


@pytest.mark.parametrize(
    "function",
    [logs, returns_the_slice, changes_the_slice, raises, carries_other_shapes, carries_numbers],
)
def test_what_cannot_be_a_body_is_left_to_python(function) -> None:
    def outcome(of: Callable[..., Any]) -> Any:
        LOG.clear()
        m = rows()
        torch._dynamo.reset()
        try:
            return leaves([of(m), m])
        except Exception as error:
            return type(error)

    compiled = armature.compile(function)
    assert outcome(compiled) == outcome(function)
    assert break_reasons(compiled)


def test_other_shapes() -> None:
    compiled = armature.compile(mapped, fullgraph=True)
    for shape in ((2, 3), (4, 3), (1, 5), (2, 2, 2)):
        m = torch.ones(shape)
        assert torch.equal(compiled(m), m * 2)


def test_many_calls() -> None:
    compiled = armature.compile(counted, fullgraph=True)
    m = rows()
    for _ in range(1500):
        count, result = compiled(m)
    assert count.item() == 3 and torch.equal(result, m * 8)
    assert len(entries(compiled)) == 1

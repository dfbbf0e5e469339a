"""torch.cond in the graph: both branches as bodies, texts and results as TorchDynamo's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, entries

W = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
LOG: list[Any] = []


def closure(x, y):
    z = y * 2
    return torch.cond(x.sum() > 0, lambda x: (x + z).sin(), lambda x: x.cos() + y + z, (x,))


def one_each(x, y):
    return torch.cond(x.sum() > 0, lambda x, y: x.sin(), lambda x, y: y.cos(), (x, y))


def no_operands(x, y):
    return torch.cond(x.sum() > 0, lambda: x.sin() + y, lambda: x.cos())


def constants(x, y):
    return torch.cond(x.sum() > 0, lambda a: (a * 3, 2), lambda a: (a.cos(), 2), (x,))


def structures(x, y):
    def when_true(d):
        return {"a": [d["a"] + 1], "b": d["b"].sin()}

    def when_false(d):
        return {"a": [d["a"] + d["b"]], "b": d["a"].cos()}

    found = torch.cond(x.sum() > 0, when_true, when_false, ({"a": x, "b": y},))
    return found["a"][0] * 2, found["b"]


def nested(x, y):
    def inner(x):
        return torch.cond(y.sum() > 0, lambda: x * 2, lambda: x * 3)

    return torch.cond(x.sum() > 0, inner, lambda x: inner(x - 1), (x,))


def twice(x, y):
    for _ in range(2):
        x = torch.cond(x.sum() > 1, torch.sin, torch.cos, (x,))
    return x


def by_keywords(x, y):
    return torch.cond(x.sum() > 0, torch.sin, false_fn=torch.cos, operands=(x,))


def gradients(x, y):
    return torch.cond(x.sum() > 0, lambda x: (x * W).sin(), lambda x: x.cos() * W + y, (x,)).sum()


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, y):
        return torch.cond(x.sum() > 0, self.linear, lambda x: self.linear(x) * 2, (x,))


FUNCTIONS = [
    closure,
    one_each,
    no_operands,
    constants,
    structures,
    nested,
    twice,
    by_keywords,
    gradients,
    Branches(),
]


def graph_of(compiler: Callable[..., Any], function: Callable[..., Any]) -> str:
    """The text of its one graph, without annotations and comments."""
    texts = []

    def backend(module, inputs):
        texts.append(module.print_readable(print_output=False))
        return module

    torch._dynamo.reset()
    compiler(function, backend=backend, fullgraph=True)(*inputs(1))
    (text,) = texts
    lines = re.sub(r': "[^"]*"', "", text).splitlines()
    return "\n".join(line for line in lines if line.strip() and "# File" not in line)


def inputs(sign: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([1.0, 2.0, 3.0]) * sign, torch.tensor([0.5, 0.25, 1.0])


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value.tolist() if isinstance(value, torch.Tensor) else value]


# TorchDynamo's bodies return their constants, too.
@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f is not constants])
def test_graph_is_the_one_of_torch_dynamo(function) -> None:
    assert graph_of(armature.compile, function) == graph_of(torch.compile, function)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_branch_that_the_data_choose_runs(function, backend) -> None:
    function(*inputs(1))  # by torch's own compiler, which gives parameters an attribute
    compiled = armature.compile(function, backend=backend, fullgraph=True)
    for sign in (1, -1, 1):
        assert leaves(compiled(*inputs(sign))) == leaves(function(*inputs(sign)))
    assert len(entries(compiled)) == 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_flow_through_the_branch(backend, sign) -> None:
    found = []
    for function in (gradients, armature.compile(gradients, backend=backend, fullgraph=True)):
        W.grad = None
        function(*inputs(sign)).backward()
        found.append(W.grad)
    W.grad = None
    assert torch.allclose(*found)


def test_a_constant_chooses_while_tracing() -> None:
    def f(x, flag):
        return torch.cond(flag, lambda x: x.sin(), lambda x: x.cos(), (x,))

    compiled = armature.compile(f, fullgraph=True)
    x, _ = inputs(1)
    with pytest.warns(UserWarning, match="only one branch"):
        assert torch.equal(compiled(x, True), x.sin())
    assert torch.equal(compiled(x, False), x.cos())


def returns_argument(x, y):
    return torch.cond(x.sum() > 0, lambda x: x, lambda x: x + 1, (x,))


def of_other_shapes(x, y):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos()[:1], (x,))


def of_other_structure(x, y):
    return torch.cond(x.sum() > 0, lambda x: [x.sin()], lambda x: x.cos(), (x,))


def with_effect(x, y):
    def when_true(x):
        LOG.append(1)
        return x + 1

    return torch.cond(x.sum() > 0, when_true, lambda x: x - 1, (x,))


def changes_argument(x, y):
    return torch.cond(x.sum() > 0, lambda x: x.add_(1) + 1, lambda x: x - 1, (x,))


def raises(x, y):
    def when_true(x):
        raise ValueError(x.shape)

    return torch.cond(x.sum() > 0, when_true, lambda x: x - 1, (x,))


def predicate_of_many(x, y):
    return torch.cond(x > 0, torch.sin, torch.cos, (x,))


@pytest.mark.parametrize(
    "function",
    [
        returns_argument,
        of_other_shapes,
        of_other_structure,
        with_effect,
        changes_argument,
        raises,
        predicate_of_many,
    ],
)
def test_what_cannot_be_in_the_graph_is_left_to_python(function) -> None:
    def outcome(of: Callable[..., Any]) -> Any:
        LOG.clear()
        arguments = inputs(1)
        torch._dynamo.reset()
        try:
            return leaves([of(*arguments), *arguments, LOG])
        except Exception as error:
            return type(error), LOG[:]

    compiled = armature.compile(function)
    assert outcome(compiled) == outcome(function)
    assert break_reasons(compiled)

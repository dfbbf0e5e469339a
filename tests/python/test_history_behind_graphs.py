"""Code that looks at how a tensor was computed, behind a graph that a backend could have computed
as one function: the gradients of the graph's own uses of the tensor would pass it by."""

from __future__ import annotations

from typing import Any

import armature
import pytest
import torch
from test_hooks_on_results import doubled

GIVEN: list[Any] = []


def hook_behind_a_use(z):
    y = z * 2
    w = y * y
    y.register_hook(doubled)
    return w + y


def hook_behind_another_break(z):
    y = z * 2
    w = y * y
    armature.graph_break()
    y.register_hook(doubled)
    return w + y


def register(tensor):
    tensor.register_hook(doubled)
    return tensor


def hook_of_a_helper(z):
    y = z * 2
    w = y * y
    return register(y) * w


def hook_on_one_of_several(z):
    a, b, c = z.unbind()
    w = a * b
    b.register_hook(doubled)
    return w * c + b


def hook_on_another_name(z):
    y = z * 2
    w = y.contiguous()
    u = y * y
    w.register_hook(doubled)
    return u + w


def hook_on_a_changed_input(z):
    y = z * 1
    armature.graph_break()
    y.mul_(3)
    w = y * y
    y.register_hook(doubled)
    return y + w


def hook_on_several(z):
    y = z * 2
    w = y * y
    torch.autograd.graph.register_multi_grad_hook((y, w), lambda grads: GIVEN.append(grads))
    return w * y


def hook_on_an_operation(z):
    y = z * 2
    w = y * y
    w.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 3, *inputs[1:]))
    return w * y


def names_of_operations(z):
    y = z * 2
    w = y * y
    GIVEN.append((y.grad_fn.name(), w.grad_fn.next_functions[0][0].name()))
    return w


def retained(z):
    y = z * 2
    w = y * y
    y.retain_grad()
    (w + y).sum().backward(retain_graph=True)
    GIVEN.append(y.grad)
    return w


def gradient_of_a_result(z):
    y = z * 2
    w = y * y
    GIVEN.extend(torch.autograd.grad(w.sum(), y, create_graph=True))
    return w


def gradient_as_keywords(z):
    y = z * 2
    w = (y * y).sum()
    arguments = {"outputs": w, "inputs": y, "retain_graph": True}
    GIVEN.extend(torch.autograd.grad(**arguments))
    return w


def gradient_into_inputs(z):
    y = z * 2
    w = (y * y).sum()
    w.backward(inputs=[y], retain_graph=True)
    GIVEN.append(y.grad)
    return w


def gradient_of_a_gradient(z):
    w = (z * z).exp().sum()
    armature.graph_break()
    (first,) = torch.autograd.grad(w, z, create_graph=True)
    GIVEN.extend(torch.autograd.grad(first.sum(), z, retain_graph=True))
    return w + first.sum()


PROGRAMS = [
    hook_behind_a_use,
    hook_behind_another_break,
    hook_of_a_helper,
    hook_on_one_of_several,
    hook_on_another_name,
    hook_on_a_changed_input,
    hook_on_several,
    hook_on_an_operation,
    names_of_operations,
    retained,
    gradient_of_a_result,
    gradient_as_keywords,
    gradient_into_inputs,
    gradient_of_a_gradient,
]


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value


def gradients(fn):
    GIVEN.clear()
    z = torch.arange(1.0, 4.0, requires_grad=True)
    fn(z).sum().backward()
    return z.grad.tolist(), plain(GIVEN)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_pass_the_results(program):
    compiled = armature.compile(program, backend="aot_eager")
    for _ in range(3):
        assert gradients(compiled) == gradients(program)


def counting():
    """A backend that counts its graphs."""
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    return graphs, backend


def hook_on_the_last_result(z):
    w = (z * 2).sin()
    y = w * w
    y.register_hook(doubled)
    return y.cos()


def looks_at_a_gradient(z):
    y = z * 2
    w = y * y
    armature.graph_break()
    return w + y if z.grad is None else w


def no_gradients(z):
    with torch.no_grad():
        y = z * 2
        w = y * y
    armature.graph_break()
    if y.requires_grad:
        y.register_hook(doubled)
    return z * w + y


@pytest.mark.parametrize(
    "program, expected",
    [
        (hook_on_the_last_result, 2),
        (looks_at_a_gradient, 2),
        (no_gradients, 2),
        (hook_behind_a_use, 1),
        (names_of_operations, 0),
    ],
)
def test_other_graphs_are_the_backends(program, expected):
    graphs, backend = counting()
    compiled = armature.compile(program, backend=backend)
    for _ in range(2):
        assert gradients(compiled) == gradients(program)
    assert len(graphs) == expected

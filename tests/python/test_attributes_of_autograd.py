"""What autograd says of leaves: grad_fn, retains_grad, output_nr. Of others, Python is asked."""

from __future__ import annotations

from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, check


def of_leaves(x, w):
    return x.grad_fn is None, w.grad_fn, w.retains_grad, x.output_nr, w.output_nr, x + w


def of_results(x, w):
    y = x * 2
    return y.grad_fn, y.retains_grad, y.output_nr, y


def branches(x, w):
    if w.grad_fn is None and w.requires_grad:
        return w * 2
    return w + x


def becomes_a_result(x, w):
    y = x * 2
    before = y.grad_fn is None
    y.add_(w)
    return before, y.grad_fn is None, y.is_leaf, y


def through_a_view(x, w):
    y = x * 2
    y[0].add_(w[0])
    return y.grad_fn is None, y


def without_gradients(x, w):
    with torch.no_grad():
        y = w * 2
    return y.grad_fn, y.retains_grad, (w * 2).grad_fn is None


WORLDS: list[Any] = [
    lambda: (torch.ones(3), torch.ones(3, requires_grad=True)),
    lambda: (torch.ones(3), torch.ones(3)),
    lambda: (torch.ones(3, requires_grad=True), torch.ones(3)),
]


@pytest.mark.parametrize("world", range(len(WORLDS)))
@pytest.mark.parametrize(
    "function",
    [of_leaves, of_results, branches, becomes_a_result, through_a_view, without_gradients],
)
def test_like_python(function: Any, world: int) -> None:
    more = tuple(make() for make in WORLDS)
    check(function, *WORLDS[world](), more=more)


def test_leaves_do_not_break() -> None:
    for function in (of_leaves, branches):
        check(function, torch.ones(3), torch.ones(3, requires_grad=True), breaks=0)


def test_what_was_a_leaf_may_be_a_result() -> None:
    def ask(w):
        return w.grad_fn is None, w * 2

    def call(w, turn):
        return ask(w * 1 if turn else w)

    leaf = torch.ones(3, requires_grad=True)
    check(call, leaf, 0, more=((leaf, 1), (leaf, 0), (torch.ones(3), 1)))


# --- Functions of torch._VF, static methods of a C type.

GRU = torch.nn.GRUCell(3, 4)
LSTM = torch.nn.LSTMCell(3, 4)
RNN = torch.nn.RNNCell(3, 4, nonlinearity="relu")


def cells(x, w):
    hidden = GRU(x)
    return GRU(x, hidden), LSTM(x, (hidden, hidden)), RNN(x)


def static_methods(x, w):
    functions = torch._C._VariableFunctions
    return functions.add(x, 1), functions.relu is torch.relu, torch._VF.tanh(x)


@pytest.mark.parametrize("function", [cells, static_methods])
def test_static_methods_of_objects_of_c(function: Any) -> None:
    check(function, torch.arange(6.0).reshape(2, 3), torch.ones(3), breaks=0)


def test_arrays_made_by_classes() -> None:
    def made(x, w):
        return torch.Tensor([1, 2]) + 1, torch.Tensor(2, 3).shape, torch.Tensor(x) * 2

    check(made, torch.ones(3), torch.ones(3), breaks=0)


RECURRENT = [
    torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True),
    torch.nn.GRU(3, 4, num_layers=2),
    torch.nn.RNN(3, 4, bias=False),
]


@pytest.mark.parametrize("module", RECURRENT)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_recurrent_modules(module: torch.nn.Module, backend: str) -> None:
    """Results, gradients and random numbers, in training and not, and with other weights."""
    # AOTAutograd's own dropout draws other numbers.
    module.dropout = 0.5 if backend == "eager" and module.num_layers > 1 else 0.0
    compiled = armature.compile(lambda x: module(x), backend=backend)
    for turn in range(6):
        module.train(turn % 2 == 0)
        if turn == 3:
            with torch.no_grad():
                module.weight_hh_l0.mul_(2)
        if turn == 4:
            module.weight_ih_l0 = torch.nn.Parameter(torch.ones_like(module.weight_ih_l0))
        found = []
        for call in (module, compiled):
            torch.manual_seed(turn)
            x = torch.randn(2, 2 + turn // 2, 3, requires_grad=True)
            module.zero_grad()
            output, hidden = call(x)
            output.sum().backward()
            states = hidden if isinstance(hidden, tuple) else (hidden,)
            gradients = [parameter.grad for parameter in module.parameters()]
            found.append([output, *states, x.grad, *gradients, torch.rand(1)])
        for expected, actual in zip(*found, strict=True):
            torch.testing.assert_close(actual, expected)
    assert not break_reasons(compiled)

"""What the eager backend makes of graphs: operations amid the generated code, and calls of C."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
import torch.nn.functional as F
from armature import _C


def bytecode(compiled: Any) -> str:
    function, _, _ = armature._compile._functions(compiled)
    return "\n".join(entry["bytecode"] for entry in _C.entries(function))


def same(function: Callable[..., Any], *args: Any) -> None:
    torch.manual_seed(0)
    expected = function(*args)
    compiled = armature.compile(function)
    for _ in range(3):
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(*args), expected, rtol=0, atol=0)


# --- Operations amid the generated code.


def test_a_graph_that_changes_nothing_is_no_function() -> None:
    def plain(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * x

    def changes(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    compiled = armature.compile(plain)
    torch.testing.assert_close(compiled(torch.ones(2)), plain(torch.ones(2)))
    assert "function" not in bytecode(compiled).replace("builtin_function_or_method", "")
    assert "BINARY_OP" in bytecode(compiled)
    compiled = armature.compile(changes)
    torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 4.0))
    assert "UNPACK_SEQUENCE" in bytecode(compiled)


def test_values_in_many_places() -> None:
    def many(x: torch.Tensor, y: torch.Tensor) -> Any:
        a = x + y
        b = a * a
        c, d = torch.split(torch.cat([a, b, x]), 3)[:2]
        e = torch.where(a > 0, b, c)
        return {"a": a, "again": a, "input": x, "rest": [b, (c, d), e[0]]}, -d

    same(many, torch.arange(3.0), torch.ones(3))


def test_inputs_and_constants_are_results() -> None:
    def given(x: torch.Tensor) -> Any:
        y = x + 0
        return x, y, x, 3

    compiled = armature.compile(given)
    x = torch.ones(2)
    for _ in range(2):
        first, y, second, three = compiled(x)
        assert first is x and second is x and y is not x and three == 3


def test_numbers_that_vary() -> None:
    compiled = armature.compile(lambda x, n: (x * n + n, n))
    for n in (2, 3, 4, 5, 6):
        result, number = compiled(torch.ones(2), n)
        torch.testing.assert_close(result, torch.full((2,), 2.0 * n))
        assert number == n


def test_a_cell_and_a_closure() -> None:
    scale = torch.tensor(2.0)

    def outer(x: torch.Tensor) -> Any:
        def inner() -> torch.Tensor:
            return x * scale

        x = x + 1
        return inner() + x, inner

    result, inner = armature.compile(outer)(torch.ones(2))
    torch.testing.assert_close(result, torch.full((2,), 6.0))
    torch.testing.assert_close(inner(), torch.full((2,), 4.0))


def test_values_die_as_they_do_in_python() -> None:
    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    def chain(x: torch.Tensor) -> Any:
        y = Counted.apply(x)
        z = y.sum()
        armature.graph_break()
        return z * 2

    x = torch.ones(3, requires_grad=True)
    armature.compile(chain)(x).backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 4.0))


def test_a_failing_operation_is_pythons() -> None:
    def fails(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x + 1
        return z @ y

    compiled = armature.compile(fails)
    torch.testing.assert_close(compiled(torch.ones(2, 2), torch.ones(2)), torch.full((2,), 4.0))
    for _ in range(2):
        with pytest.raises(RuntimeError) as found:
            compiled(torch.ones(2, 2), torch.ones(3))
        with pytest.raises(RuntimeError) as expected:
            fails(torch.ones(2, 2), torch.ones(3))
        assert str(found.value) == str(expected.value)


def test_warnings_have_the_programs_file_and_line() -> None:
    def warns(x: torch.Tensor) -> torch.Tensor:
        return F.softmax(x + 1)

    def seen(function: Callable[..., Any]) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(torch.ones(2, 2))
        return [(w.filename, w.lineno, str(w.message)) for w in caught]

    compiled = armature.compile(warns)
    seen(compiled)  # tracing may warn as well
    assert seen(compiled) == seen(warns)


# --- Functions that only call another one.


def test_dropout_and_layer_norm() -> None:
    x, weight = torch.randn(4, 8), torch.randn(8)
    same(lambda x: F.dropout(x, 0.3, True), x)
    same(lambda x: F.dropout(x, 0.3, False), x)
    same(lambda x: F.dropout(x, p=0.9, training=True, inplace=False) + 1, x)
    same(lambda x: F.dropout(x + 1, 0.3, True, True), x)
    same(lambda x: F.layer_norm(x, (8,), weight, None, 1e-3), x)
    same(lambda x: F.layer_norm(x, (8,)), x)
    same(lambda x: torch.nn.LayerNorm(8)(x), x)


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_dropout_says_what_is_wrong(p: float) -> None:
    def drops(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x + 1, p, True)

    found = []
    for function in (drops, armature.compile(drops)):
        try:
            function(torch.ones(3))
        except Exception as error:
            found.append((type(error), str(error)))
        else:
            found.append(None)
    assert found[0] == found[1]


def test_what_the_function_calls_is_replaced() -> None:
    def drops(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, 0.5, False) + 1

    def norms(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (3,)) + 1

    x = torch.arange(3.0)
    dropped, normed = armature.compile(drops), armature.compile(norms)
    for _ in range(3):
        dropped(x), normed(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F._VF, "dropout", lambda input, p, train: input * 100, raising=False)
        torch.testing.assert_close(dropped(x), drops(x))
        torch.testing.assert_close(dropped(x), x * 100 + 1)
    torch.testing.assert_close(dropped(x), x + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "layer_norm", lambda input, *rest: input * 100)
        torch.testing.assert_close(normed(x), x * 100 + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F, "has_torch_function_unary", lambda input: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            drops(x)
        with pytest.raises(ZeroDivisionError):
            dropped(x)


# --- Guards of code that many objects run.


class Layer(torch.nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        armature.graph_break()
        return self.linear(x) * self.scale


@pytest.mark.parametrize("count", [2, 7, 150])
def test_layers_that_take_turns(count: int) -> None:
    layers = [Layer(0.5) for _ in range(count)]
    compiled = armature.compile(lambda x, layer: layer(x))
    x = torch.ones(4)

    def check() -> None:
        for layer in layers:
            torch.testing.assert_close(compiled(x, layer), layer(x))

    for _ in range(3):
        check()
    layers[1].linear.weight = torch.nn.Parameter(torch.zeros(4, 4))
    check()
    layers[0].scale = 0.25
    check()
    layers[0].linear, layers[1].linear = layers[1].linear, layers[0].linear
    check()
    layers[1] = Layer(0.5)
    for _ in range(2):
        check()
    layers[0].linear.forward = lambda x: x + 1
    check()
    del layers[0].linear.forward
    check()
    layers[1].linear.bias.data.fill_(7)
    check()
    del layers[0].scale
    with pytest.raises(AttributeError):
        compiled(x, layers[0])
    layers[0].scale = 2.0
    check()

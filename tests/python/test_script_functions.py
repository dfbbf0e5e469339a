"""Functions that torch.jit has compiled: operations of the graph, where they only compute."""

from __future__ import annotations

import gc
import weakref

import armature
import pytest
import torch
from differential import break_reasons, check, translations


@torch.jit.script
def scaled(x, by: float = 2.0):
    return torch.cos(x) * by


@torch.jit.script
def several(x, y):
    return x + y, (x - y).sum()


@torch.jit.script
def branches(x, flag: bool):
    if flag:
        for _ in range(3):
            x = x.sin()
    return x


@torch.jit.script
def on_data(x):
    if bool(x.sum() > 0):
        return x + 1
    return x - 1


@torch.jit.script
def changes(x):
    x.add_(1)
    return x * 2


@torch.jit.script
def draws(x):
    return x + torch.rand(3)


@torch.jit.script
def prints(x):
    print("seen")
    return x + 1


@torch.jit.script
def raises(x, at: int):
    if at > 2:
        raise ValueError("too large")
    return x[at]


@torch.jit.script
def same(x):
    return x


@torch.jit.script
def length(x):
    return len(x)


@torch.jit.script
def inner(x):
    return changes(x)


traced = torch.jit.trace(lambda a, b: a + b * 0.67, [torch.zeros(3), torch.zeros(3)])

X = torch.arange(1.0, 4.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scaled(x) + scaled(x, 3.0) + scaled(x, by=0.5),
        lambda x: several(x * 2, x)[0] + several(x, x)[1],
        lambda x: branches(x, True) + branches(x, False),
        lambda x: traced(x, x + 1) * 2,
        lambda x: (same(x) is x, same(x) + 1)[1],
    ],
)
def test_whole(function):
    compiled = check(function, X, more=((X + 1,), (torch.ones(3, 3),)))
    assert not break_reasons(compiled)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: on_data(x) * on_data(-x),
        lambda x: (x + 1, changes(x), x * 2),
        lambda x: (x + 1, inner(x), x * 2),
        lambda x: prints(x * 2) * 3,
        lambda x: x[: length(x) - 1] * 2,
        lambda x: raises(x, 1) + raises(x, 0),
    ],
)
def test_with_breaks(function):
    check(function, X, more=((-X,), (torch.ones(3, 3),)))


def test_random_numbers():
    def program(x):
        return draws(x) + torch.rand(3)

    compiled = armature.compile(program)
    for _ in range(3):
        torch.manual_seed(4)
        expected = program(X)
        torch.manual_seed(4)
        assert torch.equal(compiled(X), expected)


def test_errors():
    def program(x, at):
        try:
            return raises(x, at)
        except Exception as error:
            return type(error).__name__

    for at in (0, 1, 5, 0):
        assert str(program(X, at)) == str(armature.compile(program)(X, at))


def test_gradients():
    compiled = armature.compile(lambda x: (scaled(x) * x).sum(), fullgraph=True)
    for function in (compiled, compiled):
        a, b = X.clone().requires_grad_(), X.clone().requires_grad_()
        function(a).backward()
        (scaled(b) * b).sum().backward()
        torch.testing.assert_close(a.grad, b.grad)


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_another_script_in_its_place():
    module = Module(scaled)
    compiled = armature.compile(module, fullgraph=True)
    torch.testing.assert_close(compiled(X), X.cos() * 2)
    module.function = same
    assert compiled(X) is X
    module.function = torch.sin
    torch.testing.assert_close(compiled(X), X.sin())


@pytest.mark.parametrize("backend", ["aot_eager", lambda module, inputs: module.forward])
def test_other_backends(backend):
    compiled = armature.compile(lambda x: scaled(x * 2) + 1, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(X), (X * 2).cos() * 2 + 1)


def test_one_translation():
    compiled = armature.compile(lambda x: scaled(x), fullgraph=True)
    for _ in range(3):
        compiled(X)
    assert translations(compiled) == 1
    del compiled
    gc.collect()
    module = Module(scaled)
    reference = weakref.ref(module)
    armature.compile(module)(X)
    del module
    gc.collect()
    assert reference() is None

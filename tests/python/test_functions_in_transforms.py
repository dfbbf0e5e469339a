"""What torch runs in its own way inside of torch.func's transforms: custom autograd functions,
which say for each transform what it makes of them, operations that are given functions, and
autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons
from torch.func import grad, jvp, vmap
from torch.utils.checkpoint import checkpoint

X = torch.arange(6.0).reshape(2, 3) + 1


class Plain(torch.autograd.Function):
    """Nothing but its two directions, whose gradient is not that of what forward() does."""

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 7


class Generated(Plain):
    generate_vmap_rule = True


class Mapped(Plain):
    @staticmethod
    def vmap(info, dimensions, x):
        return x * 3, dimensions[0]


class Ambiguous(Generated, Mapped):
    pass


class Forward(Plain):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 5


class OldStyle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 7


class Several(Generated):
    """Torch's rule makes a tuple of what is returned."""

    @staticmethod
    def forward(x):
        return [x * 2, x + 1]


def mapped(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: vmap(lambda row: apply(row))(x)


def mapped_twice(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: vmap(vmap(lambda value: apply(value)))(x)


def of_another(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: vmap(lambda row: apply(x))(x)


def gradient(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: grad(lambda x: apply(x).sum())(x)


def gradients_of_rows(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: vmap(grad(lambda row: apply(row).sum()))(x)


def forward_mode(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jvp(lambda x: apply(x), (x,), (torch.ones_like(x),))


def outcome(function: Callable[..., Any], requires_grad: bool = False) -> str:
    x = X.clone().requires_grad_(requires_grad)
    try:
        result = function(x)
    except Exception as error:
        return repr(error)
    if requires_grad and isinstance(result, torch.Tensor) and result.requires_grad:
        result.sum().backward()
    depth = torch._C._functorch.get_dynamic_layer_stack_depth()
    parts = result if isinstance(result, (tuple, list)) else [result]
    values = [each.detach() if isinstance(each, torch.Tensor) else each for each in parts]
    return repr((type(result), values, x.grad, depth))


TRANSFORMS = [mapped, mapped_twice, of_another, gradient, gradients_of_rows, forward_mode]
FUNCTIONS = [Plain, Generated, Mapped, Ambiguous, Forward, OldStyle, Several]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_custom_functions(function: Any, transform: Callable[..., Any]) -> None:
    program = transform(function.apply)
    compiled = armature.compile(program)
    for requires_grad in (False, True, False):
        assert outcome(compiled, requires_grad) == outcome(program, requires_grad)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_custom_functions_in_a_call_inside_of_a_transform(function: Any) -> None:
    def program(x):
        return function.apply(x)

    compiled = armature.compile(program)
    for transform in (mapped, gradient, forward_mode):
        assert outcome(compiled) == outcome(program)
        assert outcome(transform(compiled)) == outcome(transform(program))


def test_torchs_own_rule_is_in_the_graph() -> None:
    compiled = armature.compile(mapped(Generated.apply), fullgraph=True)
    assert torch.equal(compiled(X), X * 2)
    assert not break_reasons(compiled)


def test_the_rule_changes_between_calls() -> None:
    class Changing(Generated):
        pass

    def program(x):
        return vmap(Changing.apply)(x)

    compiled = armature.compile(program)
    assert outcome(compiled) == outcome(program)
    Changing.generate_vmap_rule = False
    assert outcome(compiled) == outcome(program)
    Changing.vmap = Mapped.__dict__["vmap"]
    assert outcome(compiled) == outcome(program)
    Changing.generate_vmap_rule = True
    assert outcome(compiled) == outcome(program)


def remembers(x):
    return checkpoint(torch.sin, x, use_reentrant=False)


def chooses(x):
    return torch.cond(x.sum() > 7, lambda x: x + 1, lambda x: x * x, (x,))


@pytest.mark.parametrize(
    ("operation", "transform"),
    [(remembers, transform) for transform in TRANSFORMS]
    + [(chooses, transform) for transform in (mapped, mapped_twice, of_another)],
)
def test_operations_that_are_given_functions(
    operation: Callable[..., Any], transform: Callable[..., Any]
) -> None:
    def call(x):
        return operation(x)

    program = transform(call)
    compiled = armature.compile(program)
    assert outcome(compiled) == outcome(program)
    assert outcome(transform(armature.compile(call))) == outcome(program)


def rows_in_autocast(x):
    def product(row):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.outer(row, row) @ torch.outer(row, row)

    result = vmap(product)(x)
    return result.dtype, result


def gradient_in_autocast(x):
    def product(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.T
        return y.float().sum() * (2 if y.dtype == torch.bfloat16 else 3)

    return grad(product)(x)


@pytest.mark.parametrize("program", [rows_in_autocast, gradient_in_autocast])
def test_autocast_inside(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program)
    assert outcome(compiled) == outcome(program)
    assert outcome(compiled) == outcome(program)


def test_what_cannot_require_gradients_has_torchs_error() -> None:
    def gradient(x: torch.Tensor) -> torch.Tensor:
        return grad(torch.sum)(x)

    for called in (gradient, armature.compile(gradient)):
        with pytest.raises(RuntimeError, match="only Tensors of floating point"):
            called(torch.arange(3))

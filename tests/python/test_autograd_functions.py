"""torch.autograd.Function.apply: in the graph where no gradient will be asked for."""

import armature
import pytest
import torch
from differential import break_reasons, check


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor + int(ctx.needs_input_grad[0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor * 100, None


class Several(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_non_differentiable(y)
        ctx.set_materialize_grads(False)
        return x, x + y, "text"

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0], None


class WithSetup(torch.autograd.Function):
    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.power = inputs[1]
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.power, None


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Asking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1 if torch.is_grad_enabled() else x - 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient


WEIGHT = torch.ones(2, requires_grad=True)


class Closing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * WEIGHT

    @staticmethod
    def backward(ctx, gradient):
        return gradient


COUNTS = []


class Counting(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        COUNTS.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient


X = torch.tensor([1.0, 2.0])


def test_without_gradients():
    check(lambda x: Scale.apply(x, 3) + 1, X, breaks=0)
    check(lambda x: WithSetup.apply(x, 2), X, breaks=0)
    check(lambda x: Asking.apply(x), X, breaks=0)
    check(lambda x: Several.apply(x, x * 2), X, breaks=0)


def test_results_that_are_arguments_are_views():
    def look(x):
        result = Several.apply(x, x)[0]
        return result is x, result._base is x

    assert armature.compile(look)(X) == look(X)


@pytest.mark.parametrize("function", [Closing, InPlace, Counting])
def test_what_python_does(function):
    def call(x):
        return function.apply(x) + 1

    check(call, X, watch=COUNTS, restore=COUNTS.clear)
    x = X.clone()
    assert not armature.compile(call)(x).requires_grad


def test_gradients_are_the_function_s_own():
    compiled = armature.compile(lambda x: Scale.apply(x, 3) * 2)
    for _ in range(2):
        assert torch.equal(compiled(X), X * 6)
        x = X.clone().requires_grad_()
        result = compiled(x)
        assert torch.equal(result, (x * 3 + 1) * 2)
        result.sum().backward()
        assert torch.equal(x.grad, torch.full((2,), 600.0))
        with torch.no_grad():
            assert torch.equal(compiled(x), (x * 3 + 1) * 2)
            assert not compiled(x).requires_grad


def test_one_graph():
    with torch.no_grad():
        explanation = armature.explain(lambda x: Scale.apply(x, 3) * WEIGHT)(X)
    assert explanation.graph_count == 1 and not explanation.break_reasons


def test_classes_that_change():
    class Changing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

    compiled = armature.compile(lambda x: Changing.apply(x))
    assert torch.equal(compiled(X), X + 1)
    Changing.forward = staticmethod(lambda ctx, x: x + 2)
    assert torch.equal(compiled(X), X + 2)
    Changing.jvp = staticmethod(lambda ctx, x: x)
    assert torch.equal(compiled(X), X + 2)
    assert not break_reasons(armature.compile(lambda x: x))


def test_attention_in_a_handler():
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 3, 8)

    def attend(x):
        try:
            x = x + attention(x, x, x, need_weights=False)[0]
            return attention(x, x, x)[0]
        except ValueError:
            return None

    with torch.no_grad():
        check(attend, x, breaks=0)

"""torch.autograd.Function.apply: its forward() in the graph, its backward() as it is then."""

from __future__ import annotations

import gc
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, check, compare, observe, translations


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


class SavesWhatItReturns(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2, x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0]


class GivesBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.float(), x.contiguous()

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0] + gradients[1]


class SavesWhatItGivesBack(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.float()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


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


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtypes", [(torch.float32, torch.float64), (torch.float64, torch.float32)])
@pytest.mark.parametrize("function", [GivesBack, SavesWhatItGivesBack])
def test_operations_that_give_their_argument_back(function, dtypes, requires_grad):
    def look(x):
        try:
            results = function.apply(x)
        except RuntimeError as error:
            return str(error)
        results = results if isinstance(results, tuple) else (results,)
        return [(y is x, y._base is x, y.is_leaf, results[0] is y, y + 1) for y in results]

    compiled = armature.compile(look)
    for dtype in dtypes:
        x = torch.ones(2, dtype=dtype, requires_grad=requires_grad)
        compare(observe(look, (x,), {}, None), observe(compiled, (x,), {}, None))


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


# --- Where gradients are asked for.


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale, ctx.shape = scale, x.shape
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        assert gradient.shape == ctx.shape
        return gradient.neg() * ctx.scale, None


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 5


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, note):
        order = x.argsort()
        product = x * y
        ctx.save_for_backward(x, product, order, WEIGHT)
        ctx.mark_non_differentiable(order)
        ctx.set_materialize_grads(False)
        ctx.extra = (2, (x.detach() + 1, None, note))
        return product, order, note, x + y

    @staticmethod
    def backward(ctx, product, order, note, total):
        x, saved, _, weight = ctx.saved_tensors
        assert order is None and note is None and ctx.needs_input_grad[2] is False
        y = saved / x
        ours = torch.zeros_like(x) if product is None else product * y * weight
        ours = ours if total is None else ours + total * ctx.extra[0] * ctx.extra[1][0]
        return ours, product * x if ctx.needs_input_grad[1] and product is not None else None, None


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return Scale.apply(gradient * x, 2)


class Random(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = torch.rand_like(x) < 0.5
        ctx.save_for_backward(kept)
        return torch.where(kept, x, 0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


class Looking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        return x[index]

    @staticmethod
    def backward(ctx, gradient):
        return torch.zeros(2).index_put((ctx.saved_tensors[0],), gradient), None


class Leaving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.holder = Holder(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.holder.x


class Holder:
    def __init__(self, x):
        self.x = x


Y = torch.tensor([3.0, -1.0])


def nested(x):
    return Square.apply(Square.apply(x) + Scale.apply(x, 3))


def many(x):
    for _ in range(40):
        x = Scale.apply(x, 0.9) - Reverse.apply(x, 2)
    return x


def later_in_place(x):
    y = Scale.apply(x, 2)
    y.mul_(3)
    return y + Square.apply(y)


def refused_in_place(x):
    y = Identity.apply(x)
    y.add_(1)
    return y


def handled_in_place(x):
    try:
        return refused_in_place(x)
    except RuntimeError as error:
        return x * len(str(error))


def detached(x):
    with torch.no_grad():
        y = Scale.apply(x, 2)
    return Scale.apply(x, 2) + y + Scale.apply(x.detach(), 4)


def asks(x):
    y = Pair.apply(x, Y, "note")
    return [(each.requires_grad, each.is_leaf) for each in (*y[:2], y[3])], y[0] + y[1]


def shows(x):
    y = Square.apply(x)
    return type(y.grad_fn).__name__, y


PROGRAMS: list[tuple[Callable[..., Any], int]] = [
    (lambda x: Scale.apply(x, 3) * 2, 0),
    (lambda x: WithSetup.apply(x * 2, 2) + 1, 0),
    (lambda x: Reverse.apply(x * 1, 0.5) * Reverse.apply(x, 2), 0),
    (lambda x: Identity.apply(x), 0),
    (lambda x: Closing.apply(x) + WEIGHT, 0),
    (lambda x: Pair.apply(x, Y, None)[0], 0),
    (lambda x: Pair.apply(x, x, "text")[3] + 1, 0),
    (lambda x: sum(Pair.apply(x, x * Y, (1, "a"))[::3]), 0),
    (lambda x: Random.apply(x) + torch.rand(2), 0),
    (nested, 0),
    (many, 0),
    (later_in_place, 0),
    (refused_in_place, 0),
    (detached, 0),
    (asks, 0),
    (lambda x: Leaving.apply(x), 1),
    (lambda x: Several.apply(x, x * 2)[0], 0),
    (lambda x: Several.apply(x * 2, x)[1], 0),
]


def outcome(call: Callable[..., Any], *args: Any) -> list[Any]:
    torch.manual_seed(2)
    x = X.clone().requires_grad_()
    WEIGHT.grad = None
    try:
        result = call(x, *args)
        tensor = result[-1] if isinstance(result, tuple) else result
        (first,) = torch.autograd.grad(tensor.sum(), x, create_graph=True, allow_unused=True)
        second = None
        if first is not None and first.requires_grad:
            (second,) = torch.autograd.grad(first.sum(), x, allow_unused=True, retain_graph=True)
        tensor.sum().backward()
    except (RuntimeError, IndexError) as error:
        lines = [line.lineno for line in traceback.extract_tb(error.__traceback__)][1:]
        return [type(error), str(error), len(lines)]
    return [repr(each) for each in (result, first, second, x.grad, WEIGHT.grad, torch.rand(1))]


@pytest.mark.parametrize("program", range(len(PROGRAMS)))
def test_gradients(program: int) -> None:
    function, breaks = PROGRAMS[program]
    compiled = armature.compile(function)
    for _ in range(3):
        assert outcome(compiled) == outcome(function)
    explained = armature.explain(function)
    try:
        assert len(explained(X.clone().requires_grad_()).break_reasons) == breaks
    except RuntimeError:
        assert function is refused_in_place
    assert all(a == b for a, b in zip(outcome(compiled), outcome(function), strict=True))


def test_an_error_of_autograd_is_caught() -> None:
    compiled = armature.compile(handled_in_place)
    for _ in range(2):
        assert outcome(compiled) == outcome(handled_in_place)


def test_backward_may_change() -> None:
    class Changing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    def call(x):
        return Changing.apply(x)

    compiled = armature.compile(call)
    assert outcome(compiled) == outcome(call)
    Changing.backward = staticmethod(lambda ctx, gradient: gradient * 7)
    assert outcome(compiled) == outcome(call)
    Changing.forward = staticmethod(lambda ctx, x: x * 3)
    assert outcome(compiled) == outcome(call)
    x = X.clone().requires_grad_()
    result = compiled(x)
    Changing.backward = staticmethod(lambda ctx, gradient: gradient * 11)
    result.sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 11.0))
    assert len(Changing.__subclasses__()) == 0


def test_operations_that_fail_in_forward() -> None:
    def call(x, index):
        return Looking.apply(x * 2, index)

    compiled = armature.compile(call)
    for index in (1, 5, 0, 9):
        given = torch.tensor([index])
        assert outcome(compiled, given) == outcome(call, given)


def test_what_is_asked_about_an_argument_is_guarded() -> None:
    def call(x, y):
        return Pair.apply(x, y, "n")[0]

    compiled = armature.compile(call)
    for first, second in [(True, False), (True, True), (False, True), (False, False)]:
        gradients = []
        for run in (call, compiled):
            x, y = X.clone().requires_grad_(first), Y.clone().requires_grad_(second)
            result = run(x, y)
            if result.requires_grad:
                result.sum().backward()
            gradients.append(repr((result, x.grad, y.grad)))
        assert gradients[0] == gradients[1]
    assert translations(compiled) == 4


def test_what_a_call_saves_lives_as_long_as_its_result() -> None:
    compiled = armature.compile(lambda x: Square.apply(x * 1))
    x = X.clone().requires_grad_()
    lives = []
    for _ in range(3):
        result = compiled(x)
        lives.append(weakref.ref(result.grad_fn))
        result.sum().backward()
        del result
        gc.collect()
    assert [life() for life in lives] == [None] * 3


def test_a_foreign_backend_gets_both_directions() -> None:
    def call(x):
        return Scale.apply(x, 3) * 2

    compiled = armature.compile(call, backend="aot_eager")
    x = X.clone().requires_grad_()
    compiled(x).sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 600.0))
    assert not break_reasons(compiled)


def test_inside_of_a_checkpoint() -> None:
    def call(x):
        return torch.utils.checkpoint.checkpoint(nested, x, use_reentrant=False) * 2

    assert outcome(armature.compile(call)) == outcome(call)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_setup_may_not_save_what_forward_returns(requires_grad):
    def function(x):
        try:
            return [result.requires_grad for result in SavesWhatItReturns.apply(x)]
        except RuntimeError as error:
            return str(error)

    check(function, torch.ones(2, requires_grad=requires_grad))

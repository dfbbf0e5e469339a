"""Attributes and gradients that a captured program gives to tensors, and takes from them."""

import gc
import weakref

import armature
import pytest
import torch
from differential import break_reasons, check


def leaf(value=1.0, grad=None):
    x = torch.full((2,), value, requires_grad=True)
    x.grad = grad
    return x


def attributes(x):
    return dict(x.__dict__), x.grad if x.is_leaf else None


def plainly(fn, make):
    x = make()
    return fn(x), attributes(x)


def captured(fn, make, calls=3):
    """What each of some calls leaves, and of some on one object."""
    compiled = armature.compile(fn)
    same, other = make(), make()
    for _ in range(calls):
        x = make()
        result = compiled(x), attributes(x)
        assert str(result) == str(plainly(fn, make))
        assert str((compiled(same), attributes(same))) == str((fn(other), attributes(other)))
    return compiled


# --- The program's own attributes.


def test_attributes_of_arguments():
    def program(x):
        x.mark = x * 2
        x.count = getattr(x, "count", 0) + 1
        return x.mark + x.count

    compiled = captured(program, lambda: torch.ones(2))
    assert break_reasons(compiled) == []


def test_attributes_of_results():
    def program(x):
        y = x + 1
        y.mark = [y, x]
        z = y.T
        y.add_(1)
        return y, hasattr(z, "mark"), y.mark[0] is y, vars(y) is y.__dict__

    x = torch.ones(2)
    for _ in range(3):
        y, *rest = armature.compile(program)(x)
        assert rest == [False, True, True]
        assert y.mark[0] is y and y.mark[1] is x and torch.equal(y, torch.full((2,), 3.0))


def test_attributes_that_are_deleted():
    def program(x):
        x.mark = 1
        del x.mark
        y = x * 2
        y.mark = 1
        y.other = 2
        del y.mark
        try:
            del x.missing
        except AttributeError as error:
            return y, y.__dict__, str(error)

    captured(program, lambda: torch.ones(2))


def test_attributes_across_breaks():
    def program(x):
        y = x + 1
        y.mark = "before"
        x.mark = y
        armature.graph_break()
        y.mark += "after"
        return y.mark, x.mark is y, x + y

    captured(program, lambda: torch.ones(2))


def test_attributes_in_a_long_loop():
    def program(x):
        for i in range(1500):
            x.turn = i
        return x + x.turn

    compiled = captured(program, lambda: torch.ones(2))
    assert break_reasons(compiled) == []


def test_two_arguments_that_may_be_one():
    def program(x, y):
        x.mark = 1
        y.mark = 2
        return x.mark, x + y

    check(program, torch.ones(2), torch.ones(2))
    compiled = armature.compile(program)
    a, b = torch.ones(2), torch.ones(2)
    for arguments in ((a, b), (a, a), (b, a), (b, b)):
        expected = (
            program(*(x.clone() for x in arguments)) if arguments[0] is not arguments[1] else 2
        )
        found = compiled(*arguments)
        assert found[0] == (expected[0] if isinstance(expected, tuple) else expected)


def test_what_is_taken_off_dies():
    class Held:
        pass

    def program(x):
        x.mark = None
        return x + 1

    compiled = armature.compile(program)
    for _ in range(3):
        x, held = torch.ones(2), Held()
        alive = weakref.ref(held)
        x.mark = held
        del held
        compiled(x)
        gc.collect()
        assert alive() is None and x.mark is None


def test_the_class_has_the_first_say():
    def program(x):
        x.shown = 3
        return x + 1, x.shown

    compiled = armature.compile(program)
    log = []
    try:
        for _ in range(2):
            assert compiled(torch.ones(2))[1] == 3
            torch.Tensor.shown = property(lambda self: 5, lambda self, value: log.append(value))
            assert compiled(torch.ones(2))[1] == 5
            del torch.Tensor.shown
    finally:
        if "shown" in torch.Tensor.__dict__:
            del torch.Tensor.shown
    assert log == [3, 3]


@pytest.mark.parametrize(
    "same", [lambda x: x.contiguous(), lambda x: x.float(), lambda x: x.to("cpu")]
)
def test_results_that_are_arguments(same):
    def set_by_the_result(x):
        y = same(x)
        y.mark = 1
        return hasattr(x, "mark"), x + 1

    def set_by_the_argument(x):
        y = same(x)
        x.mark = 1
        return hasattr(y, "mark"), y is x

    def set_before(x):
        y = same(x)
        return getattr(y, "count", 0), y + 1

    def of_results(x):
        y = x * 2
        z = same(y)
        y.mark = 1
        return hasattr(z, "mark"), z

    def gradient(x):
        y = same(x)
        y.grad = y * 2
        return same(x).grad, x.grad

    def make():
        x = torch.ones(2)
        x.count = 3
        return x

    for program in (set_by_the_result, set_by_the_argument, set_before, of_results, gradient):
        captured(program, make)


def test_attributes_of_what_a_body_returns():
    class Marking(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            y.mark = "forward"
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def marking(x):
        y = x + 1
        y.mark = y * 2
        return y

    def program(x):
        y = torch.utils.checkpoint.checkpoint(marking, x, use_reentrant=False)
        z = Marking.apply(x)
        return y, y.mark, z.mark

    compiled = armature.compile(program)
    for _ in range(2):
        y, mark, text = compiled(torch.ones(2))
        assert y.mark is mark and torch.equal(mark, torch.full((2,), 4.0)) and text == "forward"


# --- Gradients.


@pytest.mark.parametrize("grad", [None, 2.0])
def test_gradients_are_read(grad):
    def program(x):
        if x.grad is None:
            return x * 3
        return x * x.grad

    def make():
        return leaf(grad=None if grad is None else torch.full((2,), grad))

    compiled = captured(program, make)
    assert break_reasons(compiled) == []


def test_gradients_come_and_go():
    def program(x):
        return x + 1 if x.grad is None else x + x.grad

    compiled = armature.compile(program)
    x = leaf()
    for grad in (None, torch.ones(2), torch.full((2,), 5.0), None, torch.ones(2)):
        x.grad = grad
        assert torch.equal(compiled(x), program(x))


def test_gradients_are_set():
    def program(x):
        x.grad = x.detach() * 2
        before = x.grad
        x.grad = None
        after = x.grad
        x.grad = before + 1
        return x.sum(), after, x.grad is before

    compiled = captured(program, leaf)
    assert break_reasons(compiled) == []


def test_gradients_are_put_off():
    def program(parameters):
        total = 0
        for p in parameters:
            if p.grad is not None:
                total = total + p.grad.sum()
                p.grad = None
        return total

    compiled = armature.compile(program)
    for _ in range(3):
        several = [leaf(float(i), torch.full((2,), float(i))) for i in range(3)]
        assert compiled(several) == 6.0
        assert all(p.grad is None for p in several)
    assert break_reasons(compiled) == []


def test_gradients_are_changed_in_place():
    def program(x):
        x.grad.mul_(2)
        x.grad.add_(x.detach())
        return x.grad + 1

    captured(program, lambda: leaf(grad=torch.ones(2)))


def test_a_gradient_that_is_an_argument():
    def program(x, y):
        y.mul_(2)
        return x.grad + 1

    compiled = armature.compile(program)
    for _ in range(2):
        x, y = leaf(grad=torch.ones(2)), torch.ones(2)
        assert torch.equal(compiled(x, y), torch.full((2,), 2.0))
        assert torch.equal(compiled(x, x.grad), torch.full((2,), 3.0))


@pytest.mark.parametrize(
    "value",
    [torch.ones(3), torch.ones(2, dtype=torch.float64), 3, "self"],
    ids=["shape", "dtype", "number", "itself"],
)
def test_what_is_no_gradient_is_refused(value):
    def program(x):
        try:
            x.grad = x if isinstance(value, str) else value
        except (RuntimeError, TypeError) as error:
            return type(error).__name__, str(error), x + 1
        return x + 2

    captured(program, leaf)


@pytest.mark.filterwarnings("ignore")
def test_the_gradient_of_a_result():
    def program(x):
        y = x.detach() + 1
        first = y.grad
        y.grad = y * 2
        z = x * 2
        return y, first, y.grad, z, z.grad

    compiled = armature.compile(program)
    for _ in range(2):
        y, first, grad, _, none = compiled(leaf())
        assert first is None and none is None and y.grad is grad
        assert torch.equal(grad, torch.full((2,), 4.0))


def test_a_step_of_training_by_hand():
    def step(x, weight):
        loss = ((x * weight) ** 2).sum()
        weight.grad = None
        loss.backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
        return loss

    compiled = armature.compile(step)
    one, other = leaf(3.0), leaf(3.0)
    for i in range(4):
        x = torch.full((2,), float(i))
        assert torch.equal(compiled(x, one), step(x, other))
        assert torch.equal(one, other) and torch.equal(one.grad, other.grad)

"""The higher-order operators wrap, hints_wrapper and strict_mode: what their functions may take,
use, return and do, with TorchDynamo's graph texts."""

from __future__ import annotations

import functools
from typing import Any

import armature
import pytest
import torch
from differential import Cases, check, entries
from graph_texts import graph_of
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.strict_mode import strict_mode
from torch._higher_order_ops.wrap import wrap

GLOBAL = torch.tensor([2.0, 2.0, 2.0])
LOG: list[Any] = []

same_text = Cases()
other_text = Cases()


class Holder:
    def __init__(self) -> None:
        self.held = torch.ones(3)

    def method(self, v):
        return v + self.held

    def __call__(self, v):
        return v * self.held


HOLDER = Holder()
LINEAR = torch.nn.Linear(3, 3)


def x() -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0])


def y() -> torch.Tensor:
    return torch.tensor([0.5, 0.25, 1.0])


@same_text.add(x(), y())
def closure(x, y):
    z = y * 2
    return wrap(lambda v: v + z, x)


@same_text.add(x(), y())
def nested(x, y):
    def outer(a):
        return wrap(lambda b: b.sin() + y, a).cos()

    return wrap(outer, x)


@same_text.add(x())
def module(x):
    return wrap(LINEAR, x)


@same_text.add(x())
def bound_method(x):
    return wrap(HOLDER.method, x)


@same_text.add(x())
def callable_object(x):
    return wrap(HOLDER, x)


@same_text.add(x(), y())
def partial(x, y):
    return wrap(functools.partial(lambda a, b: a + b, y), x)


@same_text.add(x())
def same_input_twice(x):
    return wrap(lambda a, b: a + b, x, x)


@same_text.add(x())
def returns_nothing(x):
    return wrap(lambda v: None, x), x + 1


@same_text.add(x())
def returns_constant(x):
    return wrap(lambda v: 3, x), x + 1


@same_text.add(x())
def returns_structure(x):
    return wrap(lambda v: {"a": v + 1, "b": [v * 2, None, "c"]}, x)


@same_text.add(x())
def returns_input_too(x):
    return wrap(lambda v: (v + 1, v), x)


@same_text.add(x(), y())
def returns_closure_too(x, y):
    return wrap(lambda v: (v + 1, y), x)


@same_text.add(x())
def returns_set(x):
    return len(wrap(lambda v: {1, 2}, x)), x + 1


@same_text.add(x())
def raises(x):
    def body(v):
        raise ValueError("no")

    try:
        return wrap(body, x)
    except ValueError:
        return x + 1


@same_text.add(x(), y())
def with_hints(x, y):
    return hints_wrapper(lambda a, b: a.sin() + b, (x, y), {}, hints={"k": True})


@same_text.add(x(), y())
def strictly(x, y):
    return strict_mode(lambda a, b: a.sin() + b, (x, y))


@other_text.add(x())
def returns_input(x):
    return wrap(lambda v: v, x) + 1


@other_text.add(x())
def returned_input_is_itself(x):
    y = wrap(lambda v: v, x)
    return y is x, y


@other_text.add(x())
def returns_object(x):
    def body(v):
        made = Holder()
        made.other = v + 1
        return made

    made = wrap(body, x)
    return made.other * made.held


@other_text.add(x())
def returns_function(x):
    def body(v):
        w = v.sin()
        return lambda u: u + w

    return wrap(body, x)(x)


@other_text.add(x())
def returns_generator(x):
    def body(v):
        w = v.sin()
        return (w + i for i in range(2))

    return sum(wrap(body, x))


@other_text.add(x())
def raises_behind_operations(x):
    def body(v):
        w = v * 2
        w.add_(1)
        if v.shape[0] == 3:
            raise ValueError("no")
        return w

    try:
        return wrap(body, x)
    except ValueError as error:
        return x + len(str(error))


def changes_list(x):
    seen = []

    def body(v):
        seen.append(v)
        return v + 1

    return wrap(body, x), len(seen)


def changes_cell(x):
    count = 0

    def body(v):
        nonlocal count
        count += 1
        return v + count

    return wrap(body, x), count


def changes_input(x):
    return wrap(lambda v: v.add_(1) * 2, x), x


def changes_global(x):
    def body(v):
        LOG.append(1)
        return v + 1

    return wrap(body, x)


@pytest.mark.parametrize(("fn", "args", "options"), same_text)
def test_graph_is_the_one_of_torch_dynamo(fn, args, options) -> None:
    assert graph_of(armature.compile, fn, *args) == graph_of(torch.compile, fn, *args)


@pytest.mark.parametrize(("fn", "args", "options"), [*same_text, *other_text])
def test_is_one_graph(fn, args, options) -> None:
    check(fn, *args, breaks=0, **options)


@pytest.mark.parametrize("fn", [changes_list, changes_cell, changes_input, changes_global])
def test_effects_are_left_to_python(fn) -> None:
    check(fn, x(), watch=LOG, restore=LOG.clear)


def test_changed_closures_and_shapes() -> None:
    scale = torch.tensor(2.0)

    def called(v):
        return wrap(lambda u: (u * scale).sin(), v)

    compiled = armature.compile(called, backend="aot_eager", fullgraph=True)
    for new in (2.0, 3.0):
        scale = torch.tensor(new)
        for shape in ((3,), (2, 3)):
            v = torch.ones(shape, requires_grad=True)
            result = compiled(v)
            assert torch.allclose(result, called(v))
            (found,) = torch.autograd.grad(result.sum(), v)
            (expected,) = torch.autograd.grad(called(v).sum(), v)
            assert torch.allclose(found, expected)


def test_many_calls() -> None:
    compiled = armature.compile(returns_input_too, fullgraph=True)
    v = x()
    for _ in range(1500):
        more, same = compiled(v)
        assert same is v
    assert torch.equal(more, v + 1)
    assert len(entries(compiled)) == 1

"""A graph raises that has changed what an input is by then: it requires gradients, or is laid out
differently. Or it has let go of what a variable of a generator that has ended holds."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch

LOG: list[Any] = []


def with_gradients(x: Any, w: Any, i: Any) -> Any:
    LOG.append("before")
    x.add_(w)
    return x[i], x.shape


def looked_at_before(x: Any, w: Any, i: Any) -> Any:
    LOG.append((x.requires_grad, x.is_leaf, x.shape))
    x.add_(w)
    LOG.append((x.requires_grad, x.is_leaf, x.grad_fn is None))
    y = x.sin()
    return y[i]


def branches(x: Any, w: Any, i: Any) -> Any:
    LOG.append("needs" if x.requires_grad else "does not")
    x.mul_(w)
    if x.requires_grad:
        LOG.append("needs now")
    return w[i] + x


def through_a_view(x: Any, w: Any, i: Any) -> Any:
    LOG.append("before")
    x[0].add_(w[0])
    LOG.append(x.stride())
    return x[i]


def named_again(x: Any, w: Any, i: Any) -> Any:
    y = w * 2
    LOG.append("before")
    total = x.add_(y)
    w = total.sin()
    x = w[i]
    print(w.shape, end="")
    return x


def laid_out_differently(x: Any, w: Any, i: Any) -> Any:
    LOG.append(x.shape)
    x.t_()
    x.unsqueeze_(0)
    y = x * 2
    LOG.append(y.shape)
    return w[i] + y.sum()


def resized(x: Any, w: Any, i: Any) -> Any:
    LOG.append(x.shape)
    x.resize_(2)
    return w[i].sum() + x


def seen_by_a_generator(x: Any, w: Any, i: Any) -> Any:
    made = x * 2
    LOG.append(any(t is made for t in (x, made)))
    x.mul_(3)
    made = w[i]
    return made + x


def kept_by_a_generator(x: Any, w: Any, i: Any) -> Any:
    made = x * 2

    def ends() -> Any:
        try:
            yield 1
        finally:
            LOG.append(made.sum().item())

    generator = ends()
    LOG.append(next(generator))
    x.mul_(3)
    return w[i] + x


PROGRAMS = [
    with_gradients,
    looked_at_before,
    branches,
    through_a_view,
    named_again,
    laid_out_differently,
    resized,
    seen_by_a_generator,
    kept_by_a_generator,
]


def outcome(call: Callable[..., Any], index: int) -> Any:
    LOG.clear()
    x = torch.arange(6.0).reshape(2, 3)
    w = torch.ones(2, 3, requires_grad=True)
    try:
        result = repr(call(x, w, torch.tensor([index])))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        result = str(error), [(f.name, f.lineno) for f in frames if f.filename == __file__][1:]
        del error
    return result, LOG[:], x.detach().tolist(), x.requires_grad, x._version


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_call_goes_on_as_in_python(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program)
    for index in (1, 7, 0, 7):
        assert outcome(compiled, index) == outcome(program, index)


@pytest.mark.parametrize("program", PROGRAMS)
def test_so_it_does_where_the_first_call_fails(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program)
    for index in (7, 1):
        assert outcome(compiled, index) == outcome(program, index)

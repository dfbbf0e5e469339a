"""Whether arrays require gradients, said by the program: parameters that it makes, and views, which
follow their base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every
from torch import nn


def made_parameter(lin):
    made = nn.Parameter(torch.ones(4, 4))
    made.requires_grad_(False)
    before = made.requires_grad
    made.requires_grad_(True)
    return before, made.requires_grad


def made_parameter_that_is_asked(lin):
    made = nn.Parameter(torch.ones(4, 4))
    if made.requires_grad:
        made.requires_grad_(False)
    if not made.requires_grad:
        made.requires_grad_(True)
    return made


def assigned_parameter(lin):
    lin.weight = nn.Parameter(torch.ones(4, 4))
    lin.weight.requires_grad_(False)
    before = lin.weight.requires_grad, lin(torch.ones(1, 4)).requires_grad
    lin.weight.requires_grad_(True)
    return before, lin.weight.requires_grad, lin(torch.ones(1, 4)).requires_grad


def frozen_parameter(lin):
    made = nn.Parameter(torch.ones(4), requires_grad=False)
    before = made.requires_grad
    made.requires_grad_()
    return before, made.requires_grad, (made * 2).requires_grad, made


def made_module(lin):
    made = nn.Linear(2, 2)
    made.weight.requires_grad_(False)
    one = made.weight.requires_grad
    made.requires_grad_(False)
    other = made.bias.requires_grad
    made.requires_grad_(True)
    return one, other, made.weight.requires_grad, made.bias.requires_grad


def parameters_in_a_loop(lin):
    for parameter in lin.parameters():
        if parameter.requires_grad:
            parameter.requires_grad_(False)
    without = lin(torch.ones(1, 4)).requires_grad
    lin.requires_grad_(True)
    return without, lin(torch.ones(1, 4)).requires_grad, lin.weight.requires_grad


def leaf(lin):
    made = torch.ones(4, requires_grad=True)
    made.requires_grad_(False)
    before = made.requires_grad
    made.requires_grad_(True)
    return before, made.requires_grad, made


def view_before(lin):
    base = torch.ones(2)
    view = base[:1]
    base.requires_grad_()
    return view.requires_grad, base.requires_grad, base[:1].requires_grad


def computed_from_a_view(lin):
    base = torch.ones(3)
    view = base[:1]
    early = view * 2
    base.requires_grad_()
    late = (view * 2).requires_grad, early.requires_grad, (early * view).requires_grad
    base.requires_grad_(False)
    return late, view.requires_grad, (view * 2).requires_grad


def view_itself(lin):
    base = torch.ones(3)
    view = base[:1]
    view.requires_grad_()
    both = base.requires_grad, view.requires_grad
    view.requires_grad_(False)
    return both, view.requires_grad


def detached(lin):
    made = lin.weight.detach()
    made.requires_grad_()
    before = made.requires_grad
    made.requires_grad_(False)
    return before, made.requires_grad


def view_without_gradients(lin):
    with torch.no_grad():
        view = lin.weight.view_as(lin.weight)
    before = view.requires_grad, view.is_leaf
    view.requires_grad_(False)
    return before, view.requires_grad


def view_of_a_parameter(lin):
    with torch.no_grad():
        view = lin.weight[0]
    first = view.requires_grad
    lin.weight.requires_grad_(False)
    second = view.requires_grad
    lin.weight.requires_grad_()
    return first, second, view.requires_grad, (view * 2).requires_grad


def view_with_history(lin):
    view = lin.weight[0]
    lin.weight.requires_grad_(False)
    return view.requires_grad, view.is_leaf, lin.weight.requires_grad


def detached_base(lin):
    base = torch.ones(3, requires_grad=True)
    other = base.detach()
    base.detach_()
    return other.requires_grad, base.requires_grad, (base + other).requires_grad


def view_that_is_not_detached(lin):
    base = torch.ones(3)
    one = base + 1
    view = base[:1]
    try:
        view.detach_()
    except RuntimeError:
        return one is base, view.requires_grad
    return one


PROGRAMS = [
    made_parameter,
    made_parameter_that_is_asked,
    assigned_parameter,
    frozen_parameter,
    made_module,
    parameters_in_a_loop,
    leaf,
    view_before,
    computed_from_a_view,
    view_itself,
    detached,
    view_without_gradients,
    view_of_a_parameter,
    view_with_history,
    detached_base,
    view_that_is_not_detached,
]


def state(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return type(result), result.requires_grad, result.is_leaf, result.shape
    return tuple(map(state, result)) if isinstance(result, tuple) else result


def outcome(function: Callable[..., Any]) -> Any:
    torch.manual_seed(0)
    lin = nn.Linear(4, 4)
    return state(function(lin)), [p.requires_grad for p in lin.parameters()]


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_requires_gradients(program, backend, every):
    expected = outcome(program)
    with breaking_every(every):
        compiled = armature.compile(program, backend=backend)
        for _ in range(2):
            assert outcome(compiled) == expected


@pytest.mark.parametrize("size", [4, 2])
def test_a_handler_of_what_no_view_is_allowed(size):
    log = []

    def program(view, other):
        one = other + 1
        try:
            view.detach_()
        except RuntimeError:
            log.append("caught")
        return one is other

    whole = torch.ones(4, 4)
    assert armature.compile(program)(whole[:size], torch.ones(2)) is False
    assert log == ["caught"]


LIN = nn.Linear(4, 4)


def another_view_of_an_input(buffer, log):
    one, other = buffer[2:], buffer[:3]
    one.sub_(LIN.weight[:3])
    try:
        other += 1
    except RuntimeError as error:
        log.append(str(error))
    return one


def another_view_in_between(buffer, log):
    one, other = buffer[2:], buffer[:3]
    computed = LIN(one.clone())
    one[1:].sub_(computed[1:])
    try:
        other += 1
    except RuntimeError as error:
        log.append(str(error))
    log.append(other.requires_grad)


def another_view_of_what_is_made(buffer, log):
    return another_view_of_an_input(torch.zeros(5, 4), log)


def the_base(buffer, log):
    one = buffer[2:]
    one.sub_(LIN.weight[:3])
    try:
        buffer += 1
    except RuntimeError as error:
        log.append(str(error))
    return one


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize(
    "program",
    [
        another_view_of_an_input,
        another_view_in_between,
        another_view_of_what_is_made,
        the_base,
    ],
)
def test_changes_behind_a_change_of_another_view(program, every):
    def heard(function):
        log = []
        try:
            torch.manual_seed(0)
            log.append(state(function(torch.zeros(5, 4), log)))
        except RuntimeError as error:
            log.append(str(error))
        return log, torch.get_rng_state().sum()

    expected = heard(program)
    with breaking_every(every):
        compiled = armature.compile(program)
        for _ in range(2):
            assert heard(compiled) == expected

"""Hooks on tensors that the graph computes: they see the history that the tensor has when they are
registered, whatever is done to it behind that."""

import functools
import gc
import weakref

import armature
import pytest
import torch
from differential import break_reasons, report, translations
from test_tensor_hooks import LOG, Hooks, doubled


def by_name(z):
    y = z * 2
    y.register_hook(doubled)
    return y.sin()


def of_one_graph_result_only(z):
    y = z * 2
    y.register_hook(doubled)
    return y


def seen_by_operations_before(z):
    y = z * 2
    w = y * y
    y.register_hook(doubled)
    return w + y


def closure_over_a_result(z):
    y = z * 2
    scale = y.detach() + 1
    y.register_hook(lambda gradient: gradient * scale + y.detach())
    return y.sin()


def several_in_order(z):
    y = z * 3
    y.register_hook(Hooks(2).hook)
    y.register_hook(functools.partial(lambda factor, gradient: gradient + factor, 5))
    y.register_hook(Hooks(7))
    y.register_hook(doubled)
    return y.exp()


def on_several_tensors(z):
    y = z * 3
    w = y.sin()
    w.register_hook(lambda gradient: LOG.append("w"))
    y.register_hook(lambda gradient: LOG.append("y"))
    z.register_hook(lambda gradient: LOG.append("z"))
    v = w.cos()
    v.register_hook(lambda gradient: LOG.append("v"))
    return v


def on_results_of_one_operation(z):
    a, b, c = z.unbind()
    c.register_hook(lambda gradient: gradient * 3)
    a.register_hook(lambda gradient: gradient * 5)
    return a * b * c


def removed(z):
    y = z * 2
    handle = y.register_hook(doubled)
    y.register_hook(Hooks(7).hook)
    handle.remove()
    return y * 2


def removed_by_another(z):
    y = z * 2
    handle = y.register_hook(doubled)

    def remover(gradient):
        LOG.append("remover")
        handle.remove()

    w = y * 3
    w.register_hook(remover)
    return w


def handle_returned(z):
    y = z * 2
    handle = y.register_hook(doubled)
    return y.cos(), handle, [handle]


def before_a_change_in_place(z):
    y = z * 2
    y.register_hook(lambda gradient: LOG.append(("before", gradient.tolist())))
    y.mul_(5)
    y.register_hook(lambda gradient: LOG.append(("behind", gradient.tolist())))
    return y.sin()


def before_a_change_of_the_base(z):
    y = z * 2
    first = y[0]
    first.register_hook(lambda gradient: LOG.append(("before", gradient.tolist())))
    y.mul_(5)
    return y * first


def behind_a_break(z):
    y = z * 2
    y.register_hook(doubled)
    armature.graph_break()
    y.register_hook(Hooks(3))
    return y.sin()


def under_a_mode(z):
    with torch.no_grad():
        frozen = z * 3
    try:
        frozen.register_hook(doubled)
    except RuntimeError as error:
        LOG.append(str(error))
    return z * frozen


def after_accumulation_of_a_result(z):
    y = z * 2
    try:
        y.register_post_accumulate_grad_hook(doubled)
    except RuntimeError as error:
        LOG.append(str(error))
    return y


def on_a_leaf_of_the_trace(z):
    w = torch.ones(3, requires_grad=True)
    w.register_hook(doubled)
    w.register_post_accumulate_grad_hook(lambda leaf: LOG.append(leaf.grad.tolist()))
    return z * w


def on_every_layer(z):
    for number in range(4):
        z = z * 2
        z.register_hook(Hooks(number + 1))
    return z


PROGRAMS = [
    by_name,
    of_one_graph_result_only,
    seen_by_operations_before,
    closure_over_a_result,
    several_in_order,
    on_several_tensors,
    on_results_of_one_operation,
    removed,
    removed_by_another,
    handle_returned,
    before_a_change_in_place,
    before_a_change_of_the_base,
    behind_a_break,
    under_a_mode,
    after_accumulation_of_a_result,
    on_a_leaf_of_the_trace,
    on_every_layer,
]


def history(fn, calls):
    LOG.clear()
    result = []
    z = torch.arange(1.0, 4.0, requires_grad=True)
    for call in range(calls):
        if call % 3 == 2:
            z = torch.arange(2.0, 5.0, requires_grad=True)
        value = fn(z)
        tensor = value[0] if isinstance(value, tuple) else value
        if call % 2:
            tensor.sum().backward(retain_graph=True)
            if isinstance(value, tuple):
                value[1].remove()
                assert value[2][0] is value[1]
        tensor.sum().backward()
        result.append((z.grad.tolist(), len(z._backward_hooks or ())))
        z.grad = None
    return result, LOG.copy()


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_hooks_run_as_in_python(fn, backend):
    if backend != "eager" and fn is seen_by_operations_before:
        return  # the backend's gradients do not pass the results of its graph
    expected = history(fn, 6)
    compiled = armature.compile(fn, backend=backend)
    assert history(compiled, 6) == expected, report(compiled)
    if backend == "eager" and fn is not behind_a_break:
        assert not break_reasons(compiled), report(compiled)
        assert translations(compiled) <= 2, report(compiled)


def test_backends_are_given_no_hooks():
    compiled = armature.compile(by_name, backend="aot_eager")
    compiled(torch.ones(3, requires_grad=True))
    (reason,) = break_reasons(compiled)
    assert reason["gb_type"] == "Unsupported method of an array"


def test_another_hook_is_registered_in_each_call():
    def program(z, hook):
        y = z * 2
        y.register_hook(hook)
        return y.sum()

    compiled = armature.compile(program, backend="eager")
    for factor in range(5):
        z = torch.ones(3, requires_grad=True)
        hook = Hooks(factor)
        compiled(z, hook).backward()
        assert z.grad.tolist() == [2.0 * factor] * 3
    assert translations(compiled) == 1


def test_the_programs_own_hook_is_in_place():
    def program(z):
        y = z * 2
        y.register_hook(doubled)
        return y

    y = armature.compile(program, backend="eager")(torch.ones(3, requires_grad=True))
    assert list(y._backward_hooks.values()) == [doubled]


@pytest.mark.parametrize("capture", [lambda fn: fn, armature.compile], ids=["plain", "captured"])
def test_hooks_live_as_long_as_the_history(capture):
    def program(z, hook):
        y = z * 2
        handle = y.register_hook(hook)
        return y.sin(), handle

    run = capture(program)
    for _ in range(3):
        hook = Hooks(2)
        watched = weakref.ref(hook)
        result, handle = run(torch.ones(3, requires_grad=True), hook)
        del hook
        gc.collect()
        assert watched() is not None
        del result
        gc.collect()
        assert watched() is None
        handle.remove()


@pytest.mark.parametrize("capture", [lambda fn: fn, armature.compile], ids=["plain", "captured"])
def test_hooks_of_what_nobody_keeps_are_gone(capture):
    def program(z, hook):
        (z * 2).register_hook(hook)
        return z.sin()

    run = capture(program)
    for _ in range(3):
        hook = Hooks(2)
        watched = weakref.ref(hook)
        result = run(torch.ones(3, requires_grad=True), hook)
        del hook
        gc.collect()
        assert watched() is None
        result.sum().backward()


def test_hooks_on_inputs_that_are_no_leaves():
    def program(y):
        y.register_hook(doubled)
        y.mul_(3)
        y.register_hook(Hooks(5))
        return y.sin()

    def gradient(fn):
        LOG.clear()
        z = torch.ones(3, requires_grad=True)
        y = z * 2
        y.register_hook(Hooks(7))
        fn(y).sum().backward()
        return z.grad.tolist(), LOG.copy()

    for backend in ("eager", "aot_eager"):
        compiled = armature.compile(program, backend=backend)
        for _ in range(3):
            assert gradient(compiled) == gradient(program)


def test_a_graph_that_fails_behind_a_hook():
    def program(z, index):
        y = z * 2
        y.register_hook(doubled)
        try:
            w = y[index]
        except IndexError as error:
            LOG.append(type(error))
            w = y
        return w.sum()

    def gradient(fn, index):
        LOG.clear()
        z = torch.ones(3, requires_grad=True)
        fn(z, index).backward()
        return z.grad.tolist(), LOG.copy()

    compiled = armature.compile(program, backend="eager")
    for index in (torch.tensor(1), torch.tensor(7), torch.tensor(2)):
        assert gradient(compiled, index) == gradient(program, index)


def test_a_graph_that_fails_behind_a_hook_on_an_input():
    def program(y, index):
        y.register_hook(doubled)
        return y[index].sum()

    def gradient(fn, index):
        LOG.clear()
        z = torch.ones(3, requires_grad=True)
        y = z * 2
        error = None
        try:
            fn(y, index)
        except IndexError as caught:
            error = str(caught)
        y.sum().backward()
        return z.grad.tolist(), LOG.copy(), error, len(y._backward_hooks)

    compiled = armature.compile(program, backend="eager")
    for index in (torch.tensor(1), torch.tensor(7), torch.tensor(2)):
        assert gradient(compiled, index) == gradient(program, index)


def test_hooks_inside_of_bodies_and_transforms():
    def hooked(x):
        y = x * 2
        y.register_hook(doubled)
        return y.sin().sum()

    def checkpointed(z):
        return torch.utils.checkpoint.checkpoint(hooked, z, use_reentrant=False)

    def transformed(z):
        return torch.func.grad(hooked)(z)

    def gradient(fn):
        LOG.clear()
        z = torch.ones(3, requires_grad=True)
        result = fn(z)
        result.sum().backward()
        return result.tolist(), z.grad.tolist(), LOG.copy()

    for program in (checkpointed, transformed):
        compiled = armature.compile(program, backend="eager")
        for _ in range(2):
            assert gradient(compiled) == gradient(program)


def test_a_leaf_that_becomes_none_behind_its_hook():
    def program(z):
        z.register_hook(doubled)
        z.detach_()
        return z * 2, z.requires_grad

    for backend in ("eager", "aot_eager"):
        compiled = armature.compile(program, backend=backend)
        for _ in range(2):
            z = torch.ones(3, requires_grad=True)
            value, requires_grad = compiled(z)
            assert not requires_grad and not z.requires_grad and not value.requires_grad
            assert len(z._backward_hooks) == 1


def test_one_object_under_two_names():
    def program(z):
        y = z.contiguous()
        z.register_hook(lambda gradient: LOG.append("z"))
        y.register_hook(lambda gradient: LOG.append("y"))
        z.register_hook(lambda gradient: LOG.append("z again"))
        return y * 2

    expected = history(program, 4)
    assert history(armature.compile(program, backend="eager"), 4) == expected


def test_thousands_of_hooks_in_one_trace():
    def program(z):
        for _ in range(1500):
            z = z + 1
            z.register_hook(doubled)
        return z

    def calls(fn):
        LOG.clear()
        z = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        fn(z).sum().backward()
        return len(LOG), z.grad.tolist()

    compiled = armature.compile(program, backend="eager")
    assert calls(compiled) == calls(program)
    assert calls(compiled) == calls(program)

"""Hooks that the program registers on tensors: when they run, in which order, and their handles."""

import gc
import weakref

import armature
import pytest
import torch
from differential import break_reasons, report, translations


def leaf():
    return torch.ones(3, requires_grad=True)


LOG = []


def doubled(gradient):
    LOG.append("doubled")
    return gradient * 2


class Hooks:
    def __init__(self, factor):
        self.factor = factor

    def hook(self, gradient):
        LOG.append(self.factor)
        return gradient * self.factor

    __call__ = hook


def by_name(z):
    z.register_hook(doubled)
    return z * 2


def by_lambda(z):
    factor = z.shape[0]
    z.register_hook(lambda gradient: gradient * factor)
    return z * 2


def several_in_order(z):
    y = z * 3
    z.register_hook(Hooks(2).hook)
    z.register_hook(Hooks(5).hook)
    z.register_hook(doubled)
    return y


def unbound(z):
    torch.Tensor.register_hook(z, doubled)
    return z * 2


def removed(z):
    handle = z.register_hook(doubled)
    z.register_hook(Hooks(7).hook)
    handle.remove()
    return z * 2


def removed_twice(z):
    handle = z.register_hook(doubled)
    handle.remove()
    handle.remove()
    return z * 2, handle


def after_accumulation(z):
    def step(parameter):
        LOG.append(parameter.grad.clone())
        parameter.grad = None

    handle = z.register_post_accumulate_grad_hook(step)
    return z * 2, handle


def handle_in_a_container(z):
    handles = {"first": z.register_hook(doubled)}
    return z * 2, handles


def hook_that_removes_itself(z):
    def once(gradient):
        LOG.append("once")
        handle.remove()
        return gradient * 3

    handle = z.register_hook(once)
    return z * 2


def changed_without_gradients(z):
    z.register_hook(doubled)
    with torch.no_grad():
        z.add_(1)
    return z * z


def in_a_handler(z):
    try:
        z.detach().register_hook(doubled)
    except RuntimeError as error:
        LOG.append(str(error))
    return z * 2


def with_a_method_of_its_own(z):
    z.register_hook(doubled)
    return z * 2, z.is_leaf, z.requires_grad


PROGRAMS = [
    by_name,
    by_lambda,
    several_in_order,
    unbound,
    removed,
    removed_twice,
    after_accumulation,
    handle_in_a_container,
    hook_that_removes_itself,
    changed_without_gradients,
    in_a_handler,
    with_a_method_of_its_own,
]


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for each in value if isinstance(each, torch.Tensor)]


def remove_handles(value):
    handles = value.values() if isinstance(value, dict) else [value]
    if isinstance(value, tuple):
        for each in value:
            remove_handles(each)
        return
    for handle in handles:
        if hasattr(handle, "hooks_dict_ref"):
            handle.remove()


def history(fn, calls):
    """What gradients, hooks and handles do over several calls with new and old leaves."""
    LOG.clear()
    result = []
    z = leaf()
    for call in range(calls):
        if call % 2 == 0:
            z = leaf()
        value = fn(z)
        (tensor,) = tensors_of(value)[:1]
        tensor.sum().backward(retain_graph=True)
        result.append((None if z.grad is None else z.grad.tolist(), len(z._backward_hooks or ())))
        remove_handles(value)
        z.grad = None
        tensor.sum().backward()
        result.append((None if z.grad is None else z.grad.tolist(), len(z._backward_hooks or ())))
        z.grad = None
    log = [each.tolist() if isinstance(each, torch.Tensor) else each for each in LOG]
    return result, log


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_hooks_run_as_in_python(fn, backend):
    expected = history(fn, 6)
    compiled = armature.compile(fn, backend=backend)
    assert history(compiled, 6) == expected, report(compiled)
    assert not break_reasons(compiled), report(compiled)
    assert translations(compiled) <= 2, report(compiled)


def test_a_tensor_without_gradients_takes_no_hook():
    def program(x):
        return x.register_hook(doubled)

    compiled = armature.compile(program, backend="eager")
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        compiled(torch.ones(3))


def test_hooks_on_results_run():
    def program(z):
        y = z * 2
        y.register_hook(doubled)
        return y.sum()

    for _ in range(2):
        expected, actual = leaf(), leaf()
        program(expected).backward()
        armature.compile(program, backend="eager")(actual).backward()
        assert actual.grad.tolist() == expected.grad.tolist()


def test_hooks_die_with_their_tensors():
    class Hook:
        def __call__(self, gradient):
            return gradient

    def program(z, hook):
        z.register_hook(hook)
        return z * 2

    compiled = armature.compile(program, backend="eager")
    for _ in range(3):
        z, hook = leaf(), Hook()
        watched = weakref.ref(hook)
        compiled(z, hook)
        del hook
        assert watched() is not None
        del z
        gc.collect()
        assert watched() is None


def test_a_replaced_method_is_asked(monkeypatch):
    compiled = armature.compile(by_name, backend="eager")
    compiled(leaf())
    calls = []
    monkeypatch.setattr(torch.Tensor, "register_hook", lambda self, hook: calls.append(hook))
    compiled(leaf())
    assert calls == [doubled]


def test_many_calls_register_as_many_hooks():
    def program(z):
        z.register_hook(doubled)
        return z * 2

    compiled = armature.compile(program, backend="eager")
    z = leaf()
    for _ in range(1500):
        compiled(z)
    assert len(z._backward_hooks) == 1500
    assert translations(compiled) == 1

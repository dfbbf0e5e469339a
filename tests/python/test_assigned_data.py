"""``x.data = y``: x stays the array that it is, with its history, and has the memory of y."""

import armature
import pytest
import torch
from differential import break_reasons, report, translations


def only(x, y):
    x.data = y


def twice(x, y):
    x.data = y
    x.data = y * 2
    return x


def both(x, y):
    x.data = y
    y.data = torch.zeros([0])
    return x


def swapped(x, y):
    kept = x.data
    x.data = y.data
    y.data = kept
    return x, y


def of_a_result(x, y):
    x.data = x.data * 2 + y.data
    return x


def in_a_loop(x, y):
    for _ in range(3):
        x.data = x.data * 2 + y.data
    return x.data


def is_itself(x, y):
    z = x
    x.data = y
    return torch.tensor(x is z), z


def used_before(x, y):
    w = x * x
    v = x.view(-1)
    x.data = y
    return w, v


def used_behind(x, y):
    x.data = y
    return x * 2


def changed_behind(x, y):
    x.data = y
    with torch.no_grad():
        x.add_(1)
    return x


def source_changed_behind(x, y):
    x.data = y
    with torch.no_grad():
        y.add_(3)
    return y * 2


def source_reshaped_behind(x, y):
    y = y.detach()
    x.data = y
    y.unsqueeze_(0)
    return y + 1


def asked_for_its_shape(x, y):
    x.data = y.view(-1)[:2]
    return tuple(x.shape), x.numel(), x.requires_grad, x.is_leaf, len(x), x.stride()


def under_another_name(x, y):
    same = x.contiguous()
    x.data = y
    return same * 2


def a_view_of_the_source(x, y):
    x.data = y.view(-1)[1:]
    return x


def of_another_dtype(x, y):
    x.data = y.double()
    return x


def with_a_gradient(x, y):
    w = (x * x).sum()
    x.data = y + 1
    return w


def with_a_hook(x, y):
    if x.requires_grad:
        x.register_hook(lambda gradient: gradient * 3)
    x.data = y + 1
    if x.requires_grad:
        x.register_hook(lambda gradient: gradient + 1)
    return x


def of_itself(x, y):
    x.data = x
    return x


def through_setattr(x, y):
    for name in ("data", "data"):
        setattr(x, name, y * 2)
    return x


def behind_a_break(x, y):
    x.data = y
    armature.graph_break()
    return x * 2


def of_integers(x, y):
    try:
        x.data = torch.ones(3, dtype=torch.int64)
    except RuntimeError as error:
        return str(error)
    return x


def of_a_result_of_the_trace(x, y):
    w = x * 2
    w.data = y
    return w * 2


PROGRAMS = [
    only,
    twice,
    both,
    swapped,
    of_a_result,
    in_a_loop,
    is_itself,
    used_before,
    used_behind,
    changed_behind,
    source_changed_behind,
    source_reshaped_behind,
    asked_for_its_shape,
    under_another_name,
    a_view_of_the_source,
    of_another_dtype,
    with_a_gradient,
    with_a_hook,
    of_itself,
    through_setattr,
    behind_a_break,
    of_integers,
    of_a_result_of_the_trace,
]
WHOLE = [
    only,
    twice,
    both,
    swapped,
    of_a_result,
    in_a_loop,
    is_itself,
    used_before,
    source_changed_behind,
    asked_for_its_shape,
    a_view_of_the_source,
    with_a_gradient,
    with_a_hook,
    through_setattr,
]


def described(value, x, y):
    """What can be seen of a result, and whether it is one of the arguments."""
    if isinstance(value, (tuple, list)):
        return [described(each, x, y) for each in value]
    if not isinstance(value, torch.Tensor):
        return value
    return (
        value.tolist(),
        tuple(value.shape),
        value.stride(),
        value.dtype,
        value.requires_grad,
        value.is_leaf,
        value is x,
        value is y,
    )


def history(fn, calls, requires_grad, wide, exact):
    """Not exact: without what a backend does otherwise, whatever is assigned (how often it counts a
    change, zeros for no gradient, the words of autograd's errors)."""
    seen = []
    x = None
    for call in range(calls):
        if x is None or call % 2 == 0:
            x = torch.arange(1.0, 4.0, requires_grad=requires_grad)
        y = torch.arange(2.0, 6.0 if wide else 5.0, requires_grad=requires_grad)
        version, source_version = x._version, y._version
        alias, source_alias = x.detach(), y.detach()
        error = None
        try:
            value = fn(x, y)
        except RuntimeError as caught:
            value, error = None, str(caught)
        seen.append((described(value, x, y), error))
        seen.append(described((x, y, alias, source_alias), x, y))
        if exact:
            seen.append((x._version - version, y._version - source_version))
        seen.append(x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())
        tensors = value if isinstance(value, tuple) else (value,)
        for each in tensors:
            if not isinstance(each, torch.Tensor) or not each.requires_grad:
                continue
            try:
                each.sum().backward()
            except RuntimeError as caught:
                seen.append(str(caught)[:60] if exact else None)
        for each in (x, y):
            nothing = each.grad is None or (not exact and not each.grad.any())
            seen.append(None if nothing else each.grad.tolist())
            each.grad = None
        with torch.no_grad():
            source_alias.add_(100)
        seen.append(described((x, y), x, y))
    return seen


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("requires_grad", [False, True], ids=["data", "gradients"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_data_is_assigned_as_in_python(fn, requires_grad, backend):
    for wide in (False, True):
        exact = backend == "eager"
        expected = history(fn, 5, requires_grad, wide, exact)
        compiled = armature.compile(fn, backend=backend)
        assert history(compiled, 5, requires_grad, wide, exact) == expected, report(compiled)
        if fn in WHOLE and not wide:
            assert not break_reasons(compiled), report(compiled)
            assert translations(compiled) <= 2, report(compiled)


def test_parameters_are_given_data():
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            out = x * self.weight
            self.weight.data = self.weight.data * 0.5
            return out

    expected, actual = Scale(), Scale()
    compiled = armature.compile(actual, backend="eager")
    for _ in range(1500):
        assert torch.equal(compiled(torch.ones(3)), expected(torch.ones(3)))
        assert torch.equal(actual.weight, expected.weight)
    assert isinstance(actual.weight, torch.nn.Parameter)
    assert translations(compiled) == 1


def test_one_array_under_two_names():
    def program(x, y):
        x.data = y.data + 1
        return y.data * 2

    compiled = armature.compile(program, backend="eager")
    for same in (False, True, True, False):
        x, other = torch.ones(3), torch.zeros(3)
        y = x if same else other
        expected_x, expected_other = torch.ones(3), torch.zeros(3)
        expected = program(expected_x, expected_x if same else expected_other)
        assert torch.equal(compiled(x, y), expected)
        assert torch.equal(x, expected_x)


def test_one_gradient_under_two_names():
    def program(x, y, gradient):
        x.grad = gradient
        return y.grad

    compiled = armature.compile(program, backend="eager")
    for same in (False, True, False):
        x, other = torch.ones(3), torch.zeros(3)
        gradient = torch.ones(3)
        found = compiled(x, x if same else other, gradient)
        assert found is (gradient if same else None)


def test_a_replaced_descriptor_is_asked(monkeypatch):
    def program(x, y):
        x.data = y
        return y + 1

    class Seen:
        def __get__(self, instance, owner=None):
            return self

        def __set__(self, instance, value):
            seen.append(value)

    seen = []
    compiled = armature.compile(program, backend="eager")
    x, y = torch.ones(3), torch.zeros(3)
    compiled(x, y)
    assert torch.equal(x, y)
    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "data", Seen(), raising=False)
        x = torch.ones(3)
        compiled(x, y)
        assert seen == [y] and x.tolist() == [1.0] * 3


def iterated_behind(x, y):
    x.data = y
    return [row for row in x], list(zip(x, x, strict=True))


def iterator_before(x, y):
    rows = iter(x)
    first = next(rows)
    x.data = y
    return first, list(rows)


def iterator_before_change_of_layout(x, y):
    rows = iter(x)
    x.unsqueeze_(0)
    return [*rows], list(x)


@pytest.mark.parametrize(
    "function", [iterated_behind, iterator_before, iterator_before_change_of_layout]
)
def test_iterators_walk_over_what_was_there(function):
    compiled = armature.compile(function)
    for size in (2, 2, 3):
        plain = function(torch.arange(3.0), torch.zeros(size))
        captured = compiled(torch.arange(3.0), torch.zeros(size))
        assert repr(captured) == repr(plain)

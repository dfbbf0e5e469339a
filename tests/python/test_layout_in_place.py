"""Operations that change what a tensor object is (its shape, its history), and parameters made in a
trace."""

import armature
import pytest
import torch
from differential import break_reasons, check, report


def transposed(x):
    y = x + 1
    y.t_()
    return y, y.shape, y * 2


def chain(x):
    y = x[None].clone()
    y.squeeze_(0).unsqueeze_(1).transpose_(0, 2)
    y.swapaxes_(0, 1)
    y.swapdims_(1, 2)
    return y, y.stride()


def view_from_before(x):
    y = x + 1
    first = y[0]
    y.t_()
    first.mul_(3)
    return first, y, y[0]


def in_place_before(x):
    y = x + 1
    y.mul_(2)
    y.t_()
    y.add_(1)
    return y


def input_itself(x):
    x.t_()
    return x.shape, x + 1


def input_through_a_container(x):
    held = [x, {"same": x}]
    held[0].unsqueeze_(0)
    return held[1]["same"].shape, x.sum(0)


def behind_a_break(x):
    x.t_()
    print("broken")
    return x.shape, x * 2


def another_name(x):
    y = x + 1
    z = y
    y.t_()
    return z.shape, z is y


def contiguous_of_it(x):
    y = x + 1
    z = y.contiguous()
    y.t_()
    return z.shape, z is y, z + 1


def contiguous_of_a_transpose(x):
    y = (x + 1).t()
    z = y.contiguous()
    y.t_()
    return z.shape, z is y, z + 1


def to_of_it(x):
    y = x + 1
    z = y.to(torch.float32)
    z.t_()
    return y.shape, y + 1


def caught(x):
    y = x[None] + 1
    try:
        y.t_()
    except RuntimeError as error:
        return str(error)


LAYOUTS = [
    transposed,
    chain,
    view_from_before,
    in_place_before,
    input_itself,
    input_through_a_container,
    behind_a_break,
    another_name,
    contiguous_of_it,
    contiguous_of_a_transpose,
    to_of_it,
    caught,
]


@pytest.mark.parametrize("fn", LAYOUTS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_layouts_change_as_in_python(fn, backend):
    calls = [(torch.ones(2, 3),), (torch.arange(6.0).reshape(3, 2),), (torch.ones(3, 3).t(),)]
    check(fn, *calls[0], more=tuple(calls[1:]), options={"backend": backend})


@pytest.mark.parametrize("fn", [transposed, chain, view_from_before, in_place_before, input_itself])
def test_layouts_change_in_the_graph(fn):
    compiled = armature.compile(fn, backend="eager")
    compiled(torch.ones(2, 3))
    assert not break_reasons(compiled), report(compiled)


def detached_in_place(x, w):
    y = x * w
    y.detach_()
    return y.requires_grad, y.is_leaf, y * w


# (What backends return of a view is none, so that they may detach it.)
def detached_view(x, w):
    y = (x * w)[0]
    try:
        y.detach_()
    except RuntimeError as error:
        return str(error)[:40]


def requiring(x, w):
    y = x.clone()
    y.requires_grad_()
    return y.requires_grad, y.is_leaf, y, (y * 2).sum()


def requiring_no_more(x, w):
    y = x.clone().requires_grad_(True)
    y.requires_grad_(False)
    return y.requires_grad, y * 2


def refused_on_a_result(x, w):
    y = x * w
    try:
        y.requires_grad_(False)
    except RuntimeError as error:
        return str(error)[:40]


def made_requiring(x, w):
    v = torch.ones(3, requires_grad=True)
    return x * v, v


def made_like(x, w):
    v = torch.zeros_like(x, requires_grad=True)
    return v, (v * x).sum()


def parameter(x, w):
    p = torch.nn.Parameter(x)
    return p, type(p), isinstance(p, torch.nn.Parameter), p.requires_grad, p.is_leaf, p * 2


def parameter_shares_memory(x, w):
    p = torch.nn.Parameter(x.clone(), requires_grad=False)
    view = p.data
    view.add_(1)
    return p, view, type(view), type(p.detach())


def views_of_a_parameter(x, w):
    views = w.data, w.detach(), w.view(-1), w[0], w.to(w.dtype), w.contiguous()
    try:
        return [type(view) for view in views], views[1].shape, type(w.data), type(w.detach())
    except ValueError:
        return None


def parameter_of_a_parameter(x, w):
    p = torch.nn.Parameter(w)
    return p, p is w, type(p), p.shape


def results_of_a_parameter(x, w):
    try:
        doubled = w * 2
    except RuntimeError:
        return None
    views = w[0], w.unbind()[0], w.chunk(1)[0], doubled, w.view(-1), w.data, w.detach()
    itself = w.contiguous(), w.to(torch.float32), w.float(), +w
    others = w.double(), w.clone(), torch.nn.Parameter(w[0].detach()).to(torch.float64)
    classes = [type(each) for each in (*views, *itself, *others)]
    return classes, [isinstance(each, torch.nn.Parameter) for each in (*views, *itself, *others)]


def parameter_changed(x, w):
    p = torch.nn.Parameter(torch.empty(2, 3))
    with torch.no_grad():
        p.fill_(2)
    return p, type(p), (p * x).sum()


def module_made(x, w):
    layer = torch.nn.Linear(3, 2, bias=False)
    torch.nn.init.ones_(layer.weight)
    return layer(x), sorted(dict(layer.named_parameters())), type(layer.weight)


AUTOGRAD = [
    detached_in_place,
    detached_view,
    requiring,
    requiring_no_more,
    refused_on_a_result,
    made_requiring,
    made_like,
    parameter,
    parameter_shares_memory,
    parameter_of_a_parameter,
    views_of_a_parameter,
    results_of_a_parameter,
    parameter_changed,
    module_made,
]


def gradients(values):
    """The gradients that the results give to those among them that are leaves."""
    leaves = [v for v in values if isinstance(v, torch.Tensor) and v.is_leaf and v.requires_grad]
    for value in values:
        if isinstance(value, torch.Tensor) and not value.is_leaf:
            value.sum().backward(retain_graph=True)
    return [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


@pytest.mark.parametrize("fn", AUTOGRAD, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_history_changes_as_in_python(fn, backend):
    if fn is detached_view and backend != "eager":
        backend = "eager"

    def calls():
        return (torch.ones(2, 3), torch.nn.Parameter(torch.full((3,), 2.0)))

    other = (torch.full((2, 3), 2.0), torch.nn.Parameter(torch.ones(1)))
    check(fn, *calls(), more=(other,), options={"backend": backend})
    given, other = calls(), calls()
    expected = fn(*given)
    actual = armature.compile(fn, backend=backend)(*other)
    if isinstance(expected, tuple):
        assert [type(each) for each in actual] == [type(each) for each in expected]
        assert gradients(actual) == gradients(expected)
    assert (given[1].grad is None) == (other[1].grad is None)
    if given[1].grad is not None:
        assert torch.equal(given[1].grad, other[1].grad)

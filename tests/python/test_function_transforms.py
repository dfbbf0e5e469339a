"""torch.func in the graph: texts as TorchDynamo's, results and gradients as plain Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, entries
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

W = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
SCALE = torch.tensor(3.0)
LINEAR = torch.nn.Linear(3, 3)
SEEN: list[Any] = []


def depth() -> int:
    return torch._C._functorch.get_dynamic_layer_stack_depth()


def vector() -> torch.Tensor:
    return torch.tensor([0.5, 0.25, 1.0])


def matrix() -> torch.Tensor:
    return torch.arange(9.0).reshape(3, 3) / 10


def gradient(x):
    return grad(lambda x: x.sin().sum() * SCALE)(x)


def gradient_of_second(x):
    return grad(lambda a, b: (a * b).sum(), argnums=1)(x, x + 1)


def gradients_of_both(x):
    return grad(lambda a, b: (a * b.sin()).sum(), argnums=(0, 1))(x, x + 1)


def with_value(x):
    found, (value, rest) = grad_and_value(lambda x: (x.sin().sum(), [x.cos()]), has_aux=True)(x)
    return found, value, rest


def second_derivative(x):
    return grad(lambda x: grad(lambda y: (y**3).sum())(x).sum())(x)


def mapped(x):
    return vmap(lambda row: row.sum() + row.shape[0])(x)


def mapped_columns(x):
    return vmap(lambda column, k: column * k, in_dims=(1, None), out_dims=1)(x, SCALE)


def mapped_structure(x):
    return vmap(
        lambda d: {"sum": d["a"] + d["b"], "max": d["a"].max()}, in_dims=({"a": 0, "b": 1},)
    )({"a": x, "b": x * 2})["sum"]


def mapped_shapes(x):
    seen = []

    def f(row):
        seen.append((tuple(row.shape), row.stride()))
        row = row.add(1)
        row.mul_(2)
        return torch.where(row > 2.5, row, -row).sum()

    return vmap(f, in_dims=1)(x), seen


def mapped_in_chunks(x):
    return vmap(lambda row: row * 2, chunk_size=2)(x)


def mapped_constant(x):
    return vmap(lambda row: torch.ones(2))(x), vmap(lambda row: row, out_dims=1)(x)


def mixed_jacobian(x):
    return jacrev(jacfwd(lambda x: (x**3).sum(0)))(x)


def in_a_branch(x):
    gradient = grad(lambda y: (y**2).sum())
    return torch.cond(x.sum() > 0, lambda x: gradient(x), lambda x: x * 2 + 1, (x,))


def mapped_twice(x):
    return vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(x, x[0])


def mapped_gradient(x):
    return vmap(grad(lambda row: (row * W).sin().sum()))(x)


def pullback(x):
    out, pull = vjp(lambda x: (x.sin(), x.cos().sum()), x)
    return out, pull((x, SCALE))


def pushforward(x):
    return jvp(lambda x: (x * W).sin(), (x,), (x + 1,))


def jacobian(x):
    return jacrev(lambda x: x.sin() * x.sum())(x)


def both_jacobians(x):
    return jacrev(torch.sin)(x), jacfwd(torch.sin)(x)


def forward_jacobian(x):
    return jacfwd(lambda x: x.sin() * x.sum())(x)


def both_derivatives(x):
    return hessian(lambda x: (x.sin() * x).sum())(x)


def partial_jacobian(x):
    return jacrev(lambda a, b: {"p": a * b, "s": b.sum()}, argnums=1)(x, x + 1)


def per_sample_gradients(x):
    parameters = dict(LINEAR.named_parameters())

    def loss(parameters, sample):
        return functional_call(LINEAR, parameters, (sample,)).square().sum()

    return vmap(grad(loss), in_dims=(None, 0))(parameters, x)


def around_other_work(x):
    y = x * 2
    z = grad(lambda y: (y * x).sum())(y)
    return z.sin() + y, z.requires_grad


def without_gradients(x):
    with torch.no_grad():
        y = grad(lambda x: (x * W).sin().sum())(x)
    return y, y.requires_grad, torch.is_grad_enabled()


def without_gradients_inside(x):
    def f(x):
        with torch.no_grad():
            constant = x * x
        return (x - constant).sum()

    return grad(f)(x)


def twice(x):
    for _ in range(2):
        x = grad(lambda x: x.sin().sum())(x)
    return x


def properties_inside(x):
    def f(row):
        facts = row.ndim, row.dtype, row.requires_grad, row.is_floating_point(), len(row)
        return row * (2 if facts == (1, torch.float32, True, True, 3) else 5)

    return vmap(grad(lambda row: f(row).sum()))(x)


ON_VECTORS = [
    gradient,
    gradient_of_second,
    gradients_of_both,
    with_value,
    second_derivative,
    pullback,
    pushforward,
    jacobian,
    both_jacobians,
    forward_jacobian,
    both_derivatives,
    partial_jacobian,
    around_other_work,
    without_gradients,
    without_gradients_inside,
    twice,
]
ON_MATRICES = [
    mapped,
    mapped_columns,
    mapped_structure,
    mapped_shapes,
    mapped_in_chunks,
    mapped_constant,
    mixed_jacobian,
    mapped_twice,
    mapped_gradient,
    per_sample_gradients,
    properties_inside,
]
CASES = [(f, vector) for f in ON_VECTORS] + [(f, matrix) for f in ON_MATRICES]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def same(left: Any, right: Any) -> bool:
    def equal(a: Any, b: Any) -> bool:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return torch.allclose(a, b) and a.requires_grad == b.requires_grad
        return a == b

    a, b = leaves(left), leaves(right)
    return len(a) == len(b) and all(map(equal, a, b))


def graph_of(compiler: Callable[..., Any], function: Callable[..., Any], x: torch.Tensor) -> str:
    texts = []

    def backend(module, inputs):
        texts.append(module.print_readable(print_output=False))
        return module

    torch._dynamo.reset()
    compiler(function, backend=backend, fullgraph=True)(x)
    (text,) = texts
    lines = re.sub(r': "[^"]*"', "", text).splitlines()
    return "\n".join(line for line in lines if line.strip() and "#" not in line)


# TorchDynamo names what it puts into dicts after a variable of its own, numbers equal names in the
# order in which it gives them, goes on using the name of what was changed in place, and computes
# something else in properties_inside, where it takes what is inside of a transform for a tensor
# without gradients.
OTHERS = [
    pullback,
    mapped_structure,
    mapped_shapes,
    per_sample_gradients,
    partial_jacobian,
    properties_inside,
]


@pytest.mark.parametrize(("function", "make"), [case for case in CASES if case[0] not in OTHERS])
def test_graph_is_the_one_of_torch_dynamo(function, make) -> None:
    own = graph_of(armature.compile, function, make())
    assert own == graph_of(torch.compile, function, make())
    assert depth() == 0


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(("function", "make"), CASES)
def test_results_are_those_of_plain_python(function, make, backend) -> None:
    # functional_call swaps parameters, and other backends hold weak references to them that are
    # told of their end: then Python does it.
    is_whole = function is not per_sample_gradients
    compiled = armature.compile(function, backend=backend, fullgraph=is_whole)
    for _ in range(2):
        assert same(compiled(make()), function(make()))
        assert same(compiled(make() + 1), function(make() + 1))
    assert not is_whole or len(entries(compiled)) == 1
    assert depth() == 0


@pytest.mark.parametrize(("function", "make"), CASES)
def test_gradients_flow_through_transforms(function, make) -> None:
    def run(of: Callable[..., Any]) -> Any:
        W.grad = None
        x = make().requires_grad_()
        found = [t for t in leaves(of(x)) if isinstance(t, torch.Tensor) and t.requires_grad]
        if found:
            sum(t.square().sum() for t in found).backward()
        return [len(found), x.grad, W.grad]

    assert same(run(armature.compile(function)), run(function))
    W.grad = None


def breaks_inside(x):
    def f(x):
        SEEN.append(float(depth()))
        return x.sin().sum()

    y = x * 2
    return grad(f)(y) + 1


def data_inside(x):
    return grad(lambda x: x.sin().sum() if x.sum() > 0 else x.cos().sum())(x)


def random_inside(x):
    return vmap(lambda x: x + torch.rand(1))(x.reshape(1, -1))


def raises_inside(x):
    def f(x):
        raise ValueError(x.shape)

    try:
        return grad(f)(x)
    except ValueError as error:
        return error.args, depth()


def no_scalar(x):
    try:
        return grad(lambda x: x.sin())(x)
    except RuntimeError as error:
        return str(error), depth()


def fails_inside(x):
    return grad(lambda x: (x @ x.reshape(1, -1)).sum())(x)


def hooks_on_saved(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return grad(lambda x: x.sin().sum())(x)


@pytest.mark.parametrize(
    "function",
    [
        breaks_inside,
        data_inside,
        random_inside,
        raises_inside,
        no_scalar,
        fails_inside,
        hooks_on_saved,
    ],
)
def test_what_cannot_be_in_the_graph_is_left_to_python(function) -> None:
    def outcome(of: Callable[..., Any]) -> Any:
        SEEN.clear()
        try:
            return [of(vector()), list(SEEN), depth()]
        except Exception as error:
            return [type(error), str(error), depth()]

    compiled = armature.compile(function)
    for _ in range(2):
        assert same(outcome(compiled), outcome(function))


def test_an_operation_that_fails_when_it_runs_leaves_no_level() -> None:
    def f(x, i):
        y = x * 2
        return vmap(lambda row: row[i] * y)(x)

    compiled = armature.compile(f)
    rows, last = matrix(), torch.tensor(2)
    assert same(compiled(rows, last), f(rows, last))
    for broken in (compiled, f):
        with pytest.raises((IndexError, RuntimeError)):
            broken(rows, torch.tensor(3))
        assert depth() == 0
        assert torch._C._autograd._saved_tensors_hooks_get_disabled_error_message() is None
    assert same(compiled(rows, last), f(rows, last))


def test_a_failure_behind_a_transform_is_the_programs() -> None:
    def f(x, i, changed):
        out, tangent = jvp(torch.sin, (x,), (x,))
        changed.add_(1)
        SEEN.append(1)
        return out[i] + tangent

    compiled = armature.compile(f)
    assert same(
        compiled(vector(), torch.tensor(1), vector()), f(vector(), torch.tensor(1), vector())
    )
    found = []
    for of in (f, compiled):
        SEEN.clear()
        changed = vector()
        with pytest.raises(IndexError) as error:
            of(vector(), torch.tensor(7), changed)
        found.append([str(error.value), changed, list(SEEN), depth()])
    assert same(*found)


def test_a_level_around_the_call_is_seen() -> None:
    def f(x):
        return grad(lambda x: x.sin().sum() * SCALE)(x)

    compiled = armature.compile(f)
    assert same(compiled(vector()), f(vector()))
    inside = vmap(compiled)(matrix())
    assert same(inside, vmap(f)(matrix()))
    constant = vmap(lambda row: compiled(vector()) + row)(matrix())
    assert same(constant, vmap(lambda row: f(vector()) + row)(matrix()))
    assert same(compiled(vector()), f(vector()))


def test_breaks_are_of_the_call() -> None:
    compiled = armature.compile(data_inside)
    assert same(compiled(vector()), data_inside(vector()))
    assert "Data-dependent branching" in {each["gb_type"] for each in break_reasons(compiled)}


def told_inside(x: torch.Tensor) -> torch.Tensor:
    def loss(x):
        squared = x * x
        SEEN.append(depth())
        return (squared * SCALE).sum()

    return grad(loss)(x) + 1


def told_inside_of_rows(x: torch.Tensor) -> torch.Tensor:
    def row(x):
        squared = x * x
        armature.graph_break()
        return squared.sum()

    return vmap(row)(x)


@pytest.mark.parametrize("f", [told_inside, told_inside_of_rows])
def test_backends_get_no_part_of_a_transform(f: Callable[..., Any]) -> None:
    compiled = armature.compile(f, backend="aot_eager")
    for _ in range(3):
        assert same(compiled(matrix()), f(matrix()))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_return_no_array_of_a_level(backend: str) -> None:
    def kept_rows(x: torch.Tensor) -> Any:
        kept = []

        def keep(row: torch.Tensor) -> torch.Tensor:
            kept.append(row * 2)
            return row + 1

        result = vmap(keep)(x)
        return result, type(kept[0]), kept[0].shape, torch._C._functorch.get_unwrapped(kept[0])

    compiled = armature.compile(kept_rows, backend=backend)
    for _ in range(2):
        assert same(compiled(matrix()), kept_rows(matrix()))


def test_parameters_that_a_backend_refers_to_weakly() -> None:
    def f(x):
        parameters = dict(LINEAR.named_parameters())
        return grad(lambda named: functional_call(LINEAR, named, (x,)).sum())(parameters)

    compiled = armature.compile(f, backend="aot_eager", fullgraph=True)
    for _ in range(3):
        given, expected = compiled(matrix()), f(matrix())
        assert given.keys() == expected.keys()
        assert all(same(given[name], expected[name]) for name in given)


def test_branches_hold_transforms() -> None:
    compiled = armature.compile(in_a_branch, fullgraph=True)
    for sign in (1, -1):
        assert same(compiled(matrix() * sign), in_a_branch(matrix() * sign))


def test_linearize_runs() -> None:
    def f(x):
        out, push = linearize(lambda x: x.sin() * 2, x)
        return out, push(x)

    compiled = armature.compile(f)
    assert same(compiled(vector()), f(vector()))


def test_levels_that_do_not_nest() -> None:
    def f(x, tangent):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, tangent)
            return torch.autograd.forward_ad.unpack_dual(dual * 2).tangent

    compiled = armature.compile(f)
    assert same(compiled(vector(), vector()), f(vector(), vector()))
    with torch.autograd.forward_ad.dual_level():
        for function in (f, compiled, armature.compile(f)):
            with pytest.raises(RuntimeError, match="Nested forward mode AD"):
                function(vector(), vector())
    assert same(compiled(vector(), vector()), f(vector(), vector()))


def test_a_break_inside_of_a_level() -> None:
    def f(x, tangent):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, tangent)
            armature.graph_break()
            y = dual * 2
            armature.graph_break()
            return torch.autograd.forward_ad.unpack_dual(y.sin())

    for backend in ("eager", "aot_eager"):
        compiled = armature.compile(f, backend=backend)
        for _ in range(3):
            assert all(map(same, compiled(vector(), vector()), f(vector(), vector())))


def test_random_numbers_of_a_trace_are_given_back() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.func.vmap(lambda row: row + torch.randn(2), randomness="same")(x)

    compiled = armature.compile(program, backend=lambda module, inputs: module.forward)
    x = torch.zeros(3, 2)
    for function in (program, compiled):
        torch.manual_seed(0)
        outcomes = [function(x), torch.rand(1), function(x)]
        if function is program:
            expected = outcomes
    torch.testing.assert_close(outcomes, expected)


def identities(function: Callable[..., Any], *dims: Any) -> Callable[..., Any]:
    def program(x: torch.Tensor) -> Any:
        z = x.clone()
        y, w = vmap(function, *dims)(z), vmap(function, *dims)(x)
        return y is z, w is x, y is w, y, w, x

    return program


@pytest.mark.parametrize(
    "program",
    [
        identities(lambda row: row),
        identities(torch.Tensor.acos_),
        identities(torch.Tensor.acos_, 1, 1),
        identities(torch.Tensor.acos_, 0, 1),
        identities(lambda row: row.sin()),
        identities(lambda row: row.contiguous().mul_(2)),
        identities(lambda row: row.view(-1).mul_(2)),
        identities(lambda row: vmap(torch.Tensor.cos_)(row.unsqueeze(0)).squeeze(0)),
        identities(lambda row: SCALE),
    ],
)
def test_whether_a_result_is_an_argument(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program)
    for make in (matrix, lambda: matrix().T, matrix):
        expected, found = program(make()), compiled(make())
        assert expected[:3] == found[:3]
        assert all(map(same, expected[3:], found[3:]))


def test_results_of_which_one_is_an_argument() -> None:
    def program(a: torch.Tensor, b: torch.Tensor) -> Any:
        c, d = vmap(lambda a, b: (a.acos_(), b + 1))(a, b)
        return c is a, d is b, c is d

    compiled = armature.compile(program, fullgraph=True)
    for a, b in ((matrix(), matrix()), (matrix(), matrix()[:, :1])):
        assert compiled(a, b) == program(a, b) == (True, False, False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_tensors_made_inside(backend: str) -> None:
    def program(x: torch.Tensor) -> Any:
        made = torch.ones(3)

        def body(row: torch.Tensor) -> Any:
            inside = torch.full((3,), 2.0) + torch.tensor([1.0, 2.0, 3.0])
            return row + torch.ones(3), row * inside + made, torch.zeros(2, device="cpu")

        return vmap(body)(x), vmap(lambda row: (row + torch.arange(3)).sum())(x)

    compiled = armature.compile(program, backend=backend, fullgraph=True)
    x = torch.rand(2, 3)
    expected, found = program(x), compiled(x)
    assert all(map(same, (*expected[0], expected[1]), (*found[0], found[1])))

"""What torch wraps around functions: grad modes as decorators, custom operators, the higher-order
operator wrap, functions that torch.compile has made. And how few operations it takes."""

import armature
import pytest
import torch
from differential import check
from torch._higher_order_ops.wrap import wrap


def operations(fn, *args):
    counts = []

    def backend(graph_module, example_inputs):
        counts.append(sum("call" in node.op for node in graph_module.graph.nodes))
        return graph_module.forward

    result = armature.compile(fn, backend=backend, fullgraph=True)(*args)
    expected = fn(*args)
    assert torch.equal(result, expected) and result.requires_grad == expected.requires_grad
    return counts


def leaf():
    return torch.ones(2, 3, requires_grad=True)


def decorated(x):
    @torch.no_grad()
    def double(v):
        return v * 2

    @torch.enable_grad()
    def triple(v):
        return v * 3

    @torch.no_grad
    def fourfold(v):
        return v * 4

    @torch.set_grad_enabled(False)
    def fivefold(v):
        return v * 5

    return double(x), triple(x), fourfold(x), fivefold(x), double.__name__, x * 2


def test_grad_modes_as_decorators():
    check(decorated, torch.ones(2, requires_grad=True), breaks=0)


def nothing_in_between(x):
    with torch.no_grad(), torch.enable_grad():
        return x + 1


def after_an_exception(x):
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        return x + 1


def one_after_the_other(x):
    with torch.no_grad():
        y = x + 1
    with torch.no_grad():
        return y + x * 2


@pytest.mark.parametrize(
    ("fn", "count"), [(nothing_in_between, 1), (after_an_exception, 1), (one_after_the_other, 5)]
)
def test_modes_in_which_nothing_happens_are_not_set(fn, count):
    """As many operations as TorchDynamo has."""
    assert operations(fn, leaf()) == [count]
    check(fn, leaf(), breaks=0)


def test_a_mode_that_a_break_leaves_in_force_stays():
    def broken(x):
        with torch.enable_grad():
            pass
        with torch.no_grad():
            armature.graph_break()
            y = x * 2
        return y, x * 3, torch.is_grad_enabled()

    check(broken, leaf())
    with torch.no_grad():
        check(broken, leaf())


@torch.library.custom_op("armature_wrappers::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


@scaled.register_fake
def _(x, factor=2.0):
    return torch.empty_like(x)


@torch.library.custom_op("armature_wrappers::increased", mutates_args=("x",))
def increased(x: torch.Tensor) -> None:
    x.add_(1)


def test_custom_operators():
    def called(x):
        return scaled(x) + scaled(x, factor=3.0) + torch.ops.armature_wrappers.scaled(x, 4.0)

    assert operations(called, torch.ones(2)) == [5]
    check(called, torch.ones(2), breaks=0)


def test_custom_operator_that_mutates():
    def called(x):
        y = x + 1
        increased(y)
        increased(x)
        return y * 2, x * 2

    check(called, torch.ones(2), breaks=0)


@torch.library.custom_op("armature_wrappers::moved", mutates_args=("y",))
def moved(x: torch.Tensor, y: torch.Tensor) -> None:
    y.copy_(x)


def test_custom_operator_that_changes_another_argument():
    def called(x, y):
        z = y.view(-1)
        moved(x * 2, y)
        torch.ops.armature_wrappers.increased(x)
        return z + 1, x + 1

    check(called, torch.ones(2), torch.zeros(2))


def test_wrap():
    weight = torch.full((3,), 2.0)

    def called(x):
        return wrap(lambda v, w: (v.sin() + weight) * w, x, 3.0) + 1

    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    x = torch.ones(2, 3)
    compiled = armature.compile(called, backend=backend, fullgraph=True)
    assert torch.equal(compiled(x), called(x))
    (graph,) = graphs
    assert [str(node.target) for node in graph.graph.nodes if node.op == "call_function"] == [
        "wrap",
        "<built-in function getitem>",
        "<built-in function add>",
    ]
    assert hasattr(graph, "wrap_body_0")
    check(called, x, breaks=0)


def test_wrap_with_effects_is_left_to_python():
    seen = []

    def called(x):
        def body(v):
            seen.append(1)
            return v + 1

        return wrap(body, x) * 2

    check(called, torch.ones(2), watch=seen, restore=seen.clear)


def test_function_that_torch_has_compiled():
    def inner(v, factor=2):
        return v.sin() * factor

    compiled_inner = torch.compile(inner, backend="eager")

    def called(x):
        return compiled_inner(x) + compiled_inner(x, factor=3)

    assert operations(called, torch.ones(2)) == [5]

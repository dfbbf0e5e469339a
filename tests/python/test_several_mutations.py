"""Operations that change several tensors: torch._foreach_…_, out=(…), optimizers, clipping.

Graphs have as many operations as TorchDynamo's; results, aliases and what is left behind are
Python's. Where tensors share memory, torch refuses some changes, which no shape shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, check, compare, entries, observe
from torch import optim


def sizes(compiler: Callable[..., Any], function: Callable[..., Any], args: Any) -> list[int]:
    """How many operations each graph of a call has."""
    found: list[int] = []

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        found.append(sum(node.op.startswith("call") for node in module.graph.nodes))
        return module.forward

    torch._dynamo.reset()
    compiler(function, backend=backend)(*args)
    return [count for count in found if count]


def added(x, y):
    result = torch._foreach_add_([x, y], 1)
    return x * 2, result[1] is y, result[0] is x, len(result)


def the_list_itself(x, y):
    arrays, pair = [x, y], (x, y)
    result = torch._foreach_add_(arrays, 1.0)
    result[0].mul_(3)
    return result is arrays, torch._foreach_mul_(pair, 2.0) is pair, arrays[0] + 1


def by_lists(x, y):
    a, b = x * 2, y * 3
    torch._foreach_mul_([a, b], [x, y])
    torch._foreach_lerp_([a, b], [x, y], 0.5)
    torch._foreach_addcmul_([x, y], [a, b], [a, b], 0.5)
    return a, b, x + y


def one_twice(x, y):
    torch._foreach_add_([x, x, y], [1.0, 2.0, 3.0])
    return x + y


def new_lists(x, y):
    norms = torch._foreach_norm([x, y], 2.0)
    torch._foreach_div_([x, y], norms)
    return torch.stack(list(norms)), torch._foreach_neg([x, y])


def two_outputs(x, y):
    values, indices = torch.empty(3), torch.empty(3, dtype=torch.long)
    result = torch.max(x.reshape(3, 1), 1, out=(values, indices))
    return values + 1, indices, result.values is values, result[1] is indices


def outputs_given(x, y):
    indices = torch.zeros(3, dtype=torch.long)
    torch.sort(x, out=(y, indices))
    return y * 2, indices


def outputs_resized(x, y):
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.sort(x, out=(values, indices))
    return values, indices


def by_keyword(x, y):
    torch._foreach_mul_(self=[x, y], scalar=2)
    return x + y


def gradients(x, y):
    a, b = x * 2, y * 2
    torch._foreach_add_([a, b], [y, x])
    return (a * b).requires_grad, a + b


@pytest.mark.parametrize(
    "function, breaks",
    [
        (added, 0),
        (the_list_itself, 0),
        (by_lists, 0),
        (one_twice, 0),
        (new_lists, 0),
        (two_outputs, 0),
        (outputs_given, 0),
        (outputs_resized, 1),
        (by_keyword, 0),
        (gradients, 0),
    ],
)
def test_like_python(function: Any, breaks: int) -> None:
    x, y = torch.tensor([3.0, 1.0, 2.0]), torch.tensor([4.0, 5.0, 6.0])
    matrix = torch.arange(6.0).reshape(3, 2)
    check(function, x, y, more=((x.double(), y.double()), (x, x)), breaks=breaks)
    if function in (added, by_lists, one_twice, new_lists, by_keyword):
        check(function, matrix, matrix + 1)


def with_history(x, y, w):
    a, b = x * 2, y * 2
    torch._foreach_add_([a, b], [w, w])
    return a.requires_grad, (a * b).sum()


def test_history_comes_with_the_arguments() -> None:
    x, y = torch.ones(3), torch.arange(3.0)
    check(with_history, x, y, torch.ones(3, requires_grad=True), more=((x, y, torch.ones(3)),))


@pytest.mark.parametrize("function", [new_lists, by_keyword, two_outputs])
def test_as_many_operations_as_torch_dynamo(function: Any) -> None:
    args = torch.ones(3), torch.ones(3)
    assert sizes(armature.compile, function, args) == sizes(torch.compile, function, args)


def test_unlike_torch_dynamo_no_backend_changes_one_array_twice() -> None:
    """AOTAutograd would keep one of the two changes only."""
    check(one_twice, torch.ones(3), torch.ones(3), options={"backend": "aot_eager"}, breaks=1)


# --- Memory that tensors share.


def changed_in_a_handler(x, y):
    x.mul_(2)
    try:
        torch._foreach_add_([y, x[1:]], [y, y])
    except RuntimeError as error:
        return str(error)[:30], x.sum()
    finally:
        y.add_(1)
    return x + 1


def changed_in_place(x, y):
    y.mul_(2)
    try:
        x.add_(y)
    except RuntimeError as error:
        return str(error)[:30], y + 1
    return x + 1, y


@pytest.mark.parametrize("function", [changed_in_a_handler, changed_in_place])
@pytest.mark.parametrize("foreign", [False, True])
def test_overlapping_memory(function: Any, foreign: bool) -> None:
    def arguments(kind: str) -> Any:
        memory = torch.arange(8.0)
        if function is changed_in_a_handler:
            x, y = torch.arange(4.0), torch.ones(3)
            return {"apart": (x, y), "overlap": (memory[:4], memory[2:5])}.get(
                kind, (memory[4:], memory[:3])
            )
        x, y = torch.arange(4.0), torch.ones(4)
        return {"apart": (x, y), "overlap": (memory[:4], memory[1:5])}.get(
            kind, (memory[4:], memory[:4])
        )

    options = {"backend": lambda module, inputs: module.forward} if foreign else {}
    compiled = armature.compile(function, **options)
    for kind in ["apart", "apart", "overlap", "views", "apart", "overlap"]:
        expected = observe(function, arguments(kind), {}, None)
        compare(expected, observe(compiled, arguments(kind), {}, None))


def test_memory_is_guarded_where_a_handler_would_see_the_error() -> None:
    compiled = armature.compile(changed_in_place)
    compiled(torch.ones(4), torch.ones(4))
    assert not break_reasons(compiled)
    (entry,) = entries(compiled)
    assert "share no memory" in entry["guards"]


# --- Gradients and optimizers.


def test_clipped_gradients() -> None:
    def clipped(x, y):
        x.grad, y.grad = torch.ones(3) * 9, torch.arange(3.0)
        return torch.nn.utils.clip_grad_norm_([x, y], 1.0), x.grad, y.grad

    def by_value(x, y):
        x.grad, y.grad = torch.ones(3) * 9, torch.arange(3.0)
        torch.nn.utils.clip_grad_value_([x, y], 1.5)
        return x.grad, y.grad

    for function in (clipped, by_value):
        args = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        check(function, *args, breaks=0)
        assert sizes(armature.compile, function, args) == sizes(torch.compile, function, args)


def test_groups_of_tensors() -> None:
    def grouped(x, y):
        function = torch.utils._foreach_utils._group_tensors_by_device_and_dtype
        groups = function([[x, y, x * 2], [None, None, None], []], with_indices=True)
        return groups, function([[y, x]])

    check(grouped, torch.ones(2), torch.ones(2), breaks=0)
    check(grouped, torch.ones(2), torch.ones(2).double(), breaks=0)


OPTIMIZERS: dict[str, Callable[[list[torch.Tensor]], optim.Optimizer]] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "sgd_foreach": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "adam": lambda p: optim.Adam(p, lr=0.1),
    "adam_foreach": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1, foreach=True),
    "amsgrad_foreach": lambda p: optim.Adam(p, lr=0.1, amsgrad=True, foreach=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "adamw_foreach": lambda p: optim.AdamW(p, lr=0.1, foreach=True),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.1),
    "rmsprop_foreach": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.5, foreach=True),
}


def trained(name: str, compiler: Callable[..., Any], steps: int = 4) -> Any:
    torch.manual_seed(1)
    parameters = [torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.randn(4))]
    optimizer = OPTIMIZERS[name](parameters)

    def step():
        optimizer.step()

    compiled = compiler(step)
    for _ in range(steps):
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        compiled()
    return parameters, optimizer.state_dict()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    parameters, state = trained(name, lambda step: step)
    others, other_state = trained(name, armature.compile)
    for a, b in zip(parameters, others, strict=True):
        torch.testing.assert_close(a, b)
    assert list(state["state"]) == list(other_state["state"])
    for key, values in state["state"].items():
        for kind, value in values.items():
            torch.testing.assert_close(other_state["state"][key][kind], value)


# Its foreach step mixes what it makes of is_compiling() with numbers, which raises.
def test_what_raises_when_compiling_is_pythons_behind_breaks_too() -> None:
    def trained(compiler: Callable[..., Any]) -> list[Any]:
        parameters = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2))]
        optimizer = optim.Adamax(parameters, lr=0.1, foreach=True)
        step = compiler(lambda: optimizer.step())
        for turn in range(4):
            for parameter in parameters:
                parameter.grad = torch.full_like(parameter, turn - 1.5)
            step()
        return [parameter.tolist() for parameter in parameters]

    assert trained(armature.compile) == trained(lambda step: step)


# TorchDynamo takes the operations of the others apart, into such as round in other places.
@pytest.mark.parametrize("name", ["sgd", "momentum", "sgd_foreach", "rmsprop_foreach"])
def test_optimizers_are_as_many_operations_as_in_torch_dynamo(name: str) -> None:
    def graphs(compiler: Callable[..., Any]) -> list[int]:
        found: list[int] = []

        def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
            found.append(sum(node.op.startswith("call") for node in module.graph.nodes))
            return module.forward

        torch._dynamo.reset()
        trained(name, lambda step: compiler(step, backend=backend), steps=1)
        return found

    assert graphs(armature.compile) == graphs(torch.compile)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_one_graph(name: str) -> None:
    found: list[Any] = []

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        found.append(module)
        return module.forward

    trained(name, lambda step: armature.compile(step, backend=backend), steps=1)
    assert len(found) == 1


@pytest.mark.parametrize("clip", ["clip_grad_value_", "clip_grad_norm_"])
def test_where_there_are_no_gradients_to_clip(clip):
    layer = torch.nn.Linear(2, 2)

    def clipped(x):
        try:
            getattr(torch.nn.utils, clip)(layer.parameters(), 0.1)
        except RuntimeError as error:
            return x + 1, str(error)
        return x + 2

    check(clipped, torch.ones(2))

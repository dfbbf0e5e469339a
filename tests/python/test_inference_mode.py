"""torch.inference_mode in a graph: as TorchDynamo's graphs have it, with plain PyTorch's results,
and a thread whose state is what plain Python leaves behind."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons, breaking_every, compare, observe
from torch.utils.checkpoint import checkpoint

W = torch.arange(1.0, 4.0).requires_grad_()


def state() -> tuple[Any, ...]:
    nested = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return (
        torch.is_inference_mode_enabled(),
        torch.is_grad_enabled(),
        torch._C._is_fwd_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        nested,
    )


def told(x: torch.Tensor) -> tuple[bool, ...]:
    return x.is_inference(), x.requires_grad, x.is_leaf


@pytest.fixture(autouse=True)
def leaves_no_mode() -> Iterator[None]:
    before = state()
    yield
    assert state() == before


def region(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        y = x * W
        view = x.view(-1)
        inside = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    return y, told(y), told(view), inside, told(x * W)


def region_off(x: torch.Tensor) -> Any:
    with torch.no_grad(), torch.inference_mode(False):
        y = x * W
        inside = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    return y.detach(), told(y), inside


def nested(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        a = x * W
        with torch.inference_mode(False):
            b = x * W
            with torch.inference_mode(mode=True):
                c = x * W
        d = x * W
    return told(a), told(b), told(c), told(d), told(x * W)


def with_grad_modes(x: torch.Tensor) -> Any:
    with torch.no_grad():
        with torch.inference_mode():
            a = x * W
            with torch.enable_grad():
                b = x * W
                inside = torch.is_grad_enabled()
            c = torch.is_grad_enabled()
        d = x * W
    return told(a), told(b), inside, c, told(d), told(x * W)


def with_autocast(x: torch.Tensor) -> Any:
    with torch.autocast("cpu"), torch.inference_mode():
        a = torch.outer(x, x) @ torch.outer(x, x)
        with torch.autocast("cpu", enabled=False):
            b = torch.outer(x, x) @ torch.outer(x, x)
    with torch.inference_mode(), torch.autocast("cpu"):
        c = torch.outer(x, x) @ torch.outer(x, x)
    return told(a), told(b), told(c), a, b, c


@torch.inference_mode()
def decorated(x: torch.Tensor) -> Any:
    return x * W, told(x * W)


@torch.inference_mode
def decorated_without_call(x: torch.Tensor) -> Any:
    return x * W, told(x * W)


def decorated_inside(x: torch.Tensor) -> Any:
    @torch.inference_mode()
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x * W

    return told(inner(x)), told(x * W)


def in_place(x: torch.Tensor) -> Any:
    y = x.clone()
    with torch.inference_mode():
        made = torch.ones(3)
        made.add_(x)
        y.mul_(2)
    try:
        made.add_(1)
    except RuntimeError as error:
        return str(error)[:40], told(y), y.detach()
    return made, told(y), y.detach()


def saved_for_gradients(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        made = torch.ones(3)
    try:
        return (made * W).detach()
    except RuntimeError as error:
        return str(error)[:40]


def version_of(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        made = torch.ones(3)
        try:
            return made._version
        except RuntimeError as error:
            return str(error)


def leaf(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        made = torch.ones(3)
        try:
            made.requires_grad_()
        except RuntimeError as error:
            return str(error)
        parameter = torch.nn.Parameter(torch.ones(3))
    return told(made), told(parameter), told(parameter * x)


def of_leaves(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        return (
            told(x.detach()),
            told(x.data),
            told(x.clone()),
            told(x[:1]),
            told(x.requires_grad_()),
        )


def raises(x: torch.Tensor) -> Any:
    try:
        with torch.inference_mode():
            y = x * W
            raise ValueError(told(y))
    except ValueError as error:
        return str(error), told(x * W)


def fails_on_data(x: torch.Tensor) -> Any:
    log = []
    index = torch.full((1,), 7)
    try:
        with torch.inference_mode():
            y = x * W
            log.append("before")
            z = y[index]
            log.append("behind")
            return z
    except IndexError as error:
        return str(error), log, told(x * W)


def fails_uncaught(x: torch.Tensor) -> Any:
    with torch.no_grad(), torch.inference_mode(), torch.enable_grad(), torch.autocast("cpu"):
        return x[torch.full((1,), 7)]


def raises_shapes(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        return x + torch.ones(2)


def in_a_loop(x: torch.Tensor) -> Any:
    seen = []
    for turn in range(4):
        with torch.inference_mode(turn % 2 == 0):
            seen.append(told(x * W))
    return seen


def by_exit_stack(x: torch.Tensor) -> Any:
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        a = x * W
    return told(a), told(x * W)


def generator_inside(x: torch.Tensor) -> Any:
    def values() -> Iterator[torch.Tensor]:
        with torch.inference_mode():
            yield x * W
            yield x * W + 1

    first = None
    for value in values():
        first = told(value), told(x * W)
    return first, told(x * W)


def generator_closed(x: torch.Tensor) -> Any:
    def values() -> Iterator[torch.Tensor]:
        with torch.inference_mode():
            yield x * W
            yield x * W + 1

    each = values()
    a = told(next(each))
    b = told(x * W)
    each.close()
    return a, b, told(x * W)


def entered_by_hand(x: torch.Tensor) -> Any:
    mode = torch.inference_mode()
    mode.__enter__()
    y = x * W
    mode.__exit__(None, None, None)
    return told(y), told(x * W)


def let_go_of_inside(x: torch.Tensor) -> Any:
    mode = torch.inference_mode()
    mode.__enter__()
    y = x * W
    del mode
    return told(y), told(x * W)


def returned_inside(x: torch.Tensor) -> Any:
    mode = torch.inference_mode()
    mode.__enter__()
    return told(x * W)


def entered_twice(x: torch.Tensor) -> Any:
    mode = torch.inference_mode()
    with mode:
        a = told(x * W)
        with mode:
            b = told(x * W)
        c = told(x * W)
    return a, b, c, told(x * W)


def entered_again(x: torch.Tensor) -> Any:
    mode = torch.inference_mode()
    with mode:
        a = told(x * W)
    b = told(x * W)
    with mode:
        c = told(x * W)
    return a, b, c, type(mode._inference_mode_context).__name__, mode.mode


def left_in_another_order(x: torch.Tensor) -> Any:
    outer, inner = torch.inference_mode(), torch.inference_mode(False)
    outer.__enter__()
    inner.__enter__()
    a = told(x * W)
    inner.__exit__(None, None, None)
    b = told(x * W)
    outer.__exit__(None, None, None)
    return a, b


def context_of_torch(x: torch.Tensor) -> Any:
    with torch._C._InferenceMode(True) as entered:
        y = x * W
    return entered, told(y), told(x * W)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def with_autograd_function(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        a = Scaled.apply(x)
    return told(a), told(Scaled.apply(x))


def with_checkpoint(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        a = checkpoint(torch.sin, x, use_reentrant=False)
    return told(a)


def inside_checkpoint(x: torch.Tensor) -> Any:
    def body(x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            scale = float(x.dim()) + x.detach().clone()
        return x * 2 + float(scale.dim())

    return told(checkpoint(body, x, use_reentrant=False))


def with_transform(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        mapped = torch.func.vmap(torch.sin)(x)
    return told(mapped)


def inside_transform(x: torch.Tensor) -> Any:
    def body(x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return x.sin()

    return told(torch.func.vmap(body)(x))


def random_numbers(x: torch.Tensor) -> Any:
    torch.manual_seed(3)
    with torch.inference_mode():
        y = torch.nn.functional.dropout(x, 0.5) + torch.rand(3)
    return y, torch.rand(2)


def module(x: torch.Tensor) -> Any:
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm1d(3)
    with torch.inference_mode():
        y = norm(torch.stack([x.detach(), x.detach() + 1]))
    return y, told(y), told(norm.running_mean), norm.running_mean


BODIES: list[Callable[[torch.Tensor], Any]] = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", None) == __name__
    and name not in ("state", "told", "leaves_no_mode", "Scaled")
]

WHOLE = [
    region,
    region_off,
    nested,
    with_grad_modes,
    with_autocast,
    decorated,
    decorated_without_call,
    decorated_inside,
    raises,
    in_a_loop,
    by_exit_stack,
    entered_by_hand,
    entered_again,
    context_of_torch,
    with_autograd_function,
]


def surrounding(name: str) -> contextlib.AbstractContextManager[Any]:
    return {
        "none": contextlib.nullcontext,
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
        "autocast": lambda: torch.autocast("cpu"),
    }[name]()


# In a thread of its own: some leave a mode behind, in plain Python as well.
def outcome(fn: Callable[..., Any], around: str, requires_grad: bool) -> Any:
    def run() -> Any:
        x = torch.tensor([0.5, 1.5, 2.5], requires_grad=requires_grad)
        with surrounding(around):
            return observe(fn, (x,), {}, None), state()

    with ThreadPoolExecutor(1) as thread:
        observed, left = thread.submit(run).result()
    observed.state = observed.state, left
    return observed


@pytest.mark.parametrize("body", BODIES)
def test_does_what_plain_python_does(body: Callable[..., Any]) -> None:
    compiled = armature.compile(body)
    for _ in range(2):
        for around in ("none", "no_grad", "inference", "autocast"):
            for requires_grad in (False, True):
                expected = outcome(body, around, requires_grad)
                compare(expected, outcome(compiled, around, requires_grad))


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_breaks_anywhere(body: Callable[..., Any], every: int) -> None:
    armature.reset()
    with breaking_every(every):
        compiled = armature.compile(body)
        for around in ("none", "inference"):
            for requires_grad in (False, True):
                expected = outcome(body, around, requires_grad)
                compare(expected, outcome(compiled, around, requires_grad))


@pytest.mark.parametrize("body", WHOLE)
def test_is_one_graph(body: Callable[..., Any]) -> None:
    compiled = armature.compile(body)
    compiled(torch.ones(3))
    assert not break_reasons(compiled)


def targets_of(compile: Callable[..., Any], body: Callable[..., Any]) -> list[Any]:
    torch._dynamo.reset()
    graphs = []

    def count(graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
        return graph.forward

    compile(body, backend=count)(torch.ones(3))
    return graphs


def enters_and_leaves(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        y = torch.sin(x)
        with torch.inference_mode(False):
            z = torch.cos(y)
    return torch.add(z, 1)


def test_has_the_operations_of_torchdynamo() -> None:
    (theirs,) = targets_of(torch.compile, enters_and_leaves)
    (graph,) = armature.explain(enters_and_leaves)(torch.ones(3)).graphs
    calls = re.sub(r"#.*", "", graph)
    ours = re.findall(r"(?:= |; |  )torch\.(?:\w+\.)*(\w+)\(", calls)
    assert ours == [target.__name__ for target in theirs]


def test_other_backends_have_what_is_computed_in_it() -> None:
    graphs = targets_of(armature.compile, enters_and_leaves)
    assert graphs == [[torch.sin], [torch.cos], [torch.add]]
    compiled = armature.compile(enters_and_leaves, backend="aot_eager")
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(3)), enters_and_leaves(torch.ones(3)))

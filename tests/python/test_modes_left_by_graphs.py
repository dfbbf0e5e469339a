"""What a graph leaves set where it ends is set behind it, whatever a backend does with the nodes
that set it: one that compiles them runs them once, one that interprets them each time.
"""

from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from fuzz.library_state import contained, library_state


def forward_of(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
    return module.forward


def state() -> dict[str, Any]:
    return {**library_state(), "products": torch.get_float32_matmul_precision()}


def autocast(x: torch.Tensor) -> Any:
    with torch.autocast("cpu"):
        y = x @ x
        armature.graph_break()
        z = x @ x
        inside = state()
    return y.dtype, z.dtype, (x @ x).dtype, inside


def autocast_inside_autocast(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", cache_enabled=False):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            armature.graph_break()
            z = x @ x
            inner = state()
            armature.graph_break()
        w = x @ x
        outer = state()
    return y.dtype, z.dtype, w.dtype, inner, outer


def no_grad_inside_autocast(x: torch.Tensor) -> Any:
    y = x @ x
    with torch.autocast("cpu"):
        armature.graph_break()
        with torch.no_grad():
            z = x @ x
            armature.graph_break()
            w = x @ x
            inside = state()
    return y.dtype, z.dtype, w.dtype, z.requires_grad, w.requires_grad, inside


def exception_inside(x: torch.Tensor) -> Any:
    try:
        with torch.autocast("cpu"), torch.no_grad():
            y = x @ x
            armature.graph_break()
            raise ValueError(state())
    except ValueError as error:
        return y.dtype, str(error), (x @ x).dtype, (x @ x).requires_grad


def autocast_of_a_caller(x: torch.Tensor) -> Any:
    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        armature.graph_break()
        return y @ x

    with torch.autocast("cpu", torch.float16):
        y = breaks(x)
        return y.dtype, state()


def turns(x: torch.Tensor) -> Any:
    seen = []
    for turn in range(5):
        with torch.autocast("cpu", enabled=turn % 2 == 0):
            y = x @ x
            armature.graph_break()
            seen.append((y.dtype, (x @ x).dtype, state()))
    return seen


def gradients_off(x: torch.Tensor) -> Any:
    torch._C._set_grad_enabled(False)
    y = x * 2
    armature.graph_break()
    z = x * 2
    inside = state()
    torch._C._set_grad_enabled(True)
    return y.requires_grad, z.requires_grad, inside


def settings(x: torch.Tensor) -> Any:
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True, warn_only=True)
    y = x + torch.ones(3)
    armature.graph_break()
    z = torch.ones(3)
    inside = state()
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(False)
    return y.dtype, z.dtype, inside


def setting_inside_autocast(x: torch.Tensor) -> Any:
    with torch.autocast("cpu"):
        y = x @ x
        torch.set_default_dtype(torch.float64)
        armature.graph_break()
        z = torch.ones(3)
        inside = state()
    torch.set_default_dtype(torch.float32)
    return y.dtype, z.dtype, inside


def decorated(x: torch.Tensor) -> Any:
    @torch.no_grad()
    def breaks(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2
        armature.graph_break()
        return y, x * 3

    y, z = breaks(x)
    return y.requires_grad, z.requires_grad, (x * 1).requires_grad


def gradients_on_inside_off(x: torch.Tensor) -> Any:
    with torch.no_grad():
        made = [x * 1]
        with torch.enable_grad():
            made.append(x * 2)
            armature.graph_break()
            made.append(x * 3)
        made.append(x * 4)
        armature.graph_break()
        made.append(x * 5)
    return [each.requires_grad for each in made], state()


def generator_without_gradients(x: torch.Tensor) -> Any:
    @torch.no_grad()
    def generator() -> Iterator[torch.Tensor]:
        yield x * 1
        armature.graph_break()
        yield x * 2

    return [(each.requires_grad, (x * 1).requires_grad, state()) for each in generator()]


PROGRAMS = (
    autocast,
    autocast_inside_autocast,
    no_grad_inside_autocast,
    exception_inside,
    autocast_of_a_caller,
    turns,
    gradients_off,
    settings,
    setting_inside_autocast,
    decorated,
    gradients_on_inside_off,
    generator_without_gradients,
)


def calls(function: Callable[[torch.Tensor], Any]) -> list[Any]:
    seen = []
    for needs_grad in (True, True, False, True):
        seen.append(function(torch.ones(3, 3, requires_grad=needs_grad)))
        seen.append(state())
        for outer in (torch.autocast("cpu", torch.float16), torch.no_grad()):
            with outer:
                seen.append(function(torch.ones(3, 3, requires_grad=needs_grad)))
                seen.append(state())
        torch._C._set_grad_enabled(True)
    return seen


@pytest.mark.parametrize("backend", ["eager", "aot_eager", forward_of, contained])
@pytest.mark.parametrize("function", PROGRAMS)
def test_modes_left_by_graphs(function: Callable[[torch.Tensor], Any], backend: Any) -> None:
    plain = calls(function)
    assert calls(armature.compile(function, backend=backend)) == plain


def test_settings_that_a_graph_leaves_alone_stay() -> None:
    """A graph that sets one setting says nothing of the others."""

    def sets_dtype(x: torch.Tensor) -> torch.Tensor:
        torch.set_default_dtype(torch.float64)
        return x + 1

    compiled = armature.compile(sets_dtype, backend="aot_eager")
    try:
        for are_deterministic in (False, True, False, True):
            torch.use_deterministic_algorithms(are_deterministic)
            torch.set_default_dtype(torch.float32)
            compiled(torch.ones(3))
            assert torch.get_default_dtype() == torch.float64
            assert torch.are_deterministic_algorithms_enabled() == are_deterministic
    finally:
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)


def test_a_graph_for_a_backend_leaves_what_it_entered() -> None:
    """As TorchDynamo's graphs do: AOTAutograd refuses others."""
    seen = []

    def record(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        seen.append([node.target.__name__ for node in module.graph.nodes if callable(node.target)])
        return module.forward

    armature.compile(autocast_inside_autocast, backend=record)(torch.ones(3, 3))
    names = ["_enter_autocast", "matmul", "_enter_autocast", "_exit_autocast", "_exit_autocast"]
    assert seen[0] == names
    torch._dynamo.reset()
    expected = seen.pop(0)
    torch.compile(autocast_inside_autocast, backend=record)(torch.ones(3, 3))
    assert expected in seen


def test_a_backend_that_sets_a_mode_while_it_compiles() -> None:
    def rude(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        torch._C._set_grad_enabled(False)
        return module.forward

    def program(x: torch.Tensor) -> Any:
        return x * 2, torch.is_grad_enabled()

    x = torch.ones(3, requires_grad=True)
    compiled = armature.compile(program, backend=rude)
    try:
        for enabled in (True, False, True, False):
            torch._C._set_grad_enabled(enabled)
            y, seen = compiled(x)
            assert seen == y.requires_grad == torch.is_grad_enabled() == enabled
    finally:
        torch._C._set_grad_enabled(True)


def test_a_backend_that_sets_what_nobody_puts_back() -> None:
    """What it has changed is there for the call that compiles, and no guard takes it for what was
    traced.
    """
    compilations = []

    def rude(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        if not compilations:
            torch.set_default_dtype(torch.float64)
        compilations.append(module)
        return module.forward

    def program(x: torch.Tensor) -> Any:
        y = torch.ones(3)
        return y + 1, y.dtype, torch.get_default_dtype()

    compiled = armature.compile(program, backend=rude)
    try:
        for dtype in (None, torch.float32, torch.float64, torch.float32):
            if dtype:
                torch.set_default_dtype(dtype)
            y, *dtypes = compiled(torch.ones(3))
            assert [y.dtype, *dtypes] == [torch.get_default_dtype()] * 3
            assert dtype in (None, y.dtype)
        assert len(compilations) == 3
    finally:
        torch.set_default_dtype(torch.float32)

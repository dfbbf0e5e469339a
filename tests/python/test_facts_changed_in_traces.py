"""What the trace itself has changed is looked at as it has become, also where only the library or
the interpreter looks: hooks of all modules, sys.modules, replaced functions."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from torch.nn.modules import module as modules

LOG: list[Any] = []
LINEAR = torch.nn.Linear(2, 2)
ONE, OTHER = types.ModuleType("made_for_a_test"), types.ModuleType("made_for_a_test")
ONE.number, OTHER.number = 1, 2
PROGRAMS: list[Callable[..., Any]] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(function)
    return function


def heard(*arguments: Any) -> None:
    LOG.append(len(arguments))


def hooked(register: Callable[..., Any]) -> Callable[..., Any]:
    def calls(x: torch.Tensor) -> Any:
        before = LINEAR(x)
        handle = register(heard)
        during = LINEAR(x)
        handle.remove()
        return before, during, LINEAR(x)

    return calls


program(hooked(modules.register_module_forward_hook))
program(hooked(modules.register_module_forward_pre_hook))
program(hooked(LINEAR.register_forward_hook))
program(hooked(LINEAR.register_forward_pre_hook))


@program
def hooks_of_backward(x: torch.Tensor) -> Any:
    handle = modules.register_module_full_backward_hook(heard)
    LINEAR(x).sum().backward()
    handle.remove()
    LINEAR.zero_grad()
    return x + 1


@program
def hooks_behind_a_break(x: torch.Tensor) -> Any:
    handle = modules.register_module_forward_hook(heard)
    armature.graph_break()
    during = LINEAR(x)
    handle.remove()
    return during, LINEAR(x)


@program
def hooks_in_the_dict(x: torch.Tensor) -> Any:
    modules._global_forward_hooks[7] = heard
    during = LINEAR(x)
    modules._global_forward_hooks.clear()
    return during, LINEAR(x)


@program
def imports(x: torch.Tensor) -> Any:
    sys.modules["made_for_a_test"] = ONE
    import made_for_a_test as one

    sys.modules["made_for_a_test"] = OTHER
    import made_for_a_test as other

    del sys.modules["made_for_a_test"]
    try:
        import made_for_a_test  # noqa: F401
    except ImportError as error:
        return x + 1, one.number, other.number, str(error)
    return "imported"


@program
def imports_beside(x: torch.Tensor) -> Any:
    known = "math" in sys.modules
    import math

    return x + math.pi, known


@program
def replaced_builtins(x: torch.Tensor) -> Any:
    old = builtins.len
    builtins.len = lambda given: 9
    replaced = len([1])
    builtins.len = old
    return x + replaced, len([1])


@program
def replaced_functions(x: torch.Tensor) -> Any:
    relu, add, linear = torch.relu, torch.Tensor.add, torch.nn.functional.linear
    torch.relu = lambda given: given * 3
    torch.Tensor.add = lambda given, other: given * 5
    torch.nn.functional.linear = lambda *given: x * 7
    replaced = torch.relu(x), x.add(1), LINEAR(x)
    torch.relu, torch.Tensor.add, torch.nn.functional.linear = relu, add, linear
    return replaced, torch.relu(x), x.add(1), LINEAR(x)


@program
def replaced_methods(x: torch.Tensor) -> Any:
    forward, call = torch.nn.Linear.forward, torch.nn.Module.__call__
    torch.nn.Linear.forward = lambda self, given: given * 3
    first = LINEAR(x)
    torch.nn.Linear.forward = forward
    torch.nn.Module.__call__ = lambda self, given: given * 5
    second = LINEAR(x)
    torch.nn.Module.__call__ = call
    return first, second, LINEAR(x)


def numbers(result: Any) -> Any:
    if isinstance(result, tuple):
        return [numbers(each) for each in result]
    return result.tolist() if isinstance(result, torch.Tensor) else result


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_the_trace_has_changed_is_seen(function: Callable[..., Any], backend: str) -> None:
    compiled = armature.compile(function, backend=backend)
    for _ in range(3):
        seen = []
        for called in (function, compiled):
            LOG.clear()
            seen.append((numbers(called(torch.ones(1, 2))), list(LOG)))
        assert seen[0] == seen[1]

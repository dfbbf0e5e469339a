"""Backends: what turns a graph into something that runs.

A backend is a function ``backend(graph_module, example_inputs) -> callable``: it gets a
``torch.fx.GraphModule`` and the list of its inputs in this call, and returns a callable that takes
such inputs and returns the tuple of outputs. This is torch.compile's contract, so its backends
serve here by their names. Torch is imported only when one of them is asked for.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from armature import _numpy_as_torch
from armature._config import config
from armature.exc import InvalidBackend

BackendFunction = Callable[..., Callable[..., Any]]


def list_backends() -> list[str]:
    """The names that ``compile(backend=...)`` takes: "eager", and torch.compile's where torch is.

    Imports torch.
    """
    try:
        from torch._dynamo import list_backends as list_torch_backends
    except ImportError:
        return ["eager"]
    return sorted({"eager", *list_torch_backends(exclude_tags=())})


class Backend:
    """A backend with a name, which errors tell."""

    def __init__(self, name: str, function: BackendFunction) -> None:
        self.name = name
        self._function = function

    def __call__(self, graph_module: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        try:
            compiled = self._function(graph_module, example_inputs)
        except Exception as error:
            error.add_note(f"Raised by the backend {self.name!r} while it compiled a graph.")
            raise
        if not callable(compiled):
            raise TypeError(
                f"the backend {self.name!r} must return a callable that takes the graph's inputs, "
                f"but returned {kind_of(compiled)}"
            )
        return compiled

    def __repr__(self) -> str:
        return f"Backend({self.name!r})"


def resolve(
    backend: str | BackendFunction, mode: str | None, options: Mapping[str, Any] | None
) -> Backend | None:
    """The backend that compile() was asked for; None stands for "eager", which is Armature's own.

    Raises InvalidBackend for an unknown name, TypeError for what is neither a name nor callable,
    and ValueError for a mode or options that the backend does not take.
    """
    if mode is not None and not isinstance(mode, str):
        raise TypeError(f"mode must be the name of a mode or None, not {kind_of(mode)}")
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping of names or None, not {kind_of(options)}")
    if isinstance(backend, Backend):
        return backend
    if isinstance(backend, str):
        return _by_name(backend, mode, dict(options or {}))
    if not callable(backend):
        raise TypeError(
            "backend must be the name of a backend or a function "
            f"backend(graph_module, example_inputs) -> callable, not {kind_of(backend)}"
        )
    name = getattr(backend, "__name__", None) or type(backend).__name__
    settings: dict[str, Any] = {}
    if mode is not None:
        settings["mode"] = mode
    if options:
        settings["options"] = dict(options)
    if not settings:
        return Backend(name, backend)
    return Backend(name, lambda module, inputs: backend(module, inputs, **settings))


def _by_name(name: str, mode: str | None, options: dict[str, Any]) -> Backend | None:
    if name == "eager":
        if mode not in (None, "default") or options:
            raise ValueError('the backend "eager" takes neither a mode nor options')
        return None
    known = list_backends()
    if name not in known:
        raise InvalidBackend(name, known)
    import torch

    # What torch.compile makes of the same arguments, so that they mean the same.
    if name == "inductor":
        return Backend(name, torch._TorchCompileInductorWrapper(mode, options, False))
    return Backend(name, torch._TorchCompileWrapper(name, mode, options, False))


def numpy_backend(
    resolved: BackendFunction | None, backend: str | BackendFunction
) -> Callable[[Any, list[Any], Any], Callable[..., Any] | None] | None:
    """What compiles graphs with operations of NumPy, by config.numpy_as_torch; None: NumPy itself.

    resolved: what resolve() made of ``backend``.
    """
    if resolved is None:
        return None
    wanted = config.numpy_as_torch
    if wanted is None:
        wanted = isinstance(backend, str)
    return functools.partial(_numpy_as_torch.compile, resolved) if wanted else None


def kind_of(value: Any) -> str:
    """The object's type, for messages."""
    return "None" if value is None else f"an object of type {type(value).__name__!r}"


def is_torch_module(value: Any) -> bool:
    """Whether the object is a torch.nn.Module; does not import torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)

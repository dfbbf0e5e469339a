"""compile() and what goes with it."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from armature import _C
from armature.exc import Unsupported

_compiled: weakref.WeakSet[Any] = weakref.WeakSet()

_C.set_hooks(unsupported=Unsupported)


def compile(
    fn: Callable[..., Any] | None = None,
    *,
    backend: str | Callable[..., Any] = "eager",
    fullgraph: bool = False,
    dynamic: bool | None = None,
) -> Any:
    """Returns ``fn`` captured, guarded and compiled: the same function, faster."""
    if fn is None:
        return functools.partial(compile, backend=backend, fullgraph=fullgraph, dynamic=dynamic)
    if isinstance(fn, types.MethodType):
        inner = compile(fn.__func__, backend=backend, fullgraph=fullgraph, dynamic=dynamic)
        return types.MethodType(inner, fn.__self__)
    compiled = _C.CompiledFunction(fn, None if backend == "eager" else backend, fullgraph)
    _compiled.add(compiled)
    return functools.update_wrapper(compiled, fn)


def reset() -> None:
    """Forgets all compiled code of all functions."""
    for compiled in list(_compiled):
        _C.reset(compiled)


def disable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``fn`` as a function that is never captured."""
    return fn


def is_compiling() -> bool:
    """True inside traced code."""
    return _C.is_compiling()

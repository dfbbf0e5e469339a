"""Calls of objects that are no Python functions, as Python functions: what is captured for them."""

from __future__ import annotations

import functools
import types
from typing import Any


def caller_of(fn: Any) -> types.FunctionType:
    """A Python function that calls an object like `fn`, its first argument, by the same name."""

    def call(callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        return callee(*args, **kwargs)

    return functools.update_wrapper(call, fn, ("__name__", "__qualname__", "__module__"), ())

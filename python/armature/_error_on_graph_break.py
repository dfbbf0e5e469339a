"""error_on_graph_break: a graph break is an error, or none, in a part of the program."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from armature import _C

P = ParamSpec("P")
R = TypeVar("R")


class error_on_graph_break:
    """Inside of a ``with`` statement, or in a function that it decorates, graph breaks are errors.

    ``error_on_graph_break(True)``: where the graph would break, Unsupported is raised.
    ``error_on_graph_break(False)``, the default of the program: it breaks. The innermost one
    counts, which may be in the compiled function, in what it calls, or around the call of it.
    Other than with ``fullgraph=True``, which always raises, graphs may break elsewhere. It holds
    for the running thread.
    """

    # What was before each ``with`` statement that it is in: bits, the last one lowest.
    __slots__ = ("_before", "_error")

    def __init__(self, error_on_graph_break: bool) -> None:
        self._error = bool(error_on_graph_break)
        self._before = 0

    def __enter__(self) -> None:
        self._before = self._before << 1 | _C.is_error_on_graph_break()
        _C.set_error_on_graph_break(self._error)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        _C.set_error_on_graph_break(self._before & 1)
        self._before >>= 1

    def __call__(self, fn: Callable[P, R]) -> Callable[P, R]:
        error = self._error

        @functools.wraps(fn)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with error_on_graph_break(error):
                return fn(*args, **kwargs)

        return call


_C.model_error_on_graph_break(error_on_graph_break)

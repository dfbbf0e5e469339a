"""capture_frames: every Python function that a thread calls is captured."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armature import _C, backends
from armature._config import config, frame_hooks
from armature.backends import BackendFunction


@dataclass(frozen=True)
class FrameCounts:
    """What became of the frames that began in a ``with capture_frames()`` statement.

    Those of functions that were traced as part of their callers did not begin.
    """

    whole: int  # captured to their ends
    broken: int  # captured up to a graph break, or run plainly because of one
    excluded: dict[str, int]  # run plainly by a rule, which is the key
    break_reasons: dict[str, int]  # of the broken: the first break's kind and what it met


class capture_frames:
    """Inside of a ``with`` statement, whatever Python function the thread calls is captured.

    As if each were compiled, wherever it is called from: also by C code, which sorts by it or calls
    it back. Functions that are compiled under the same settings share their translations. Frames
    that began before stay as they are, that of the ``with`` statement among them; other threads
    have ``with`` statements of their own. A hook that another tool has set stays underneath
    (PEP 523).

    Some frames run as plain Python, by a rule that ``counts`` tells: the bodies of generators,
    coroutines, classes and modules, functions that read their own frames (``locals``, ``eval``),
    the import system, array libraries and compilers, what the program keeps out of graphs
    (``disable``, ``config.skip_modules``), and all of them while a trace or profile function is
    set.

    backend, mode, options: as compile() takes them.
    standard_library: also capture the functions of the standard library.

    Raises what compile() raises for them. One object is for one ``with`` statement at a time;
    several are left in the order opposite to that in which they were entered, else RuntimeError is
    raised.
    """

    __slots__ = ("__weakref__", "_hook")

    def __init__(
        self,
        *,
        backend: str | BackendFunction = "eager",
        mode: str | None = None,
        options: Mapping[str, Any] | None = None,
        standard_library: bool = False,
    ) -> None:
        resolved: Any = backends.resolve(backend, mode, options)
        sharing_key: object = backend
        if resolved is not None:
            # What the backend makes is no program's frame.
            resolved = sharing_key = functools.partial(_disabled_graph, resolved)
        self._hook = _C.FrameHook(
            resolved,
            config.recompile_limit,
            sharing_key,
            bool(standard_library),
            backends.numpy_backend(resolved, backend),
        )
        frame_hooks.add(self._hook)

    def __enter__(self) -> capture_frames:
        self._hook.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self._hook.stop()

    @property
    def counts(self) -> FrameCounts:
        """What became of the frames so far."""
        return FrameCounts(**self._hook.counts())


def _disabled_graph(backend: Any, module: Any, inputs: list[Any]) -> Any:
    return _C.DisabledFunction(backend(module, inputs))

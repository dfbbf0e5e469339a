"""The settings of the package: ``armature.config``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from armature import _C


class Config:
    """The settings of the package. An unknown name or a wrong value is an error at once."""

    __slots__ = ("_compile_while_tracing", "_recompile_limit", "_strict")

    def __init__(self) -> None:
        self._recompile_limit = 8
        self._compile_while_tracing = False
        self._strict = os.environ.get("ARMATURE_STRICT", "0") not in ("", "0")

    @property
    def recompile_limit(self) -> int:
        """How often one entry point of a function may be compiled (8).

        A function that needs more runs as plain Python, after one RecompileLimitWarning. Functions
        keep the limit under which they were compiled.
        """
        return self._recompile_limit

    @recompile_limit.setter
    def recompile_limit(self, limit: int) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f"recompile_limit must be an int, not {type(limit).__name__}")
        if limit < 1:
            raise ValueError(f"recompile_limit must be at least 1, not {limit}")
        self._recompile_limit = limit

    @property
    def strict(self) -> bool:
        """Raise InternalError where Armature itself fails, instead of running plain Python (False).

        The environment variable ``ARMATURE_STRICT=1`` sets it.
        """
        return self._strict

    @strict.setter
    def strict(self, value: bool) -> None:
        self._strict = _boolean("strict", value)

    @property
    def compile_while_tracing(self) -> bool:
        """Run compiled code although a trace or profile function is set (False).

        As a rule, functions run plainly under a debugger, a profiler or a coverage tool, which
        would see nothing of compiled code.
        """
        return self._compile_while_tracing

    @compile_while_tracing.setter
    def compile_while_tracing(self, value: bool) -> None:
        self._compile_while_tracing = _boolean("compile_while_tracing", value)
        _C.set_compile_while_tracing(value)

    @contextlib.contextmanager
    def patch(self, **settings: int) -> Iterator[None]:
        """Sets the settings for the length of a ``with`` block."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __repr__(self) -> str:
        names = ("compile_while_tracing", "recompile_limit", "strict")
        return f"Config({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def _boolean(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


config = Config()

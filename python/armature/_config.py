"""What all later calls of compile() do unless they say otherwise: ``armature.config``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Config:
    """The settings of the package. An unknown name or a wrong value is an error at once."""

    __slots__ = ("_recompile_limit",)

    def __init__(self) -> None:
        self._recompile_limit = 8

    @property
    def recompile_limit(self) -> int:
        """How many translations one entry point of a function may have (8).

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
        return f"Config(recompile_limit={self._recompile_limit})"


config = Config()

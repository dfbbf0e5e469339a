"""The settings of the package: ``armature.config``."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from armature import _C
from armature._living_objects import LivingObjects

_MOST_COMPILATIONS = 2**31 - 1


class Config:
    """The settings of the package. An unknown name or a wrong value is an error at once."""

    __slots__ = (
        "_compile_while_tracing",
        "_ignore_logging_functions",
        "_numpy_as_torch",
        "_recompile_limit",
        "_reorderable_logging_functions",
        "_skip_modules",
        "_strict",
    )

    def __init__(self) -> None:
        self._recompile_limit = 8
        self._compile_while_tracing = False
        self._numpy_as_torch: bool | None = None
        self._skip_modules: tuple[str, ...] = ()
        self._ignore_logging_functions: tuple[Callable[..., Any], ...] = ()
        self._reorderable_logging_functions: tuple[Callable[..., Any], ...] = ()
        self._strict = os.environ.get("ARMATURE_STRICT", "0") not in ("", "0")

    @property
    def recompile_limit(self) -> int:
        """How often one entry point of a function may be compiled (8).

        A function that needs more runs as plain Python, of which the logger "armature" warns once.
        Functions keep the limit under which they were compiled.
        """
        return self._recompile_limit

    @recompile_limit.setter
    def recompile_limit(self, limit: int) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f"recompile_limit must be an int, not {type(limit).__name__}")
        if not 1 <= limit <= _MOST_COMPILATIONS:
            raise ValueError(f"recompile_limit must be 1 to {_MOST_COMPILATIONS}, not {limit}")
        self._recompile_limit = limit

    @property
    def strict(self) -> bool:
        """Raise InternalError where Armature itself fails, instead of running plain Python (False).

        The environment variable ``ARMATURE_STRICT=1`` sets it.
        """
        return self._strict

    @strict.setter
    def strict(self, value: bool) -> None:
        self._strict = boolean("strict", value)

    @property
    def skip_modules(self) -> tuple[str, ...]:
        """The names of modules whose functions are never captured (none).

        With a module go those inside of it. Its functions run as plain Python, by the ``__name__``
        in their globals, and what they call is captured. Where captured code calls one of them, the
        graph breaks. A change forgets all translations, as reset() does.
        """
        return self._skip_modules

    @skip_modules.setter
    def skip_modules(self, names: Iterable[str]) -> None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            kind = type(names).__name__
            raise TypeError(f"skip_modules must be several names of modules, not a {kind}")
        modules = tuple(names)
        for name in modules:
            if type(name) is not str:
                raise TypeError(f"the name of a module is a str, not {type(name).__name__}")
        if modules == self._skip_modules:
            return
        self._skip_modules = modules
        _C.set_skip_modules(modules)
        forget_translations()

    @property
    def ignore_logging_functions(self) -> tuple[Callable[..., Any], ...]:
        """Functions whose calls are left out of captured code (none).

        For what tells people something and returns None: ``print``, ``warnings.warn``,
        ``logging.Logger.info`` for all loggers, ``logger.info`` for one. Elsewhere, the graph
        breaks at such a call, so that it happens there and then. A change forgets all translations,
        as reset() does.
        """
        return self._ignore_logging_functions

    @ignore_logging_functions.setter
    def ignore_logging_functions(self, functions: Iterable[Callable[..., Any]]) -> None:
        ignored = _functions("ignore_logging_functions", functions)
        self._set_logging_functions(ignored, self._reorderable_logging_functions)

    @property
    def reorderable_logging_functions(self) -> tuple[Callable[..., Any], ...]:
        """Functions whose calls captured code makes when the graph has run (none).

        As ignore_logging_functions, which goes first; but the calls are made, in their order among
        the other effects. The arrays that they are given tell what they hold then, and the place
        that is told (by a logger, say) is one of the function that was compiled. Given anything
        that the function has made and may still change, a list, say, the graph breaks.
        """
        return self._reorderable_logging_functions

    @reorderable_logging_functions.setter
    def reorderable_logging_functions(self, functions: Iterable[Callable[..., Any]]) -> None:
        kept = _functions("reorderable_logging_functions", functions)
        self._set_logging_functions(self._ignore_logging_functions, kept)

    def _set_logging_functions(
        self, ignored: tuple[Callable[..., Any], ...], kept: tuple[Callable[..., Any], ...]
    ) -> None:
        _C.set_logging_functions(ignored, kept)
        self._ignore_logging_functions = ignored
        self._reorderable_logging_functions = kept
        forget_translations()

    @property
    def numpy_as_torch(self) -> bool | None:
        """Give graphs with operations of NumPy to the backend, as operations on tensors (None).

        None: to torch's backends that were asked for by name, other than "eager"; True: to any but
        that; False: to none, so that NumPy runs such graphs. It runs those of which some operation
        has no equal in torch, too. As ever with another backend, results may differ in the last
        digits, and floating-point errors are not warned of.
        Functions keep the setting under which they were compiled.
        """
        return self._numpy_as_torch

    @numpy_as_torch.setter
    def numpy_as_torch(self, value: bool | None) -> None:
        self._numpy_as_torch = None if value is None else boolean("numpy_as_torch", value)

    @property
    def compile_while_tracing(self) -> bool:
        """Run compiled code although a trace or profile function is set (False).

        As a rule, functions run plainly under a debugger, a profiler or a coverage tool, which
        would see nothing of compiled code.
        """
        return self._compile_while_tracing

    @compile_while_tracing.setter
    def compile_while_tracing(self, value: bool) -> None:
        self._compile_while_tracing = boolean("compile_while_tracing", value)
        _C.set_compile_while_tracing(value)

    @contextlib.contextmanager
    def patch(self, **settings: Any) -> Iterator[None]:
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
        names = [name.removeprefix("_") for name in self.__slots__]
        return f"Config({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def boolean(name: str, value: bool) -> bool:
    """The value of an argument or setting of that name; raises TypeError if it is no bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


def _functions(name: str, given: Iterable[Callable[..., Any]]) -> tuple[Callable[..., Any], ...]:
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} takes several functions, not a {type(given).__name__}")
    functions = tuple(given)
    for function in functions:
        # Of other callables, an instance says nothing of what the next call is given.
        if not isinstance(function, (FunctionType, BuiltinFunctionType, MethodType)):
            raise TypeError(f"{name} takes functions and methods, not {type(function).__name__}")
    return functions


# All compiled functions that are alive.
compiled_functions: LivingObjects[_C.CompiledFunction] = LivingObjects()
frame_hooks: LivingObjects[_C.FrameHook] = LivingObjects()


def forget_translations() -> None:
    """Forgets all translations of all functions."""
    _C.forget_unused(True)
    for compiled in compiled_functions.all():
        _C.reset(compiled)
    for hook in frame_hooks.all():
        hook.reset()


gc.callbacks.append(_C.on_collection)
atexit.register(_C.forget_unused, False)


config = Config()

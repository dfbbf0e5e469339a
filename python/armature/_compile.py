"""compile(), disable(), reset() and guard_check()."""

from __future__ import annotations

import copyreg
import functools
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from armature import _C, backends
from armature._caller import caller_of
from armature._config import boolean, compiled_functions, config, forget_translations
from armature.backends import BackendFunction, is_torch_module, kind_of
from armature.exc import Unsupported
from armature.logging import format_break, log

F = TypeVar("F", bound=Callable[..., Any])

# Its type has no __call__ of its own, by which the class knows others: that is the original's.
Callable.register(_C.CompiledCallable)

# Functions that make an object with a frame of its own: their bodies are not captured yet.
_SUSPENDING = {
    0x20: "a generator function",  # CO_GENERATOR
    0x80: "a coroutine function",  # CO_COROUTINE
    0x200: "an asynchronous generator function",  # CO_ASYNC_GENERATOR
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of one call of compile(), and what explain() asks for besides."""

    backend: str | BackendFunction = "eager"
    fullgraph: bool = False
    mode: str | None = None
    options: Mapping[str, Any] | None = None
    measures_breaks: bool = False

    @property
    def sharing_key(self) -> object:
        """What compilations of one code object have in common when they share translations.

        The backend: the function itself, or its name. None: they share nothing.
        """
        if self.mode or self.options or self.measures_breaks:
            return None
        return sys.intern(self.backend) if type(self.backend) is str else self.backend


@overload
def compile(
    fn: F,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | BackendFunction = ...,
    mode: str | None = ...,
    options: Mapping[str, Any] | None = ...,
    disable: bool = ...,
) -> F: ...
@overload
def compile(
    fn: None = ...,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | BackendFunction = ...,
    mode: str | None = ...,
    options: Mapping[str, Any] | None = ...,
    disable: bool = ...,
) -> Callable[[F], F]: ...
def compile(
    fn: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | BackendFunction = "eager",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Returns ``fn`` captured, guarded and compiled: the same function, faster.

    Also a decorator, with or without arguments. The first call with inputs of a kind captures what
    the function computes, compiles it, and remembers under which conditions the result holds;
    later calls check these and run the compiled code.

    fn: a Python function, a method, a torch.nn.Module, a functools.partial, an object with a
        ``__call__``, or a builtin. For a module or another object, the result stands for it: it has
        its attributes, its operators and its class as far as ``isinstance`` goes, and calls of it
        are captured; inside them, ``self`` is the object itself. The bodies of generator and
        coroutine functions run as plain Python, and what they call is captured.
    fullgraph: raise Unsupported where the graph would break, instead of going on in Python.
    dynamic: None or False: compile for the shapes that come. True is not supported yet.
    backend: "eager" runs the operations one by one; any other name that
        ``armature.backends.list_backends()`` gives; or a function
        ``backend(graph_module, example_inputs) -> callable``, as for torch.compile.
    mode, options: as torch.compile passes them to its backends; "eager" takes none.
    disable: return ``fn`` itself.

    Raises TypeError for what cannot be called, for classes and for an argument of another type
    than these, InvalidBackend for an unknown
    backend, ValueError for a mode or options that the backend does not take, NotImplementedError
    for ``dynamic=True``. What the backend raises comes out of the call that compiles.
    """
    boolean("fullgraph", fullgraph)
    boolean("disable", disable)
    if dynamic is not None and boolean("dynamic", dynamic):
        raise NotImplementedError(
            "dynamic=True is not supported yet: code is compiled for the shapes that come. "
            "Leave dynamic out, or pass False."
        )
    settings = Settings(backend, fullgraph, mode, options)
    backends.resolve(backend, mode, options)  # Errors belong to this call, not to the first run.

    def decorate(function: Any) -> Any:
        return function if disable else _compile_any(function, settings)

    return decorate if fn is None else decorate(fn)


def _compile_any(fn: Any, settings: Settings) -> Any:
    """Compiles each kind of callable as what it is."""

    def again(inner: Any) -> Any:
        return _compile_any(inner, settings)

    if isinstance(fn, _C.CompiledFunction):
        return _compile_function(fn.function, settings)
    disabled = fn._armature_call if isinstance(fn, _C.CompiledCallable) else fn
    if isinstance(disabled, _C.DisabledFunction):
        return fn if disabled.recursive else _compile_object(fn, settings)
    if isinstance(fn, _C.CompiledCallable):
        return _compile_object(fn._orig_mod, settings)
    if isinstance(fn, types.FunctionType):
        return _compile_function(fn, settings)
    if is_torch_module(fn):
        _refuse_script_module(fn)
        return _compile_object(fn, settings)
    inside = _inside(fn, again)
    if inside is not None:
        return inside
    return _compile_object(fn, settings)


def _compile_function(fn: types.FunctionType, settings: Settings) -> Any:
    for flag, kind in _SUSPENDING.items():
        if fn.__code__.co_flags & flag:
            reason = _not_captured(fn, kind)
            if settings.fullgraph:
                raise Unsupported(reason)
            log("graph_breaks", format_break(reason))
    backend = backends.resolve(settings.backend, settings.mode, settings.options)
    compiled = _C.CompiledFunction(
        fn,
        backend,
        settings.fullgraph,
        config.recompile_limit,
        settings,
        settings.measures_breaks,
        settings.sharing_key,
        backends.numpy_backend(backend, settings.backend),
    )
    compiled_functions.add(compiled)
    return compiled


def _compile_object(original: Any, settings: Settings) -> Any:
    """What stands for any other callable object."""
    return _C.CompiledCallable(
        original,
        functools.partial(
            _transform_call, original, functools.partial(_compile_any, settings=settings)
        ),
        functools.partial(_compile_object, settings=settings),
        ("forward",) if is_torch_module(original) else (),
    )


def _disable_object(original: Any, recursive: bool, reason: str | None) -> Any:
    inside = functools.partial(_disable_any, recursive=recursive, reason=reason)
    return _C.CompiledCallable(
        original,
        functools.partial(_transform_call, original, inside),
        functools.partial(_disable_object, recursive=recursive, reason=reason),
    )


def _transform_call(
    original: Any, transform: Callable[[Any], Any], function: types.FunctionType | None
) -> Any:
    """What calls of `original` run, with itself first: in place of the function that they come to,
    or, where that has no bytecode, of one that calls it."""
    return transform(caller_of(original) if function is None else function)


def _not_captured(fn: types.FunctionType, kind: str) -> dict[str, Any]:
    return {
        "gb_type": f"{kind[0].upper()}{kind[1:]}",
        "context": fn.__qualname__,
        "explanation": f"{fn.__qualname__} is {kind}: it runs as plain Python.",
        "hints": ["Compile the functions that it calls."],
        "filename": fn.__code__.co_filename,
        "function": fn.__name__,
        "line": fn.__code__.co_firstlineno,
        "stack": [(fn.__code__.co_filename, fn.__code__.co_firstlineno, fn.__name__)],
    }


def _refuse_script_module(module: Any) -> None:
    if isinstance(module, sys.modules["torch"].jit.ScriptModule):
        raise TypeError(
            "a ScriptModule has no Python bytecode to capture: compile the module that "
            "it was made from"
        )


def _inside(fn: Any, transform: Callable[[Any], Any]) -> Any:
    """Transforms the function inside of something that binds arguments or wraps it.

    None for a callable without one. Raises TypeError for what is not callable, and for classes.
    """
    if isinstance(fn, types.MethodType):
        return types.MethodType(transform(fn.__func__), fn.__self__)
    if isinstance(fn, staticmethod | classmethod):
        wrapper = type(fn)(transform(fn.__func__))
        wrapper.__dict__.update(fn.__dict__ | {"__wrapped__": wrapper.__func__})
        return wrapper
    if type(fn) is functools.partial:
        # With its dicts themselves, in which the program may change something later.
        partial = functools.partial(fn.func)
        partial.__setstate__((transform(fn.func), fn.args, fn.keywords, fn.__dict__))  # type: ignore[attr-defined]
        return partial
    if isinstance(fn, type):
        raise TypeError(
            f"{fn.__qualname__} is a class, which is not captured: give one of its instances, or "
            f"decorate its methods"
        )
    if not callable(fn):
        raise TypeError(
            f"cannot capture {kind_of(fn)}, which is not callable: give a function, a method, a "
            f"torch.nn.Module or another callable"
        )
    return None


def _functions(fn: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The CompiledFunction that calls of `fn` reach, and what `fn` puts before their arguments."""
    if isinstance(fn, _C.CompiledFunction):
        return fn, (), {}
    if isinstance(fn, _C.CompiledCallable):
        inner, args, kwargs = _functions(fn._armature_call)
        return inner, (*args, fn._orig_mod), kwargs
    if isinstance(fn, types.MethodType):
        inner, args, kwargs = _functions(fn.__func__)
        return inner, (*args, fn.__self__), kwargs
    if isinstance(fn, functools.partial):
        inner, args, kwargs = _functions(fn.func)
        return inner, (*args, *fn.args), {**kwargs, **fn.keywords}
    if isinstance(fn, staticmethod | classmethod):
        return _functions(fn.__func__)
    raise TypeError(f"{fn!r} is not what armature.compile() returns for a function or module")


def guard_check(compiled: Callable[..., Any], /, *args: Any, **kwargs: Any) -> bool:
    """Whether a call with these arguments would run a translation that exists.

    Runs nothing and compiles nothing. Raises TypeError if `compiled` did not come from compile().
    """
    function, before, keywords = _functions(compiled)
    if keywords:
        kwargs = {**keywords, **kwargs}
    return _C.accepts(function, *before, *args, **kwargs)


def reset() -> None:
    """Forgets all translations of all functions: each is compiled anew when next called."""
    forget_translations()


@overload
def disable(fn: F, recursive: bool = ..., *, reason: str | None = ...) -> F: ...
@overload
def disable(
    fn: None = ..., recursive: bool = ..., *, reason: str | None = ...
) -> Callable[[F], F]: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Returns ``fn`` as a function that is never captured, nor any compiled function it calls.

    Also a decorator, with or without arguments. Where captured code calls it, the graph breaks
    and Python runs the call. Takes what compile() takes, and raises TypeError likewise.

    recursive: False: only ``fn`` itself runs as plain Python. What it calls is captured, where
        captured code calls ``fn`` and where the result is given to compile(); compiled functions
        are compiled, whoever calls it.
    reason: why; ``explain``, the logs and ``fullgraph=True`` tell it.
    """

    def decorate(function: Any) -> Any:
        return _disable_any(function, recursive, reason)

    return decorate if fn is None else decorate(fn)


def _disable_any(fn: Any, recursive: bool = True, reason: str | None = None) -> Any:
    def again(inner: Any) -> Any:
        return _disable_any(inner, recursive, reason)

    if isinstance(fn, _C.DisabledFunction):
        return again(fn.function) if recursive and not fn.recursive else fn
    if isinstance(fn, _C.CompiledFunction):
        return again(fn.function)
    if isinstance(fn, _C.CompiledCallable):
        return _disable_object(fn._orig_mod, recursive, reason)
    if isinstance(fn, types.FunctionType):
        return functools.update_wrapper(_C.DisabledFunction(fn, recursive, reason), fn)
    inside = _inside(fn, again)
    return inside if inside is not None else _disable_object(fn, recursive, reason)


def _reduce(function: Any) -> Any:
    """Pickles by name, as Python does with functions; made anew where another has the name."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is function:
        return function.__qualname__
    if isinstance(function, _C.DisabledFunction):
        return _disable_any, (function.function, function.recursive, function.reason)
    return _compile_any, (function.function, function._armature_settings)


copyreg.pickle(_C.CompiledFunction, _reduce)
copyreg.pickle(_C.DisabledFunction, _reduce)

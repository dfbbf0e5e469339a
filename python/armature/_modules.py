"""Compiled torch.nn.Modules.

What compile() returns for a module is an instance of a subclass of the module's class, made for
it, that shares the module's very ``__dict__``. So it is the module in every respect (parameters,
buffers, hooks, state_dict, train() and eval(), isinstance), and stays in step with it; only the
subclass's ``forward`` is a compiled one. ``Module.__call__`` and the hooks it runs stay Python's.
"""

from __future__ import annotations

import copy
import copyreg
import inspect
import types
from collections.abc import Callable
from typing import Any

Transform = Callable[[Any], Any]


class CompiledModule:
    """What all compiled modules have in common. ``isinstance(m, CompiledModule)`` tells them."""

    __slots__ = ()

    # Set by replace_forward on the subclass.
    _armature_module: Any
    _armature_rebuild: Callable[..., Any]
    _armature_arguments: tuple[Any, ...]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Keeps classes that register their subclasses from seeing ours."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # The class cannot be found by name: the copy is compiled anew.
        kind = type(self)
        return kind._armature_rebuild, (kind._armature_module, *kind._armature_arguments)

    def __copy__(self) -> Any:
        kind = type(self)
        return kind._armature_rebuild(copy.copy(kind._armature_module), *kind._armature_arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        kind = type(self)
        module = copy.deepcopy(kind._armature_module, memo)
        return kind._armature_rebuild(module, *kind._armature_arguments)


class _InstanceForward:
    """``forward`` for a module whose own ``__dict__`` has one (a patched method, say).

    A data descriptor, because an entry of the instance would hide a compiled function that is a
    mere attribute of the class.
    """

    def __init__(self, of_class: Any, transform: Transform) -> None:
        self._of_class = of_class
        self._transform = transform
        self._original: Any = None
        self._transformed: Any = None

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self._of_class
        original = vars(module).get("forward")
        if original is None:
            return self._of_class.__get__(module, owner)
        if original is not self._original:
            self._original, self._transformed = original, self._transform(original)
        return self._transformed

    def __set__(self, module: Any, value: Any) -> None:
        vars(module)["forward"] = value

    def __delete__(self, module: Any) -> None:
        vars(module).pop("forward")


def original_module(module: Any) -> Any:
    """The module that a compiled module was made from; any other module itself."""
    return type(module)._armature_module if isinstance(module, CompiledModule) else module


def replace_forward(
    module: Any, transform: Transform, rebuild: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    """A module that shares everything with `module` but runs ``transform(forward)``.

    ``rebuild(module, *arguments)`` makes it again, for copies and pickles.
    """
    base = type(module)
    forward = inspect.getattr_static(base, "forward", None)
    if forward is None or isinstance(forward, property):
        raise TypeError(f"{base.__qualname__} has no forward() of its own that could be captured")
    compiled_forward = transform(forward)
    if "forward" in vars(module):
        compiled_forward = _InstanceForward(compiled_forward, transform)
    namespace = {
        "__slots__": (),
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "forward": compiled_forward,
        "_armature_module": module,
        "_armature_rebuild": staticmethod(rebuild),
        "_armature_arguments": arguments,
    }
    kind = types.new_class(
        base.__name__, (CompiledModule, base), exec_body=lambda ns: ns.update(namespace)
    )
    compiled = object.__new__(kind)
    object.__setattr__(compiled, "__dict__", module.__dict__)
    for name in copyreg._slotnames(base):  # type: ignore[attr-defined]
        if hasattr(module, name):
            object.__setattr__(compiled, name, getattr(module, name))
    return compiled

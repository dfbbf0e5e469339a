"""Describes everything that can be reached from some roots, in a form that two worlds share.

Objects are numbered in the order in which they are found, and each gets one line that refers to
others by number. So aliasing, cycles and exact types are part of the text, and equal texts mean
equal worlds. No code of the program runs, and the walk does not recurse.
"""

from __future__ import annotations

import collections
import enum
import re
import sys
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from armature import _C

from fuzz.program import FILENAME

_PLAIN_ATOMS = (type(None), bool, int, str, bytes, float, complex, range)
_LIBRARY_ATOMS = (torch.dtype, torch.device, torch.layout, np.dtype, types.ModuleType)
_SINGLETONS = (Ellipsis, NotImplemented)
_NOT_DESCRIBED = {"__dict__", "__weakref__", "__doc__", "__builtins__", "_abc_impl"}
# Of a namespace: what exec() and the warnings module write there.
_LEFT_BY_IMPORT = ("__builtins__", "__warningregistry__")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}", re.IGNORECASE)
_CALLABLES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType)
_TEXT_LIMIT = 2000


def without_addresses(text: str) -> str:
    """The text without what differs from run to run: addresses in reprs."""
    return _ADDRESS.sub("0x…", text)


def describe(roots: dict[str, Any], world: dict[str, Any], *, within: bool = False) -> list[str]:
    """One line for each object that ``roots`` reach. ``world`` is the program's namespace.

    ``within`` stops at that namespace and at the program's classes and functions: only what the
    roots themselves consist of is described.
    """
    return _Description(world, within).lines(roots)


def attributes_of(thing: Any) -> dict[Any, Any] | None:
    """The instance's dict, past whatever the class makes of ``__dict__``."""
    for kind in type.__dict__["__mro__"].__get__(type(thing)):
        found = type.__dict__["__dict__"].__get__(kind).get("__dict__")
        if isinstance(found, types.GetSetDescriptorType):
            return found.__get__(thing)
    return None


class _Description:
    def __init__(self, world: dict[str, Any], within: bool) -> None:
        self.world = world
        self.within = within
        self.numbers: dict[int, int] = {}
        self.pending: collections.deque[Any] = collections.deque()
        self.kept: list[Any] = []  # temporaries, so that no number is given twice
        self.storages: dict[int, int] = {}
        self.slots: dict[int, list[tuple[str, Any]]] = {}  # of types, by their ids
        self.plain: dict[int, bool] = {}  # by the ids of types

    def lines(self, roots: dict[str, Any]) -> list[str]:
        lines = [f"{name} = {self.refer(value)}" for name, value in roots.items()]
        while self.pending:
            thing = self.pending.popleft()
            text = without_addresses(f"#{self.numbers[id(thing)]}: {self.describe(thing)}")
            lines.append(text if len(text) < _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}…{len(text)}")
        return lines

    def refer(self, thing: Any) -> str:
        """The text of an atom, or the number of an object, which will be described too."""
        if isinstance(thing, _C.CompiledFunction):
            thing = thing.function
        number = self.numbers.get(id(thing))
        if number is None:
            text = self.atom(thing)
            if text is not None:
                return text
            number = self.numbers[id(thing)] = len(self.numbers)
            self.kept.append(thing)
            self.pending.append(thing)
        return f"#{number}"

    def references(self, things: Iterable[Any]) -> str:
        return ", ".join([self.refer(thing) for thing in things])

    def atom(self, thing: Any) -> str | None:
        kind = type(thing)
        if self.within and thing is self.world:
            return "world"
        if self.within and isinstance(thing, type) and self.is_of_program(thing):
            return f"class {type.__dict__['__name__'].__get__(thing)}"
        if kind is int and thing.bit_length() > 4000:
            return hex(thing)
        if kind in _PLAIN_ATOMS or kind is torch.Size:
            return repr(thing)
        if any(thing is single for single in _SINGLETONS):
            return repr(thing)
        if kind in (dict, list, set) or self.is_plain(kind):
            return None
        if kind in (tuple, frozenset) and len(thing) < 100:
            # A tuple of atoms has no identity: Python is free to share it.
            texts = [self.flat_atom(item) for item in thing]
            if None not in texts:
                return (
                    f"{kind.__name__}({', '.join(sorted(texts) if kind is frozenset else texts)})"
                )
            return None
        if isinstance(thing, _LIBRARY_ATOMS) and "module" not in kind.__name__:
            return str(thing)
        if kind is types.ModuleType and sys.modules.get(thing.__name__) is thing:
            return f"module {thing.__name__}"
        if isinstance(thing, type) and not self.is_of_program(thing):
            return f"class {type.__dict__['__module__'].__get__(thing)}.{thing.__qualname__}"
        if isinstance(thing, _CALLABLES) and not self.is_of_program(thing):
            bound = getattr(thing, "__self__", None)
            if bound is None or isinstance(bound, types.ModuleType):
                return (
                    f"function {thing.__module__ or ''}.{thing.__qualname__}"
                    if isinstance(thing, _CALLABLES[:2])
                    else f"method {thing.__qualname__}"
                )
        if isinstance(thing, types.WrapperDescriptorType | types.GetSetDescriptorType):
            return f"descriptor {thing.__qualname__}"
        return None

    def flat_atom(self, thing: Any) -> str | None:
        if type(thing) in (tuple, frozenset):
            return f"{type(thing).__name__} {len(thing)}" if not thing else None
        return self.atom(thing)

    def is_of_program(self, thing: Any) -> bool:
        """Whether the program's text defined this class or function."""
        if isinstance(thing, types.FunctionType):
            return thing.__code__.co_filename == FILENAME or thing.__globals__ is self.world
        if isinstance(thing, type):
            module = type.__dict__["__dict__"].__get__(thing).get("__module__")
            return module == self.world.get("__name__")
        return False

    def is_plain(self, kind: type) -> bool:
        """Whether instances have nothing but what the program's classes give them."""
        plain = self.plain.get(id(kind))
        if plain is None:
            plain = self.plain[id(kind)] = type(kind) is type and all(
                base is object or self.is_of_program(base)
                for base in type.__dict__["__mro__"].__get__(kind)
            )
        return plain

    def describe(self, thing: Any) -> str:
        if thing is self.world:
            return f"world {self.items(thing)}"
        if isinstance(thing, type):
            return self.type(thing)
        kind = type(thing)
        parts = [self.refer(kind)]
        if not self.is_plain(kind):
            parts += self.payload(thing)
        attributes = attributes_of(thing) if not isinstance(thing, types.ModuleType) else None
        if attributes is not None and dict.__len__(attributes):  # a program's class may say more
            parts.append(f"attributes {self.refer(attributes)}")
        for name, member in self.slots_of(kind):
            try:
                parts.append(f"{name}={self.refer(member.__get__(thing))}")
            except AttributeError:
                parts.append(f"{name} is not set")
        return " ".join(parts)

    def slots_of(self, kind: type) -> list[tuple[str, Any]]:
        """What ``__slots__`` of the program's classes among the bases have made."""
        if id(kind) not in self.slots:
            self.slots[id(kind)] = [
                (name, member)
                for base in type.__dict__["__mro__"].__get__(kind)
                if self.is_of_program(base)
                for name, member in type.__dict__["__dict__"].__get__(base).items()
                if isinstance(member, types.MemberDescriptorType)
            ]
        return self.slots[id(kind)]

    def type(self, kind: type) -> str:
        members = {
            name: value
            for name, value in type.__dict__["__dict__"].__get__(kind).items()
            if name not in _NOT_DESCRIBED
        }
        return (
            f"{self.refer(type(kind))} {type.__dict__['__name__'].__get__(kind)}"
            f" {type.__dict__['__qualname__'].__get__(kind)}"
            f" ({self.references(type.__dict__['__bases__'].__get__(kind))})"
            f" {self.items(members)}"
        )

    def items(self, table: dict[Any, Any]) -> str:
        shown = [
            f"{self.refer(key)}: {self.refer(value)}"
            for key, value in dict.items(table)
            if type(key) is not str or key not in _LEFT_BY_IMPORT
        ]
        return "{" + ", ".join(shown) + "}"

    def payload(self, thing: Any) -> Iterator[str]:
        """What a value of a builtin type, or of a subclass, holds besides attributes."""
        if isinstance(thing, collections.OrderedDict):
            table = {key: dict.__getitem__(thing, key) for key in self.ordered_keys(thing)}
            yield self.items(table)
        elif isinstance(thing, dict):
            yield self.items(thing)
        elif isinstance(thing, list):
            yield f"[{self.references(list.__iter__(thing))}]"
        elif isinstance(thing, tuple):
            yield f"({self.references(tuple.__iter__(thing))})"
        elif isinstance(thing, set | frozenset):
            kind = set if isinstance(thing, set) else frozenset
            known = sorted(self.atom(item) or type(item).__name__ for item in kind.__iter__(thing))
            yield "{" + ", ".join(known) + "}"
        elif isinstance(thing, collections.deque):
            yield f"[{self.references(collections.deque.__iter__(thing))}] {thing.maxlen}"
        elif isinstance(thing, enum.Enum):
            yield f"{thing._name_}"
        elif isinstance(thing, bool | int | float | str | bytes | bytearray | complex):
            for base in (int, float, str, bytes, bytearray, complex):
                if isinstance(thing, base):
                    yield base.__repr__(thing)
        elif isinstance(thing, torch.Tensor):
            yield self.tensor(thing)
        elif isinstance(thing, np.ndarray | np.generic):
            yield f"{thing.dtype} {thing.shape} {thing.strides} {thing.tolist()!r}"
            if isinstance(thing, np.ndarray) and isinstance(thing.base, np.ndarray):
                yield f"of {self.refer(thing.base)}"
        elif isinstance(thing, BaseException):
            yield (
                f"args {self.references(BaseException.args.__get__(thing))}"
                f" cause {self.refer(thing.__cause__)} context {self.refer(thing.__context__)}"
                f" suppressed {thing.__suppress_context__}"
            )
            if isinstance(thing, StopIteration):
                yield f"value {self.refer(thing.value)}"
        else:
            yield from self.machinery(thing)

    def machinery(self, thing: Any) -> Iterator[str]:
        """Functions, methods, cells, iterators: what the interpreter itself makes."""
        if isinstance(thing, types.FunctionType):
            code = thing.__code__
            yield f"{code.co_name}:{code.co_firstlineno} {thing.__name__} {thing.__qualname__}"
            yield f"defaults {self.refer(thing.__defaults__)} {self.refer(thing.__kwdefaults__)}"
            yield f"closure {self.references(thing.__closure__ or ())}"
            yield f"globals {self.refer(thing.__globals__)}"
        elif isinstance(thing, types.MethodType):
            yield f"{self.refer(thing.__func__)} of {self.refer(thing.__self__)}"
        elif isinstance(thing, types.BuiltinMethodType | types.MethodWrapperType):
            yield f"{thing.__name__} of {self.refer(thing.__self__)}"
        elif isinstance(thing, types.CellType):
            try:
                yield self.refer(thing.cell_contents)
            except ValueError:
                yield "empty"
        elif isinstance(thing, staticmethod | classmethod):
            yield self.refer(thing.__func__)
        elif isinstance(thing, property):
            yield self.references((thing.fget, thing.fset, thing.fdel))
        elif isinstance(thing, slice):
            yield self.references((thing.start, thing.stop, thing.step))
        elif isinstance(thing, types.GeneratorType):
            frame = thing.gi_frame
            yield f"{thing.__qualname__} {'ended' if frame is None else frame.f_lineno}"
        elif isinstance(thing, weakref.ref) and not isinstance(thing, weakref.KeyedRef):
            referent = weakref.ref.__call__(thing)
            yield "dead" if referent is None else f"to {self.refer(referent)}"
        elif isinstance(thing, super):
            yield self.references((thing.__thisclass__, thing.__self__))
        elif isinstance(thing, types.MappingProxyType):
            yield f"{len(thing)}"
        elif isinstance(thing, types.ModuleType):
            yield self.refer(types.ModuleType.__dict__["__dict__"].__get__(thing))
        elif hasattr(type(thing), "__next__") and type(thing).__module__ in (
            "builtins",
            "itertools",
        ):
            try:
                state = thing.__reduce__()
            except TypeError:
                return
            self.kept.append(state)
            yield self.refer(state)

    def ordered_keys(self, thing: Any) -> list[Any]:
        return list(collections.OrderedDict.__iter__(thing))

    def tensor(self, thing: torch.Tensor) -> str:
        with torch._C.DisableTorchFunction():
            storage = thing.untyped_storage().data_ptr()
            number = self.storages.setdefault(storage, len(self.storages))
            self.kept.append(thing.untyped_storage())
            return (
                f"{thing.dtype} {tuple(thing.shape)} {thing.stride()} storage {number}"
                f"+{thing.storage_offset()} {thing.detach().tolist()!r} leaf {thing.is_leaf}"
                f" requires_grad {thing.requires_grad} grad"
                f" {self.refer(thing.grad if thing.is_leaf else None)}"
            )

"""isinstance() and issubclass() with protocols, and what abstract base classes remember."""

from __future__ import annotations

import typing

import armature
import pytest
import torch
from changing_world import Cases, check_world
from differential import break_reasons

CASES = Cases("protocols")

PROTOCOLS = """
    from typing import Generic, Protocol, SupportsInt, TypeVar, runtime_checkable
    T = TypeVar("T")
    @runtime_checkable
    class Closes(Protocol):
        def close(self): ...
    @runtime_checkable
    class Named(Protocol):
        name: str
    @runtime_checkable
    class ClosesGenerically(Closes, Protocol[T]):
        def item(self) -> T: ...
    class Static(Protocol):
        def close(self): ...
    class Empty: pass
    class File:
        def close(self): return 1
        def item(self): return 2
    class Explicit(Closes):
        pass
    class Without:
        close = None
    class Declares:
        close: int
    def ask(f):
        try:
            return f()
        except TypeError as error:
            return str(error)
    CLASSES = [Empty, File, Explicit, Without, Declares, int]
    PROTOCOLS = [Closes, Named, ClosesGenerically, Static, SupportsInt]
    def entry(x):
        found = [
            (ask(lambda: isinstance(made(), protocol)), ask(lambda: issubclass(made, protocol)))
            for made in CLASSES for protocol in PROTOCOLS
        ]
        return x + 1, found
"""

CASES.add("of_every_kind", PROTOCOLS, "entry(1)")
for name, change in (
    ("a_method_is_added", "Empty.close = lambda self: 3"),
    ("a_method_is_deleted", "del File.close"),
    ("a_method_is_blocked", "File.close = None"),
    ("a_class_is_registered", "Closes.register(Empty)"),
    ("another_class_is_registered", "Static.register(type('Other', (), {}))"),
    ("a_protocol_gains_a_member", "Closes.flush = lambda self: None"),
    ("a_protocol_gains_a_variable", "Closes.__annotations__ = {'flush': int}"),
    ("a_protocol_is_closed", "Closes._is_runtime_protocol = False"),
    ("a_hook_is_replaced", "Closes.__subclasshook__ = classmethod(lambda cls, other: True)"),
    ("an_object_gains_the_method", "CLASSES[0] = lambda o=Empty(): o; CLASSES[0]().close = len"),
):
    CASES.add(name, PROTOCOLS, "entry(1)", change, "entry(1)")
    CASES.add(f"{name}_before_the_first_call", PROTOCOLS, change, "entry(1)", "entry(1)")

CASES.add(
    "a_hook_of_the_program_runs_once_for_a_class",
    """
    import abc
    LOG = []
    class Base(abc.ABC):
        @classmethod
        def __subclasshook__(cls, other):
            LOG.append(other.__name__)
            return hasattr(other, "close") or NotImplemented
    class File:
        close = 1
    class Other:
        pass
    def entry(x):
        return x + 1, isinstance(File(), Base), isinstance(Other(), Base), list(LOG)
    """,
    "entry(1)",
    "entry(2)",
    "Base.register(Other)",
    "entry(3)",
    "entry(4)",
)
CASES.add(
    "a_metaclass_hears_what_the_hook_reads",
    """
    from typing import Protocol, runtime_checkable
    LOG = []
    class Meta(type):
        def __getattribute__(cls, name):
            LOG.append(name)
            return super().__getattribute__(name)
    @runtime_checkable
    class Closes(Protocol):
        def close(self): ...
    class File(metaclass=Meta):
        pass
    def entry(x):
        del LOG[:]
        return x + 1, issubclass(File, Closes), list(LOG)
    """,
    "entry(1)",
    "entry(2)",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_protocols(source, steps):
    check_world(source, *steps)


@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self): ...


class File:
    def close(self):
        return 1


def test_a_protocol_is_no_reason_to_break():
    def program(x, file):
        return x + 1 if isinstance(file, Closes) and not issubclass(int, Closes) else x - 1

    x = torch.ones(2)
    compiled = armature.compile(program, fullgraph=True)
    assert torch.equal(compiled(x, File()), x + 1)
    assert torch.equal(compiled(x, 3), x - 1)
    assert break_reasons(compiled) == []

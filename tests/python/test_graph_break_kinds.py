"""Each kind of graph break: the smallest program that breaks for it, and is right all the same."""

from __future__ import annotations

import abc
import collections
import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import armature
import numpy as np
import pytest
import torch
from differential import break_reasons, check

# Kinds that have no example yet, and none needs to join them.
WITHOUT_EXAMPLE = {
    "FailedOperation",  # seen by nobody: test_effect_log tests what it is for
    "UnexpectedValue",
    "LargeConstant",
    "HugeRange",
    "SpecialMethodResult",
    "AttributeNameSubclass",
    "HugeIterable",
    "DeepPath",
    "KeywordNotIdentifier",
    "MethodOfContainerSubclass",
    "UnsupportedInput",
    "ConcatOfObject",
    "EmptyCell",
    "ExistingException",
    "Coroutine",
    "ValueSentToIterator",
    "BuiltinsNotDict",
    "ClassBody",
    "ImportOfSubmodule",
    "ImportInsideTracedCode",
    "FormattingOfTracedValue",
    "UnsupportedNumPyCall",
    "DataDependentOperator",
    "UnsupportedNumPyResult",
    "GradModeDecorator",
    "UnsupportedResult",
    "ReplacedByDynamo",
    "WatchedByDynamo",
    "FakeTensorFailure",
    "NotRebuilt",
    "InjectedFault",
    "InternalError",
    "BuiltinWithTracedArguments",
    "IntOfObject",
    "SubscriptOfClass",
    "LongRangeSearched",
    "ModuleWithGetattr",
    "AttributeOfConstant",
    "AssignmentToCObject",
    "UnsupportedCResult",
    "OrderedDictOrder",
    "UnknownHash",
    "DictWithoutSource",
    "FromkeysOfSubclass",
    "TextOfDictSubclass",
    "LongRepeat",
    "TupleNew",
    "AttributeOfTuple",
    "TupleWithOperators",
    "AttributeOfFunction",
    "AssignmentToFunction",
    "UnusualSuper",
    "AttributeOfException",
    "TextOfException",
    "NamedtupleField",
    "UnsupportedInstanceDict",
    "AttributeOfCObject",
    "UnsupportedDescriptor",
    "GetattrNotFunction",
    "IdentityOfConstants",
    "IdentityOfNumbers",
    "ChangeWithoutSource",
    "OutOfMemory",
    "UnsupportedGlobals",
    "ElementOfArgument",
    "SeveralMutations",
    "OperationInHandler",
    "DeepRecursion",
}

EXAMPLES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def example(kind: str, *args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        EXAMPLES[kind] = (function, args)
        return function

    return register


class HashedByProgram:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return True


KEYED = {HashedByProgram(): 1}


example("KeyComparedByProgram")(lambda: KEYED[1])


example("UnpackedNotIterable", 3)(lambda n: print(*n))


class Mapping:
    def keys(self):
        return ["a"]

    def __getitem__(self, key):
        return 1


def keywords(**kwargs):
    return kwargs


example("UnpackedNotDict", Mapping())(lambda m: keywords(**m))
example("KeywordNotString")(lambda: keywords(**{1: 2}))
example("KeywordGivenTwice")(lambda: keywords(a=1, **{"a": 2}))


@example("ObservedException", 1)
def raises(n):
    raise ValueError(n)


@example("GraphBreakCall", torch.ones(2))
def asks_for_a_break(x):
    armature.graph_break()
    return x + 1


@armature.disable
def disabled(x):
    return x + 1


example("DisabledFunction", torch.ones(2))(lambda x: disabled(x))


example("ClassMadeWhileTracing")(lambda: type("K", (), {}).__name__)
example("IterWithSentinel", [1, 2])(lambda items: list(iter(items.pop, 1)))
example("MathOfObjects", torch.ones(2))(lambda x: math.fsum(x))


@example("UnsupportedBuiltin")
def prints():
    print("here")
    return 1


@example("SetOrder")
def set_order():
    return len([item for item in {object(), object()}])


class Ordered(collections.OrderedDict):
    pass


class Node:
    pass


example("HashOfAddress")(lambda: isinstance(hash(Node()), int))


class Meta(type):
    def __getattr__(cls, name):
        return name

    def __hash__(cls):
        return 5


class OfMeta(metaclass=Meta):
    pass


example("MetaclassAttributes")(lambda: OfMeta.missing)
example("MetaclassHashOrText")(lambda: hash(OfMeta))


class CallMeta(type):
    def __call__(cls):
        return 3


class OfCallMeta(metaclass=CallMeta):
    pass


example("MetaclassCall")(lambda: OfCallMeta())


class WithNew:
    def __new__(cls):
        return 3


example("ClassWithNew")(lambda: WithNew())


class Abstract(abc.ABC):
    @abc.abstractmethod
    def method(self): ...


example("AbstractInstance")(lambda: Abstract())


class Final:
    def __del__(self):
        pass


@example("Finalizer")
def finalizer():
    Final()
    return 1


class Items:
    def __getitem__(self, index):
        if index > 2:
            raise IndexError
        return index


example("IterationThroughGetitem", Items())(lambda items: list(items))
example("TextOfObject", Node())(lambda node: len(repr(node)) > 0)


class Other:
    pass


class SubclassOfTensor(torch.Tensor):
    pass


SUBCLASS = torch.ones(2).as_subclass(SubclassOfTensor)


@example("AssignmentToClassOrDict")
def assigns_class():
    node = Node()
    node.__class__ = Other
    return type(node).__name__


class Slotted:
    __slots__ = ("a",)


example("EmptySlot", Slotted())(lambda s: getattr(s, "a", 1))


@example("DeletionOfSlot")
def deletes_slot():
    s = Slotted()
    s.a = 1
    del s.a
    return hasattr(s, "a")


class Hooked(abc.ABC):  # noqa: B024
    @classmethod
    def __subclasshook__(cls, other):
        return True


example("SubclassHook", Node())(lambda node: isinstance(node, Hooked))
example("ClassCheckAgainstObject", 1)(lambda n: isinstance(n, n))
example("ArrayAndOther", torch.ones(2))(lambda x: x + "a")


@example("DataDependentBranching", torch.ones(1))
def branches(x):
    if x.sum() > 0:
        return x + 1
    return x


example("ArrayMembership", torch.ones(1))(lambda x: 1 in x)
example("UnsupportedArrayMethod", torch.ones(1))(lambda x: x.tolist())


@example("DeletionOfArrayItem", torch.ones(2))
def deletes_item(x):
    del x[0]


example("MixedLibraries", torch.ones(2), np.ones(2))(lambda x, a: torch.add(x, a))


example("NumberOutOfArray", torch.ones(1))(lambda x: float(x) + 1)
example("UnsupportedLibraryFunction", torch.ones(1))(lambda x: torch.nonzero(x))
example("AttributeOfArray", torch.ones(1))(lambda x: x.grad_fn)


@example("UnsupportedInstruction")
def class_statement():
    class Inner:
        y = 1

    return Inner.y


example("UnknownCFunction")(lambda: isinstance(time.time(), float))
example("SetInSet", {1}, {frozenset([1])})(lambda a, b: a in b)
example("ComputedClassAttribute")(lambda: Node.__basicsize__)
example("UnsupportedOperation", iter([1]))(lambda items: next(items))
example("SpecialMethodArguments", [1])(lambda items: items.__len__(1))
example("TextOfObject")(lambda: len(repr(Node())) > 0)
example("AssignmentToArray", torch.ones(1))(lambda x: setattr(x, "attribute", 1))
example("OverriddenOperation", torch.ones(2))(lambda x: torch.stack([x, SUBCLASS]))
example("UnsupportedArgument", torch.ones(1))(lambda x: torch.add(x, Node()))


@pytest.mark.parametrize("kind", EXAMPLES)
def test_breaks_for_the_kind(kind: str) -> None:
    function, args = EXAMPLES[kind]
    (gb_type,) = (k.gb_type for k in armature.graph_break_kinds() if k.name == kind)
    compiled = check(function, *args, breaks=None)
    assert gb_type in [reason["gb_type"] for reason in break_reasons(compiled)]


def test_a_new_kind_needs_an_example() -> None:
    kinds = {kind.name for kind in armature.graph_break_kinds()}
    assert set(EXAMPLES) == kinds - WITHOUT_EXAMPLE
    assert kinds >= WITHOUT_EXAMPLE


def test_raises_before_any_graph_was_compiled() -> None:
    program = """
import armature

def add(a, b):
    return a + b

try:
    armature.compile(add)(1, "a")
except TypeError:
    print("raised")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "raised\n", done.stderr


def test_each_kind_says_something() -> None:
    kinds = armature.graph_break_kinds()
    for kind in kinds:
        assert kind.explanation.endswith(".") and kind.gb_type, kind
        assert "not modelled" not in kind.explanation, kind
        assert kind.hints or kind.name == "ObservedException", kind
    assert len({kind.gb_type for kind in kinds}) == len(kinds)

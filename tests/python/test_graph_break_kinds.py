"""Each kind of graph break: the smallest program that breaks for it, and is right all the same."""

from __future__ import annotations

import abc
import collections
import functools
import logging
import math
import numbers
import operator
import pathlib
import random
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import armature
import numpy as np
import pytest
import torch
from differential import break_reasons, check
from torch.utils.checkpoint import checkpoint

# Kinds that no program breaks for when all is well, and the tests that see to them.
SPECIAL = {
    "ChangeBehindHandler": "test_operations_in_handlers.py::test_a_change_behind_a_handler",
    "FirstUse": "test_first_uses.py::test_code_of_the_program_runs_once_and_in_its_place",
    "FailedOperation": "test_effect_log.py::test_effects_before_a_failing_operation_happen",
    "InjectedFault": "test_fault_injection.py::test_a_fault_happens_once_at_its_site",
    "InternalError": "test_failure_policy.py::test_fullgraph_raises",
    "UnknownLayout": "test_autograd_operations.py::test_asking_for_a_layout",
    "ReplacedByDynamo": "test_beside_dynamo.py::test_with_dynamo",
    "VaryingValue": "test_values_that_vary.py::test_calls_stay_compiled",
    "WatchedByDynamo": "test_beside_dynamo.py::test_with_dynamo",
}

EXAMPLES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def example(kind: str, *args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        assert kind not in EXAMPLES
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


def keywords(**kwargs):
    return kwargs


example("UnpackedNotDict", 3)(lambda m: keywords(**m))
example("KeywordNotString")(lambda: keywords(**{1: 2}))
example("KeywordGivenTwice")(lambda: keywords(a=1, **{"a": 2}))


@example("ObservedException", 1)
def raises(n):
    raise ValueError(n)


@example("GraphBreakCall", torch.ones(2))
def asks_for_a_break(x):
    armature.graph_break()
    return x + 1


@example("LoggingCall", torch.ones(2))
def logs(x):
    logging.getLogger("armature").critical("size %s", x.shape[0])
    return x + 1


@example("RecordedWarnings", torch.ones(2))
def records_warnings(x):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        torch.std(x[:1])
        return len(recorded)


@example("EffectInBody", torch.ones(2))
def effect_in_body(x):
    seen = []
    checkpoint(lambda a: seen.append(a), x, use_reentrant=False)
    return seen


@example("UnfinishedBody", torch.ones(2))
def unfinished_body(x):
    def body(a):
        torch.set_grad_enabled(False)
        return a + 1

    y = checkpoint(body, x, use_reentrant=False)
    torch.set_grad_enabled(True)
    return y


@armature.disable
def disabled(x):
    return x + 1


example("DisabledFunction", torch.ones(2))(lambda x: disabled(x))


@example("SkipFrameCall", torch.ones(2))
def asks_to_be_skipped(x):
    armature.skip_frame()
    return x + 1


example("SkippedFunction", torch.ones(2))(lambda x: asks_to_be_skipped(x))


example("ClassMadeWhileTracing")(lambda: type("K", (numbers.Number,), {}).__name__)
example("MathOfObjects", torch.ones(2))(lambda x: math.fsum(x))


@example("UnsupportedBuiltin")
def prints():
    print("here")
    return 1


@example("SetOrder")
def set_order():
    return len([item for item in {object(), object()}])


class DefaultingSubclass(collections.defaultdict):
    pass


class Node:
    pass


example("HashOfAddress")(lambda: isinstance(hash(Node()), int))


class Meta(type):
    def __getattribute__(cls, name):
        return name

    def __hash__(cls):
        return 5


class OfMeta(metaclass=Meta):
    pass


example("MetaclassAttributes")(lambda: OfMeta.missing)
example("MetaclassHashOrText")(lambda: hash(OfMeta))


class CallMeta(type):
    __call__ = staticmethod(len)


class OfCallMeta(metaclass=CallMeta):
    pass


example("MetaclassCall")(lambda: OfCallMeta([]))


class WithNew(random.Random):
    pass


example("ClassWithNew")(lambda: WithNew())


class WithArguments:
    def __getnewargs__(self):
        return ()


example("ReductionOfObject", WithArguments())(lambda made: len(made.__reduce_ex__(4)))


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


HELD = [Final()]


@example("EndOfObject")
def end_of_object():
    HELD[0] = [HELD[0]]


class Items:
    def __getitem__(self, index):
        if index > 2:
            raise IndexError
        return index


@example("ContainerChangedInLoop", [1, 2, 3])
def removes_in_loop(items):
    walk = iter(items)
    torch.ones(1).tolist()
    items.pop()
    return next(walk)


example("IterationThroughGetitem", iter(Items()))(lambda items: list(items))


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


class Hooked(abc.ABC):  # noqa: B024
    @classmethod
    def __subclasshook__(cls, other):
        return NotImplemented


Hooked.register(Node)  # no answer is kept of a class that is registered itself
example("SubclassHook", Node())(lambda node: isinstance(node, Hooked))
example("ClassCheckAgainstObject", 1)(lambda n: isinstance(n, len))
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
example("AttributeOfArray", torch.ones(1))(lambda x: x._base)


@example("ChangedThroughMemory", torch.ones(2, requires_grad=True))
def asks_the_base(x):
    base = torch.zeros(2)
    base[0] = x[0]
    return base.requires_grad


# What the interactive interpreter does with a value.
SHOWS_VALUE = compile("None", "shown", "single").replace(co_flags=(lambda: None).__code__.co_flags)
example("UnsupportedInstruction")(types.FunctionType(SHOWS_VALUE, {}))


example("UnknownCFunction")(lambda: isinstance(time.time(), float))
example("SetInSet", {object()}, {frozenset([1])})(lambda a, b: a in b)


def made_and_found():
    made = type("Made", (Node,), {})
    return made.__name__ in [each.__name__ for each in Node.__subclasses__()]


example("ComputedClassAttribute")(made_and_found)
example("UnsupportedOperation", bytearray(b"ab"))(lambda items: items[0])
example("SpecialMethodArguments", [1])(lambda items: items.__add__([2], [3]))
example("TextOfObject")(lambda: len(repr(Node())) > 0)
example("AssignmentToArray", torch.ones(1))(lambda x: setattr(x, "data", x))
example("OverriddenOperation", torch.ones(2))(lambda x: torch.stack([x, SUBCLASS]))
example("UnsupportedArgument", torch.ones(1))(lambda x: torch.add(x, Node()))


# --- interpreter/


ERROR = ValueError("existing")


example("ExistingException")(lambda: ERROR.__init__("existing"))


async def coroutine():
    return 1


example("ArgumentOfException", torch.ones(1))(lambda x: OSError(x, "text").strerror)
example("Coroutine")(lambda: coroutine().close())


class SubclassOfDict(dict):
    pass


def over_globals(function: Callable[..., Any], namespace: dict[str, Any]) -> Callable[..., Any]:
    return types.FunctionType(function.__code__, namespace)


example("UnsupportedGlobals", [1])(
    over_globals(lambda x: len(x), {"__builtins__": SubclassOfDict(len=len)})
)
example("ClassBody")(types.FunctionType(compile("name = 1", "<module>", "exec"), {}))

sys.modules["module_of_examples"] = types.ModuleType("module_of_examples")
sys.modules["module_of_examples.part"] = types.ModuleType("module_of_examples.part")
sys.modules["object_of_examples"] = types.SimpleNamespace(value=1)


@example("ImportOfSubmodule")
def imports_submodule():
    from module_of_examples import part

    return part.__name__


@example("ImportInsideTracedCode")
def imports():
    import object_of_examples

    return object_of_examples.value


# --- libraries/

example("UnsupportedNumPyCall", np.ones(2), np.ones(2), np.ones(2))(
    lambda a, b, c: np.divmod(a, 2, out=(b, c))
)
example("DataDependentOperator", torch.ones(2))(lambda x: x[x > 0].shape)
example("UnsupportedNumPyResult", np.ones(2))(lambda a: a.astype(object).shape)


def add_one(x):
    return x + 1


example("UnsupportedResult", torch.ones(2))(
    lambda x: torch.zeros_like(x, layout=torch.sparse_coo).shape
)
WITHOUT_DATA = torch.ones(2, device="meta")
example("FakeTensorFailure")(lambda: torch.add(WITHOUT_DATA, torch.ones(3, device="meta")).shape)

# --- runtime/


@example("NotRebuilt")
def iterator_over_keys_that_changed():
    made = {1: 2, 3: 4}
    iterator = iter(made)
    del made[1]
    made[5] = 6
    return iterator


# --- variables/builtins/

example("BuiltinWithTracedArguments")(lambda: int(Node(), 10))


class Truncated:
    def __trunc__(self):
        return 3


example("IntOfObject", Truncated())(lambda value: int(value))


class Sequence:
    def __getitem__(self, index):
        raise IndexError

    def __add__(self, other):
        return 3


example("ConcatOfObject", Sequence())(lambda a: operator.concat(a, [1]))

# --- variables/constants/

example("LongRangeSearched")(lambda: Node() in range(100_000))
COMPUTED = types.ModuleType("computed")
COMPUTED.__getattr__ = lambda name: name
example("ModuleWithGetattr")(lambda: COMPUTED.missing)
example("AttributeOfConstant")(lambda: callable(int.__call__))
example("AssignmentToCObject")(lambda: setattr(int, "attribute", 1))
example("UnsupportedCResult")(lambda: len(frozenset([1]).__reduce__()))
example("LargeConstant")(lambda: len("a" * 2**23))


class KeyOfItsOwn:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


@functools.lru_cache
def remembered_list(first):
    return [first]


example("CachedFunction", KeyOfItsOwn())(lambda key: len(remembered_list(key)))


@example("HugeRange")
def first_of_many():
    for number in range(2**70):
        return number


# --- variables/containers/

UNORDERED = collections.OrderedDict(a=1)
dict.__setitem__(UNORDERED, "b", 2)
example("OrderedDictOrder")(lambda: list(UNORDERED.values()))


class ComparedByProgram:
    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return 1


example("UnknownHash")(lambda: len(collections.OrderedDict({ComparedByProgram(): 1})))
example("FromkeysOfSubclass")(lambda: dict.__dict__["fromkeys"](int, [1]))


class SubclassOfSet(set):
    pass


class HashedByMethod:
    def __hash__(self):
        return 1


example("OrderOfManyKeys", collections.OrderedDict.fromkeys(range(100)))(
    lambda keys: keys.move_to_end(50) or list(keys)[-2:]
)
example("SetNotLoaded", SubclassOfSet([HashedByMethod()]))(lambda items: len(list(items)))
example("MethodOfContainerSubclass")(lambda: dict.pop(collections.OrderedDict({1: 2}), 1))
example("TextOfDictSubclass")(lambda: repr(collections.defaultdict(int)))
example("TupleNew")(lambda: tuple.__new__(Node))


class Fields(tuple):
    _fields = ("a",)

    def __len__(self):
        return 5


example("AttributeOfTuple", Fields((1,)))(lambda fields: getattr(fields, "b", 1))
example("TupleWithOperators", Fields((1,)))(lambda fields: len(fields))

# --- variables/functions/

example("AttributeOfFunction")(lambda: add_one.__closure__)
example("AssignmentToFunction")(lambda: setattr(add_one, "__name__", "mark"))
example("UnusualSuper")(lambda: isinstance(super(Node), super))

# --- variables/objects/

example("TextOfException", torch.ones(1))(lambda x: str(ImportError(x)))
Point = collections.namedtuple("Point", "x y")
NODE = Node()
NODE.__dict__ = DefaultingSubclass(None, a=1)
example("UnsupportedInstanceDict")(lambda: NODE.a)

# --- variables/protocol/

example("AttributeOfCObject")(lambda: len({}.keys().mapping))


class NestedClassMethod:
    method = classmethod(classmethod(len))


example("UnsupportedDescriptor", NestedClassMethod())(lambda nested: callable(nested.method))


class AnsweredByC:
    __getattr__ = functools.partial(str.upper)


ANSWERED = AnsweredByC()
example("GetattrNotFunction")(lambda: ANSWERED.missing)


@example("IdentityOfConstants", int("123456"))
def compares_identity(n):
    literal = 123_456
    return n + 1, n is literal


example("IdentityOfNumbers", np.ones(1))(lambda a: a.sum() is a.sum())
example("IdentityOfResults", torch.ones(1))(lambda x: {x.contiguous(): 1})


class Text(str):
    pass


class ReprOfText:
    def __init__(self):
        self.text = Text("a")

    def __repr__(self):
        return self.text


example("SpecialMethodResult", ReprOfText())(lambda value: len(repr(value)))
example("AttributeNameSubclass", Node(), Text("a"))(lambda node, name: getattr(node, name, 1))
example("HugeIterable")(lambda: [None] * 2**62)

# --- variables/

example("OutOfMemory")(lambda: "a".ljust(2**62))
example("ResizedOutput", torch.ones(2, 2), torch.ones(3), torch.ones(3, dtype=torch.long))(
    lambda x, values, indices: torch.max(x, 0, out=(values, indices))
)
example("UnknownMutation", torch.ones(2))(lambda x: torch.relu_(input=x))


@example("OperationInHandler", np.ones((2, 2)))
def handles(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return a


NOTED: list[str] = []


@example("OperationBehindEffects", torch.zeros(3), torch.tensor([1]))
def reads_its_frame(x, i):
    if x is None:
        locals()
    x.add_(1)
    NOTED.append("changed")
    return x[i]


class Nested:
    def __init__(self, depth):
        self.depth = depth

    def __divmod__(self, other):
        return other if self.depth == 0 else divmod(Nested(self.depth - 1), other)


example("DeepRecursion")(lambda: divmod(Nested(600), 0))


def without_end():
    return without_end() + 1


@example("RecursionLimit")
def ends_where_python_ends_it():
    try:
        return without_end()
    except RecursionError as error:
        return str(error)


def chain(length: int) -> Node:
    first = node = Node()
    for _ in range(length):
        node.next = Node()
        node = node.next
    node.next = None
    return first


CHAIN = chain(1100)


@example("DeepPath")
def walks():
    node, count = CHAIN, 0
    while node is not None:
        node, count = node.next, count + 1
    return count


example("KeywordNotIdentifier", torch.ones(1))(lambda x: torch.add(x, **{"a b": 1}))


@pytest.mark.filterwarnings("ignore:.*delegation of int.*:DeprecationWarning")
@pytest.mark.parametrize("kind", EXAMPLES)
def test_breaks_for_the_kind(kind: str) -> None:
    function, args = EXAMPLES[kind]
    (gb_type,) = (k.gb_type for k in armature.graph_break_kinds() if k.name == kind)
    compiled = check(function, *args, breaks=None)
    assert gb_type in [reason["gb_type"] for reason in break_reasons(compiled)]


def test_a_new_kind_needs_an_example() -> None:
    kinds = {kind.name for kind in armature.graph_break_kinds()}
    assert set(EXAMPLES) | set(SPECIAL) == kinds
    assert not set(EXAMPLES) & set(SPECIAL)


@pytest.mark.parametrize("kind", SPECIAL)
def test_special_tests_exist(kind: str) -> None:
    file, name = SPECIAL[kind].split("::")
    text = (pathlib.Path(__file__).parent / file).read_text()
    assert f"\ndef {name}(" in text


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
        assert kind.hints, kind
    assert len({kind.gb_type for kind in kinds}) == len(kinds)

"""What guards mean, in plain Python: a slow evaluator to hold the compiled programs against.

Sources and guards are the nested tuples that ``armature._C.GuardManager`` takes.
"""

import collections
import copy
import operator
import struct
import types

import torch
from armature import _C

KEYS, DTYPE, DEVICE, DIMENSION, SIZES, STRIDES, REQUIRES_GRAD, NO_ATTRIBUTES = (
    1 << i for i in range(8)
)
EVERYTHING = (1 << 7) - 1


def manager(guards, example, captures=(), cells=()):
    return _C.GuardManager(list(guards), list(captures), list(example), cells)


def passes(guards, *locals_):
    """check and check_verbose must agree; returns what they say."""
    found = guards.check(*locals_)
    passed, text, actual = guards.check_verbose(*locals_)
    assert passed == (found is not None), (text, actual)
    return passed


class Missing(Exception):
    """A source leads nowhere."""


def local(index, name=None):
    return ("Local", index, name or f"x{index}")


def attribute(base, name):
    return ("DictItem", ("InstanceDict", base), name)


def load(source, locals_):
    kind = source[0]
    if kind == "Local":
        value = locals_[source[1]]
        return value.cell_contents if isinstance(value, types.CellType) else value
    if kind == "LocalCell":
        return locals_[source[1]]
    if kind == "GlobalsDict":
        return source[1]
    base = load(source[1], locals_)
    try:
        return LOADERS[kind](base, *source[2:])
    except (AttributeError, LookupError, TypeError, ValueError):
        raise Missing(source) from None


def of_type(*kinds):
    def check(base):
        if not isinstance(base, kinds):
            raise TypeError
        return base

    return check


def type_attribute(cls, name):
    for each in of_type(type)(cls).__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    raise AttributeError


def dict_item(base, key):
    for each, value in dict.items(of_type(dict)(base)):
        if each is key or (same(each, key) if type(key) in (str, int, tuple) else False):
            return value
    raise KeyError


def ahead(iterator):
    """What an iterator over a list, tuple, str or range still gives."""
    of_type(*(type(iter(each)) for each in ([], (), "a", range(0))))(iterator)
    return list(copy.copy(iterator))


def count_ahead(value):
    try:
        return len(ahead(value))
    except TypeError:
        return -1


LOADERS = {
    "Type": type,
    "InstanceDict": lambda base: base.__dict__,
    "DictItem": dict_item,
    "DictKey": lambda base, index: list(dict.keys(base))[index],
    "ListItem": lambda base, index: list.__getitem__(base, index),
    "DequeItem": lambda base, index: collections.deque.__getitem__(base, index),
    "TupleItem": lambda base, index: tuple.__getitem__(base, index),
    "Slot": lambda base, descriptor: descriptor.__get__(base),
    "Descriptor": lambda base, descriptor: descriptor.__get__(base),
    "TypeAttribute": type_attribute,
    "CellContents": lambda base: of_type(types.CellType)(base).cell_contents,
    "FunctionCode": lambda base: of_type(types.FunctionType)(base).__code__,
    "FunctionDefaults": lambda base: of_type(types.FunctionType)(base).__defaults__,
    "FunctionKwDefaults": lambda base: of_type(types.FunctionType)(base).__kwdefaults__,
    "FunctionClosure": lambda base: of_type(types.FunctionType)(base).__closure__,
    "MethodFunction": lambda base: of_type(types.MethodType)(base).__func__,
    "MethodSelf": lambda base: of_type(types.MethodType, types.BuiltinFunctionType)(base).__self__,
    "TypeMro": lambda base: of_type(type)(base).__mro__,
    "IteratorItem": lambda base, index: ahead(base)[index],
}


def same(a, b):
    """Equal as constants of a trace."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if type(a) is complex:
        return same(a.real, b.real) and same(a.imag, b.imag)
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is frozenset:
        return same(tuple(a), tuple(b))  # with their order
    if type(a) in (slice, range):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if type(a) is types.CodeType:
        return a == b and a.co_filename == b.co_filename and same(a.co_consts, b.co_consts)
    return type(a) in (int, str, bytes) and a == b


def tensor_facts(tensor):
    with torch._C.DisableTorchFunction():
        return {
            KEYS: torch._C._dispatch_keys(tensor).raw_repr(),
            DTYPE: tensor.dtype,
            DEVICE: tensor.device,
            DIMENSION: tensor.dim(),
            SIZES: tuple(tensor.shape),
            STRIDES: tensor.stride(),
            REQUIRES_GRAD: tensor.requires_grad,
            NO_ATTRIBUTES: not tensor.__dict__,
            "type": type(tensor),
        }


class Expectations:
    """What the guards were compiled with: tensors change in place, so their facts are kept."""

    def __init__(self, guards):
        self.guards = guards
        self.facts = {
            id(guard): tensor_facts(guard[2]) for guard in guards if guard[1] == "TENSOR_MATCH"
        }

    def hold(self, locals_):
        return all(self.holds(guard, locals_) for guard in self.guards)

    def holds(self, guard, locals_):
        if guard[0] is None:
            return are_distinct(*guard[2:], locals_)
        source, kind, operand, number, other = (*guard, *(None, None, None, 0, None)[len(guard) :])
        try:
            value = load(source, locals_)
            if other is not None:
                other = load(other, locals_)
        except Missing:
            return False
        if kind == "TENSOR_MATCH":
            expected = self.facts[id(guard)]
            if type(value) is not expected["type"]:
                return False
            found = tensor_facts(value)
            return all(
                found[bit] == expected[bit] for bit in found if bit == "type" or number & bit
            )
        return CHECKS[kind](value, operand, number, other)


def are_distinct(written, read, locals_):
    """The objects at `written` are pairwise different, and none of them is at `read`."""
    sources, objects = [], []
    for source in dict.fromkeys([*written, *read]):
        try:
            objects.append(load(source, locals_))
            sources.append(source)
        except Missing:
            return False
    return all(
        objects[i] is not objects[j]
        for i in range(len(objects))
        for j in range(i)
        if sources[j] in written
    )


def length(value):
    for kind in (list, tuple, dict, set, frozenset, str, bytes, range):
        if isinstance(value, kind):
            return kind.__len__(value)
    return -1


RELATIONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


def may_be_compared(left, right):
    """Numbers with numbers, and texts with texts."""
    kinds = {type(left), type(right)}
    return kinds <= {int, float} or kinds == {str}


def compares_so(value, operand, number, other):
    """`number`: twice the relation, plus whether it holds."""
    right = operand if other is None else other
    if not may_be_compared(value, right):
        return False
    return RELATIONS[number // 2](value, right) == bool(number % 2)


CHECKS = {
    "TYPE_MATCH": lambda value, operand, number, other: type(value) is operand,
    "ID_MATCH": lambda value, operand, number, other: value is operand,
    "FUNCTION_MATCH": lambda value, operand, number, other: value is operand,
    "CLASS_MATCH": lambda value, operand, number, other: value is operand,
    "MODULE_MATCH": lambda value, operand, number, other: value is operand,
    "BUILTIN_MATCH": lambda value, operand, number, other: value is operand,
    "EQUALS_MATCH": lambda value, operand, number, other: same(value, operand),
    "CONSTANT_MATCH": lambda value, operand, number, other: same(value, operand),
    "BOOL_MATCH": lambda value, operand, number, other: value is bool(number),
    "NONE_MATCH": lambda value, operand, number, other: value is None,
    "NOT_NONE_MATCH": lambda value, operand, number, other: value is not None,
    "CLOSURE_MATCH": lambda value, operand, number, other: (
        isinstance(value, types.FunctionType) and same(value.__code__, operand)
    ),
    "ITERATOR_ITEM": lambda value, operand, number, other: count_ahead(value) > number,
    "ITERATOR_END": lambda value, operand, number, other: (
        count_ahead(value) == max(number, 0) and (number >= 0 or value.__reduce__()[1] == ([],))
    ),
    "SEQUENCE_LENGTH": lambda value, operand, number, other: length(value) == number,
    "EMPTY_NN_MODULE_HOOKS_DICT": lambda value, operand, number, other: (
        isinstance(value, dict) and length(value) == 0
    ),
    "DICT_CONTAINS": lambda value, operand, number, other: (
        isinstance(value, dict) and dict.__contains__(value, operand)
    ),
    "DICT_NOT_CONTAINS": lambda value, operand, number, other: (
        isinstance(value, dict) and not dict.__contains__(value, operand)
    ),
    "SET_CONTAINS": lambda value, operand, number, other: (
        isinstance(value, (set, frozenset)) and operand in value
    ),
    "SET_NOT_CONTAINS": lambda value, operand, number, other: (
        isinstance(value, (set, frozenset)) and operand not in value
    ),
    "SET_HOLDS": lambda value, operand, number, other: (
        isinstance(value, (set, frozenset)) and any(same(item, operand) for item in value)
    ),
    # Python sees the size of a table, and the order in it.
    "SET_TABLE_MATCH": lambda value, operand, number, other: (
        isinstance(value, (set, frozenset))
        and value.__sizeof__() == operand.__sizeof__()
        and len(value) == len(operand)
        and all(map(same, value, operand))
    ),
    "DICT_KEYS_MATCH": lambda value, operand, number, other: (
        isinstance(value, dict)
        and len(value) == len(operand)
        and all(map(same, dict.keys(value), operand))
    ),
    "SET_ITEMS_MATCH": lambda value, operand, number, other: (
        isinstance(value, (set, frozenset))
        and len(value) == len(operand)
        and all(map(same, value, operand))
    ),
    "HASATTR": lambda value, operand, number, other: hasattr(value, operand) == bool(number),
    "SLOT_IS_SET": lambda value, operand, number, other: (
        isinstance(value, operand.__objclass__) and hasattr(value, operand.__name__) == bool(number)
    ),
    "CELL_IS_SET": lambda value, operand, number, other: (
        isinstance(value, types.CellType) and hasattr(value, "cell_contents") == bool(number)
    ),
    "VALUE_COMPARISON": compares_so,
    "DUPLICATE_INPUT": lambda value, operand, number, other: (value is other) == bool(number),
}

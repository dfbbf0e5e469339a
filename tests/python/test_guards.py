"""Each type of guard and each kind of source, alone: what passes, what fails, and what is said."""

import builtins
import collections
import gc
import math
import types

import pytest
import torch
from guards_reference import attribute, local, manager, passes

X = local(0, "x")


class Point:
    label = "class"

    def __init__(self, x):
        self.x = x


class SubPoint(Point):
    pass


class Slotted:
    __slots__ = ("a",)

    def __init__(self, *a):
        if a:
            (self.a,) = a


def function(x, y=1, *, z=2):
    return x


def other_function(x):
    return x


def compiled_afresh(text, filename="text"):
    return eval(compile(text, filename, "eval"))


def has_run(function):
    for number in range(20):
        function(number)
    return function


def counting(first):
    yield first
    second = first + 1
    yield second


def stepped(count):
    generator = counting(7)
    for _ in range(count):
        next(generator, None)
    return generator


# Suspended, its code, globals and builtins, its first yield, its locals, handling nothing.
STANDING = (
    1,
    counting.__code__,
    id(globals()),
    id(builtins.__dict__),
    stepped(1).gi_frame.f_lasti // 2,
    bytes([1, 0]),
    0,
)
NAN = float("nan")
ENDED = iter([])
next(ENDED, None)
GUARDS = [
    # guard, the example, others that pass, others that fail
    ((X, "TYPE_MATCH", int), 1, [2, -5], [True, 1.0, "1", None]),
    ((X, "TYPE_MATCH", Point), Point(1), [Point(2)], [SubPoint(1), Point, 1]),
    ((X, "ID_MATCH", Point), Point, [], [SubPoint, Point(1)]),
    ((X, "FUNCTION_MATCH", function), function, [], [other_function, len]),
    ((X, "CLASS_MATCH", Point), Point, [], [SubPoint]),
    ((X, "MODULE_MATCH", math), math, [], [gc]),
    ((X, "BUILTIN_MATCH", len), len, [], [max]),
    ((X, "BUILTIN_MATCH", list.append), [].append, [[1].append], [[].pop, {}.get, list.append, 1]),
    ((X, "SMALL_INT_MATCH"), 1, [0, -5, 2**60 - 1, 1 - 2**60], [2**60, -(2**60), True, 1.0, "1"]),
    ((X, "VALUE_COMPARISON", 2, 1), 1, [-(10**30), 1.5, -math.inf], [2, 2.0, NAN, True, "1", None]),
    ((X, "VALUE_COMPARISON", 2, 0), 2, [10**30, 2.5, NAN], [1, 1.5, True, "3", None]),
    ((X, "VALUE_COMPARISON", 0.0, 5), 0, [0.0, -0.0], [1, NAN, False, "0", None]),
    ((X, "VALUE_COMPARISON", "añb", 5), "añb", ["".join(["a", "ñb"])], ["anb", b"a", 1, None]),
    ((X, "VALUE_COMPARISON", "b", 1), "a", ["", "añb"], ["b", "ba", 1, None]),
    ((X, "CLOSURE_MATCH", function.__code__), function, [], [other_function, len, 1]),
    (
        (X, "CLOSURE_MATCH", compiled_afresh("lambda x: x * 1.5").__code__),
        compiled_afresh("lambda x: x * 1.5"),
        [compiled_afresh("lambda x: x * 1.5"), has_run(compiled_afresh("lambda x: x * 1.5"))],
        [
            compiled_afresh("lambda x: x * 2.5"),
            compiled_afresh("lambda x: x + 1.5"),
            compiled_afresh("lambda y: y * 1.5"),
            compiled_afresh("\nlambda x: x * 1.5"),
            compiled_afresh("lambda x: x *  1.5"),
            compiled_afresh("lambda x: x * 1.5", "elsewhere"),
            compiled_afresh("lambda x=1: x * -0.0"),
            1,
        ],
    ),
    ((X, "EQUALS_MATCH", 3), 3, [], [4, 3.0, True, "3", None]),
    ((X, "EQUALS_MATCH", 1), 1, [], [True, 1.0]),
    ((X, "EQUALS_MATCH", True), True, [], [1, False]),
    ((X, "EQUALS_MATCH", 10**30), 10**30, [int("1" + "0" * 30)], [-(10**30), 10**30 + 1]),
    ((X, "EQUALS_MATCH", 0.0), 0.0, [float("0")], [-0.0, 0, NAN]),
    ((X, "EQUALS_MATCH", -0.0), -0.0, [float("-0.0")], [0.0]),
    ((X, "EQUALS_MATCH", NAN), NAN, [float("nan")], [-float("nan"), 0.0]),
    ((X, "EQUALS_MATCH", 1 + 0j), 1 + 0j, [complex(1, 0)], [complex(1, -0.0), 1]),
    ((X, "EQUALS_MATCH", "añb"), "añb", ["".join(["a", "ñb"])], ["anb", "añbc", b"a"]),
    ((X, "EQUALS_MATCH", b"ab"), b"ab", [bytes([97, 98])], [b"abc", "ab"]),
    (
        (X, "EQUALS_MATCH", (1, (2.0, "a"), None)),
        (1, (2.0, "a"), None),
        [tuple([1, (2.0, "a"), None])],
        [(1, (2, "a"), None), (True, (2.0, "a"), None), (1, (2.0, "a")), [1, (2.0, "a"), None]],
    ),
    (
        (X, "EQUALS_MATCH", frozenset([1, 9])),
        frozenset([1, 9]),
        [frozenset([1, 9])],
        [frozenset([9, 1]), frozenset([1.0, 9]), frozenset([1]), {1, 9}],
    ),
    ((X, "EQUALS_MATCH", slice(1, 2)), slice(1, 2), [slice(1, 2, None)], [slice(1, 2.0), (1, 2)]),
    ((X, "EQUALS_MATCH", range(3)), range(3), [range(0, 3, 1)], [range(1, 3), range(0, 4, 2)]),
    ((X, "CONSTANT_MATCH", torch.float32), torch.float32, [], [torch.float64]),
    ((X, "BOOL_MATCH", None, 1), True, [], [1, False]),
    ((X, "BOOL_MATCH", None, 0), False, [], [0, None, True]),
    ((X, "NONE_MATCH"), None, [], [0, False]),
    ((X, "NOT_NONE_MATCH"), 0, [False, "x"], [None]),
    ((X, "ITERATOR_ITEM", None, 1), iter([1, 2]), [iter("abc")], [iter([1]), [1, 2], iter(())]),
    ((X, "ITERATOR_END", None, 1), iter([1]), [iter("a")], [iter([]), iter(range(2)), [1]]),
    ((X, "ITERATOR_END", None, -1), ENDED, [ENDED], [iter([]), iter([1]), []]),
    (
        (X, "GENERATOR_MATCH", STANDING),
        stepped(1),
        [stepped(1)],
        [stepped(0), stepped(2), stepped(3), (i for i in "ab"), 1],
    ),
    ((X, "SEQUENCE_LENGTH", None, 2), [1, 2], [(1, 2), "ab", {1: 2, 3: 4}], [[1], "abc", 2]),
    ((X, "SEQUENCE_LENGTH", None, 2), collections.deque("ab"), [], [collections.deque("abc")]),
    ((X, "SEQUENCE_LENGTH", None, 2), range(2), [b"ab", {1, 2}, bytearray(2)], [range(3), b"a"]),
    (
        (X, "DICT_CONTAINS", "a"),
        {"a": 1},
        [{"b": 1, "a": 2}, {"a": 1, 5: 1}],
        [{}, {"b": 1}, ["a"]],
    ),
    ((X, "DICT_NOT_CONTAINS", "a"), {}, [{"b": 1}, {1: 2}], [{"a": 1}, {1: 2, "a": 1}, ["b"]]),
    ((X, "DICT_CONTAINS", 1), {1: 0}, [{True: 0}, {1.0: 0}], [{2: 0}, {"1": 0}]),
    ((X, "DICT_NOT_CONTAINS", 1), {2: 0}, [{"1": 0}], [{1: 0}, {True: 0}, {1.0: 0}]),
    ((X, "DICT_CONTAINS", Point), {Point: 0}, [{Point: 1, "a": 0}], [{SubPoint: 0}]),
    (
        (X, "DICT_KEYS_MATCH", ["a", 1]),
        {"a": 0, 1: 0},
        [{"a": 5, 1: 6}],
        [{1: 0, "a": 0}, {"a": 0}],
    ),
    ((X, "DICT_KEYS_MATCH", [1]), {1: 0}, [], [{True: 0}, {}, [1]]),
    ((X, "SET_CONTAINS", "a"), {"a"}, [{"a", 1}, frozenset(["a"])], [{"b"}, ["a"]]),
    ((X, "SET_NOT_CONTAINS", "a"), {"b"}, [set()], [{"a", "b"}]),
    ((X, "SET_CONTAINS", (1, 2)), {(1, 2)}, [{(1, 2), 3}], [{(1, 3)}]),
    ((X, "SET_HOLDS", 1), {1}, [{1, 2}, frozenset([1])], [{True}, {1.0}, set(), [1]]),
    ((X, "SET_HOLDS", Point), {Point}, [{Point, 1}], [{SubPoint}, set()]),
    (
        (X, "SET_TABLE_MATCH", frozenset([8, 0])),
        {8, 0},
        [frozenset([8, 0])],
        [{0, 8}, {8}, {8, 0, 1}, {8, False}, set(range(9)) - {1, 2, 3, 4, 5, 6, 7}, [8, 0]],
    ),
    ((X, "SET_ITEMS_MATCH", [8, 0]), {8, 0}, [frozenset([8, 0])], [{0, 8}, {8}, {8, 0, 1}, [8, 0]]),
    ((X, "SET_ITEMS_MATCH", [Point]), {Point}, [], [{SubPoint}, set()]),
    ((X, "HASATTR", "x", 1), Point(1), [SubPoint(2)], [1, Point]),
    ((X, "HASATTR", "label", 1), Point(1), [Point], [1]),
    ((X, "HASATTR", "x", 0), 1, [Point], [Point(1)]),
    ((X, "SLOT_IS_SET", Slotted.a, 0), Slotted(), [Slotted()], [Slotted(1), 1]),
    ((X, "SLOT_IS_SET", Slotted.a, 1), Slotted(1), [Slotted(2)], [Slotted(), 1]),
    ((X, "CELL_IS_SET", None, 0), types.CellType(), [types.CellType()], [types.CellType(1), 1]),
    ((X, "CELL_IS_SET", None, 1), types.CellType(1), [types.CellType(2)], [types.CellType(), 1]),
    ((X, "EMPTY_NN_MODULE_HOOKS_DICT"), collections.OrderedDict(), [{}], [{1: 2}, [], ()]),
]


@pytest.mark.parametrize("guard, example, good, bad", GUARDS)
def test_guard_type(guard, example, good, bad):
    guards = manager([guard], [example])
    for value in [example, *good, example]:
        assert passes(guards, value), value
    for value in bad:
        assert not passes(guards, value), value
    assert passes(guards, example)


@pytest.mark.parametrize("guard, example, good, bad", GUARDS)
def test_guard_type_in_a_dict(guard, example, good, bad):
    """The same below a dict, whose version may or may not stand for the outcome."""
    guards = manager([(("DictItem", X, "k"), *guard[1:])], [{"k": example}])
    box = {"k": example}
    for value in [example, *good, *bad, example]:
        box["k"] = value
        expected = value is example or any(value is each for each in good)
        for _ in range(2):
            assert passes(guards, box) == expected, value
        assert passes(guards, {"k": value}) == expected, value


def test_a_failing_guard_is_named():
    guards = manager([(attribute(X, "x"), "EQUALS_MATCH", 3), (X, "TYPE_MATCH", Point)], [Point(3)])
    assert guards.check_verbose(Point(4)) == (False, "L['x'].x == 3", "4")
    passed, text, actual = guards.check_verbose(SubPoint(3))
    assert (passed, text) == (False, "type(L['x']) is <class test_guards.Point>")
    assert actual == "<class test_guards.SubPoint>"
    empty = Point(0)
    del empty.x
    assert guards.check_verbose(empty) == (False, "L['x'].x exists", "missing")


def test_texts_are_the_same_in_every_process():
    guards = manager(
        [(X, "TYPE_MATCH", dict), (("DictItem", X, "k"), "ID_MATCH", Point)], [{"k": Point}]
    )
    assert str(guards) == (
        "TYPE_MATCH: type(L['x']) is <class dict>\n"
        "ID_MATCH: L['x']['k'] is <class test_guards.Point>\n"
    )
    assert guards.program == (
        "0: LoadLocal r0, r1  # L['x']\n"
        "1: CheckType r1, <class dict>  # L['x']\n"
        "2: EnterDict r1, r2, to 4  # L['x']\n"
        "3: Pass r0\n"
        "4: LoadDictItem r1, r3, 'k'  # L['x']['k']\n"
        "5: CheckIdentity r3, <class test_guards.Point>  # L['x']['k']\n"
        "6: CommitDict r1, r2, to 2\n"
    )


def test_explaining_runs_no_code_of_the_program():
    class Loud:
        def __repr__(self):
            raise AssertionError

        __eq__ = __hash__ = __len__ = __bool__ = __getattr__ = __repr__

    guards = manager([(X, "EQUALS_MATCH", 3)], [3])
    assert guards.check_verbose(Loud())[2].endswith("Loud object>")
    guards = manager([(X, "SEQUENCE_LENGTH", None, 1)], [[1]])
    assert guards.check_verbose(Loud())[0] is False
    guards = manager([(X, "HASATTR", "x", 0)], [1])
    assert passes(guards, Loud())


def test_lookups_run_no_code_of_the_program():
    calls = []

    class Key:
        def __init__(self, hash_):
            self.hash = hash_

        def __hash__(self):
            return self.hash

        def __eq__(self, other):
            calls.append(other)
            return self is other

    guards = manager([(("DictItem", X, "k"), "EQUALS_MATCH", 1)], [{"k": 1}])
    key = Key(hash("k"))
    assert passes(guards, {"k": 1, key: 2})
    calls.clear()
    assert not passes(guards, {key: 1})
    # Whether it equals "k" could only be learnt by asking it: neither guard may hold.
    for kind, example in (("DICT_CONTAINS", {"k": 1}), ("DICT_NOT_CONTAINS", {})):
        assert not passes(manager([(X, kind, "k")], [example]), {key: 1})
    for kind, example in (
        ("SET_CONTAINS", {"k"}),
        ("SET_HOLDS", {"k"}),
        ("SET_NOT_CONTAINS", set()),
    ):
        assert not passes(manager([(X, kind, "k")], [example]), {key})
    assert not calls


# --- Sources


def make_closure(value):
    def inner(argument=1, *, keyword=2):
        return value

    return inner


class Slotted:
    __slots__ = ("__weakref__", "value")

    def __init__(self, value):
        self.value = value


METHOD = Point(1)
METHOD.bound = types.MethodType(function, METHOD)
ONES = iter([1, 1])
SOURCES = [
    (("Type", X), Point(1), Point, 5),
    (("InstanceDict", X), METHOD, METHOD.__dict__, Point(1)),
    (attribute(X, "x"), Point(7), 7, Point(8)),
    (("DictItem", X, (1, "a")), {(1, "a"): 7}, 7, {(1, "b"): 7}),
    (("DictKey", X, 1), {"a": 0, "b": 0}, "b", {"b": 0, "a": 0}),
    (("ListItem", X, 1), [1, 7], 7, [7]),
    (("DequeItem", X, 1), collections.deque([1, 7]), 7, collections.deque([7])),
    (("TupleItem", X, 0), (7,), 7, ()),
    (("TupleItem", X, 0), torch.Size([7]), 7, [7]),
    (("Slot", X, Slotted.value), Slotted(7), 7, Point(7)),
    (("Slot", X, slice.stop), slice(7), 7, slice(8)),
    (("Descriptor", X, slice.stop), slice(7), 7, slice(8)),
    (("TypeAttribute", X, "label"), SubPoint, "class", int),
    (("CellContents", X), types.CellType(7), 7, types.CellType()),
    (("FunctionCode", X), function, function.__code__, other_function),
    (("FunctionDefaults", X), function, function.__defaults__, other_function),
    (("FunctionDefaults", X), other_function, None, function),
    (("FunctionKwDefaults", X), function, function.__kwdefaults__, 1),
    (("TupleItem", ("FunctionClosure", X), 0), make_closure(7), None, other_function),
    (
        ("CellContents", ("TupleItem", ("FunctionClosure", X), 0)),
        make_closure(7),
        7,
        make_closure(8),
    ),
    (("MethodFunction", X), METHOD.bound, function, function),
    (("MethodSelf", X), METHOD.bound, METHOD, function),
    (("MethodSelf", X), [].append, None, function),
    (("TypeMro", X), SubPoint, SubPoint.__mro__, Point),
    (("IteratorItem", X, 1), iter([5, 7]), 7, iter([7])),
    (("IteratorItem", X, 1), iter("ab"), "b", iter([])),
    (("IteratorValue", X, 0), iter({"a": 7}.items()), 7, iter([7])),
    (("IteratorField", X, 1), enumerate(ONES), ONES, zip(ONES, strict=False)),
    (("GeneratorSlot", X, 0), stepped(1), 7, stepped(3)),
]


@pytest.mark.parametrize("source, example, value, bad", SOURCES)
def test_source(source, example, value, bad):
    guards = manager([], [example], [source])
    for _ in range(3):
        (found,) = guards.check(example)
        if value is not None:
            assert found is value or found == value
    guards = manager([(source, "ID_MATCH", found)], [example])
    assert passes(guards, example)
    assert not passes(guards, bad)
    assert not passes(guards, object())


def test_globals_builtins_and_modules():
    import builtins
    import sys

    names = {"__name__": "somewhere", "n": 3}
    n = ("DictItem", ("GlobalsDict", names), "n")
    elsewhere = ("DictItem", ("GlobalsDict", {"__name__": "a.b", "m": 4}, "other"), "m")
    guards = manager(
        [
            (n, "EQUALS_MATCH", 3),
            (elsewhere, "EQUALS_MATCH", 4),
            (("DictItem", ("BuiltinsDict",), "len"), "BUILTIN_MATCH", len),
            (("DictItem", ("ModulesDict",), "math"), "MODULE_MATCH", math),
        ],
        [],
    )
    assert passes(guards)
    names["n"] = 4
    assert guards.check_verbose() == (False, "G['n'] == 3", "4")
    names["n"] = 3
    assert passes(guards)
    assert "globals('a.b')['m'] == 4" in str(guards)
    builtins.len, saved = max, len
    try:
        assert not passes(guards)
    finally:
        builtins.len = saved
    assert passes(guards)
    sys.modules["math"] = gc
    try:
        assert not passes(guards)
    finally:
        sys.modules["math"] = math
    assert passes(guards)


def test_cells_are_looked_through():
    cell = types.CellType(7)
    guards = manager(
        [(X, "EQUALS_MATCH", 7)], [cell], captures=[("LocalCell", 0, "x"), X], cells=[0]
    )
    assert guards.check(cell) == (cell, 7)
    other = types.CellType(7)
    assert guards.check(other)[0] is other
    cell.cell_contents = 8
    assert not passes(guards, cell)
    assert not passes(guards, types.CellType())


# --- Requests


def test_repeated_requests_are_one():
    tensor = torch.ones(2)
    guards = manager(
        [
            (X, "TENSOR_MATCH", tensor, 1),
            (X, "TENSOR_MATCH", tensor, 16),
            (local(1, "n"), "EQUALS_MATCH", 3),
            (local(1, "n"), "EQUALS_MATCH", 3),
            (local(1, "n"), "EQUALS_MATCH", int("3")),
            (None, "GLOBAL_STATE"),
            (None, "GLOBAL_STATE"),
        ],
        [tensor, 3],
    )
    lines = str(guards).splitlines()
    assert sorted(lines) == [
        "EQUALS_MATCH: L['n'] == 3",
        "GLOBAL_STATE: global state is unchanged",
        "TENSOR_MATCH: L['x'] is like f32[2] in dispatch keys, sizes",
    ]
    assert passes(guards, torch.zeros(2, dtype=torch.int64), 3)
    assert not passes(guards, torch.zeros(3), 3)


def test_cheap_guards_come_first():
    big = {f"k{i}": i for i in range(50)}
    requests = [(("DictItem", X, key), "EQUALS_MATCH", value) for key, value in big.items()]
    requests += [(None, "GLOBAL_STATE"), (local(1, "n"), "EQUALS_MATCH", 1)]
    lines = str(manager(requests, [big, 1])).splitlines()
    assert lines[0] == "EQUALS_MATCH: L['n'] == 1"


def test_the_traced_call_must_pass():
    with pytest.raises(ValueError, match=r"fails its own guard L\['x'\] == 3: found 4"):
        manager([(X, "EQUALS_MATCH", 3)], [4])
    with pytest.raises(ValueError, match="exists"):
        manager([(("ListItem", X, 3), "NONE_MATCH")], [[]])
    with pytest.raises(ValueError, match="TYPE_MATCH needs a type"):
        manager([(X, "TYPE_MATCH", 3)], [4])
    for number in (-1, 12, 2**31, 2**63 - 1):
        with pytest.raises(ValueError, match="VALUE_COMPARISON needs a comparison"):
            manager([(X, "VALUE_COMPARISON", 3, number)], [4])
    for operand, number in [(5, 4), ((5,), 4), (((),), -2), ((-1,), -2), ((2**40,), -2), ((), -3)]:
        with pytest.raises(ValueError, match="ENDS_SILENTLY does not say what"):
            manager([(X, "ENDS_SILENTLY", operand, number)], [4])
    for description in (None, 5, (), ("x",), (1, 2), (1, 2, 3, 4, 5, 6, 7), (2**70,)):
        with pytest.raises(ValueError, match="GENERATOR_MATCH needs a description"):
            manager([(X, "GENERATOR_MATCH", description)], [(i for i in [])])

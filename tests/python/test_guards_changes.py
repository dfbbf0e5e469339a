"""What changes between two calls, what dies, and foreign code on the way."""

import collections
import gc
import types
import weakref

import pytest
import torch
from guards_reference import EVERYTHING, attribute, local, manager, passes

X = local(0, "x")


class Point:
    label = "class"

    def __init__(self, x):
        self.x = x


class SubPoint(Point):
    pass


def function(x):
    return x


# --- What changes between two calls


def test_an_entry_of_a_dict_is_looked_up_again_only_when_it_changed():
    box = {"k": [1], "other": 0}
    k = ("DictItem", X, "k")
    guards = manager([(k, "TYPE_MATCH", list), (("ListItem", k, 0), "EQUALS_MATCH", 1)], [box], [k])
    assert guards.check(box)[0] is box["k"]
    box["other"] = 1
    assert guards.check(box)[0] is box["k"]
    box["k"] = [1]
    assert guards.check(box)[0] is box["k"]
    box["k"][0] = 2  # a change that the dict does not see
    assert not passes(guards, box)
    box["k"] = (1,)
    assert not passes(guards, box)
    del box["k"]
    assert not passes(guards, box)
    box["k"] = [1]
    assert passes(guards, box)


def test_a_half_done_lookup_is_not_trusted():
    good = {"a": "one", "b": 2}
    bad = {"a": "uno", "b": 3}  # fails after its items were loaded
    a, b = ("DictItem", X, "a"), ("DictItem", X, "b")
    guards = manager([(a, "TYPE_MATCH", str), (b, "EQUALS_MATCH", 2)], [good], [a])
    for _ in range(3):
        assert guards.check(good) == ("one",)
        assert guards.check(bad) is None
    point, other = Point(1), Point("no")
    point.__dict__, other.__dict__  # noqa: B018
    point.y, other.y = "here", "there"
    x, y = attribute(X, "x"), attribute(X, "y")
    guards = manager([(x, "EQUALS_MATCH", 1), (y, "TYPE_MATCH", str)], [point], [y])
    for _ in range(3):
        assert guards.check(point) == ("here",)
        assert guards.check(other) is None


def test_another_dict_at_the_same_address():
    k = ("DictItem", ("ListItem", X, 0), "k")
    guards = manager([(k, "EQUALS_MATCH", 1)], [[{"k": 1}]], [k])
    box = [None]
    for i in range(200):
        box[0] = None  # frees the dict; the next one is likely put there
        box[0] = {"k": i % 2}
        assert (guards.check(box) is not None) == (i % 2 == 1)


def test_the_order_of_an_ordered_dict():
    box = collections.OrderedDict(a=1, b=2, c=3)
    guards = manager(
        [(X, "DICT_KEYS_MATCH", ["a", "b", "c"])], [box], [("DictKey", X, 2), ("DictKey", X, 0)]
    )
    for _ in range(2):
        assert guards.check(box) == ("c", "a")
        box.move_to_end("a")
        assert not passes(guards, box)
        box.move_to_end("a", last=False)
    assert passes(guards, {"a": 1, "b": 1, "c": 1})
    moved = collections.OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    guards = manager([(X, "DICT_KEYS_MATCH", ["b", "a"])], [moved], [("DictKey", X, 0)])
    assert guards.check(moved) == ("b",)
    del moved["b"]
    assert not passes(guards, moved)
    moved["b"] = 1
    assert not passes(guards, moved)
    moved.move_to_end("a")
    assert passes(guards, moved)


def test_instance_dict_replaced_and_class_changed():
    point = Point(1)
    x = attribute(X, "x")
    guards = manager([(X, "TYPE_MATCH", Point), (x, "EQUALS_MATCH", 1)], [point], [x])
    assert passes(guards, point)
    point.__dict__ = {"x": 1}
    assert passes(guards, point)
    point.__dict__ = {"x": 2}
    assert not passes(guards, point)
    point.__dict__ = {"x": 1}
    assert passes(guards, point)
    point.__class__ = SubPoint
    assert not passes(guards, point)
    point.__class__ = Point
    assert passes(guards, point)


def test_guards_do_not_create_the_dicts_of_instances():
    x = attribute(X, "x")
    guards = manager([(X, "TYPE_MATCH", Point), (x, "EQUALS_MATCH", 1)], [Point(1)], [x])
    point = Point(1)
    assert guards.check(point) == (1,)
    assert not any(isinstance(each, dict) for each in gc.get_referents(point))


@pytest.mark.parametrize("specialized", [False, True])
def test_attribute_assignment(specialized):
    def assign(point, value):
        point.x = value

    point = Point(1)
    point.__dict__  # noqa: B018
    x = attribute(X, "x")
    guards = manager([(x, "EQUALS_MATCH", 1)], [point])
    for i in range(100 if specialized else 2):
        assign(point, i)
        assert passes(guards, point) == (i == 1)


def test_class_attributes():
    class Base:
        def method(self):
            pass

    class Derived(Base):
        pass

    first = Base.method
    method = ("TypeAttribute", ("Type", X), "method")
    guards = manager([(X, "TYPE_MATCH", Derived), (method, "FUNCTION_MATCH", first)], [Derived()])
    value = Derived()
    assert passes(guards, value)
    Base.unrelated = 1
    assert passes(guards, value)
    Base.method = function
    assert not passes(guards, value)
    Base.method = first
    assert passes(guards, value)
    Derived.method = function
    assert not passes(guards, value)
    del Derived.method
    assert passes(guards, value)
    Derived.__bases__ = (Point,)
    assert not passes(guards, value)
    Derived.__bases__ = (Base,)
    assert passes(guards, value)


def test_class_attributes_are_checked_once_for_all_instances():
    points = [Point(i) for i in range(20)]
    guards = []
    for i, _ in enumerate(points):
        item = ("ListItem", X, i)
        guards.append((item, "TYPE_MATCH", Point))
        init = ("TypeAttribute", ("Type", item), "__init__")
        guards.append((init, "FUNCTION_MATCH", Point.__init__))
    compiled = manager(guards, [points])
    assert compiled.program.count("LoadTypeAttribute") == 1
    assert passes(compiled, points)
    points[7] = SubPoint(0)
    assert not passes(compiled, points)


def test_what_a_class_lacks():
    class Meta(type):
        def elsewhere(cls):
            pass

    class Base:
        present = 1

    class Class(Base, metaclass=Meta):
        pass

    kind = ("Type", X)
    guards = manager(
        [
            (X, "TYPE_MATCH", Class),
            (kind, "HASATTR", "elsewhere", 0),  # the metaclass does not count
            (kind, "HASATTR", "absent", 0),
            (kind, "HASATTR", "present", 1),
        ],
        [Class()],
    )
    assert passes(guards, Class())
    for owner in (Base, Class):
        for name in ("elsewhere", "absent"):
            setattr(owner, name, 1)
            assert not passes(guards, Class())
            delattr(owner, name)
            assert passes(guards, Class())
    del Base.present
    assert not passes(guards, Class())


def test_many_types_have_no_version():
    # A metaclass with an mro of its own.
    class Meta(type):
        def mro(cls):
            return type.mro(cls)

    class Odd(metaclass=Meta):
        attribute = 1

    a = ("TypeAttribute", X, "attribute")
    guards = manager([(a, "EQUALS_MATCH", 1)], [Odd])
    for i in (1, 2, 1):
        Odd.attribute = i
        assert passes(guards, Odd) == (i == 1)


def test_aliasing():
    a, b = [1], [1]
    y = local(1, "y")
    same = manager([(X, "DUPLICATE_INPUT", None, 1, y)], [a, a])
    assert passes(same, b, b)
    assert not passes(same, a, b)
    different = manager([(X, "DUPLICATE_INPUT", None, 0, y)], [a, b])
    assert passes(different, b, a)
    assert not passes(different, a, a)
    inside = manager([(X, "DUPLICATE_INPUT", None, 1, ("DictItem", y, "k"))], [a, {"k": a}])
    assert passes(inside, b, {"k": b})
    assert not passes(inside, b, {"k": a})


def test_comparison_of_two_values():
    y = ("DictItem", local(1, "y"), "k")
    below = manager([(X, "VALUE_COMPARISON", None, 1, y)], [1, {"k": 2}])
    for other in ({"k": 2}, {"k": 2.5}, {"k": 10**30}):
        assert passes(below, 1, other)
    held = {"k": 2}
    for i in range(4):  # also while the dict stays as it is
        assert passes(below, i, held) == (i < 2)
    held["k"] = 3
    assert passes(below, 2, held)
    for value, other in [("a", {"k": 2}), (1, {"k": "b"}), (1, {"k": None}), (1, {})]:
        assert not passes(below, value, other)
    unequal = manager([(X, "VALUE_COMPARISON", None, 4, y)], ["a", {"k": "b"}])
    assert passes(unequal, "b", {"k": "a"})
    assert not passes(unequal, "ab", {"k": "".join("ab")})


def test_many_pairs_that_must_differ():
    count = 40
    items = [("ListItem", X, i) for i in range(count)]
    pairs = [(items[i], items[j]) for i in range(10) for j in range(count) if i < j]
    example = [[] for _ in range(count)]
    guards = manager([(a, "DUPLICATE_INPUT", None, 0, b) for a, b in pairs], [example])
    assert passes(guards, example)
    assert passes(guards, [[] for _ in range(count)])
    for i, j in [(0, 1), (0, count - 1), (9, 10), (3, 9), (10, 11), (count - 2, count - 1)]:
        aliased = list(example)
        aliased[j] = aliased[i]
        must_differ = i < 10
        for _ in range(2):
            assert passes(guards, aliased) == (not must_differ), (i, j)
        assert passes(guards, example)
    aliased = list(example)
    aliased[30] = aliased[5]
    assert guards.check_verbose(aliased) == (
        False,
        "L['x'][5] is not L['x'][30]",
        "the same object",
    )
    assert guards.program.count("EnterUnlessDistinct") == 1


def distinct(written, read=()):
    return (None, "DUPLICATE_INPUT", written, read)


def test_what_is_written_is_nothing_else():
    w, v, r, s = (local(i, name) for i, name in enumerate("wvrs"))
    a, b, c, d = [], [], [], []
    guards = manager([distinct([w, v], [r, s])], [a, b, c, d])
    assert passes(guards, d, c, b, a)
    assert passes(guards, a, b, c, c)  # two that are only read
    assert not passes(guards, a, a, c, d)
    assert not passes(guards, a, b, a, d)
    assert not passes(guards, a, b, c, b)
    assert str(guards) == (
        "DUPLICATE_INPUT: L['w'], L['v'] are different objects, "
        "and none of them is L['r'], L['s']\n"
    )
    assert guards.program.count("CheckDistinct") == 1
    assert guards.check_verbose(a, b, b, b) == (False, "L['v'] is not L['r']", "the same object")
    assert guards.check_verbose(a, a, a, b) == (False, "L['w'] is not L['v']", "the same object")
    assert str(manager([distinct([w], [r])], [a, b, c])) == (
        "DUPLICATE_INPUT: L['w'] is not L['r']\n"
    )
    assert str(manager([distinct([w], [v, r])], [a, b, c])) == (
        "DUPLICATE_INPUT: L['w'] is none of L['v'], L['r']\n"
    )
    assert str(manager([distinct([w, v])], [a, b])) == (
        "DUPLICATE_INPUT: L['w'], L['v'] are different objects\n"
    )


def test_a_written_object_named_twice_is_one():
    w, r = local(0, "w"), local(1, "r")
    guards = manager([distinct([w, w], [w, r])], [[], []])
    same = []
    assert passes(guards, [], [])
    assert not passes(guards, same, same)


def test_distinct_objects_are_missing():
    k = ("DictItem", X, "k")
    guards = manager([distinct([X], [k])], [{"k": {}}])
    assert passes(guards, {"k": 1})
    assert not passes(guards, {})


def has_dict(point):
    return any(type(each) is dict for each in gc.get_referents(point))


def test_distinct_instance_dicts_are_not_made():
    y = local(1, "y")
    x_dict, y_dict = ("InstanceDict", X), ("InstanceDict", y)
    p, q = Point(1), Point(2)
    assert not has_dict(p)
    guards = manager([distinct([x_dict], [y_dict]), (attribute(X, "x"), "EQUALS_MATCH", 1)], [p, q])
    assert passes(guards, p, q)
    assert not has_dict(p)
    assert not has_dict(q)
    assert not passes(guards, p, p)
    assert not has_dict(p)
    q.__dict__ = p.__dict__
    assert not passes(guards, p, q)
    q.__dict__ = {}
    assert passes(guards, p, q)
    assert guards.check_verbose(p, p) == (
        False,
        "L['x'].__dict__ is not L['y'].__dict__",
        "the same object",
    )


def test_an_object_without_a_dict_fails():
    y = local(1, "y")
    guards = manager([distinct([y], [("InstanceDict", X)])], [Point(1), []])
    assert guards.check_verbose(1, []) == (False, "L['x'].__dict__ exists", "missing")
    assert not passes(guards, 1, [])


def test_an_instance_dict_and_a_dict_are_distinct():
    y = local(1, "y")
    guards = manager([distinct([("InstanceDict", X)], [y])], [Point(1), {}])
    point = Point(1)
    assert passes(guards, point, {})
    assert not passes(guards, point, point.__dict__)
    assert passes(guards, point, Point(1).__dict__)
    itself = Point(1)
    itself.__dict__["self"] = itself.__dict__
    inside = manager([distinct([("InstanceDict", X)], [attribute(X, "self")])], [Point2({})])
    assert passes(inside, Point2([]))
    assert not passes(inside, itself)


class Point2(Point):
    def __init__(self, other):
        self.self = other


def test_many_objects_that_are_distinct():
    count = 20_000
    items = [("ListItem", X, i) for i in range(count)]
    example = [[] for _ in range(count)]
    guards = manager([distinct(items[: count // 2], items)], [example])
    assert passes(guards, example)
    aliased = list(example)
    aliased[-1] = aliased[0]
    assert not passes(guards, aliased)
    aliased[-1] = aliased[-2]
    assert passes(guards, aliased)


def test_distinct_objects_found_by_foreign_code():
    k = ("Descriptor", X, Slotted.__dict__["k"])
    guards = manager([distinct([k], [local(1, "y")])], [Slotted([]), []])
    thing, other = Slotted([]), []
    assert passes(guards, thing, other)
    assert not passes(guards, thing, thing.k)


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


# --- Life and death


def test_identity_is_held_weakly():
    class Model:
        pass

    model = Model()
    reference = weakref.ref(model)
    guards = manager([(X, "ID_MATCH", model), (X, "TYPE_MATCH", Model)], [model])
    assert passes(guards, model)
    assert guards.valid
    del model
    gc.collect()
    assert reference() is None
    assert not guards.valid
    for _ in range(100):  # whatever comes to lie at the address
        assert not passes(guards, Model())


def test_the_death_of_a_type_invalidates():
    def make():
        return type("Temporary", (), {})

    kind = make()
    guards = manager([(X, "TYPE_MATCH", kind)], [kind()])
    assert passes(guards, kind())
    del kind
    gc.collect()
    assert not guards.valid
    assert not passes(guards, make()())


def test_nothing_is_kept_alive():
    class Owner:
        pass

    owner = Owner()
    owner.items = [Owner(), {"k": Owner()}]
    owner.tensor = torch.ones(2)
    items = attribute(X, "items")
    k = ("DictItem", ("ListItem", items, 1), "k")
    captures = [X, items, k, attribute(X, "tensor")]
    guards = manager(
        [
            (X, "TYPE_MATCH", Owner),
            (X, "ID_MATCH", owner),
            (items, "TYPE_MATCH", list),
            (k, "TYPE_MATCH", Owner),
            (attribute(X, "tensor"), "TENSOR_MATCH", owner.tensor, EVERYTHING),
        ],
        [owner],
        captures,
    )
    assert guards.check(owner)[2] is owner.items[1]["k"]
    references = [weakref.ref(each) for each in (owner, owner.items[0], owner.tensor)]
    del owner
    gc.collect()
    assert [each() for each in references] == [None] * 3


def test_managers_come_and_go():
    values = [Point(i) for i in range(50)]
    managers = [manager([(X, "ID_MATCH", value)], [value]) for value in values]
    del managers[::2]
    values.clear()
    gc.collect()
    assert not any(each.valid for each in managers)


# --- Descriptors: foreign code on the way


def test_gradients():
    grad = torch._C.TensorBase.__dict__["grad"]
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.ones(3)
    source = ("Descriptor", X, grad)
    guards = manager(
        [(source, "TENSOR_MATCH", parameter.grad, EVERYTHING)], [parameter], [source, X]
    )
    found = guards.check(parameter)
    assert found[0] is parameter.grad and found[1] is parameter
    parameter.grad = None
    assert not passes(guards, parameter)
    parameter.grad = torch.ones(3)
    assert passes(guards, parameter)
    assert not passes(guards, 3)


def test_a_descriptor_that_calls_the_same_guards_and_destroys_what_they_hold():
    class Evil:
        def __init__(self):
            self.items = [[1], [2]]

        @property
        def trouble(self):
            depth.append(len(depth))
            if len(depth) < 3:
                guards.check(Evil(), [5])
            self.items.clear()
            self.items = [[3], [4]]
            gc.collect()
            return [6]

    # A property is no descriptor of C; one that is, and runs this code, is made from __getattr__.
    class Through(types.SimpleNamespace):
        __slots__ = ()

    depth = []
    descriptor = property.__dict__["fget"]
    assert type(descriptor) is types.MemberDescriptorType
    evil = Evil()
    items = attribute(X, "items")
    first, second = ("ListItem", items, 0), ("ListItem", items, 1)
    code = ("Descriptor", ("TypeAttribute", ("Type", X), "trouble"), descriptor)
    guards = manager(
        [
            (first, "TYPE_MATCH", list),
            (("ListItem", first, 0), "EQUALS_MATCH", 1),
            (code, "TYPE_MATCH", types.FunctionType),
            (second, "TYPE_MATCH", list),
        ],
        [evil, [5]],
        [first, second, code, local(1, "y")],
    )
    found = guards.check(evil, [5])
    assert found[:2] == ([1], [2])

"""Keys of dicts and sets that go by which object they are, in a world where two may become one;
and existing sets that hold such objects."""

import collections
import gc
import weakref

import armature
import pytest
import torch
from differential import check, translations


class Thing:
    def __init__(self, number=0):
        self.number = number

    def __repr__(self):
        return f"Thing({self.number})"


class Other(Thing):
    pass


def function():
    return 1


A, B, C = Thing(1), Thing(2), Thing(3)
ARRAYS = torch.ones(1), torch.ones(1)

ONE_OR_TWO = {
    "sets": lambda a, b: (len({a, b}), b in {a}, {a} | {b} == {a}, {a}.issubset([b])),
    "frozensets": lambda a, b: len(frozenset([a, b])),
    "dicts": lambda a, b: (len({a: 1, b: 2}), {a: 1}.get(b), {a: 1} == {b: 1}, a in {(b,): 1}),
    "tuples": lambda a, b: (
        len({(a, 1), (b, 1)}),
        (a, "x") in {(b, "x"): 1},
        {((a,), 2)} == {((b,), 2)},
    ),
    "added": lambda a, b: added(set(), a, b),
    "set": lambda a, b: put({}, a, b),
    "addresses": lambda a, b: (len({id(a), id(b)}), {id(a): 1}.get(id(b))),
    "removed": lambda a, b: {a: 1}.pop(b, None),
    "Counter": lambda a, b: collections.Counter([a, b]).most_common(1)[0][1],
    "fromkeys": lambda a, b: len(dict.fromkeys([a, b])),
    "defaultdict": lambda a, b: grouped(collections.defaultdict(list), a, b),
    "merged": lambda a, b: ({**{a: 1}, **{b: 2}}[a], len({a: 1} | {b: 2})),
    "equal frozensets": lambda a, b: frozenset([a]) == frozenset([b]),
    "views": lambda a, b: ({a: 1}.keys() & {b: 1}.keys()) == {a},
    "counted": lambda a, b: [sum(each is other for other in (a, b)) for each in {a, b}],
}


def added(items, a, b):
    items.add(a)
    items.discard(b)
    return len(items)


def grouped(groups, a, b):
    groups[a].append(1)
    groups[b].append(2)
    return list(groups.values())


def put(keys, a, b):
    keys[a] = 1
    keys[b] = 2
    return len(keys), keys[a]


@pytest.mark.parametrize("pair", [(A, B), ARRAYS, (function, lambda: 1), (A, Other(1))])
@pytest.mark.parametrize("name", ONE_OR_TWO)
def test_one_object_or_two(name, pair):
    use = ONE_OR_TWO[name]
    compiled = armature.compile(use)
    a, b = pair
    for first, second in ((a, b), (a, a), (b, a), (b, b), (a, b)):
        assert compiled(first, second) == use(first, second)
    count = translations(compiled)
    for first, second in ((a, b), (a, a), (b, a), (b, b)):
        compiled(first, second)
    assert translations(compiled) == count


def test_key_of_a_dict_whose_keys_are_known():
    def f(keys, key):
        return len(keys), key in keys, keys.get(key), list(keys.values())

    compiled = armature.compile(f)
    for keys, key in (({A: 1}, B), ({A: 1}, A), ({B: 1}, A), ({A: 1, B: 2}, B)):
        assert compiled(keys, key) == f(keys, key)


def test_many_keys():
    """The guard of them is one, not one of each pair."""

    def f(things, x):
        seen = set()
        for each in [*things, *things]:
            if each not in seen:
                seen.add(each)
                x = x + each.number
        return x, len(seen)

    things = [Thing(i) for i in range(300)]
    check(f, things, torch.ones(1), breaks=0)
    compiled = armature.compile(f)
    for given in (things, things[:299] + things[:1], things):
        assert compiled(given, torch.ones(1)) == f(given, torch.ones(1))


# --- Existing sets


def test_existing_set():
    def f(items, x):
        total = sum(each.number for each in items)
        return A in items, B in items, len(items), x + total, bool(items), Thing(1) in items

    x = torch.ones(1)
    check(
        f, {A, C}, x, more=(({B, C}, x), (set(), x), ({A, B, C}, x), (frozenset([A]), x)), breaks=0
    )


def test_order_is_the_set_s():
    items = {Thing(i) for i in range(20)}
    compiled = armature.compile(lambda: ([each.number for each in items], list(items)))
    for _ in range(3):
        numbers, each = compiled()
        assert each == list(items) and numbers == [one.number for one in items]
        items.add(Thing(21))


def test_existing_set_changes():
    def f(items, thing):
        items.add(thing)
        items.discard(A)
        new = Thing(7)
        items.add(new)
        items.remove(new)
        found = thing in items, A in items, len(items)
        items.add(Thing(8))
        return found

    for thing in (A, B, C):
        for items in ({A, B}, {A}, {C}, {A, C}):
            expected, actual = set(items), set(items)
            assert armature.compile(f)(actual, thing) == f(expected, thing)
            assert {each.number for each in actual} == {each.number for each in expected}
    compiled = armature.compile(f)
    for thing in (B, C, A, B):
        expected, actual = {A, B}, {A, B}
        assert compiled(actual, thing) == f(expected, thing)
        assert sorted(each.number for each in actual) == sorted(each.number for each in expected)


def test_existing_set_of_mixed_elements():
    def f(items, thing):
        names = [each for each in items if isinstance(each, str)]
        return names, thing in items, "a" in items, 1 in items, None in items, int in items

    compiled = armature.compile(f)
    for items in ({A, "a", 1}, {A, "b", 1.0}, {B, int, None}, {A, "a", True}):
        for thing in (A, B):
            assert compiled(items, thing) == f(items, thing)


def test_existing_set_of_arrays():
    arrays = [torch.full((2,), float(i)) for i in range(3)]

    def f(items, x):
        for each in items:
            x = x + each
        return x, arrays[0] in items, x in items

    check(f, set(arrays[:2]), torch.ones(2), more=((set(arrays[1:]), torch.ones(2)),), breaks=0)


def test_set_operations():
    def f(first, second, thing):
        both = first & second
        either = first | {thing}
        return (
            sorted(each.number for each in both),
            len(either),
            len(first - second),
            first <= either,
            first.isdisjoint(second),
            first == second,
        )

    compiled = armature.compile(f)
    for first, second in (({A, B}, {B, C}), ({A}, {A}), ({A, B}, {C}), ({C}, set())):
        for thing in (A, C):
            assert compiled(first, second, thing) == f(first, second, thing)


def test_the_class_is_given_methods():
    class Own:
        pass

    a, b = Own(), Own()
    items = {a}

    def f(key):
        return key in items, len({a, key})

    compiled = armature.compile(f)
    assert compiled(b) == f(b) == (False, 2)
    Own.__eq__ = lambda self, other: True
    Own.__hash__ = lambda self: hash(a_hash)
    a_hash = object.__hash__(a)
    assert compiled(b) == f(b)
    assert compiled(a) == f(a)


def test_subclass_that_iterates_otherwise():
    class Backwards(set):
        def __iter__(self):
            return iter(["none of them"])

    items = Backwards([A, B])
    check(lambda: (A in items, C in items, len(items), list(items)))


def test_elements_are_not_kept():
    items = {Thing(1), Thing(2)}
    compiled = armature.compile(lambda: sum(each.number for each in items))
    assert compiled() == 3
    watched = [weakref.ref(each) for each in items]
    items.clear()
    gc.collect()
    assert [reference() for reference in watched] == [None, None]
    assert compiled() == 0
    items.update({Thing(3), Thing(4)})
    assert compiled() == 7


def test_other_sets_share_the_translation():
    compiled = armature.compile(lambda items, thing: (thing in items, len(items)))
    for _ in range(4):
        assert compiled({Thing(1), Thing(2)}, Thing(3)) == (False, 2)
    assert translations(compiled) == 1


def test_through_a_break():
    def f(items, thing, x):
        items.add(thing)
        torch.ones(1).tolist()
        items.discard(A)
        return len(items), thing in items, x + len(items)

    compiled = armature.compile(f)
    for thing in (A, B, A, C):
        expected, actual = {A, B}, {A, B}
        assert compiled(actual, thing, torch.ones(1)) == f(expected, thing, torch.ones(1))
        assert actual == expected

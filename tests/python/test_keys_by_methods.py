"""Keys of dicts and sets that hash and compare by methods of the program."""

import collections
import dataclasses
import enum

import armature
import pytest
import torch
from differential import breaking_every, check, translations


class Key:
    """Equal to others of its number; ``tag`` tells which one a container has kept."""

    def __init__(self, number, tag=0):
        self.number = number
        self.tag = tag

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return isinstance(other, Key) and self.number == other.number

    def __repr__(self):
        return f"Key({self.number}, {self.tag})"


class Text(str):
    """Compares without regard to case."""

    def __hash__(self):
        return hash(str.lower(self))

    def __eq__(self, other):
        return str.lower(self) == str.lower(other)


class Named(str):
    pass


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


class Collides:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return isinstance(other, Collides) and self.name == other.name


class Raises:
    def __init__(self, where):
        self.where = where

    def __hash__(self):
        if self.where == "hash":
            raise ValueError("no hash")
        return 3

    def __eq__(self, other):
        raise KeyError("no equality")


class NoHash:
    def __eq__(self, other):
        return True


class WrongHash:
    def __hash__(self):
        return "text"


class HugeHash:
    def __hash__(self):
        return 2**70

    def __eq__(self, other):
        return True


SAME = Raises("equality")
USES = {
    "display": lambda: {Key(1): "a", Key(2): "b", Key(1, 5): "c"},
    "lookup": lambda: {Key(1): "a"}[Key(1, 5)],
    "missing": lambda: {Key(1): "a"}[Key(2)],
    "get": lambda: {Key(1): "a"}.get(Key(3), "none"),
    "setdefault": lambda: {Key(1): "a"}.setdefault(Key(1), "b"),
    "pop": lambda: (lambda d: (d.pop(Key(1, 9)), d))({Key(1): "a", Key(2): "b"}),
    "update": lambda: (lambda d: d.update({Key(1, 9): "z"}) or d)({Key(1): "a"}),
    "union": lambda: {Key(1): "a"} | {Key(1, 9): "z", Key(2): "b"},
    "deleted and put back": lambda: (
        lambda d: (d.__delitem__(Key(1)), d.__setitem__(Key(1, 4), 5), d)[-1]
    )({Key(1): "a", Key(2): "b"}),
    "equal dicts": lambda: {Key(1): 1, Key(2): 2} == {Key(2, 3): 2, Key(1, 3): 1},
    "keys as sets": lambda: {Key(1): 1}.keys() == {Key(1, 4)},
    "fromkeys": lambda: dict.fromkeys([Key(1), Key(1, 2), Key(2)]),
    "counter": lambda: collections.Counter([Key(1), Key(1, 2), Key(2)])[Key(1)],
    "defaultdict": lambda: (lambda d: (d[Key(1)].append(1), d[Key(1, 2)].append(2), d)[-1])(
        collections.defaultdict(list)
    ),
    "in a tuple": lambda: {(Key(1), "a"): 5}[(Key(1, 9), "a")],
    "set": lambda: len({Key(1), Key(1, 2), Key(2)}),
    "in a set": lambda: (Key(1, 2) in {Key(1)}, Key(3) in {Key(1)}),
    "the first stays": lambda: {Key(1, 1), Key(1, 2)}.pop().tag,
    "frozenset": lambda: frozenset([Key(1), Key(1, 2)]) == {Key(1, 9)},
    "set operations": lambda: [
        len({Key(1), Key(2)} | {Key(2, 5), Key(3)}),
        {Key(1), Key(2)} & {Key(2, 5), Key(3)} == {Key(2)},
        {Key(1), Key(2)} - {Key(2, 5)} == {Key(1)},
        len({Key(1), Key(2)} ^ {Key(2, 5), Key(3)}),
        {Key(1)} <= {Key(1, 2), Key(2)},
        {Key(1)}.isdisjoint({Key(1, 2)}),
    ],
    "discard": lambda: (lambda s: (s.discard(Key(1, 4)), s.remove(Key(2)), len(s)))(
        {Key(1), Key(2), Key(3)}
    ),
    "remove what is not there": lambda: {Key(1)}.remove(Key(2)),
    "str by case": lambda: ({Text("Ab"): 1}["ab"], "AB" in {Text("ab")}, {"ab": 2}.get(Text("AB"))),
    "instance of a str": lambda: (
        {Named("a"): 1, "b": 2}["a"],
        {"a": 1}[Named("a")],
        type(next(iter({Named("a"): 1}))).__name__,
        len({Named("q"), "q"}),
    ),
    "IntEnum": lambda: ({Level.LOW: "a"}[1], {1: "b"}[Level.LOW], len({Level.LOW, 1, 2})),
    "frozen dataclass": lambda: ({Point(1): "a"}[Point(1, 0)], len({Point(1), Point(1), Point(2)})),
    "same hash": lambda: (
        lambda d: (d[Collides("a")], d[Collides("b")], d.get(Collides("c")), len(d))
    )({Collides("a"): 1, Collides("b"): 2}),
    "same hash as a number": lambda: ({7: "n"}.get(Collides("a")), len({7, Collides("a")})),
    "hash raises": lambda: {Raises("hash"): 1},
    "equality raises": lambda: {Raises("equality"): 1, Raises("equality"): 2},
    "equality raises in a set": lambda: Raises("equality") in {Raises("equality")},
    "equality of itself": lambda: ({SAME: 1}[SAME], len({SAME, SAME})),
    "no hash": lambda: {NoHash(): 1},
    "no hash in a set": lambda: {NoHash()},
    "no hash of what is looked for": lambda: NoHash() in {1: 2},
    "hash of a wrong type": lambda: {WrongHash()},
    "huge hash": lambda: len({HugeHash(), HugeHash()}),
}


@pytest.mark.parametrize("name", USES)
def test_use(name):
    check(USES[name], breaks=None)


WHOLE = [
    name
    for name in USES
    if "raises" not in name
    and not name.startswith("same hash")  # generated code would have to ask whether they are equal
    and not name.startswith(("missing", "remove", "no hash", "hash of a wrong"))
]


@pytest.mark.parametrize("name", WHOLE)
def test_is_whole(name):
    use = USES[name]
    assert armature.explain(lambda: use())().graph_break_count == 0


class OwnSet(set):
    pass


class OwnFrozenSet(frozenset):
    pass


class OwnDict(dict):
    pass


@pytest.mark.parametrize("kind", [set, frozenset, OwnSet, OwnFrozenSet])
def test_sets_that_leave(kind):
    def f(n):
        items = kind([Key(n), Key(n + 1), Key(n, 5), (Key(n), "a")])
        return items, [Key(n) in items, len(items)], kind(items)

    compiled = armature.compile(f, fullgraph=True)
    for n in (1, 4):
        for expected, actual in zip(f(n), compiled(n), strict=True):
            assert type(expected) is type(actual) and expected == actual
    assert all(Key(4) in items for items in compiled(4)[::2])


@pytest.mark.parametrize("kind", [dict, OwnDict, collections.Counter])
def test_dicts_that_leave(kind):
    def f(n):
        items = kind({Key(n): 1, (Key(n + 1), 2): 3})
        items[Key(n, 4)] = 7
        return items, kind(items)

    check(f, 1, more=((4,),), breaks=0)


class ByIdentity:
    pass


def test_beside_keys_by_identity():
    """Whose hashes are those of the real objects, which the trace does not know."""

    def f(given):
        new = ByIdentity()
        items = {Key(1), given, new, len}
        keys = {Key(1): 1, given: 2, new: 3}
        pairs = {(Key(1), given): 1, (new, Key(2)): 2}
        return items, frozenset(items), keys, pairs, new

    compiled = armature.compile(f)
    given = ByIdentity()
    for _ in range(3):
        items, frozen, keys, pairs, new = compiled(given)
        for each in (Key(1), given, new):
            assert each in items and each in frozen and each in keys
        assert len in items and pairs[Key(1), given] == 1 and pairs[new, Key(2)] == 2
        assert hash(frozen) == hash(frozenset([new, given, len, Key(1)]))


def test_changed_to_be_equal():
    """Two keys of one hash are compared as they were when the second came in."""

    def f():
        first, second = Collides("a"), Collides("b")
        keys = {first: 1, second: 2}
        items = {first, second}
        second.name = "a"
        return len(keys), len(items), list(keys.values())

    check(f)


def test_hashed_before_it_is_whole():
    def f(given):
        keys = {given: 1}
        given.number = 1
        keys[Key(6)] = 2
        return keys, {Key(1): given}

    check(f, Key(3))


def test_with_arrays():
    def f(x, first, second):
        seen = {first: x}
        seen[second] = seen.get(second, x) + 1
        return seen[first] * len(seen), seen

    for first, second in ((Key(1), Key(1)), (Key(1), Key(2))):
        check(f, torch.ones(2), first, second, breaks=0)
    key = Key(4)
    check(f, torch.ones(2), key, key, more=((torch.ones(2), Key(1), Key(2)),))


def test_one_object_or_two():
    compiled = armature.compile(lambda a, b: (len({a: 1, b: 2}), len({a, b}), b in {a}))

    class Odd:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return False

    a, b = Odd(), Odd()
    for _ in range(2):
        assert compiled(a, b) == (2, 2, False)
        assert compiled(a, a) == (1, 1, True)


def test_the_number_changes():
    compiled = armature.compile(lambda keys, key: keys[key] if key in keys else None)
    keys = {Key(1): "a", Key(2): "b"}
    key = Key(1)
    assert compiled(keys, key) == "a"
    key.number = 2
    assert compiled(keys, key) == "b"
    key.number = 3
    assert compiled(keys, key) is None


def test_methods_change():
    class Own:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return True

    compiled = armature.compile(lambda a, b: len({a, b}))
    a, b = Own(), Own()
    assert compiled(a, b) == 1
    Own.__eq__ = lambda self, other: False
    assert compiled(a, b) == 2
    del Own.__eq__, Own.__hash__
    assert compiled(a, b) == 2


def test_changed_while_it_is_a_key():
    def f(number):
        key = Key(number)
        keys, items = {key: "a"}, {key}
        key.number += 1
        return keys, items, len(keys), len(items)

    compiled = armature.compile(f)
    for number in (1, 5):
        keys, items, *sizes = compiled(number)
        (key,) = keys
        assert sizes == [1, 1] and key in items.__iter__().__reduce__()[1][0]
        # It lies where its old number said, and its new one does not find it.
        assert key not in keys and Key(number) not in keys and key not in items
        key.number = number
        assert keys[Key(number)] == "a" and Key(number) in items


def test_asked_once_more_after_a_change():
    def f():
        key = Key(1)
        keys = {key: "a"}
        key.number = 2
        return key in keys, Key(1) in keys, keys | {}, set(keys)

    check(f)


def test_methods_with_effects():
    calls = []

    class Counts:
        def __init__(self, number):
            self.number = number

        def __hash__(self):
            calls.append("hash")
            return self.number

        def __eq__(self, other):
            calls.append("eq")
            return self.number == other.number

    def f():
        keys = {Counts(1): "a", Counts(2): "b", Counts(1): "c"}
        return len(keys), Counts(2) in keys, len({Counts(3), Counts(3)})

    check(f, watch=calls, restore=calls.clear)


def test_existing_dicts():
    def f(keys, key, x):
        keys[key] = x + 1
        keys["plain"] = keys.get(Key(2), 0)
        return key in keys, Key(7) in keys, len(keys), [str(each) for each in keys]

    given = {Key(1): 1, Key(2): 2, "plain": 3}
    check(f, given, Key(1, 5), torch.ones(2), more=((given, Key(9), torch.ones(2)),), breaks=0)
    check(f, {"plain": 1}, Key(1), torch.ones(2), breaks=0)


def test_existing_dict_loses_keys():
    def f(keys):
        last = keys.pop(Key(2, 5), None)
        del keys[Key(1)]
        keys[Key(3)] = last
        return keys

    check(f, {Key(1): 1, Key(2): 2}, breaks=0)
    check(f, {Key(2): 2})


def test_existing_dict_with_a_stale_hash():
    """What finds a key is the hash that it had when it came in."""
    compiled = armature.compile(lambda keys: (Key(1) in keys, len(keys)))
    key = Key(1)
    fresh = {key: 1}
    assert compiled(fresh) == (True, 1)
    key.number = 2
    stale = {key: 1}
    key.number = 1
    assert (Key(1) in stale, len(stale)) == (False, 1)
    assert compiled(stale) == (False, 1)
    assert compiled(fresh) == (True, 1)


def test_existing_set_is_given_keys():
    def f(items, key):
        items.add(key)
        items.discard(Key(5))
        items.add(Key(5, 1))
        items.add(3)
        items.remove(key)
        return Key(5) in items, key in items, len(items)

    check(f, {1, 2}, Key(4), breaks=0)


def test_through_a_break():
    def f(x):
        keys = {Key(1): x}
        items = {Key(1), Key(2)}
        torch.ones(1).tolist()
        keys[Key(1, 5)] = x + 1
        items.add(Key(2, 5))
        return keys, len(items), Key(1) in items

    check(f, torch.ones(2))


def test_no_more_translations():
    compiled = armature.compile(lambda x, key: {key: x}[Key(1)])
    for _ in range(4):
        compiled(torch.ones(1), Key(1))
    assert translations(compiled) == 1


class StandsFor:
    """Equal to an object that goes by its identity."""

    def __init__(self, thing):
        self.thing = thing
        self.hash = hash(thing)

    def __hash__(self):
        return self.hash

    def __eq__(self, other):
        return other is self.thing


def test_hash_of_an_object_by_identity():
    def f(stand_in, thing, keys):
        keys = [len({stand_in: 1, thing: 2}), thing in {stand_in}, keys.get(thing), len(keys)]
        return *keys, len({thing, stand_in}), {(thing, 1): 2}.get((stand_in, 1))

    compiled = armature.compile(f)
    a, b = ByIdentity(), ByIdentity()
    for stand_in, thing in ((StandsFor(a), b), (StandsFor(a), a), (StandsFor(b), b)):
        for keys in ({stand_in: 3}, {thing: 4}, {StandsFor(b): 5, a: 6}):
            for _ in range(2):
                assert compiled(stand_in, thing, keys) == f(stand_in, thing, keys)


def test_key_given_to_an_ordered_dict():
    def f():
        keys = collections.OrderedDict({1: "a", 2: "b"})
        keys.move_to_end(Number(1))
        return list(keys)

    check(f)


class Number:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return self.number == other


def test_constants_are_asked():
    check(lambda: (Number(2) in {1, 2, 3}, Number(9) in {1, 9.0}, Number(9) in {1, 2}), breaks=0)
    check(lambda number: number in {1, 2, 3}, Number(2), more=((Number(7),), (2,)), breaks=0)
    check(lambda: (Number(2), 1) in {(2, 1), (3, 4)})


def test_methods_that_look_into_the_map():
    """The map moves while a key is looked for in it."""

    class Looks(Key):
        def __eq__(self, other):
            [TABLE.get(i) for i in range(40)]
            return super().__eq__(other)

        __hash__ = Key.__hash__

    def f():
        keys = {Looks(i): i for i in range(5)}
        return TABLE.get(41), keys[Looks(3)], Looks(7) in keys, TABLE.get(Looks(2))

    check(f)


TABLE = {i: i for i in range(50)}


@pytest.mark.parametrize("every", [0, 1, 2, 3])
def test_members_of_enumerations_that_are_made(every):
    """They hash by a name that they are given last."""

    def program(show):
        class Flags(enum.Flag):
            A = 1
            B = 2
            C = 4

        def make(left, right):
            both = left | right
            made = [{both: 1}, {both, Flags.C}, {(both, 2): both}, frozenset([both])]
            show(len(repr(made)))
            return [both in part for part in made], made[0][Flags(int(both.value))]

        seen = {Flags.A | Flags.B: "x", Flags.A: "y"}
        return make(Flags.A, Flags.B), make(Flags.B, Flags.C), seen[Flags.B | Flags.A], len(seen)

    for show in (len, print):
        armature.reset()
        shown = (lambda number: number) if show is len else print
        with breaking_every(every):
            assert armature.compile(program)(shown) == program(lambda number: number)


class Existing(enum.Flag):
    A = 1
    B = 2
    C = 4


def test_members_made_of_an_existing_enumeration():
    def program(x, left, right):
        both = left | right
        made = [{both: 1}, {both, left}, {(both, 2): both}, frozenset([both])]
        print(made)
        return x + len(made[1]), made, both, both in made[0]

    check(program, torch.ones(2), Existing.A, Existing.B, breaks=None)
    check(program, torch.ones(2), Existing.B, Existing.C, breaks=None)


class SubDict(dict):
    pass


def test_the_first_unhashable_item_is_named():
    def program(key):
        texts = []
        for table in ({}, {1: 2}):
            for each in (key, (1, key), (key, (key,))):
                try:
                    table[each] = 1
                except TypeError as error:
                    texts.append(str(error))
                try:
                    texts.append(each in {each})
                except TypeError as error:
                    texts.append(str(error))
        return texts

    check(program, ([], SubDict()), more=(((SubDict(), []),), (((), {}, SubDict()),)))
    check(lambda: program(([], SubDict())), breaks=0)

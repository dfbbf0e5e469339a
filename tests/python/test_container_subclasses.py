"""Instances of subclasses of list, tuple, set and frozenset, made by the trace and found by it."""

import collections
import copy
import gc
import weakref

import armature
import pytest
import torch
from differential import Cases, check


class Items(list):
    def total(self):
        return sum(self)


class Loud(list):
    """Tells which of its methods are called."""

    def __init__(self, log, items=()):
        self.log = log
        super().__init__(items)

    def __getitem__(self, index):
        self.log.append(("get", index))
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        self.log.append(("set", index))
        super().__setitem__(index, value)

    def __delitem__(self, index):
        self.log.append(("del", index))
        super().__delitem__(index)

    def __iter__(self):
        self.log.append("iter")
        return super().__iter__()

    def __len__(self):
        self.log.append("len")
        return super().__len__()

    def __contains__(self, item):
        self.log.append(("in", item))
        return super().__contains__(item)

    def append(self, item):
        self.log.append(("append", item))
        super().append(item)

    def __add__(self, other):
        self.log.append("add")
        return Loud(self.log, super().__add__(other))

    def __eq__(self, other):
        self.log.append("eq")
        return super().__eq__(other)


class Slotted(list):
    __slots__ = ("name",)


class Reflecting:
    def __radd__(self, other):
        return "radd", list(other)

    def __rmul__(self, other):
        return "rmul", list(other)


class Pair(tuple):
    def __new__(cls, first, second):
        self = super().__new__(cls, (first, second))
        self.note = "made"
        return self

    @property
    def first(self):
        return self[0]


class Bare(tuple):
    __slots__ = ()

    def __getitem__(self, index):
        return "item", super().__getitem__(index)

    def __iter__(self):
        return iter(["own"])


class Point(collections.namedtuple("Point", "x y")):
    def norm(self):
        return self.x * self.x + self.y * self.y


class Tags(set):
    def add(self, tag):
        super().add(tag.lower())


class Fixed(frozenset):
    def label(self):
        return "+".join(sorted(self))


class Counting(set):
    def __init__(self, *items):
        super().__init__(items)
        self.count = len(items)

    def __contains__(self, item):
        self.count += 1
        return super().__contains__(item)


class Odd(set):
    """Whose methods tell another set than the one that C code sees."""

    def __iter__(self):
        return iter(["own"])

    def __len__(self):
        return 9

    def __contains__(self, item):
        return False


cases = Cases()


@cases.add(torch.ones(2), breaks=0)
def new_list(x):
    items = Items([x, x * 2])
    items.append(x + 1)
    items.extend([x - 1])
    items.insert(0, x * 3)
    last = items.pop()
    items.name = "named"
    items[1] = x
    del items[0]
    items += [x]
    items *= 2
    return items, last, items.total(), items.name, len(items), type(items) is Items


@cases.add(Items([1, 2, 3]), breaks=0)
def existing_list(items):
    items.append(4)
    items[0] = 10
    items.insert(1, 7)
    del items[2]
    items.note = [items]
    items += (5,)
    first, *rest = items
    return items, items.total(), first, rest, items[1:], items + [1], [0] + items, items * 2


@cases.add(Items([3, 1, 2]), breaks=0)
def methods_of_list(items):
    items.sort(key=lambda n: -n)
    before = list(items)
    items.reverse()
    items.remove(2)
    copied = items.copy()
    return (
        before,
        items.index(3),
        items.count(1),
        type(copied),
        copied == items,
        items == [1, 3],
        [1, 3] == items,
        items < [2],
        items != Items([1, 3]),
        3 in items,
        list(reversed(items)),
        repr(items),
        str(items),
        bool(items),
        sorted(items),
        max(items),
        tuple(items),
        items is copied,
        isinstance(items, list),
    )


@cases.add([1, 2], breaks=0)
def overridden_methods(given):
    log = []
    items = Loud(log, given)
    items.append(3)
    items[0] = items[1]
    found = [2 in items, len(items), bool(items), items == [2, 2, 3], [2] == items]
    total = [n for n in items]
    del items[0]
    sum_ = items + [1]
    items += [9]
    other = list(items)
    return found, total, sum_, other, items, log


LOUD = Loud([], [1, 2])


def overridden_methods_of_an_existing_list():
    LOUD.append(3)
    LOUD[0] = LOUD[1]
    list.append(LOUD, 5)
    list.__setitem__(LOUD, 1, 6)
    return list(LOUD), [*LOUD]


@cases.add(breaks=0)
def reflected_operators_come_first():
    items = Items([1])
    result = items + Reflecting(), items * Reflecting(), Bare((1,)) + Reflecting()
    try:
        items + 1
    except TypeError as error:
        first = str(error)
    try:
        items * "a"
    except TypeError as error:
        second = str(error)
    try:
        items += Reflecting()
    except TypeError as error:
        third = str(error)
    items += [2]
    items *= Reflecting()
    return result, first, second, third, items


@cases.add(breaks=0)
def slots():
    items = Slotted("ab")
    items.name = "name"
    try:
        items.other = 1
    except AttributeError as error:
        return items, items.name, str(error)


@cases.add(torch.ones(2), breaks=0)
def new_tuple(x):
    pair = Pair(x, 2)
    a, b = pair
    return (
        pair,
        a + b,
        pair.first,
        pair.note,
        pair[1],
        pair + (1,),
        (1,) + pair,
        pair * 2,
        pair[:],
        len(pair),
        2 in pair[1:],
        type(pair),
        tuple(pair),
        isinstance(pair, tuple),
    )


PAIR = Pair(1, 2)


@cases.add(breaks=0)
def existing_tuple():
    pair = PAIR
    pair.note = "changed"
    return (
        pair == (1, 2),
        (1, 2) == pair,
        pair < (1, 3),
        hash(pair) == hash((1, 2)),
        repr(pair),
        "%s and %s" % pair,  # noqa: UP031
        pair.index(2),
        pair.count(1),
        pair,
        isinstance("s", Bare((int, str))),
    )


@cases.add(breaks=0)
def a_tuple_with_methods_of_its_own():
    bare = Bare((1, 2))
    return bare[0], list(bare), tuple(bare), bare + (3,), (0,) + bare, bare == (1, 2), [*bare], bare


@cases.add(Point(1, 2), torch.ones(2), breaks=0)
def class_over_a_named_tuple(point, x):
    made = Point(x, y=2)
    made.extra = 1
    moved = point._replace(x=5)
    return (
        point.norm(),
        made.norm(),
        made,
        moved,
        moved.y,
        type(moved),
        point._asdict(),
        Point._make([1, 2]),
        point == (1, 2),
        point._fields,
    )


@cases.add(Tags({"b"}))
def sets(tags):
    new = Tags(["A", "b"])
    new.add("C")
    tags.add("D")
    tags |= {"e"}
    new.note = 1
    return (
        sorted(new),
        sorted(tags),
        sorted(new | tags),
        type(new | tags),
        sorted({"A"} & new),
        type({"A"} - new),
        new == {"A", "b", "c"},
        {"A"} < new,
        "A" in new,
        len(new),
        type(new.copy()),
        new.issubset(tags),
        bool(Tags()),
        repr(Tags()),
        repr(Tags("x")),
        new,
        tags,
    )


@cases.add(Fixed("ab"))
def frozen_sets(fixed):
    new = Fixed(["x", "y"])
    return (
        fixed.label(),
        new.label(),
        sorted(fixed | new),
        type(fixed | new),
        fixed == {"a", "b"},
        new,
    )


@cases.add(breaks=0)
def what_c_code_sees_of_a_set():
    odd = Odd({1})
    return (
        repr(odd),
        list(odd),
        set(odd),
        len(odd),
        1 in odd,
        odd | {2},
        odd == {1},
        {1} == odd,
        odd.issubset({1}),
        {1}.issuperset(odd),
    )


@cases.add(breaks=0)
def a_set_that_counts():
    counting = Counting(1, 2)
    return 1 in counting, 3 in counting, counting.count, counting


@cases.add(Items([1, [2]]), breaks=0)
def copies(items):
    items.note = "n"
    shallow = copy.copy(items)
    return shallow, shallow is items, shallow[1] is items[1], type(shallow), shallow.note


@cases.add(Items([1, [2]]))
def deep_copies(items):
    return copy.deepcopy(Items([items, items]))


@cases.add(breaks=0)
def wrong_arguments():
    texts = []
    for attempt in (
        lambda: Items(1),
        lambda: Items([], []),
        lambda: Tags(1),
        lambda: Tags([[]]),
        lambda: Items() + (1,),
        lambda: Items().pop(),
        lambda: hash(Items()),
        lambda: hash(Tags()),
        lambda: Items()[0],
        lambda: Items()["a"],
    ):
        try:
            texts.append(attempt())
        except Exception as error:
            texts.append((type(error), str(error)))
    return texts


@cases.add(breaks=0)
def a_list_in_itself():
    items = Items()
    items.append(items)
    items.me = items
    return items[0] is items, len(items[0][0])


@cases.add(Items([1, 2, 3]))
def breaks_all_around(items):
    new = Items(["x"])
    iterator = iter(new)
    backwards = reversed(items)
    armature.graph_break()
    new.append("y")
    items.append(4)
    armature.graph_break()
    found = []
    for item in items:
        armature.graph_break()
        found.append(item)
    return new, items, list(iterator), list(backwards), found


@cases.add(Items(range(50)), calls=2)
def a_loop_over_an_existing_one(items):
    total = 0
    for item in items:
        armature.graph_break()
        total += item
    return total


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_subclass(fn, args, options):
    check(fn, *args, **options)


def test_overridden_methods_of_an_existing_list():
    def restore():
        list.__init__(LOUD, [1, 2])
        LOUD.log.clear()

    check(overridden_methods_of_an_existing_list, watch=LOUD.log, restore=restore, breaks=0)


def test_what_is_read_is_guarded():
    compiled = armature.compile(lambda items: (items[0], len(items), items.total()))
    assert compiled(Items([1, 2])) == (1, 2, 3)
    assert compiled(Items([5, 2])) == (5, 2, 7)
    assert compiled(Items([1, 2, 3])) == (1, 3, 6)

    both = armature.compile(lambda pair: (pair[0], pair.note))
    pair = Pair(1, 2)
    assert both(pair) == (1, "made")
    pair.note = "other"
    assert both(pair) == (1, "other")
    assert both(Pair(3, 2)) == (3, "made")


def test_methods_that_a_class_gets_later():
    class Later(list):
        pass

    compiled = armature.compile(lambda items: (items[0], len(items), [*items]))
    later = Later([1, 2])
    assert compiled(later) == (1, 2, [1, 2])
    Later.__getitem__ = lambda self, index: "own"
    assert compiled(later) == ("own", 2, [1, 2])
    Later.__iter__ = lambda self: iter("ab")
    assert compiled(later) == ("own", 2, ["a", "b"])
    del Later.__getitem__
    assert compiled(later) == (1, 2, ["a", "b"])


def test_aliases():
    def both(a, b):
        a.append(1)
        return len(b), a is b

    compiled = armature.compile(both)
    for _ in range(2):
        assert compiled(Items(), Items()) == (0, False)
        items = Items()
        assert compiled(items, items) == (1, True)


def test_weak_references():
    def make(x):
        items = Items([x])
        return items, weakref.ref(items)

    compiled = armature.compile(make)
    items, reference = compiled(torch.ones(1))
    assert reference() is items
    del items
    gc.collect()
    assert reference() is None


def test_a_thousand_and_more_turns():
    def program(n):
        items, seen = Items(), Tags()
        for i in range(n):
            items.append(i)
            seen.add(str(i % 7))
        return items.total(), sorted(seen), items[-1]

    check(program, 1500, calls=2, breaks=0)


def test_list_extended_by_itself():
    class Own(list):
        pass

    def function(items, x):
        items.extend(items)
        items += items
        return items, x + len(items)

    check(function, Own([1, 2]), torch.ones(2), breaks=0)

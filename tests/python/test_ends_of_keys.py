"""Keys of containers die when plain Python lets them, and what tuples among them hold."""

import collections
import gc
import weakref

import armature
import pytest
from differential import compilations

Point = collections.namedtuple("Point", "thing number")
LOG = []


class Noisy:
    def __del__(self):
        LOG.append("del")


class Thing:
    pass


KEYS = {
    "object": lambda thing: thing,
    "tuple": lambda thing: (thing, 1),
    "nested": lambda thing: ((thing, 1), "a"),
    "named": lambda thing: Point(thing, 1),
    "frozenset": lambda thing: frozenset([thing]),
}


def empties(items):
    items.clear()
    LOG.append("cleared")


def walks(items):
    for key in items:
        LOG.append(type(key))
    LOG.append("walked")


def walks_and_empties(items):
    for _ in items:
        pass
    items.clear()
    LOG.append("cleared")


def takes_the_first(items):
    key = next(iter(items))
    LOG.append("taken")
    del key
    LOG.append("done")


def pops(items):
    items.pop() if isinstance(items, set) else items.popitem()
    LOG.append("popped")


@pytest.mark.parametrize("container", (dict.fromkeys, set, collections.OrderedDict.fromkeys))
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "program", (empties, walks, walks_and_empties, takes_the_first, pops), ids=lambda f: f.__name__
)
def test_keys_end_in_time(program, key, container):
    logs = []
    for function in (program, armature.compile(program)):
        for _ in range(3):
            items = container([KEYS[key](Noisy())])
            function(items)
            del items
            LOG.append("end")
        logs.append(LOG.copy())
        LOG.clear()
    assert logs[1] == logs[0]


# A translation of which an end is counted wrongly does not fit the call that it is made for.
@pytest.mark.parametrize("program", (empties, takes_the_first), ids=lambda f: f.__name__)
@pytest.mark.parametrize("key", KEYS)
def test_no_call_is_translated_twice(key, program):
    compiled = armature.compile(program)
    for _ in range(3):
        with compilations() as finished:
            compiled({KEYS[key](Noisy()): 1})
        names = [entry["name"] for entry in finished]
        assert len(names) <= 3, names
    LOG.clear()


@pytest.mark.parametrize("kind", (tuple, Point._make))
def test_a_walked_tuple_is_another_one(kind):
    thing, other = Thing(), Thing()
    key = kind([thing, 1])

    def found(items):
        return [(k is key, k[0] is thing, k[1]) for k in items]

    compiled = armature.compile(found)
    for again in (
        key,
        kind([thing, 1]),
        kind([other, 1]),
        kind([thing, True]),
        key,
        (thing, 1),
        Point(thing, 1),
    ):
        items = {again: 1}
        assert compiled(items) == found(items)


# Where a tuple has died, the next one of its size lies at the same address.
@pytest.mark.parametrize("kind", (tuple, Point._make))
def test_another_tuple_at_the_same_address(kind):
    things = [Thing(), Thing(), 1, 1.0, True]

    def found(items):
        return [(things.index(k[0]), type(k[1]), type(k)) for k in items]

    compiled = armature.compile(found)
    for turn in range(60):
        items = {kind([things[turn % 2], things[2 + turn % 3]]): 1}
        assert compiled(items) == found(items)
        items = None


def test_what_a_key_holds_is_free_after_the_call():
    def count(items):
        return len([key for key in items if key])

    compiled = armature.compile(count)
    thing = Thing()
    watch = weakref.ref(thing)
    assert compiled({(thing, ("a", thing)): 1, Point(thing, 2): 2}) == 2
    del thing
    gc.collect()
    assert watch() is None

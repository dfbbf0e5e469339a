"""Iterators that existed before a trace: of a loop whose body broke, and as inputs.

Each program runs plainly and captured on worlds made anew by the same function; results, errors,
what is printed, and what the iterators and containers give afterwards are compared.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import os
import random
import weakref
from collections.abc import Callable
from typing import Any

import armature
import iterator_worlds
import pytest
from differential import compilations
from iterator_worlds import next_of, opaque

TURNS = 50


def remains(world: Any) -> Any:
    """What the iterators of a world still give, and then the world itself."""
    given = {}
    for name, value in world.items():
        if hasattr(value, "__next__"):
            given[name] = next_of(value), next_of(value), next_of(value)
    return given, {name: kept for name, kept in world.items() if not hasattr(kept, "__next__")}


check = functools.partial(iterator_worlds.check, remains)
translations = functools.partial(iterator_worlds.translations, remains)


def turns(container: Any) -> dict[str, Any]:
    return {"items": container}


# --- One turn is like another: loops whose body breaks.


def over_items(items):
    seen = []
    for item in items:
        seen.append(item)
        opaque(None)
    return seen


ITERABLES = {
    "list": lambda: [object for object in map(str, range(TURNS))],
    "tuple": lambda: tuple(map(str, range(TURNS))),
    "set": lambda: set(map(str, range(TURNS))),
    "dict": lambda: dict.fromkeys(map(str, range(TURNS))),
    "dict values": lambda: {str(i): str(-i) for i in range(TURNS)}.values(),
    "dict items": lambda: {str(i): str(-i) for i in range(TURNS)}.items(),
    "iterator of list": lambda: iter([str(i) for i in range(TURNS)]),
    "iterator of dict": lambda: iter({i: str(i) for i in range(TURNS)}),
    "iterator of values": lambda: iter({i: str(i) for i in range(TURNS)}.values()),
    "iterator of items": lambda: iter({i: str(i) for i in range(TURNS)}.items()),
    "backwards over dict": lambda: reversed({str(i): i for i in range(TURNS)}),
    "backwards over values": lambda: reversed({i: str(i) for i in range(TURNS)}.values()),
    "backwards over items": lambda: reversed({i: str(i) for i in range(TURNS)}.items()),
    "backwards over list": lambda: reversed([str(i) for i in range(TURNS)]),
    "backwards over tuple": lambda: reversed(tuple(str(i) for i in range(TURNS))),
    "iterator of set": lambda: iter({str(i) for i in range(TURNS)}),
    "iterator of frozenset": lambda: iter(frozenset(str(i) for i in range(TURNS))),
    "str": lambda: "abcde" * (TURNS // 5),
    "wide str": lambda: iter("\u1234b\U00012345de" * (TURNS // 5)),
    "bytes": lambda: iter(bytes(range(TURNS))),
    "range": lambda: range(3, 3 + 7 * TURNS, 7),
    "backwards over range": lambda: reversed(range(TURNS)),
    "enumerate": lambda: enumerate([str(i) for i in range(TURNS)], 5),
    "enumerate of dict items": lambda: enumerate({i: str(i) for i in range(TURNS)}.items()),
    "enumerate of enumerate": lambda: enumerate(enumerate(range(TURNS)), 2**63 - 5),
    "zip": lambda: zip([str(i) for i in range(TURNS)], range(TURNS + 5), strict=False),
    "strict zip": lambda: zip(range(TURNS), range(TURNS), strict=True),
    "too short": lambda: zip(range(TURNS), range(TURNS - 1), strict=True),
    "too long": lambda: zip(range(TURNS), range(TURNS + 1), strict=True),
    "map": lambda: map(lambda a, b: (b, a), range(TURNS), [str(i) for i in range(TURNS)]),
    "filter": lambda: filter(lambda pair: pair, [(i,) for i in range(TURNS)]),
    "filter by truth": lambda: filter(None, [(i,) for i in range(TURNS)]),
    "repeat": lambda: itertools.repeat("x", TURNS),
    "count": lambda: map(lambda a, b: (a, b), itertools.count(7), range(TURNS)),
    "count by floats": lambda: zip(itertools.count(0.5, 0.1), range(TURNS), strict=False),
    "islice": lambda: itertools.islice(map(lambda x: (x,), range(99)), 3, 3 + TURNS),
    "chain": lambda: itertools.chain(map(lambda x: (x,), range(TURNS // 2)), range(TURNS // 2)),
    "chain of iterables": lambda: itertools.chain.from_iterable([[], [1] * 20, [], [2] * 30, []]),
}


@pytest.mark.parametrize("kind", ITERABLES)
def test_one_translation_serves_all_turns(kind):
    make = ITERABLES[kind]
    count = translations(over_items, lambda: {"items": make()})
    assert count <= 6, count


def over_literals(n):
    total = 0
    for i in range(50):
        total += i * n
        opaque(None)
    for i, text in enumerate(["a", "b", "c"] * 10):
        total += i
        opaque(text)
    for key, value in {"a": 1, "b": 2}.items():
        total += value
        opaque(key)
    for a, b in zip((1, 2, 3), reversed([4, 5, 6]), strict=True):
        total += a * b
        opaque(None)
    return total


def test_loops_over_what_the_trace_made():
    assert translations(over_literals, lambda: {"n": 2}) <= 24


def nested(rows):
    total = 0
    for row in rows:
        for number in row:
            total += number
            opaque(None)
    return total


def test_nested_loops():
    assert (
        translations(nested, lambda: {"rows": [[i + j for j in range(7)] for i in range(7)]}) <= 16
    )


def test_many_turns():
    compiled = armature.compile(over_items)
    assert compiled(range(200)) == list(range(200))
    items = [object() for _ in range(200)]
    with compilations() as finished:
        assert compiled(items) == items
    assert len(finished) <= 4


# --- As inputs.


def lists() -> dict[str, Any]:
    items = [1, 2, 3, 4]
    return {"items": items, "walk": iter(items)}


def started(world: Callable[[], dict[str, Any]], steps: int) -> Callable[[], dict[str, Any]]:
    def make() -> dict[str, Any]:
        made = world()
        for _ in range(steps):
            next_of(made["walk"])
        return made

    return make


STARTS = [started(lists, steps) for steps in range(7)]


def takes_one(items, walk):
    return next(walk, "none")


def takes_with_error(items, walk):
    try:
        return next(walk), next(walk)
    except StopIteration as stop:
        return stop.args


def takes_all(items, walk):
    return list(walk), list(walk), next(walk, 5)


def is_its_iterator(items, walk):
    return iter(walk) is walk, walk.__iter__() is walk, next(iter(walk), 0)


def zips_with_itself(items, walk):
    return list(zip(walk, walk, strict=False))


def unpacks(items, walk):
    first, *rest = walk
    return first, rest


def unpacks_two(items, walk):
    a, b = walk
    return a, b


def contains(items, walk):
    return 2 in walk, 4 in walk, 7 in walk


def asks_length(items, walk):
    return operator.length_hint(walk), next(walk, 0), walk.__length_hint__()


def appends_before(items, walk):
    items.append(5)
    return next(walk, "none"), next(walk, "none")


def appends_after(items, walk):
    taken = [next(walk, "none") for _ in range(3)]
    items.append(5)
    return taken, [next(walk, "none") for _ in range(3)]


def appends_while_walking(items, walk):
    seen = []
    for item in walk:
        seen.append(item)
        if len(items) < 9:
            items.append(item * 10)
    items.append("too late")
    return seen, next(walk, "none")


def appends_and_breaks(items, walk):
    seen = []
    for item in walk:
        seen.append(item)
        opaque(None)
        if len(items) < 7:
            items.append(item * 10)
    return seen


def clears(items, walk):
    first = next(walk, "none")
    items.clear()
    return first, next(walk, "none")


def pops(items, walk):
    first = next(walk, "none")
    last = items.pop()
    return first, last, list(walk)


def inserts(items, walk):
    items.insert(0, "new")
    return next(walk, "none")


def overwrites(items, walk):
    items[1] = "new"
    return next(walk, "none"), next(walk, "none")


def sums_up(items, walk):
    return sum(items), next(walk, "none"), items[0]


def rebinds(items, walk):
    items += [9]
    return list(walk), items


def wraps(items, walk):
    pairs = enumerate(walk, 3)
    return next(pairs, "none"), list(zip(walk, "ab", strict=False)), next(pairs, "none")


def returns_generator_over(items, walk):
    return [item * 2 for item in (each for each in walk)]


def raises_in_loop(items, walk):
    for item in walk:
        if item == 3:
            raise ValueError(item)
    return "done"


def takes_in_function(items, walk):
    def take(count):
        return [next(walk, "none") for _ in range(count)]

    return take(1), opaque(0), take(2)


def writes_what_it_took(items, walk):
    item = next(walk, "none")
    items.append(item)
    items.append(opaque(item))
    return item


LIST_PROGRAMS = [value for name, value in list(globals().items()) if callable(value)]
LIST_PROGRAMS = LIST_PROGRAMS[LIST_PROGRAMS.index(takes_one) :]


@pytest.mark.parametrize("fn", LIST_PROGRAMS)
def test_iterator_of_a_list(fn):
    check(fn, *STARTS)


@pytest.mark.parametrize("fn", LIST_PROGRAMS)
def test_iterator_of_another_list(fn):
    def other():
        return {"items": [7, 8], "walk": iter([1, 2, 3, 4])}

    check(fn, other, started(other, 2), lists, other)


@pytest.mark.parametrize("fn", LIST_PROGRAMS)
def test_other_iterators_in_its_place(fn):
    items = [1, 2, 3]
    worlds = [
        lists,
        lambda: {"items": list(items), "walk": iter(tuple(items))},
        lambda: {"items": list(items), "walk": iter(range(1, 4))},
        lambda: {"items": list(items), "walk": reversed(items)},
        lambda: {"items": list(items), "walk": iter(dict.fromkeys(items))},
        lambda: {"items": list(items), "walk": (item for item in items)},
        lambda: {"items": list(items), "walk": itertools.chain([1], items)},
        lambda: {"items": list(items), "walk": iter(frozenset(items))},
        lambda: {"items": list(items), "walk": map(lambda x: x + 1, items)},
    ]
    check(fn, *worlds)


def test_backwards_while_the_list_changes():
    def make():
        items = [1, 2, 3, 4]
        return {"items": items, "walk": reversed(items)}

    for fn in LIST_PROGRAMS:
        check(fn, make, started(make, 2), started(make, 4), started(make, 5))


def test_a_list_that_shrank_under_the_iterator():
    def make():
        world = started(lists, 3)()
        del world["items"][1:]
        return world

    def grown():
        world = make()
        world["items"].extend("abc")
        return world

    for fn in LIST_PROGRAMS:
        check(fn, make, grown, lists)


class SubList(list):
    pass


class CountedIterator:
    def __init__(self):
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > 4:
            raise StopIteration
        return self.count


def test_subclasses():
    def make():
        items = SubList([1, 2, 3])
        return {"items": [1], "walk": iter(items)}

    def own():
        return {"items": [1], "walk": CountedIterator()}

    def wrapped():
        return {"items": [1], "walk": enumerate(CountedIterator())}

    for fn in LIST_PROGRAMS:
        check(fn, make, own, wrapped)


# --- Dicts and sets.


def dict_world(view, *, dense=True, back=False):
    def make():
        data = {str(i): i for i in range(6)}
        if not dense:
            del data["0"], data["3"]
        walked = getattr(data, view)()
        return {"data": data, "walk": reversed(walked) if back else iter(walked)}

    return make


DICT_WORLDS = [
    dict_world(view, dense=dense, back=back)
    for view in ("keys", "values", "items")
    for dense in (True, False)
    for back in (False, True)
]


def gives_new_values(data, walk):
    seen = []
    for item in walk:
        seen.append(item)
        for key in list(data):
            data[key] += 10
    return seen


def gives_new_values_and_breaks(data, walk):
    seen = []
    for item in walk:
        seen.append(item)
        data["4"] += 10
        opaque(None)
    return seen


def adds_key(data, walk):
    first = next(walk, "none")
    data["new"] = 1
    return first, next(walk, "none")


def removes_key(data, walk):
    first = next(walk, "none")
    data.pop("4")
    return first, next(walk, "none")


def exchanges_keys(data, walk):
    first = next(walk, "none")
    data.pop("4")
    data["new"] = 1
    return first, next(walk, "none"), list(data)


def looks_keys_up(data, walk):
    return [data.get(key) for key in walk]


@pytest.mark.parametrize(
    "fn",
    [
        gives_new_values,
        gives_new_values_and_breaks,
        adds_key,
        removes_key,
        exchanges_keys,
        looks_keys_up,
    ],
)
def test_iterator_of_a_dict(fn):
    for world in DICT_WORLDS:
        check(fn, *(started(world, steps) for steps in (0, 1, 3, 4, 6, 7)))


def test_a_dict_that_changed_under_the_iterator():
    def make():
        world = started(dict_world("items"), 2)()
        world["data"]["new"] = 1
        return world

    def exchanged():
        world = started(dict_world("items"), 2)()
        world["data"]["new"] = world["data"].pop("0")
        return world

    for fn in (gives_new_values, adds_key, looks_keys_up):
        check(fn, dict_world("items"), make, exchanged)


class Attributes:
    def __init__(self):
        self.a, self.b, self.c = 1, 2, 3


def changes_attributes(object, walk):
    first = next(walk, "none")
    object.b = 20
    second = next(walk, "none")
    object.d = 5
    return first, second, next(walk, "none")


def test_iterator_of_an_instance_dict():
    def make():
        made = Attributes()
        return {"object": made, "walk": iter(made.__dict__.items())}

    check(changes_attributes, make, started(make, 1), started(make, 3))


def set_world():
    data = set("abcdef")
    return {"data": data, "walk": iter(data)}


def adds_element(data, walk):
    first = next(walk, "none")
    data.add("new")
    return first, next(walk, "none")


def adds_and_removes(data, walk):
    first = next(walk, "none")
    data.add("new")
    data.discard("new")
    return first, next(walk, "none")


def walks_over_set(data, walk):
    return list(walk), "a" in data


@pytest.mark.parametrize("fn", [adds_element, adds_and_removes, walks_over_set])
def test_iterator_of_a_set(fn):
    def apart():
        return {"data": set("abcdef"), "walk": iter(set("xyz"))}

    check(fn, *(started(set_world, steps) for steps in (0, 1, 6, 7)), apart, set_world)
    check(fn, apart, set_world)


# --- Iterators over iterators.


def takes_two(walk, inner):
    return next(walk, "none"), next(inner, "none"), next(walk, "none")


def inner_world(make: Callable[[Any, Any], Any]) -> Callable[[], dict[str, Any]]:
    def world():
        inner = iter([1, 2, 3, 4, 5, 6])
        calls: list[Any] = []

        def noted(*values):
            calls.append(values)
            return values

        return {"walk": make(inner, noted), "inner": inner, "calls": calls}

    return world


WRAPPERS = {
    "enumerate": lambda inner, noted: enumerate(inner),
    "enumerate from": lambda inner, noted: enumerate(inner, 2**70),
    "zip": lambda inner, noted: zip(inner, "abc", strict=False),
    "zip with itself": lambda inner, noted: zip(inner, inner, strict=False),
    "strict zip": lambda inner, noted: zip(inner, "ab", strict=True),
    "map": lambda inner, noted: map(noted, inner),
    "enumerate of map": lambda inner, noted: enumerate(map(noted, inner)),
    "filter": lambda inner, noted: filter(lambda x: noted(x)[0] % 2, inner),
    "chain": lambda inner, noted: itertools.chain("a", inner, "b"),
    "chain over it": lambda inner, noted: itertools.chain.from_iterable(map(noted, inner)),
    "chain of it": lambda inner, noted: itertools.chain.from_iterable(inner),
    "callable": lambda inner, noted: iter(lambda: noted(next(inner))[0], 4),
    "islice": lambda inner, noted: itertools.islice(inner, 1, None, 2),
    "islice of map": lambda inner, noted: itertools.islice(map(noted, inner), 2, 4),
    "islice to its end": lambda inner, noted: itertools.islice(inner, 9),
    "islice of nothing": lambda inner, noted: itertools.islice(inner, 3, 2),
    "cycle": lambda inner, noted: itertools.cycle(inner),
    "cycle again": lambda inner, noted: itertools.islice(itertools.cycle("ab"), 3, None),
    "generator": lambda inner, noted: (x for x in inner),
    "zip of nothing": lambda inner, noted: zip(strict=False),
    "zip of map": lambda inner, noted: zip(map(noted, inner), itertools.count(3), strict=False),
}


@pytest.mark.parametrize("kind", WRAPPERS)
def test_iterators_over_iterators(kind):
    make = inner_world(WRAPPERS[kind])

    def two(walk, inner, calls):
        return takes_two(walk, inner), list(calls)

    def broken(walk, inner, calls):
        seen = []
        for item in walk:
            seen.append(item)
            opaque(None)
            if len(seen) == 4:
                break
        return seen, list(calls)

    def everything(walk, inner, calls):
        return list(zip(walk, range(9), strict=False)), list(calls)

    for fn in (two, broken, everything):
        check(fn, *(started(make, steps) for steps in (0, 1, 2, 5)))


def test_a_function_is_called_once_a_step():
    calls = []

    def function(x):
        calls.append(x)
        return x * 2

    @armature.compile
    def run(walk):
        total = 0
        for x in walk:
            total += x
            opaque(None)
        return total

    assert run(map(function, [1, 2, 3])) == 12
    assert calls == [1, 2, 3]


def test_one_iterator_or_two():
    def both(a, b):
        return next(a, 0), next(b, 0), next(a, 0)

    def one():
        walk = iter([1, 2, 3])
        return {"a": walk, "b": walk}

    def two():
        return {"a": iter([1, 2, 3]), "b": iter([4, 5, 6])}

    def same_list():
        items = [1, 2, 3]
        return {"a": iter(items), "b": iter(items)}

    check(both, one, two, same_list)
    check(both, two, one, same_list)
    check(both, same_list, two, one)


HELD = iter(())


def test_as_global_and_attribute():
    class Holder:
        pass

    def run(holder):
        holder.position = next(holder.walk, None)
        return next(HELD, "none"), next(holder.walk, None)

    def reset(holder):
        global HELD
        HELD = iter([1, 2])
        holder.walk = iter("abc")

    compiled = armature.compile(run)
    holder = Holder()
    reset(holder)
    expected = [run(holder) for _ in range(3)]
    reset(holder)
    assert [compiled(holder) for _ in range(3)] == expected


# --- What lives, and for how long.


class Thing:
    pass


class Things(list):
    pass


def test_an_exhausted_iterator_drops_its_list():
    @armature.compile
    def take(walk):
        return next(walk, "none")

    for _ in range(2):
        things = Things([1])
        reference = weakref.ref(things)
        walk = iter(things)
        del things
        assert take(walk) == 1
        assert reference() is not None
        assert take(walk) == "none"
        assert reference() is None


class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("end of", self.name)


def walks_to_the_end(walk):
    names = []
    for thing in walk:
        names.append(thing.name)
        del thing
    print("behind the loop")
    return names


def takes_the_end(walk):
    first = next(walk).name
    opaque(None)
    rest = list(map(operator.attrgetter("name"), walk))
    print("behind the loop")
    return first, rest


@pytest.mark.parametrize("fn", [walks_to_the_end, takes_the_end])
def test_finalizers_run_when_the_list_goes(fn):
    def things():
        return [Noisy("a"), Noisy("b")]

    check(fn, lambda: {"walk": iter(things())})
    check(fn, lambda: {"walk": itertools.chain(things(), things())})
    check(fn, lambda: {"walk": iter({thing: 0 for thing in things()})})
    check(fn, lambda: {"walk": itertools.islice(iter(things()), 2)})


def test_items_die_as_in_plain_python():
    def run(things, log):
        for thing in things:
            reference = weakref.ref(thing)
            del thing
            opaque(None)
            log.append(reference() is None)
        return log

    def make():
        return {"things": map(lambda _: Thing(), range(5)), "log": []}

    check(run, make)


def test_items_taken_out_of_the_list_die():
    def run(things, walk, log):
        for thing in walk:
            reference = weakref.ref(thing)
            things[len(log)] = None
            del thing
            opaque(None)
            log.append(reference() is None)
        return log

    def make():
        things = [Thing() for _ in range(5)]
        return {"things": things, "walk": iter(things), "log": []}

    check(run, make)


def test_no_iterator_is_kept():
    @armature.compile
    def run(walk):
        return next(walk, 0)

    thing = Thing()
    reference = weakref.ref(thing)
    assert run(iter([thing])) is thing
    del thing
    gc.collect()
    assert reference() is None


def test_numbers_of_ranges_become_inputs():
    def run(walk, n):
        return next(walk) * n + next(walk)

    def make(start):
        return lambda: {"walk": iter(range(start, 100)), "n": 3}

    assert translations(run, *(make(start) for start in range(20))) <= 2


# --- Programs at random.

STATEMENTS = r"""
seen.append(next(walk, 'end'))
seen.append(next(other, 'end'))
seen.append(next(pairs, 'end'))
seen.append(next(keys, 'end'))
seen.append(next(back, 'end'))
seen.append(list(walk))
seen.append(list(zip(walk, other)))
seen.append(2 in walk)
seen.extend(pairs)
items.append(len(seen))
items.append('new')
items[0] = 'changed'
items.pop()
items.insert(1, 'inserted')
items.clear()
items.extend([1, 2])
seen.append(sum(1 for _ in keys))
data['b'] = len(seen)
data.pop('c', None)
data['z'] = 1
data.setdefault('a', 5)
opaque(None)
opaque(None)
opaque(walk)
seen.append(next(opaque(other), 'end'))
walk, other = other, walk
walk = iter(items)
other = enumerate(items)
keys = iter(data.items())
pairs = zip(walk, other)
for item in walk: seen.append(item); opaque(None)
for item in walk: seen.append(item)
for item in other:\n  if len(seen) > 20: break\n  items.append(7); opaque(item); seen.append(item)
for key in keys:\n  seen.append(key); opaque(None)
for item in pairs:\n  opaque(None)\n  seen.append(next(walk, 0))
for item in back:\n  seen.append(item); items.append(item); opaque(None)
a, *b = walk; seen.append((a, b))
a, b = pairs; seen.append((a, b))
"""


def random_world(random: Any) -> dict[str, Any]:
    items = [[1, 2, 3, 4], [], [5], ["a", "b", "c"]][random.randrange(4)]
    data = {"a": 1, "b": 2, "c": 3, "d": 4}
    walk = iter(items)
    other = [
        lambda: walk,
        lambda: iter(items),
        lambda: iter([7, 8, 9]),
        lambda: iter(range(5)),
        lambda: map(lambda x: (x, x), items),
        lambda: enumerate(walk, 3),
        lambda: iter(data.values()),
        lambda: itertools.chain(walk, "xy"),
        lambda: (x for x in items),
        lambda: filter(None, walk),
        lambda: iter({5, 6, 7}),
        lambda: itertools.islice(walk, 1, 4),
        lambda: itertools.islice(items, 0, 5, 2),
        lambda: itertools.repeat(3, 4),
        lambda: iter(lambda: next(walk, 4), 4),
    ][random.randrange(15)]()
    world = {
        "items": items,
        "data": data,
        "walk": walk,
        "other": other,
        "pairs": [lambda: enumerate(items), lambda: zip(walk, other, strict=False)][
            random.randrange(2)
        ](),
        "keys": [iter(data), iter(data.items()), reversed(data)][random.randrange(3)],
        "back": reversed(items),
        "seen": [],
    }
    for _ in range(random.randrange(6)):
        next_of(world[random.choice(["walk", "other", "pairs", "keys", "back"])])
    return world


def random_program(random: Any) -> tuple[Callable[..., Any], str]:
    return iterator_worlds.random_program(
        random,
        STATEMENTS,
        range(1, 8),
        "items, data, walk, other, pairs, keys, back, seen",
        log="seen",
        result="seen",
    )


@pytest.mark.parametrize("start", range(8))
def test_random_programs(start):
    for seed in range(start, int(os.environ.get("ITERATOR_PROGRAMS", "320")), 8):
        fn, text = random_program(random.Random(seed))
        worlds = [
            lambda each=each, seed=seed: random_world(random.Random(1000 * seed + each))
            for each in range(4)
        ]
        try:
            check(fn, *worlds)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error

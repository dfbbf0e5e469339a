"""Iterators of itertools and of deques that existed before a trace: stepped as what they are, their
state guarded, and put where the program has left them.

Programs run plainly and captured on worlds made anew; what they give, what functions were called
with, and what each iterator gives afterwards are compared.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import random
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import armature
import iterator_worlds
import pytest
from iterator_worlds import next_of, opaque

TURNS = 1500


def remains(world: dict[str, Any]) -> Any:
    given = {
        name: [next_of(value) for _ in range(4)]
        for name, value in world.items()
        if hasattr(value, "__next__")
    }
    kept = {name: value for name, value in world.items() if name not in given}
    grown = kept.get("items")
    if isinstance(grown, list):
        kept["items"] = list(grown)
        grown.extend([50, 51, 52])
    again = {name: [next_of(world[name]) for _ in range(3)] for name in given}
    return given, kept, again


check = functools.partial(iterator_worlds.check, remains)
translations = functools.partial(iterator_worlds.translations, remains)


# Each is made of an iterator and a list of what its functions were called with.
KINDS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "count": lambda inner, calls: itertools.count(3, 2),
    "cycle": lambda inner, calls: itertools.cycle(inner),
    "cycle of nothing": lambda inner, calls: itertools.cycle(()),
    "repeat": lambda inner, calls: itertools.repeat("x", 3),
    "chain": lambda inner, calls: itertools.chain([1], inner, [2]),
    "chain of zip of itself": lambda inner, calls: itertools.chain(
        zip(inner, inner, strict=False), inner
    ),
    "islice": lambda inner, calls: itertools.islice(inner, 1, 6),
    "islice by steps": lambda inner, calls: itertools.islice(inner, 1, None, 2),
    "islice to an odd end": lambda inner, calls: itertools.islice(inner, 0, 4, 3),
    "islice of little": lambda inner, calls: itertools.islice(inner, 5, 2),
    "zip_longest": lambda inner, calls: itertools.zip_longest(inner, "ab", fillvalue="-"),
    "zip_longest of itself": lambda inner, calls: itertools.zip_longest(inner, inner),
    "zip_longest of nothing": lambda inner, calls: itertools.zip_longest(),
    "takewhile": lambda inner, calls: itertools.takewhile(noting(calls, lambda x: x < 3), inner),
    "dropwhile": lambda inner, calls: itertools.dropwhile(noting(calls, lambda x: x < 3), inner),
    "filterfalse": lambda inner, calls: itertools.filterfalse(
        noting(calls, lambda x: x % 2), inner
    ),
    "filterfalse by truth": lambda inner, calls: itertools.filterfalse(None, inner),
    "starmap": lambda inner, calls: itertools.starmap(
        noting(calls, lambda a, b: a + b), zip(inner, inner, strict=False)
    ),
    "accumulate": lambda inner, calls: itertools.accumulate(inner),
    "accumulate by a function": lambda inner, calls: itertools.accumulate(
        inner, noting(calls, lambda a, b: a * 10 + b), initial=5
    ),
    "accumulate from None": lambda inner, calls: itertools.accumulate(
        [None, 1, 2], noting(calls, lambda a, b: (a, b))
    ),
    "compress": lambda inner, calls: itertools.compress(inner, itertools.cycle([1, 0])),
    "compress by itself": lambda inner, calls: itertools.compress(inner, inner),
    "pairwise": lambda inner, calls: itertools.pairwise(inner),
    "pairwise of None": lambda inner, calls: itertools.pairwise([None, 1, None, 2]),
    "pairwise of pairwise": lambda inner, calls: itertools.pairwise(itertools.pairwise(inner)),
    "groupby": lambda inner, calls: itertools.groupby([1, 1, 2, 3, 3], noting(calls, lambda x: x)),
    "product": lambda inner, calls: itertools.product("ab", [1, 2]),
    "product of nothing": lambda inner, calls: itertools.product("ab", []),
    "product of no pools": lambda inner, calls: itertools.product(),
    "product of instances": lambda inner, calls: itertools.product([(1,), (2,)], repeat=2),
    "permutations": lambda inner, calls: itertools.permutations("abc", 2),
    "whole permutations": lambda inner, calls: itertools.permutations([1, 2, 3]),
    "combinations": lambda inner, calls: itertools.combinations(range(4), 2),
    "combinations of little": lambda inner, calls: itertools.combinations("a", 2),
    "replacement": lambda inner, calls: itertools.combinations_with_replacement("ab", 2),
    "deque": lambda inner, calls: iter(deque([1, 2, 3])),
    "deque backwards": lambda inner, calls: reversed(deque([1, 2, 3], 3)),
    "large deque": lambda inner, calls: itertools.islice(iter(deque(range(150))), 62, None),
}


def noting(calls: list[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*values: Any) -> Any:
        calls.append(values)
        return function(*values)

    return noted


def world(kind: str, steps: int = 0) -> Callable[[], dict[str, Any]]:
    def make() -> dict[str, Any]:
        items, calls = [1, 2, 3, 4, 5, 0, 1], []
        inner = iter(items)
        made = {"walk": KINDS[kind](inner, calls), "inner": inner, "items": items, "calls": calls}
        for _ in range(steps):
            next_of(made["walk"])
        return made

    return make


def takes_two(walk, inner, items, calls):
    return next(walk, "none"), next(inner, "none"), next(walk, "none"), list(calls)


def takes_some(walk, inner, items, calls):
    return list(itertools.islice(walk, 5)), next(walk, "none"), list(calls)


def breaks(walk, inner, items, calls):
    seen = []
    for item in walk:
        seen.append(item)
        opaque(None)
        if len(seen) == 4:
            break
    return seen, list(calls)


def breaks_between(walk, inner, items, calls):
    first = next(walk, "none")
    opaque(None)
    inner = opaque(inner)
    return first, next(inner, "none"), next(walk, "none"), [x for x, _ in zip(walk, range(2))]


def changes_the_list(walk, inner, items, calls):
    first = next(walk, "none")
    items.append(9)
    return first, next(walk, "none"), next(walk, "none")


def fails_inside(walk, inner, items, calls):
    items[3] = "text"
    try:
        return list(itertools.islice(walk, 5))
    except TypeError as error:
        return repr(error), next(walk, "none")


def puts_into_others(walk, inner, items, calls):
    pairs = zip(walk, itertools.count(), strict=False)
    return next(pairs, "none"), next(itertools.chain(walk, "z")), next(pairs, "none")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "fn",
    [
        takes_two,
        takes_some,
        breaks,
        breaks_between,
        changes_the_list,
        fails_inside,
        puts_into_others,
    ],
)
def test_existing(fn, kind):
    check(fn, *(world(kind, steps) for steps in (0, 1, 2, 3, 5, 9)))


@pytest.mark.parametrize("fn", [takes_two, breaks])
def test_others_in_its_place(fn):
    kinds = list(KINDS)
    random.Random(1).shuffle(kinds)
    for start in range(0, len(kinds), 5):
        check(fn, *(world(kind, start % 3) for kind in kinds[start : start + 5]))


# --- Which states are told from each other.


@pytest.mark.parametrize("first", range(5))
def test_a_chain_between_two_iterables(first):
    def run(walk):
        return next(walk, "none"), next(walk, "none")

    def between(lists):
        # The one at hand has ended, and the next one has not begun.
        def make():
            chain = itertools.chain([])
            inner = iter([])
            chain.__setstate__((iter(lists), inner))
            next(chain, None) if not lists else None
            return {"walk": chain}

        return make

    def fresh():
        return {"walk": itertools.chain([1, 2, 3], [4])}

    def started():
        walk = itertools.chain([1, 2, 3], [4])
        next(walk)
        return {"walk": walk}

    def ended():
        walk = itertools.chain([])
        next(walk, None)
        return {"walk": walk}

    worlds = [fresh, started, between([[7], [8]]), between([]), ended]
    check(run, *worlds[first:], *worlds[:first])


def test_an_ended_callable_and_islice():
    def run(walk):
        return next(walk, "none"), next(walk, "none")

    def called(count):
        def make():
            numbers = iter(range(4))
            walk = iter(lambda: next(numbers), 2)
            for _ in range(count):
                next(walk, None)
            return {"walk": walk}

        return make

    def sliced(count):
        def make():
            walk = itertools.islice(range(9), 0, 5, 2)
            for _ in range(count):
                next(walk, None)
            return {"walk": walk}

        return make

    check(run, *(called(count) for count in (0, 3, 1, 2)))
    check(run, *(sliced(count) for count in (0, 4, 1, 3, 2)))


def test_predicates_are_replaced():
    def run(walk):
        return next(walk, "none"), next(walk, "none")

    def make(limit):
        return lambda: {"walk": itertools.takewhile(lambda x: x < limit, [1, 2, 3])}

    class Limit:
        def __call__(self, x):
            return x != 2

    check(
        run,
        make(1),
        make(3),
        lambda: {"walk": itertools.takewhile(Limit(), [1, 2])},
        lambda: {"walk": itertools.takewhile(bool, [1, 0])},
        make(2),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_one_iterator_or_two(kind):
    def run(a, b):
        return next(a, "none"), next(b, "none"), next(a, "none")

    def one():
        walk = world(kind)()["walk"]
        return {"a": walk, "b": walk}

    def two():
        return {"a": world(kind)()["walk"], "b": world(kind)()["walk"]}

    def within():
        walk = world(kind)()["walk"]
        return {"a": itertools.pairwise(walk), "b": walk}

    check(run, one, two, within)
    check(run, two, within, one)


HELD: Any = iter(())
ITEMS = [1, 2, 3, 4]


def test_as_globals():
    def run(scale):
        ITEMS.append(scale)
        return next(HELD, "none"), next(HELD, "none")

    def reset(kind):
        global HELD
        ITEMS[:] = [1, 2, 3, 4]
        HELD = KINDS[kind](iter(ITEMS), [])

    compiled = armature.compile(run)
    for kind in KINDS:
        if kind == "groupby":
            continue
        reset(kind)
        expected = [run(i) for i in range(4)], list(ITEMS)
        reset(kind)
        assert ([compiled(i) for i in range(4)], list(ITEMS)) == expected, kind


# --- Loops, and what lives.

LOOPS: dict[str, Callable[[], Any]] = {
    "takewhile": lambda: itertools.takewhile(lambda x: x >= 0, range(TURNS)),
    "dropwhile": lambda: itertools.dropwhile(lambda x: x < 5, range(TURNS)),
    "filterfalse": lambda: itertools.filterfalse(lambda x: x < 5, range(TURNS)),
    "starmap": lambda: map(lambda x: (x,), range(TURNS)),
    "accumulate": lambda: itertools.accumulate(range(TURNS)),
    "compress": lambda: itertools.compress(range(TURNS), itertools.repeat(1)),
    "pairwise": lambda: itertools.pairwise(map(str, range(TURNS))),
    "zip_longest": lambda: itertools.zip_longest(range(TURNS), "abc"),
    "islice": lambda: itertools.islice(range(4 * TURNS), 2, None, 4),
    "cycle": lambda: itertools.islice(itertools.cycle(range(TURNS)), TURNS),
    "product": lambda: itertools.product(range(50), range(30)),
    "permutations": lambda: itertools.permutations(range(40), 2),
    "combinations": lambda: itertools.combinations(range(55), 2),
    "replacement": lambda: itertools.combinations_with_replacement(range(54), 2),
    "deque": lambda: iter(deque(range(TURNS))),
    "deque backwards": lambda: reversed(deque(range(TURNS))),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_many_turns(kind):
    def run(walk):
        seen = []
        for item in walk:
            seen.append(item)
            opaque(None)
        return seen

    make = LOOPS[kind]
    assert translations(run, lambda: {"walk": make()}) <= 12


class Thing:
    pass


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "pairwise": lambda thing: itertools.pairwise([thing, 1, 2]),
    "accumulate": lambda thing: itertools.accumulate([thing, 1, 2], lambda a, b: b),
    "takewhile": lambda thing: itertools.takewhile(lambda x: x != 1, map(lambda x: x, [thing, 1])),
    "zip_longest": lambda thing: itertools.zip_longest([thing], [1, 2, 3]),
    "cycle": lambda thing: itertools.cycle([thing, 1]),
    "product": lambda thing: itertools.product([thing, 1], [2]),
    "deque": lambda thing: iter(deque([thing, 1, 2])),
    "compress": lambda thing: itertools.compress([thing, 1, 2], [1, 1, 1]),
}


@pytest.mark.parametrize("kind", HOLDERS)
@pytest.mark.parametrize("steps", range(4))
def test_what_is_held_lives_as_long(kind, steps):
    def take(walk):
        return next(walk, None) is None

    compiled = armature.compile(take)

    def lives(function):
        thing = Thing()
        reference = weakref.ref(thing)
        walk = HOLDERS[kind](thing)
        del thing
        alive = []
        for _ in range(steps):
            function(walk)
            alive.append(reference() is not None)
        del walk
        gc.collect()
        alive.append(reference() is not None)
        return alive

    for _ in range(3):
        assert lives(compiled) == lives(take)


# --- Programs at random.

STATEMENTS = r"""
seen.append(next(a, 'end'))
seen.append(next(a, 'end'))
seen.append(next(b, 'end'))
seen.append(next(c, 'end'))
seen.append(next(inner, 'end'))
seen.append(list(itertools.islice(b, 3)))
seen.append(list(zip(a, range(2))))
seen.extend(itertools.islice(c, 2))
items.append(len(seen))
items.append(3)
items[0] = 7
items.pop()
items.clear()
queue.append(4)
queue[0] = 9
queue.popleft()
opaque(None)
opaque(None)
opaque(a)
seen.append(next(opaque(b), 'end'))
a, b = b, a
b = itertools.chain(a, b)
c = itertools.pairwise(c)
calls.append('here')
for item in a:\n  seen.append(item)\n  if len(seen) > 12: break
for item in b:\n  seen.append(item); opaque(None)\n  if len(seen) > 9: break
for item in c:\n  seen.append(next(a, 0))\n  if len(seen) > 9: break
x, *y = itertools.islice(a, 3); seen.append((x, y))
"""


def random_world(random: Any) -> dict[str, Any]:
    items, calls = [[1, 2, 3, 4, 0, 2], [], [5], [1, 1, 2]][random.randrange(4)], []
    inner, queue = iter(items), deque([1, 2, 3])
    sources = [
        lambda: inner,
        lambda: iter(items),
        lambda: iter(queue),
        lambda: reversed(queue),
        lambda: range(5),
    ]

    def some(depth: int, top: int) -> Any:
        if depth == 0 or random.randrange(3) == 0:
            return random.choice(sources)()
        # What looks for an item in an endless one may look for ever.
        kinds = [kind for kind in KINDS if depth == top or kind not in ("count", "cycle")]
        return KINDS[random.choice(kinds)](iter(some(depth - 1, top)), calls)

    made = {"a": iter(some(2, 2)), "c": iter(some(2, 2)), "inner": inner}
    made["b"] = made["a"] if random.randrange(5) == 0 else iter(some(1, 1))
    if random.randrange(4) == 0:
        made["c"] = itertools.chain(zip(made["a"], made["a"], strict=False), made["b"])
    for _ in range(random.randrange(6)):
        next_of(made[random.choice(["a", "b", "c", "inner"])])
    return {**made, "items": items, "queue": queue, "calls": calls, "seen": []}


def random_program(random: Any) -> tuple[Callable[..., Any], str]:
    return iterator_worlds.random_program(
        random,
        STATEMENTS,
        range(1, 7),
        "a, b, c, inner, items, queue, calls, seen",
        log="seen",
        result="[each if not hasattr(each, '__next__') else None for each in seen]",
        itertools=itertools,
    )


@pytest.mark.parametrize("start", range(6))
def test_random_programs(start):
    for seed in range(start, int(os.environ.get("ITERATOR_PROGRAMS", "300")), 6):
        fn, text = random_program(random.Random(seed))
        worlds = [
            lambda each=each, seed=seed: random_world(random.Random(1000 * seed + each))
            for each in range(3)
        ]
        try:
            check(fn, *worlds)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error

"""Iterators that existed before a trace, over containers that the trace changes: what it does to a
container is done again in an order in which each iterator meets what it met.

Programs run plainly and captured; then what each iterator still gives is compared, before and after
more is put into the containers, which tells an iterator that has ended from one at the end.
"""

from __future__ import annotations

import functools
import os
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import iterator_worlds
import pytest
from iterator_worlds import next_of, opaque


def remains(world: dict[str, Any]) -> Any:
    items, other = world["items"], world["other"]
    kept = [list(items), list(other), list(world["queue"]), dict(world["data"]), world["log"]]
    items.extend([100, 101, 102, 103])
    other.extend([200, 201])
    walks = [world[name] for name in ("walk", "again", "back", "else_", "keys", "steps")]
    return kept, [[next_of(walk, RuntimeError) for _ in range(4)] for walk in walks]


check = functools.partial(iterator_worlds.check, remains)


def world(length: int = 2, steps: int = 2) -> Callable[[], dict[str, Any]]:
    def make() -> dict[str, Any]:
        items, other = list(range(length)), [7]
        walk = iter(items)
        made = {
            "items": items,
            "other": other,
            "queue": deque([1, 2]),
            "data": {"a": 1, "b": 2},
            "walk": walk,
            "again": iter(items),
            "back": reversed(items),
            "else_": iter(other),
            "steps": iter(deque([1, 2])),
            "log": [],
        }
        made["keys"] = iter(made["data"])
        for _ in range(steps):
            next_of(walk, RuntimeError)
        return made

    return make


WORLDS = [world(2, 2), world(2, 0), world(0, 0), world(2, 3), world(3, 2)]


def takes_what_is_popped(items, walk, **_):
    items.append("a")
    taken = next(walk, "end")
    items.pop()
    return taken


def takes_what_is_cleared(items, walk, **_):
    items.append("a")
    taken = next(walk, "end")
    items.clear()
    return taken


def takes_what_is_overwritten(items, walk, **_):
    items.append("a")
    taken = next(walk, "end")
    items[-1] = "b"
    items.append("c")
    return taken


def ends_behind_what_is_popped(items, walk, **_):
    items.append("a")
    taken = list(walk)
    items.pop()
    items.append("b")
    return taken


def takes_what_is_sorted(items, walk, **_):
    items.append(-1)
    items.append(-2)
    taken = next(walk, "end")
    items.sort()
    return taken


def takes_then_many_changes(items, walk, **_):
    items.append("a")
    taken = next(walk, "end")
    for i in range(60):
        items.insert(0, i)
        items.pop(0)
    return taken


def two_iterators(items, walk, again, **_):
    items.append("a")
    taken = next(walk, "end")
    items.append("b")
    items.pop()
    taken = taken, list(again)
    items.pop()
    return taken


PROGRAMS = [value for name, value in list(globals().items()) if callable(value)]
PROGRAMS = PROGRAMS[PROGRAMS.index(takes_what_is_popped) :]


@pytest.mark.parametrize("fn", PROGRAMS)
def test_what_was_appended(fn):
    check(fn, *WORLDS)


def test_many_turns():
    def run(items, walk, **_):
        taken = []
        for i in range(1500):
            items.append(i)
            taken.append(next(walk, "end"))
            opaque(None)
            items.pop()
        return taken

    check(run, *WORLDS[:2], repeat=1)


STATEMENTS = r"""
log.append(next(walk, 'end'))
log.append(next(walk, 'end'))
log.append(next(again, 'end'))
log.append(next(back, 'end'))
log.append(next(else_, 'end'))
log.append(next(keys, 'end'))
log.append(list(walk))
log.extend(again)
items.append(len(log))
items.append(len(log))
items.append(next(walk, 'end'))
items.pop()
items.pop()
if items: items.pop()
items[-1] = 'last'
items[0] = 'first'
items.insert(1, 'inserted')
items.clear()
items.extend([len(log), 5])
del items[1:]
items.sort(key=str)
items.reverse()
other.append(3)
other.pop()
items.append(other.pop())
queue.append(next(walk, 'end'))
queue.appendleft(4)
queue.pop()
data['c'] = next(walk, 'end')
data['a'] = len(log)
del data['b']
data.pop('c', None)
opaque(None)
items.append(opaque(6))
for item in walk:\n  if len(other) > 6: break\n  log.append(item); other.append(item)
for item in walk:\n  if len(items) < 5: items.append(item); log.append(item)
for item in again:\n  if len(log) > 20: break\n  items.append(item); opaque(None); items.pop()
walk, else_ = else_, walk
"""


def random_program(random: Any) -> tuple[Callable[..., Any], str]:
    return iterator_worlds.random_program(
        random,
        STATEMENTS,
        range(2, 9),
        "items, other, queue, data, walk, again, back, else_, keys, steps, log",
        log="log",
        result="log",
    )


@pytest.mark.parametrize("start", range(4))
def test_random_programs(start):
    for seed in range(start, int(os.environ.get("ITERATOR_PROGRAMS", "200")), 4):
        chooser = random.Random(seed)
        fn, text = random_program(chooser)
        worlds = [world(chooser.randrange(4), chooser.randrange(5)) for _ in range(3)]
        try:
            check(fn, *worlds)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error

"""What is taken of an iterator where one of its items is refused: as much as in plain Python."""

import collections
import functools
import heapq
import itertools
import math
import operator
import statistics

import armature
import pytest

MODULES = {
    each.__name__: each
    for each in (collections, functools, heapq, itertools, math, operator, statistics, armature)
}


class Walker:
    def __init__(self, items):
        self.items = iter(items)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.items)


def given(*arguments):
    return arguments


OBJECTS = {
    "frozen": lambda: frozenset([1, 2]),
    "made": lambda: {1, 2},
    "table": lambda: {1: 2},
    "counter": lambda: collections.Counter([1]),
    "array": lambda: bytearray(b"ab"),
    "listed": lambda: [1, 2, 3, 4],
    "queue": lambda: collections.deque([1, 2]),
}

EXPRESSIONS = """
frozen.difference(b)
frozen.union(b)
frozen.symmetric_difference(b)
frozen.intersection(b)
frozen.issubset(b)
frozen.issuperset(b)
frozen.isdisjoint(b)
made.update(b)
made.symmetric_difference_update(b)
made.difference_update(b)
made.intersection_update(b)
set(b)
frozenset(b)
dict(b)
table.update(b)
dict.fromkeys(b)
counter.subtract(b)
counter.update(b)
collections.OrderedDict(b)
bytes(b)
array.extend(b)
listed.extend(b)
listed.__iadd__(b)
listed.__setitem__(slice(0, 4, 2), b)
queue.extend(b)
queue.extendleft(b)
sum(b)
max(b)
sorted(b)
any(b)
"".join(b)
5 in b
operator.indexOf(b, 5)
functools.reduce(operator.add, b)
math.fsum(b)
math.prod(b)
list(zip(b, [1]))
list(zip([1], b))
list(zip(b, [1], strict=True))
dict(zip(b, [1, 2, 3]))
list(map(abs, b))
list(map(operator.add, b, [1]))
list(filter(abs, b))
list(itertools.islice(b, 2))
list(itertools.takewhile(bool, b))
list(itertools.accumulate(b))
list(itertools.chain.from_iterable(b))
list(itertools.compress(b, [1, 0]))
list(itertools.pairwise(b))
list(itertools.starmap(abs, b))
list(itertools.combinations(b, 2))
[key for key, group in itertools.groupby(b, abs)]
(lambda x, *y: (x, y))(*b)
given(*b)
[*b, 1]
{*b, 1}
heapq.nsmallest(2, b)
heapq.merge(b, [1])
int.from_bytes(b, "big")
type("Q", (), dict(b))
collections.deque(b, 2)
statistics.mean(b)
""".strip().splitlines()

ITEMS = [
    [1, [], 2, 3],
    [[], 1, 2],
    [(1, 2), ([], 2), (4, 5)],
    [(1, 2), (3,), (4, 5)],
    ["a", 1, "b"],
    [1, 300, 2],
    [None, 1],
]
ITERATORS = {
    "list": iter,
    "generator": lambda items: (item for item in items),
    "chain": lambda items: itertools.chain(items[:1], items[1:]),
    "object": Walker,
}


def outcome(function, items, make):
    objects = {name: each() for name, each in OBJECTS.items()}
    iterator = make(items)
    result = function(iterator, **objects)
    text = None if " at 0x" in str(result) else str(result)
    return type(result), text, objects, list(iterator)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_many_as_in_python(expression):
    source = (
        f"def function(b, {', '.join(OBJECTS)}):\n"
        f"    try:\n        return {expression}\n"
        "    except Exception as error:\n        return type(error), str(error)\n"
    )
    differences = []
    for items, (kind, make) in itertools.product(ITEMS, ITERATORS.items()):
        namespace = dict(MODULES, given=given)
        exec(source, namespace)
        armature.reset()
        expected = outcome(namespace["function"], items, make)
        found = outcome(armature.compile(namespace["function"]), items, make)
        if found != expected:
            differences.append((items, kind, expected, found))
    assert not differences

"""heapq and bisect: captured against plain."""

import bisect
import heapq
import random

import armature
import pytest
import torch
from differential import Cases, check

cases = Cases()


class Ordered:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __repr__(self):
        return f"Ordered({self.value})"


class Failing:
    def __lt__(self, other):
        raise ValueError("no order")


class Heap(list):
    pass


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


@cases.add([5, 3, 9, 1, 7, 3], torch.ones(2), breaks=0)
def given_heap(heap, x):
    heapq.heapify(heap)
    heapq.heappush(heap, 2)
    popped = [heapq.heappop(heap) for _ in range(3)]
    return popped, heapq.heapreplace(heap, 4), heapq.heappushpop(heap, 0), heap, x + 1


@cases.add(torch.ones(2), breaks=0)
def new_heap(x):
    heap = []
    for value in (3, 1, 2, 1.5, True):
        heapq.heappush(heap, (value, str(value)))
    return [heapq.heappop(heap) for _ in range(len(heap))], heap, x + 1


@cases.add([Ordered(3), Ordered(1), Ordered(2)], torch.ones(2), breaks=0)
def objects_with_an_order(items, x):
    heap = list(items)
    heapq.heapify(heap)
    heapq.heappush(heap, Ordered(0))
    return heapq.heappop(heap), heapq.heappushpop(heap, Ordered(5)), heap, x + 1


@cases.add([4, 8, 1, 9, 3, 7], torch.ones(2), breaks=0)
def smallest_and_largest(items, x):
    return (
        heapq.nsmallest(2, items),
        heapq.nlargest(2, items),
        heapq.nsmallest(3, items, key=lambda item: -item),
        heapq.nlargest(1, items),
        list(heapq.merge([1, 4], [2, 3])),
        x + 1,
    )


@cases.add(torch.ones(2), breaks=0)
def wrong_heaps(x):
    return (
        outcome(heapq.heappop, []),
        outcome(heapq.heapreplace, [], 1),
        outcome(heapq.heappushpop, [], 1),
        outcome(heapq.heappush, (), 1),
        outcome(heapq.heapify, None),
        outcome(heapq.heappop, {}),
        outcome(heapq.heappop),
        outcome(heapq.heappush, [1, "a"], 2),
        outcome(heapq.heapify, [Failing(), Failing()]),
        x + 1,
    )


@cases.add(torch.ones(2))
def heaps_of_a_subclass(x):
    heap = Heap([3, 1, 2])
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    return heapq.heappop(heap), list(heap), x + 1


@cases.add(torch.ones(2), breaks=0)
def shrinking_heap(x):
    heap = []

    class Shrinking:
        def __lt__(self, other):
            heap.clear()
            return True

    heap.extend([Shrinking(), Shrinking(), Shrinking()])
    return outcome(heapq.heapify, heap), len(heap), x + 1


@cases.add([1, 2, 2, 4], torch.ones(2), breaks=0)
def places(items, x):
    return (
        bisect.bisect(items, 2),
        bisect.bisect_left(items, 2),
        bisect.bisect_right((1, 2, 3), 9),
        bisect.bisect_left(items, 2, 2),
        bisect.bisect_left(items, 4, 0, 2),
        bisect.bisect([], 1),
        bisect.bisect([Ordered(1), Ordered(3)], Ordered(2)),
        outcome(bisect.bisect, items, 2, -1),
        outcome(bisect.bisect, items, "a"),
        outcome(bisect.bisect, items, 2, 0, 9),
        x + 1,
    )


@cases.add([1, 2, 2, 4], torch.ones(2))
def places_by_keyword(items, x):
    return bisect.bisect(items, 2, lo=1), bisect.bisect_left(items, -2, key=lambda i: -i), x + 1


@cases.add([3, 1, 2], torch.ones(2))
def break_in_a_comparison(items, x):
    class Breaking(Ordered):
        def __lt__(self, other):
            armature.graph_break()
            return self.value < other.value

    heap = [Breaking(item) for item in items]
    heapq.heapify(heap)
    return heapq.heappop(heap).value, x + 1


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_queue(fn, args, options):
    check(fn, *args, **options)


def test_random_heaps():
    def use(values, x):
        heap, out = [], []
        for value in values:
            if value % 3:
                heapq.heappush(heap, value)
            elif heap:
                out.append(heapq.heappop(heap))
        heapq._heapify_max(heap)
        if heap:
            out.append(heapq._heappop_max(heap))
        return out, heap, x + 1

    generator = random.Random(0)
    for _ in range(10):
        values = [generator.randrange(50) for _ in range(40)]
        armature.reset()  # each of these is another program
        check(use, values, torch.ones(2), breaks=0, calls=2)

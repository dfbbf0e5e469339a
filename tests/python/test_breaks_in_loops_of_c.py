"""A graph break in a function that C code calls for each item costs the instruction that breaks.

The rest of the function, the other calls and what comes behind the loop are captured.
"""

import gc
import sys
import weakref

import armature
import pytest
from counted_breaks import Cases, X, check_counts
from differential import check

CASES = Cases()
case = CASES.case


@pytest.mark.parametrize(("fn", "ops", "breaks"), CASES)
def test_all_but_the_instruction_is_captured(fn, ops, breaks):
    check_counts(fn, ops, breaks)


class Keys:
    """Calls that compute something before and after a break."""

    def __init__(self, x, breaks_at=()):
        self.x = x
        self.breaks_at = breaks_at
        self.calls = 0

    def __call__(self, item):
        self.x = self.x + item
        self.calls += 1
        if not self.breaks_at or self.calls in self.breaks_at:
            print("key", item)
        self.x = self.x * 2
        return -item


def sees(function, x, *arguments, breaks_at=(1,), **keywords):
    keys = Keys(x - 1, breaks_at)
    return function(*arguments, key=keys, **keywords), keys.x / 3


@case(ops=8)
def sorted_with_keys(x):
    return sees(sorted, x, [2, 3, 1], breaks_at=(3,))


@case(ops=8)
def sorted_in_reverse(x):
    keys = Keys(x - 1, (3,))
    return sorted([2, 3, 1], key=keys, reverse=True), keys.x / 3


@case(ops=8)
def sorted_by_a_function(x):
    seen = [x - 1]

    def key(item):
        seen[0] = seen[0] + item
        if item == 1:
            print("key")
        seen[0] = seen[0] * 2
        return -item

    return sorted([2, 3, 1], key=key), seen[0] / 3


@case(ops=8)
def minimum(x):
    keys = Keys(x - 1, (3,))
    return min([2, 3, 1], key=keys), keys.x / 3


@case(ops=8)
def maximum(x):
    keys = Keys(x - 1, (3,))
    return max(2, 3, 1, key=keys), keys.x / 3


@case(ops=8)
def sort(x):
    keys = Keys(x - 1, (3,))
    items = [2, 3, 1]
    items.sort(key=keys)
    return items, keys.x / 3


@case(ops=8)
def list_of_map(x):
    def function(item):
        y = item + 1
        if item is last:
            print("item")
        return y * 2

    last = x * 3
    return list(map(function, [x, x - 1, last]))


@case(ops=5)
def loop_over_map(x):
    def function(item, scale):
        y = item + 1
        if scale == 5:
            print("item")
        return y * scale

    results = []
    for y in map(function, [x, x - 1], [4, 5]):
        results.append(y)
    return results


def lists_in_a_sort(x):
    items, seen = [3, 1, 2], []

    def key(item):
        seen.append(list(items))
        print(item, items)
        return item

    items.sort(key=key)
    return items, seen, x + 1


def key_that_raises(x):
    items = [3, 1, 2, 4]
    keys = Keys(x)

    def key(item):
        keys(item)
        if item == 2:
            raise KeyError(item)
        return item

    errors = []
    for function in items.sort, lambda key: sorted(items, key=key), lambda key: max(items, key=key):
        try:
            function(key=key)
        except KeyError as error:
            errors.append(error.args)
    return items, errors, keys.x


def list_modified_in_a_sort(x):
    items = [3, 1, 2, 4]

    def key(item):
        print(item)
        items.append(item)
        return -item

    try:
        items.sort(key=key)
    except ValueError as error:
        return items, str(error), x + 1


class Ordered:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        print("less", self.value, other.value)
        if other.value == 7:
            raise KeyError(self.value)
        return self.value < other.value

    __gt__ = __lt__


def keys_that_compare(x):
    def key(item):
        print("key", item)
        return Ordered(item)

    items, results = [3, 1, 2, 4, 7, 5], []
    for function in sorted, min, max:
        for values in items[:4], items:
            try:
                results.append(function(values, key=key))
            except KeyError as error:
                results.append(error.args)
    try:
        items.sort(key=key)
    except KeyError:
        pass
    return items, results, x + 1


def no_items(x):
    print("before")
    return [
        sorted([], key=print),
        max([], key=print, default=x + 1),
        min([], key=print, default=None),
        list(map(print, [])),
    ]


def no_default(x):
    try:
        return max([], key=print)
    except ValueError as error:
        return str(error), x + 1


def wrong_keys(x):
    results = []
    for function in sorted, min, lambda items, key: items.sort(key=key):
        try:
            results.append(function([3, 4], key=5))
        except TypeError as error:
            results.append(str(error))
    return results, x + 1


def ends_of_maps(x):
    def function(item):
        print(item)
        if item == 3:
            raise StopIteration("end")
        return x + item

    results = [list(map(function, [1, 2, 3, 4]))]
    for y in map(function, [1, 3, 5]):
        results.append(y)
    for y in map(function, []):
        results.append(y)
    return results


def error_in_a_map(x):
    def function(item):
        print(item)
        return 1 / (item - 3)

    iterator = map(function, [1, 2, 3, 4])
    try:
        return list(iterator)
    except ZeroDivisionError:
        return list(iterator), x + 1


def maps_of_maps(x):
    def first(item):
        print("first", item)
        return x + item

    def second(item, other):
        print("second", other)
        return item * other

    iterator = map(second, map(first, [1, 2, 3]), map(abs, [-4, -5]))
    return list(iterator), list(iterator)


def keys_of_generators(x):
    def generate():
        for i in range(3):
            print("item", i)
            yield i

    keys = Keys(x)
    return max(generate(), key=keys), sorted(generate(), key=keys), keys.x


def recursive_keys(x):
    def key(item):
        print("key", item)
        if isinstance(item, list):
            return max(sorted(item, key=key), key=key)
        return -item

    return sorted([[3, 1], 5, [2, 7], 1], key=key), x + 1


def unhashable_keywords(x):
    keys = Keys(x)
    return max([3, 1], default=5, key=keys), max(3, 1, key=keys), keys.x


programs = [
    lists_in_a_sort,
    key_that_raises,
    list_modified_in_a_sort,
    keys_that_compare,
    no_items,
    no_default,
    wrong_keys,
    ends_of_maps,
    error_in_a_map,
    maps_of_maps,
    keys_of_generators,
    recursive_keys,
    unhashable_keywords,
]


@pytest.mark.parametrize("program", programs, ids=lambda program: program.__name__)
def test_loops(program):
    check(program, X, more=((X * 2,),))


def test_frames_are_the_program_s():
    def names():
        frame, found = sys._getframe(1), []
        while frame.f_code.co_name != "program":
            found.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        return found, frame.f_lineno

    def program(x):
        seen = []

        def key(item):
            seen.append(names())
            return -item

        items = sorted([3, 1, 2], key=key)
        items.sort(key=key)
        return max(items, key=key), list(map(key, items)), seen, x + 1

    compiled = armature.compile(program)
    for _ in range(3):
        assert compiled(X)[:3] == program(X)[:3]


def test_nothing_is_kept():
    class Item:
        def __init__(self, value):
            self.value = value

    def program(items, references):
        def key(item):
            print(end="")
            return -item.value

        references.append(weakref.ref(items[0]))
        items.sort(key=key)
        largest = max(items, key=key)
        del items[:]
        references.append(weakref.ref(largest))

    gc.collect()
    gc.disable()
    try:
        compiled = armature.compile(program)
        for _ in range(3):
            references = []
            compiled([Item(3), Item(5), Item(4)], references)
            assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()

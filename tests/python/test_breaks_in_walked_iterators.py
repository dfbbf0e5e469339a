"""A graph break in a generator, or a `__next__`, that C code walks over costs its instruction."""

from __future__ import annotations

import functools
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from counted_breaks import Cases, X, check_counts

CASES = Cases()
case = CASES.case


class Steps:
    """What the generator does, as an object."""

    def __init__(self, x, items, breaks_at, raises_at, log):
        self.x, self.items, self.index = x, items, -1
        self.breaks_at, self.raises_at, self.log = breaks_at, raises_at, log

    def __iter__(self):
        return self

    def __next__(self):
        self.index += 1
        if self.index == len(self.items):
            raise StopIteration("end")
        self.x = self.x + self.index
        if self.index in self.breaks_at:
            print("break", self.index)
        self.log.append((self.index, self.x * 2))
        if self.index == self.raises_at:
            raise KeyError(self.index)
        return self.items[self.index]


def steps(x, items, breaks_at, raises_at, log):
    try:
        for index, item in enumerate(items):
            x = x + index
            if index in breaks_at:
                print("break", index)
            log.append((index, x * 2))
            if index == raises_at:
                raise KeyError(index)
            yield item
    finally:
        log.append("end")


class Text:
    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Text) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __lt__(self, other):
        return self.text < other.text

    def __repr__(self):
        return f"Text({self.text!r})"


def extended(items):
    result = [0]
    result.extend(items)
    return result


def subtracted(total, item):
    print("subtract")
    return total - item


def keyed(function):
    def run(items):
        def key(item):
            print("key")
            return -item

        return function(items, key=key)

    return run


CONSUMERS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "list": (list, (3, 1, 2)),
    "tuple": (tuple, (3, 1, 2)),
    "set": (set, (3, 1, 3)),
    "set of what does not hash": (set, (3, [], 3)),
    "set of objects": (set, (Text("b"), Text("a"), Text("b"))),
    "frozenset": (frozenset, (3, 1, 3)),
    "frozenset of what does not hash": (frozenset, (3, [], 3)),
    "sorted": (sorted, (3, 1, 2)),
    "sorted in reverse": (lambda items: sorted(items, reverse=2), (3, 1, 2)),
    "sorted by key": (keyed(sorted), (3, 1, 2)),
    "sorted with a wrong keyword": (lambda items: sorted(items, other=1), (3, 1, 2)),
    "sorted objects": (sorted, (Text("b"), Text("a"), Text("c"))),
    "sum": (sum, (3, 1.5, 2)),
    "sum from": (lambda items: sum(items, [0]), ([3], [1], [2])),
    "sum of others": (sum, (3, "a", 2)),
    "sum that overflows": (sum, (0.5, 10**400, 2)),
    "reduce": (lambda items: functools.reduce(subtracted, items), (3, 1, 2)),
    "reduce from": (lambda items: functools.reduce(subtracted, items, 10), (3, 1, 2)),
    "reduce of one": (lambda items: functools.reduce(subtracted, items), (3,)),
    "reduce of none": (lambda items: functools.reduce(subtracted, items), ()),
    "reduce of none from": (lambda items: functools.reduce(subtracted, items, 7), ()),
    "reduce of others": (lambda items: functools.reduce(subtracted, items), (3, "a", 2)),
    "reduce by C": (lambda items: functools.reduce(operator.add, items), (3, 1, 2)),
    "any": (any, (0, 1, 2)),
    "no": (any, (0, [], "")),
    "all": (all, (1, 0, 2)),
    "every": (all, (1, "a", 2)),
    "min": (min, (3, 1, 2)),
    "max": (max, (3, 1, 2)),
    "min by key": (keyed(min), (3, 1, 2)),
    "max of none": (lambda items: max(items, default=7), ()),
    "min of none": (min, ()),
    "max of others": (max, (3, "a", 2)),
    "join": ("-".join, ("a", "b", "c")),
    "join of others": ("-".join, ("a", 3, "c")),
    "extend": (extended, (3, 1, 2)),
    "in": (lambda items: 1 in items, (3, 1, 2)),
    "not in": (lambda items: 7 not in items, (3, 1, 2)),
    "in by equality": (lambda items: Text("b") in items, (3, Text("b"), 2)),
}


def outcome(fn: Callable[..., Any], *arguments: Any) -> Any:
    try:
        result: Any = fn(*arguments)
        return repr(result) if isinstance(result, (set, frozenset)) else repr((result,))
    except Exception as error:
        frames = traceback.extract_tb(sys.exc_info()[2])[1:]
        return repr(error), [(frame.name, frame.lineno) for frame in frames]


@pytest.mark.parametrize("name", CONSUMERS)
@pytest.mark.parametrize("make", [steps, Steps])
def test_as_plain_python(name: str, make: Callable[..., Iterator[Any]]) -> None:
    consume, items = CONSUMERS[name]

    def run(x, breaks_at, raises_at, log):
        found = consume(make(x, items, breaks_at, raises_at, log))
        log.append("after")
        return found

    compiled = armature.compile(run)
    for raises_at in (-1, 1):
        for breaks_at in ((), (0,), (1,), (2,), (0, 2), (0, 1, 2)):
            expected_log: list[Any] = []
            log: list[Any] = []
            expected = outcome(run, X, breaks_at, raises_at, expected_log)
            assert outcome(compiled, X, breaks_at, raises_at, log) == expected, breaks_at
            assert len(log) == len(expected_log)
            for one, other in zip(log, expected_log, strict=True):
                same = one == other if isinstance(other, str) else one[0] == other[0]
                assert same and (isinstance(other, str) or torch.equal(one[1], other[1]))


def counting(x, last):
    for i in range(3):
        x = x + i
        if i == last:
            print("break")
        yield x * 2


@case(ops=6)
def list_of_a_generator(x):
    return list(counting(x, 2))


@case(ops=6)
def tuple_of_a_generator(x):
    return tuple(counting(x, 2))


@case(ops=8)
def sum_of_a_generator(x):
    return sum(counting(x, 2))


@case(ops=8)
def reduction_of_a_generator(x):
    return functools.reduce(lambda total, item: total - item, counting(x, 2))


@case(ops=8)
def reduction_by_what_breaks(x):
    def add(total, item):
        if item == 2:
            print("break")
        return total * item + x

    return functools.reduce(add, range(4), x)


@case(ops=7)
def extended_by_a_generator(x):
    found = [x - 1]
    found.extend(counting(x, 2))
    return found


@case(ops=8)
def greatest_of_a_generator(x):
    seen = []

    def steps():
        y = x - 1
        for i in range(3):
            y = y + i
            if i == 2:
                print("break")
            y = y * 2
            seen.append(y)
            yield i

    return max(steps()), seen[-1] / 2


@case(ops=7)
def found_in_a_generator(x):
    seen = []

    def steps():
        y = x - 1
        for i in range(3):
            y = y + i
            if i == 2:
                print("break")
            y = y * 2
            seen.append(y)
            yield i

    return 2 in steps(), seen


@pytest.mark.parametrize(("fn", "ops", "breaks"), CASES)
def test_all_but_the_instruction_is_captured(fn, ops, breaks):
    check_counts(fn, ops, breaks)


def test_list_that_is_extended_is_seen_meanwhile() -> None:
    def run(x, breaks_at):
        found = [x]

        def steps():
            for i in range(4):
                if i == breaks_at:
                    print("break")
                yield len(found)

        found.extend(steps())
        return found[1:]

    compiled = armature.compile(run)
    for breaks_at in (-1, 0, 1, 3):
        assert compiled(X, breaks_at) == run(X, breaks_at) == [1, 2, 3, 4]


def test_many_items_are_gathered() -> None:
    def run(x, count):
        def steps():
            for i in range(count):
                if i == 3:
                    print("break")
                yield i

        return sum(steps()), max(steps()), len(list(steps())), count - 1 in steps()

    compiled = armature.compile(run)
    assert compiled(X, 1500) == run(X, 1500)


def test_generators_are_let_go_of_behind_the_loop() -> None:
    def run(x):
        log = []

        def steps():
            try:
                for i in range(3):
                    print("break")
                    yield i
            finally:
                log.append("end")

        first = any(steps())
        log.append("any")
        second = 1 in steps()
        log.append("in")
        return first, second, log

    assert armature.compile(run)(X) == run(X)


class Sized:
    """What has no end of its own, asked how long it is."""

    def __init__(self, log, items):
        self.log, self.items = log, items

    def __iter__(self):
        self.log.append("iter")
        return steps(X, self.items, (1,), -1, self.log)

    def __length_hint__(self):
        self.log.append("hint")
        return 3


class Unwalked:
    pass


@pytest.mark.parametrize("name", CONSUMERS)
def test_what_is_asked_before_the_items(name: str) -> None:
    consume, items = CONSUMERS[name]

    def run(log):
        return consume(Sized(log, items))

    def refused(log):
        return consume(Unwalked())

    for program in (run, refused):
        compiled = armature.compile(program)
        for _ in range(2):
            expected_log: list[Any] = []
            log: list[Any] = []
            expected = outcome(program, expected_log)
            assert outcome(compiled, log) == expected
            words = [
                [entry for entry in each if isinstance(entry, str)] for each in (log, expected_log)
            ]
            assert words[0] == words[1]


class Upwards(set):
    def __iter__(self):
        return iter([7])


def test_sets_of_sets_are_read_as_sets() -> None:
    def run(items):
        return set(items), list(items)

    compiled = armature.compile(run)
    for _ in range(2):
        assert compiled(Upwards([1, 2])) == run(Upwards([1, 2])) == ({1, 2}, [7])


def test_items_of_a_set_are_hashed_as_they_come() -> None:
    def run(make, log):
        def items():
            for item in (1, [], 2):
                log.append(item)
                yield item

        return make(items())

    for make in (set, frozenset):
        compiled = armature.compile(run)
        for _ in range(2):
            log: list[Any] = []
            with pytest.raises(TypeError, match="unhashable"):
                compiled(make, log)
            assert log == [1, []]

"""collections.deque in traced code: made, given, changed, walked over, bounded, subclassed."""

import collections
import copy
import operator
import random
from collections import deque

import armature
import pytest
import torch
from differential import breaking_every, check


class Tagged(deque):
    """With attributes of its own, and one method overridden."""

    def __init__(self, items=(), maxlen=None, tag="none"):
        super().__init__(items, maxlen)
        self.tag = tag

    def append(self, item):
        super().append((self.tag, item))


class Plain(deque):
    pass


class Backwards(deque):
    def __iter__(self):
        return deque.__reversed__(self)


OPERATIONS = {
    "append": lambda d: d.append(9),
    "appendleft": lambda d: d.appendleft(9),
    "pop": lambda d: d.pop(),
    "popleft": lambda d: d.popleft(),
    "clear": lambda d: d.clear(),
    "copy": lambda d: (d.copy(), copy.copy(d), copy.deepcopy(d)),
    "count": lambda d: d.count(2),
    "extend": lambda d: d.extend([7, 8]),
    "extend by itself": lambda d: d.extend(d),
    "extend by a generator": lambda d: d.extend(v * 2 for v in range(3)),
    "extendleft": lambda d: d.extendleft("ab"),
    "extendleft by itself": lambda d: d.extendleft(d),
    "extend by a number": lambda d: d.extend(5),
    "index": lambda d: d.index(3),
    "index from": lambda d: d.index(3, -1),
    "index to": lambda d: d.index(3, 0, 1),
    "index of nothing": lambda d: d.index("no"),
    "index by a str": lambda d: d.index(1, "a"),
    "insert": lambda d: d.insert(1, 9),
    "insert at the front": lambda d: d.insert(0, 9),
    "insert from behind": lambda d: d.insert(-1, 9),
    "insert far": lambda d: d.insert(99, 9),
    "insert far before": lambda d: d.insert(-99, 9),
    "insert at a str": lambda d: d.insert("a", 9),
    "insert nothing": lambda d: d.insert(1),
    "remove": lambda d: d.remove(2),
    "remove nothing": lambda d: d.remove("no"),
    "reverse": lambda d: d.reverse(),
    "reversed": lambda d: list(reversed(d)),
    "rotate": lambda d: d.rotate(),
    "rotate left": lambda d: d.rotate(-1),
    "rotate far": lambda d: d.rotate(7),
    "rotate by a str": lambda d: d.rotate("a"),
    "rotate by two": lambda d: d.rotate(1, 2),
    "maxlen": lambda d: d.maxlen,
    "len": lambda d: (len(d), bool(d)),
    "first": lambda d: d[0],
    "last": lambda d: d[-1],
    "far": lambda d: d[9],
    "slice": lambda d: d[1:2],
    "by a str": lambda d: d["a"],
    "set": lambda d: d.__setitem__(1, 9),
    "set far": lambda d: d.__setitem__(9, 9),
    "del": lambda d: d.__delitem__(1),
    "del far": lambda d: d.__delitem__(-9),
    "contains": lambda d: (2 in d, "no" in d),
    "add": lambda d: d + deque([5]),
    "add a list": lambda d: d + [5],
    "added to a list": lambda d: [5] + d,
    "added to a tuple": lambda d: (5,) + d,
    "times": lambda d: (d * 2, 3 * d, d * 0, d * -1),
    "times a str": lambda d: d * "a",
    "compared": lambda d: (d == deque([1, 2, 3]), d != deque([1]), d < deque([2]), d >= deque()),
    "equal to itself": lambda d: (d == d, d != d, d <= d),
    "equal to a list": lambda d: d == [1, 2, 3],
    "less than a list": lambda d: d < [1, 2, 3],
    "repr": repr,
    "str": lambda d: f"{d}",
    "hash": hash,
    "unpacked": lambda d: [*d],
    "unpacked to two": lambda d: (lambda a, b: (a, b))(*d),
    "sorted": lambda d: sorted(d, reverse=True),
    "sum": sum,
    "tuple": tuple,
    "reduced": lambda d: d.__reduce__()[:3],
    "iterators": lambda d: (type(iter(d)).__name__, type(reversed(d)).__name__),
    "maxlen set": lambda d: setattr(d, "maxlen", 1),
    "attribute": lambda d: d.nothing,
    "isinstance": lambda d: (
        isinstance(d, deque),
        isinstance(d, collections.abc.Sequence),
        type(d),
    ),
    "id": lambda d: id(d) == id(d),
    "initialized again": lambda d: d.__init__([4, 5], d.maxlen),
    "zip": lambda d: list(zip(d, reversed(d), strict=True)),
}


def in_place_add(d):
    before = d
    d += d
    d += [4]
    return before is d


def in_place_times(d):
    before = d
    d *= 2
    return before is d


OPERATIONS["in place"] = in_place_add
OPERATIONS["in place times"] = in_place_times
MAKERS = {
    "free": lambda: deque([1, 2, 3]),
    "bounded": lambda: deque([1, 2, 3], 3),
    "roomy": lambda: deque([1, 2, 3], 5),
    "of none": lambda: deque([1, 2, 3], 0),
    "empty": deque,
    "subclass": lambda: Plain([1, 2, 3], 4),
    "tagged": lambda: Tagged([1, 2, 3], 4, "t"),
    "backwards": lambda: Backwards([1, 2, 3]),
}


MISTAKES = {
    "append two": lambda d: d.append(1, 2),
    "pop by keyword": lambda d: d.pop(x=1),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistaken_call(name):
    mistake = MISTAKES[name]

    def function(d, x):
        try:
            mistake(d)
        except TypeError as error:
            return str(error), x + len(d)

    check(function, deque([1, 2, 3]), torch.ones(2), breaks=0)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name, maker):
    operation, make = OPERATIONS[name], MAKERS[maker]

    def made(x):
        d = make()
        try:
            result = operation(d)
        except Exception as error:
            result = type(error), str(error)
        return d, result, x + len(d)

    def given(d, x):
        try:
            result = operation(d)
        except Exception as error:
            result = type(error), str(error)
        return result, x + len(d)

    check(made, torch.ones(2))
    check(given, make(), torch.ones(2))


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_is_captured_whole(name):
    operation = OPERATIONS[name]

    def function(d, x):
        try:
            result = operation(d)
        except Exception as error:
            result = type(error), str(error)
        return result, x + len(d)

    check(function, deque([1, 2, 3], 5), torch.ones(2), breaks=0)


CONSTRUCTIONS = {
    "empty": lambda: deque(),
    "of a generator": lambda: deque(v for v in range(5)),
    "bounded": lambda: deque(range(5), 2),
    "by keywords": lambda: deque(iterable="abc", maxlen=2),
    "none": lambda: deque([1], None),
    "true": lambda: deque([1, 2], True),
    "negative": lambda: deque([1], -1),
    "float": lambda: deque([1], 1.5),
    "huge": lambda: deque([1], 10**30),
    "number": lambda: deque(5),
    "three": lambda: deque(1, 2, 3),
    "unknown keyword": lambda: deque(nope=1),
    "alias": lambda: deque[int]([1]),
    "of itself": lambda: (lambda d: (d.append(d), d, repr(d))[1:])(deque([1])),
    "subclass": lambda: (Tagged([1], 2, tag="u"), Plain("ab", maxlen=1)),
    "new": lambda: (deque.__new__(Plain), Plain.__new__(Plain, 1, 2)),
}


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_construction(name):
    construct = CONSTRUCTIONS[name]

    def function(x):
        try:
            return construct(), x + 1
        except Exception as error:
            return type(error), str(error)

    check(function, torch.ones(2))


def test_iteration_notices_changes():
    def function(d, x):
        seen = []
        for change in (d.append, d.appendleft, d.__setitem__):
            try:
                for item in d:
                    seen.append(item)
                    change(0) if change != d.__setitem__ else change(0, 5)
                    if len(seen) > 40:
                        break
            except RuntimeError as error:
                seen.append(str(error))
        iterator, behind = iter(d), reversed(d)
        next(iterator), next(behind)
        d.rotate()
        for each in (iterator, behind, iterator, behind):
            try:
                seen.append(next(each, "end"))
            except RuntimeError as error:
                seen.append(str(error))
        return seen, x + 1

    check(function, deque([1, 2]), torch.ones(2))
    check(lambda x: function(deque([1, 2]), x), torch.ones(2))


class Meddler:
    """Whose comparison changes the deque."""

    def __init__(self, target):
        self.target = target

    def __eq__(self, other):
        self.target.append(7)
        return False


@pytest.mark.parametrize("search", ["count", "index", "remove", "__contains__"])
def test_changes_by_comparisons(search):
    def function(x):
        d = deque([1, 2])
        d.appendleft(Meddler(d))
        try:
            return getattr(d, search)(99), x + 1
        except Exception as error:
            return type(error), str(error), len(d)

    check(function, torch.ones(2))


def test_an_iterator_that_exists_notices_replayed_changes():
    def outcome(function, items, bound, change):
        d = deque(items, bound)
        iterator = iter(d)
        next(iterator, None)
        function(d, change, torch.ones(1))
        try:
            return list(d), next(iterator, "end")
        except RuntimeError as error:
            return list(d), str(error)

    changes = {
        "append and pop": lambda d: (d.append(1), d.pop()),
        "many": lambda d: [(d.append(i), d.popleft()) for i in range(60)] and None,
        "rotate": lambda d: d.rotate(0),
        "set": lambda d: d.__setitem__(0, 5),
        "reverse": lambda d: d.reverse(),
    }

    def function(d, change, x):
        change(d)
        return x + 1

    for change in changes.values():
        for items in ([1], [1, 2, 3]):
            for bound in (None, 3):
                compiled = armature.compile(function)
                expected = outcome(function, items, bound, change)
                assert outcome(compiled, items, bound, change) == expected


def test_bound_length_and_items_are_guarded():
    def function(d, x):
        d.append(len(d))
        return x * d[0] if d else x

    compiled = armature.compile(function)
    for items, bound in [
        ([1, 2], 3),
        ([1, 2], 2),
        ([1, 2], None),
        ([4, 2], None),
        ([1], 0),
        ([1], 1),
    ]:
        for _ in range(2):
            plain, given = deque(items, bound), deque(items, bound)
            expected = function(plain, torch.ones(2))
            assert torch.equal(compiled(given, torch.ones(2)), expected)
            assert given == plain


def test_aliases():
    def function(a, b, x):
        a.append(1)
        b.appendleft(2)
        return a is b, len(a), x + len(b)

    compiled = armature.compile(function)
    for _ in range(2):
        for same in (True, False):
            results = []
            for each in (function, compiled):
                a = deque([0])
                b = a if same else deque([0])
                results.append((each(a, b, torch.ones(1)), a, b))
            assert results[0] == results[1]


def test_long_queue():
    def function(d, x):
        total = 0
        for i in range(1500):
            d.append(i)
            if len(d) > 3:
                total += d.popleft()
        return x + total

    check(function, deque([5, 6]), torch.ones(2), breaks=0)
    check(function, deque([5, 6], 2), torch.ones(2), breaks=0)


def test_breaks_in_loops_over_deques():
    def function(d, x):
        total = 0
        for i, item in enumerate(d):
            print(item)
            armature.graph_break()
            total += i * item
        return x + total

    check(function, deque([3, 4, 5], 9), torch.ones(2))
    check(lambda x: function(deque([3, 4, 5]), x), torch.ones(2))


def test_breaks_after_changes():
    def function(d, x):
        d.append(1)
        iterator = iter(d)
        next(iterator)
        armature.graph_break()
        d.rotate(1)
        try:
            return next(iterator), x
        except RuntimeError as error:
            return str(error), x

    check(function, deque([3, 4, 5], 9), torch.ones(2))


def test_tensors_in_deques():
    def function(history, x):
        history.append(x * 2)
        return torch.stack(list(history)).sum(), sum(history)

    for count in (0, 2, 3):
        history = deque([torch.ones(2) * i for i in range(count)], maxlen=3)
        check(function, history, torch.ones(2), breaks=0)


def test_random_operations():
    steps = [
        lambda d, v: d.append(v),
        lambda d, v: d.appendleft(v),
        lambda d, v: d.extend([v, v + 1]),
        lambda d, v: d.extendleft([v, v + 1]),
        lambda d, v: d.rotate(v - 4),
        lambda d, v: d.reverse(),
        lambda d, v: d.insert(v - 4, v),
        lambda d, v: d.pop(),
        lambda d, v: d.popleft(),
        lambda d, v: d.__delitem__(v - 4),
        lambda d, v: d.__setitem__(v - 4, v),
        lambda d, v: d.__setitem__(-1, v),
        lambda d, v: d.remove(v),
    ]

    def function(d, program, x):
        errors = []
        for step, value in program:
            try:
                step(d, value)
            except (IndexError, ValueError) as error:
                errors.append(str(error))
        return errors, x + len(d)

    generator = random.Random(7)
    for _ in range(150):
        program = tuple(
            (generator.choice(steps), generator.randrange(9))
            for _ in range(generator.randrange(1, 12))
        )
        bound = generator.choice([None, None, 0, 1, 3, 6])
        items = [generator.randrange(9) for _ in range(generator.randrange(6))]
        plain, given = deque(items, bound), deque(items, bound)
        expected = function(plain, program, torch.ones(1))
        result = armature.compile(function)(given, program, torch.ones(1))
        assert result == expected and given == plain, (items, bound, program)


CHANGES_UNDER_ITERATORS = {
    "reverse": lambda d: d.reverse(),
    "reverse twice": lambda d: (d.reverse(), d.reverse()),
    "reverse and set": lambda d: (d.reverse(), operator.setitem(d, 0, 9)),
    "set and reverse": lambda d: (operator.setitem(d, 0, 9), d.reverse()),
    "reverse and append": lambda d: (d.reverse(), d.append(8)),
    "rotate and reverse": lambda d: (d.rotate(1), d.reverse(), list(d)),
    "clear and reverse": lambda d: (d.clear(), d.extend([5, 6, 7]), d.reverse()),
    "reverse and take": lambda d: (d.reverse(), d.pop(), d.reverse(), d.popleft()),
    "reverse of few": lambda d: (d.reverse(), d.clear(), d.reverse()),
}


@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize("name", CHANGES_UNDER_ITERATORS)
def test_what_held_iterators_notice(name, every):
    def outcome(call):
        held = collections.deque([1, 2, 3, 4], 5)
        iterators = iter(held), reversed(held)
        taken = [next(each) for each in iterators]
        result = call(held)
        for each in iterators:
            try:
                taken.append(list(each))
            except RuntimeError as error:
                taken.append(str(error))
        return str(result), held, taken

    with breaking_every(every):
        compiled = armature.compile(lambda d: CHANGES_UNDER_ITERATORS[name](d))
        for _ in range(2):
            assert outcome(compiled) == outcome(CHANGES_UNDER_ITERATORS[name])

"""itertools and functools.reduce in traced code: each class, stepped, left standing anywhere and
handed out of the trace."""

import functools
import itertools
import operator

import armature
import pytest
import torch
from differential import breaking_every, check

ITERATORS = {
    "count": lambda: itertools.count(3, 2),
    "count of a float": lambda: itertools.count(0.5),
    "repeat": lambda: itertools.repeat("a", 4),
    "repeat for ever": lambda: itertools.repeat(7),
    "cycle": lambda: itertools.cycle([1, 2, 3]),
    "cycle of nothing": lambda: itertools.cycle(()),
    "takewhile": lambda: itertools.takewhile(lambda v: v != 3, [1, 2, 3, 4]),
    "dropwhile": lambda: itertools.dropwhile(lambda v: v < 2, [1, 2, 1, 4]),
    "filterfalse": lambda: itertools.filterfalse(lambda v: v % 2, range(8)),
    "filterfalse by truth": lambda: itertools.filterfalse(None, [0, 1, "", 2, []]),
    "starmap": lambda: itertools.starmap(pow, [(1, 2), [3, 2], (2, 5)]),
    "compress": lambda: itertools.compress("abcdef", [1, 0, True, 0, 1]),
    "accumulate": lambda: itertools.accumulate([1, 2, 3, 4]),
    "accumulate by a function": lambda: itertools.accumulate([1, 2, 3], lambda a, b: a * 10 + b),
    "accumulate from": lambda: itertools.accumulate("bcd", initial="a"),
    "islice": lambda: itertools.islice(range(20), 2, 12, 3),
    "islice without end": lambda: itertools.islice(itertools.count(), 1, None, 2),
    "islice to": lambda: itertools.islice("abcdef", 3),
    "pairwise": lambda: itertools.pairwise("abcd"),
    "pairwise of one": lambda: itertools.pairwise("a"),
    "zip_longest": lambda: itertools.zip_longest([1, 2, 3], "a", (), fillvalue="-"),
    "zip_longest of nothing": lambda: itertools.zip_longest(),
    "groupby": lambda: ((key, list(group)) for key, group in itertools.groupby("aabca")),
    "groupby passed over": lambda: (
        key for key, _ in itertools.groupby([1, 3, 2, 5], lambda v: v % 2)
    ),
    "product": lambda: itertools.product([1, 2], "ab"),
    "product with itself": lambda: itertools.product("ab", repeat=2),
    "product of nothing": lambda: itertools.product(),
    "product with nothing": lambda: itertools.product([1], []),
    "permutations": lambda: itertools.permutations([1, 2, 3]),
    "permutations of two": lambda: itertools.permutations("abc", 2),
    "combinations": lambda: itertools.combinations("abcd", 2),
    "combinations of too many": lambda: itertools.combinations("ab", 3),
    "combinations with replacement": lambda: itertools.combinations_with_replacement("abc", 2),
    "tee": lambda: itertools.tee([1, 2, 3])[1],
}


@pytest.mark.parametrize("name", ITERATORS)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 12])
def test_iterator_is_stepped_and_left(name, steps):
    make = ITERATORS[name]

    def given(x):
        iterator = make()
        taken = [next(iterator, "end") for _ in range(steps)]
        return x + 1, taken, next(iterator, "end")

    check(given, torch.ones(2), breaks=0)

    def left(x):
        iterator = make()
        for _ in range(steps):
            next(iterator, None)
        return iterator

    plain, captured = left(torch.ones(2)), armature.compile(left)(torch.ones(2))
    assert type(captured) is type(plain)
    for _ in range(8):
        assert next(captured, "end") == next(plain, "end")


@pytest.mark.parametrize("name", [name for name in ITERATORS if "groupby" not in name])
def test_break_amid_iteration(name):
    make = ITERATORS[name]

    def broken(x):
        seen = []
        for item in itertools.islice(make(), 5):
            armature.graph_break()
            x = x + 1
            seen.append(item)
        return x, seen

    check(broken, torch.ones(2))


def of_tensors(x):
    total = functools.reduce(torch.add, itertools.repeat(x, 3))
    sums = list(itertools.accumulate([x, x * 2, x * 3], operator.mul))
    pairs = [a - b for a, b in itertools.pairwise([x, x + 1, x])]
    products = [a * b for a, b in itertools.product([x, x + 1], repeat=2)]
    slices = [v + 1 for v in itertools.islice(x, 1, None)]
    return total, sums, pairs, products, slices, list(itertools.starmap(torch.sub, [(x, x)]))


def tees(x):
    first, second = itertools.tee(iter([x, x + 1, x + 2]))
    head = next(first)
    third = itertools.tee(first, 1)[0]
    (fourth,) = itertools.tee(second, 1)
    return head, next(second), list(third), list(first), fourth is second, list(fourth)


def groups(x):
    kept = []
    for key, group in itertools.groupby([1, 1, 2, 2, 1], lambda v: v == 1):
        first = next(group)
        kept.append((key, first, group))  # noqa: B031
    stale = [list(old) for _, _, old in kept]
    return x + len(kept), [(key, first) for key, first, _ in kept], stale


def reduced(x):
    empty = None
    try:
        functools.reduce(operator.add, [])
    except TypeError as error:
        empty = str(error)
    try:
        functools.reduce(operator.add, 3)
    except TypeError as error:
        return functools.reduce(lambda a, b: a * b, range(1, 5), 2), empty, str(error), x + 1


def raised(x):
    errors = []
    for make in (
        lambda: itertools.islice([1], -1),
        lambda: itertools.islice([1], 1, -1),
        lambda: itertools.islice([1], 0, 1, 0),
        lambda: itertools.islice([1], "a"),
        lambda: itertools.combinations([1], -1),
        lambda: itertools.permutations([1], "a"),
        lambda: itertools.product([1], repeat=-1),
        lambda: itertools.count("a"),
        lambda: itertools.cycle(3),
        lambda: itertools.takewhile(bool),
        lambda: itertools.zip_longest([1], fill=2),
        lambda: itertools.tee([1], -1),
        lambda: itertools.repeat(),
        lambda: next(itertools.starmap(pow, [3])),
        lambda: next(itertools.takewhile(lambda v: v / 0, [3])),
    ):
        try:
            make()
        except Exception as error:
            errors.append((type(error), str(error)))
    return x + len(errors), errors


def shared_source(x):
    source = iter(range(10))
    pairs = list(zip(source, itertools.islice(source, 3)))
    rest = list(itertools.takewhile(lambda v: v < 8, source))
    return x, pairs, rest, list(source)


@pytest.mark.parametrize("fn", [of_tensors, tees, groups, reduced, raised, shared_source])
def test_as_in_python(fn):
    check(fn, torch.arange(3.0), breaks=0)


def test_tees_share_what_they_read_behind_a_trace():
    def made(x):
        source = iter([x, 1, 2, 3])
        first, second = itertools.tee(source)
        next(first)
        return first, second, source

    first, second, source = armature.compile(made)(torch.ones(1))
    assert next(first) == 1 and next(source) == 2
    assert [next(second) is not None, next(second)] == [True, 1]
    assert list(first) == [3] and list(second) == [3]


def test_cycle_keeps_the_objects():
    def made(x):
        cycle = itertools.cycle([x + 1, x + 2])
        return next(cycle), cycle

    first, cycle = armature.compile(made)(torch.ones(1))
    next(cycle)
    assert next(cycle) is first


def test_replaced_class(monkeypatch):
    def counted(x):
        return x + next(itertools.count(2))

    compiled = armature.compile(counted)
    assert compiled(torch.zeros(1)) == 2
    monkeypatch.setattr(itertools, "count", lambda start: iter([start * 10]))
    assert compiled(torch.zeros(1)) == 20


def test_long_loop():
    def looped(x):
        total = 0
        for index in itertools.islice(itertools.count(), 1500):
            total += index
        for a, b in itertools.combinations(range(40), 2):
            total += a * b
        return x + total

    check(looped, torch.ones(1), breaks=0)


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_groups_that_outlive_the_trace(taken):
    """Python has no way to make a groupby that stands amid a group: such a call runs plainly."""

    def left(x):
        groups = itertools.groupby([1, 1, 1, 2, 2])
        key, group = next(groups)
        items = [next(group) for _ in range(taken)]
        return x + key, items, groups, group

    _, items, groups, group = armature.compile(left)(torch.ones(1))
    assert items + list(group) == [1, 1, 1]
    assert [(key, list(items)) for key, items in groups] == [(2, [2, 2])]
    assert list(group) == []


def test_a_tee_that_is_entered_again():
    class Reading:
        first = True

        def __iter__(self):
            return self

        def __next__(self):
            first, self.first = self.first, False
            return next(b) if first else 1

    b = None

    def reading(x):
        nonlocal b
        a, b = itertools.tee(Reading())
        try:
            next(a)
        except RuntimeError as error:
            return x + 1, str(error)
        return x

    check(reading, torch.ones(1))


def cycled(a, b):
    c = itertools.cycle([a, b])
    armature.graph_break()
    return next(c), next(c), next(c)


def cycled_slice(a, b):
    c = itertools.islice(itertools.cycle([a, b]), 3)
    armature.graph_break()
    return list(c)


def cycled_amid(a, b):
    c = itertools.cycle([a, b])
    next(c)
    armature.graph_break()
    first = [next(c) for _ in range(4)]
    armature.graph_break()
    return first, [next(c) for _ in range(3)]


def cycled_nothing(a, b):
    c = itertools.cycle([])
    armature.graph_break()
    first = next(c, 1)
    armature.graph_break()
    return first, next(c, 2)


def cycled_in_a_loop(a, b):
    c = itertools.cycle(iter((a, b, 3)))
    given = []
    for _ in range(11):
        given.append(next(c))
        armature.graph_break()
    return given


@pytest.mark.parametrize("every", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "program", [cycled, cycled_slice, cycled_amid, cycled_nothing, cycled_in_a_loop]
)
def test_cycles_behind_breaks(program, every):
    with breaking_every(every):
        compiled = armature.compile(program)
        for a in ("", "a", 3):
            assert compiled(a, "q") == program(a, "q")


@pytest.mark.parametrize("every", [0, 1, 2, 3])
def test_which_keys_groupby_compares(every):
    """None behind the end of the last group."""

    def program(numbers, key):
        asked = []

        class Key:
            def __init__(self, number):
                self.number = number

            def __eq__(self, other):
                asked.append((self.number, other.number))
                return self.number == other.number

        groups = itertools.groupby(map(Key, numbers), key and (lambda each: Key(each.number // 2)))
        found = [(each.number, [item.number for item in group]) for each, group in groups]
        skipped = [each.number for each, _ in itertools.groupby(map(Key, numbers))]
        partly = [next(group).number for _, group in itertools.groupby(map(Key, numbers))]
        return found, skipped, partly, asked

    for numbers in ([0, 1, 1], [0, 0, 0, 1], [5], [], [1, 2, 2, 3, 3]):
        for key in (None, True):
            armature.reset()
            with breaking_every(every):
                assert armature.compile(program)(numbers, key) == program(numbers, key)

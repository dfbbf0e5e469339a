"""Iterators of the program's own within those of C, which have asked for them once."""

import collections
import itertools
import operator

import armature
import pytest
from differential import breaking_every

LOG = []


class Numbers:
    """An iterator that tells when it is asked for one."""

    def __init__(self):
        self.last = 0

    def __iter__(self):
        LOG.append("iter")
        return self

    def __next__(self):
        if self.last == 4:
            raise StopIteration
        self.last += 1
        return self.last


class Breaking(Numbers):
    def __next__(self):
        armature.graph_break()
        return super().__next__()


class OnlyNext:
    """To ask it for one is a TypeError."""

    def __init__(self):
        self.numbers = Numbers()

    def __next__(self):
        return next(self.numbers)


class Iterable:
    def __iter__(self):
        LOG.append("iter of another")
        return OnlyNext()


MAKERS = {
    "enumerate": enumerate,
    "map": lambda numbers: map(str, numbers),
    "map of several": lambda numbers: map(operator.add, [1, 2, 3], numbers),
    "zip": lambda numbers: zip("abc", numbers),
    "strict zip": lambda numbers: zip(numbers, [1, 2, 3, 4], strict=True),
    "filter": lambda numbers: filter(None, numbers),
    "zip_longest": lambda numbers: itertools.zip_longest(numbers, [1]),
    "islice": lambda numbers: itertools.islice(numbers, 1, None),
    "accumulate": itertools.accumulate,
    "compress": lambda numbers: itertools.compress(numbers, [1, 0, 1, 1]),
    "selectors": lambda numbers: itertools.compress("abcd", numbers),
    "starmap": lambda numbers: itertools.starmap(max, enumerate(numbers)),
    "takewhile": lambda numbers: itertools.takewhile(bool, numbers),
    "dropwhile": lambda numbers: itertools.dropwhile(lambda n: n < 2, numbers),
    "filterfalse": lambda numbers: itertools.filterfalse(lambda n: n == 2, numbers),
    "pairwise": itertools.pairwise,
    "cycle": lambda numbers: itertools.islice(itertools.cycle(numbers), 6),
    "groupby": lambda numbers: (key for key, _ in itertools.groupby(numbers)),
    "chain": lambda numbers: itertools.chain([0], numbers),
    "nested": lambda numbers: enumerate(map(str, numbers)),
    "tee": lambda numbers: itertools.tee(numbers)[0],
}


def left(make, numbers):
    return make(numbers)


def left_amid(make, numbers):
    made = make(numbers)
    return next(made), made


def behind_a_break(make, numbers):
    made = make(numbers)
    first = next(made)
    armature.graph_break()
    return first, list(made)


def in_a_loop(make, numbers):
    found = []
    for item in make(numbers):
        armature.graph_break()
        found.append(item)
    return found


def whole(make, numbers):
    return list(make(numbers))


@pytest.mark.parametrize("fn", [left, left_amid, behind_a_break, in_a_loop, whole])
@pytest.mark.parametrize("kind", [Numbers, Breaking, Iterable])
@pytest.mark.parametrize("name", MAKERS)
def test_programs_iterators_are_asked_once(name, kind, fn):
    def outcome(run):
        LOG.clear()
        try:
            found = run(MAKERS[name], kind())
        except (TypeError, ValueError) as error:
            found = repr(error)
        if fn is left:
            found = list(found)
        elif fn is left_amid and isinstance(found, tuple):
            found = found[0], list(found[1])
        return found, list(LOG)

    compiled = armature.compile(fn)
    for _ in range(2):
        assert outcome(compiled) == outcome(fn)


def test_what_an_iterator_is_told_meanwhile():
    def fn():
        numbers = Numbers()
        made = enumerate(numbers)
        numbers.last = 2
        return made

    assert list(armature.compile(fn)()) == list(fn()) == [(0, 3), (1, 4)]


def replaces(table, last):
    found = []
    for key in table:
        found.append(key)
        table.pop(key)
        table[key] = 1
        if key == last:
            break
    return found, list(table)


@pytest.mark.parametrize("last", ["a", "c", "n", None])
def test_keys_in_the_place_of_others(last):
    """Python's table is packed while the loop goes on, and the loop hears of it."""

    def outcome(run):
        try:
            return run({"a": 1, "b": 2, "c": 3, "n": 4}, last)
        except RuntimeError as error:
            return str(error)

    with armature.config.patch(strict=False):
        compiled = armature.compile(replaces)
        for _ in range(2):
            assert outcome(compiled) == outcome(replaces)


@pytest.mark.parametrize("every", [0, 1, 2, 3])
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_pairs_that_are_iterators(every, fails):
    """dict() makes a list of a pair, which asks for an iterator twice."""

    def program(fails):
        asked = []

        class Pair:
            def __init__(self, items):
                self.items = iter(items)

            def __iter__(self):
                asked.append("iter")
                if len(asked) == fails:
                    raise TypeError("none")
                return self

            def __next__(self):
                asked.append("next")
                return next(self.items)

        class Table(dict):
            pass

        results = []
        for make in (dict, {1: 2}.update, Table, collections.OrderedDict):
            for pairs in ([Pair("ab")], [Pair("ab"), ("c", 1)], [Pair("abc")], [["a", Pair("a")]]):
                try:
                    made = make(pairs)
                    results.append(made and list(made))
                except (TypeError, ValueError) as error:
                    results.append((type(error), str(error)))
                results.append(list(asked))
                asked.clear()
        return results

    with breaking_every(every):
        assert armature.compile(program)(fails) == program(fails)

"""Small programs over containers that once differed from plain Python."""

from __future__ import annotations

import armature
import pytest
from changing_world import Cases, check_world

CASES = Cases("container findings")

RAISING = """
    class R:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise ZeroDivisionError
"""

CASES.add(
    "in_place_operations_ask_where_the_program_does",
    RAISING
    + """
    def entry(s, k, method):
        try:
            s.add(k)
            getattr(s, method)({1})
        except ZeroDivisionError:
            return "caught", len(s)
        return len(s)
    """,
    "entry(set(), R(), 'update')",
    "entry(set(), R(), 'difference_update')",
    "entry({2}, R(), 'symmetric_difference_update')",
    "entry({2}, R(), '__ior__')",
)
CASES.add(
    "removed_keys_are_not_asked",
    RAISING
    + """
    KEY = R()

    def entry(d, s, k):
        d.pop(1)
        s.remove(1)
        try:
            found = k in d, k in s
            d[k] = 2
            s.add(k)
        except ZeroDivisionError:
            return "raised"
        return found, len(d), len(s)
    """,
    "entry({1: 2}, {1}, KEY)",
    "entry({1: 2, 3: 4}, {1, 3}, KEY)",
)
CASES.add(
    "operators_of_subclasses_that_are_not_implemented",
    """
    from collections import Counter, OrderedDict, defaultdict

    class D(dict):
        def __or__(self, other):
            return NotImplemented

    def entry(left, right):
        made = left | right
        return made, type(made)
    """,
    "entry(Counter('a'), {'b': 1})",
    "entry(D(a=1), {'b': 1})",
    "entry(D(a=1), OrderedDict(b=1))",
    "entry(D(a=1), defaultdict(int, b=1))",
    "entry(D(a=1), 3)",
)
CASES.add(
    "tuples_ask_their_items_first",
    RAISING
    + """
    LOG = []

    class E:
        def __eq__(self, other):
            LOG.append("asked")
            return True

    def entry(a, b):
        try:
            return a == b, a != b, a in [b], a < b
        except ZeroDivisionError:
            return "raised"
    """,
    "entry((1, 2), (E(),))",
    "entry((1, 2), (R(),))",
    "entry((1, 2), (1,))",
    "entry((), (R(),))",
    "entry([1, 2], [R()])",
    "LOG",
)
CASES.add(
    "exhausted_iterators_keep_their_types",
    """
    def entry(items, data):
        iterators = iter(items), reversed(items), iter(tuple(items)), iter(data)
        for each in iterators:
            list(each)
        return [type(each) for each in iterators], iterators
    """,
    "entry([1], b'ab')",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_containers(source: str, steps: tuple[str, ...]) -> None:
    check_world(source, *steps)


def test_types_of_exhausted_iterators() -> None:
    def made() -> list[object]:
        items = [1]
        iterators = [iter(items), reversed(items), iter((1,)), iter(b"a"), iter(range(1))]
        for each in iterators:
            list(each)
        return iterators

    assert [*map(type, armature.compile(made)())] == [*map(type, made())]

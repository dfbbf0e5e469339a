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
CASES.add(
    "removed_keys_that_come_back_as_subclasses",
    """
    class S(str):
        pass

    def entry(d, key, how):
        if how == "pop":
            d.pop("a")
        else:
            del d["a"]
        if how == "setdefault":
            d.setdefault(key, 1)
        elif how == "update":
            d.update({key: 1})
        else:
            d[key] = 1
        return [type(each).__name__ for each in d], len(d), d.get("a"), "a" in d
    """,
    "entry({'a': 0, 'b': 0}, S('a'), 'del')",
    "entry({'b': 0, 'a': 0}, S('a'), 'pop')",
    "entry({'a': 0, 'b': 0}, S('a'), 'setdefault')",
    "entry({'a': 0, 'b': 0}, S('a'), 'update')",
    "entry({'a': 0, 'b': 0}, S('a'), 'del')",
)
CASES.add(
    "removed_tuples_that_come_back_as_subclasses",
    """
    class T(tuple):
        pass

    def entry(d, key):
        del d[1, 2]
        d[key] = 3
        return [type(each).__name__ for each in d], len(d), d[1, 2]

    KEY = T((1, 2))
    """,
    "entry({(1, 2): 0, 1: 2}, KEY)",
    "entry({1: 2, (1, 2): 0}, KEY)",
)
CASES.add(
    "keys_that_are_absent_hide_no_others",
    RAISING
    + """
    KEY = R()

    def entry(d, s, key):
        found = [1 in d, 1 in s]
        d["x"] = 1
        try:
            d[key] = 1
            d["y"] = 1
            found.append(1 in d)
        except ZeroDivisionError:
            found.append("raised")
        try:
            s.add(key)
            s.add(2)
            found.append(1 in s)
        except ZeroDivisionError:
            found.append("raised")
        return found, [type(each).__name__ for each in d], len(s)
    """,
    "entry({}, set(), KEY)",
    "entry({2: 3}, {3}, KEY)",
    "entry({1: 3}, {1}, KEY)",
)
CASES.add(
    "numbers_from_outside_stay_the_objects_that_they_are",
    """
    def entry(number):
        held = {len, number}
        known = [number, (number,), {number: number}]
        return (
            sum(each is number for each in held),
            known[0] is number,
            known[1][0] is number,
            [each is number for each in known[2]],
        )

    FIRST = 2.5 * float("1"), 2**70 + int("0"), "".join(["a", "b"])
    SECOND = 2.5 * float("1"), 2**70 + int("0"), "".join(["a", "b"])
    """,
    "entry(FIRST[0])",
    "entry(SECOND[0])",
    "entry(FIRST[1])",
    "entry(SECOND[1])",
    "entry(FIRST[2])",
    "entry(SECOND[2])",
)
CASES.add(
    "methods_of_existing_containers_that_make_new_ones",
    """
    import itertools
    from collections import OrderedDict, defaultdict, namedtuple
    from copy import copy
    from types import MappingProxyType

    Pair = namedtuple("Pair", "x y")

    class Adds(Pair):
        def __add__(self, other):
            return "added"

    def entry(d, pair, number):
        others = d | {3: 4}, {3: 4} | d, MappingProxyType(d) | {3: 4}, d | OrderedDict({5: 6})
        methods = pair.__add__((1,)), pair.__mul__(2), pair.__rmul__(2), pair + (3,)
        counts = itertools.count(number), itertools.count(number, True), itertools.count(number, 2)
        return others, d.copy(), copy(d), methods, counts, [next(each) for each in counts]
    """,
    "entry(defaultdict(int, {1: 2}), Pair(1, 2), True)",
    "entry(defaultdict(list, {1: 2}), Pair(1, 2), False)",
    "entry(defaultdict(None), Pair(1, 2), True)",
    "entry(defaultdict(int), Adds(1, 2), 1)",
)
CASES.add(
    "steps_of_slices_beyond_the_largest_number",
    """
    import sys

    def entry(items, step):
        items[1::step] = ["x"]
        del items[::step]
        return items, items[::step]
    """,
    "entry([0, 1, 2, 3], sys.maxsize)",
    "entry([0, 1, 2, 3], sys.maxsize - 1)",
)
CASES.add(
    "lists_ask_themselves_where_the_program_does",
    """
    LOG = []

    class L(list):
        def __iter__(self):
            LOG.append("asked")
            return iter([7, 8])

    def entry(make, how):
        items = make([1, 2, 3])
        if how == "slice":
            items[:] = items
            items[::-1] = items
        elif how == "add":
            items += items
        else:
            items.extend(items)
        return len(items), items[0], items[-1], list.__repr__(items)
    """,
    "entry(L, 'slice')",
    "entry(L, 'add')",
    "entry(L, 'extend')",
    "entry(list, 'slice')",
    "entry(list, 'add')",
    "LOG",
)

CASES.add(
    "popitem_leaves_the_table_of_popitem",
    """
    import sys

    class C:
        def __init__(self):
            self.x, self.y, self.z = 1, 2, 3

    def shared_keys():
        first, second = C(), C()
        return vars(first)

    def entry(d):
        sizes = [sys.getsizeof(d)]
        item = d.popitem()
        sizes.append(sys.getsizeof(d))
        d["w"] = d.popitem()
        d.popitem()
        sizes.append(sys.getsizeof(d))
        return item, sizes, list(d)
    """,
    "entry(shared_keys())",
    "entry({'a': 1, 'b': 2, 'c': 3})",
)

CASES.add(
    "keys_before_items",
    """
    import collections, functools
    LOG = []

    class Mapping:
        def __init__(self, given):
            self.given = given

        @property
        def keys(self):
            LOG.append("keys")
            return self.walk if self.given is None else lambda: self.given

        def walk(self):
            for key in "ab":
                LOG.append(key)
                yield key

        def __getitem__(self, key):
            LOG.append("get " + key)
            return key

    def given(**keywords):
        return keywords

    def updated(d, m):
        d.update(m)
        return d

    def joined(d, m):
        d |= m
        return d

    FORMS = {
        "dict": dict,
        "update": lambda m: updated({}, m),
        "or": lambda m: joined({}, m),
        "display": lambda m: {**m},
        "call": lambda m: given(**m),
        "defaultdict": lambda m: collections.defaultdict(list, m),
        "partial": lambda m: functools.partial(given, **m)(),
        "OrderedDict": lambda m: updated(collections.OrderedDict(), m),
    }

    def entry(how, keys):
        LOG.clear()
        try:
            return FORMS[how](Mapping(keys)), list(LOG)
        except TypeError as error:
            return str(error), list(LOG)
    """,
    *(
        f"entry({how!r}, {keys})"
        for how in (
            "dict",
            "update",
            "or",
            "display",
            "call",
            "defaultdict",
            "partial",
            "OrderedDict",
        )
        for keys in ("None", "5", "'xy'")
    ),
)

CASES.add(
    "sums_and_products_that_fail",
    """
    import math
    LOG = []

    def logged(items):
        for item in items:
            LOG.append(item)
            yield item

    def entry(items, *more):
        LOG.clear()
        results = []
        for function in (math.fsum, math.prod):
            for rest in (iter(items), logged(items)):
                try:
                    results.append(function(rest, *more))
                except (TypeError, ValueError, OverflowError) as error:
                    results.append((type(error), str(error)))
                results.append((list(LOG), list(rest)))
        return results
    """,
    "entry([1.0, 'bad', 2.0, 3.0])",
    "entry([1.0, None, 2.0])",
    "entry([0.1] * 10)",
    "entry([2, True, 3])",
    "entry([])",
    "entry([1.0, 10**400, 2.0])",
    "entry([1e308, 1e308, 1.0])",
    "entry([float('inf'), -float('inf'), 2.0])",
    "entry([1.0, 2.0], 3)",
)

CASES.add(
    "ordered_dicts_that_change_under_a_walk",
    """
    from collections import OrderedDict

    CHANGES = {
        "pop": lambda d: d.pop(1),
        "move": lambda d: d.move_to_end(0),
        "move_nowhere": lambda d: d.move_to_end(2),
        "move_to_front": lambda d: d.move_to_end(2, last=False),
        "move_no_further": lambda d: d.move_to_end(0, last=False),
        "new": lambda d: d.__setitem__(7, 7),
        "old": lambda d: d.__setitem__(1, 7),
    }

    def entry(how, walk, steps):
        d = OrderedDict((i, i) for i in range(3))
        walked = walk(d)
        results = [next(walked) for _ in range(steps)]
        CHANGES[how](d)
        for _ in range(4):
            try:
                results.append(next(walked))
            except (RuntimeError, StopIteration) as error:
                results.append(repr(error))
        return results
    """,
    *(
        f"entry({how!r}, {walk}, {steps})"
        for how in ("pop", "move", "move_nowhere", "move_to_front", "move_no_further", "new", "old")
        for walk in ("iter", "reversed")
        for steps in (0, 2)
    ),
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


def test_numbers_that_were_looked_at_are_returned_as_they_are() -> None:
    def passed(value: object) -> object:
        return value == 0, value, {"value": value}

    compiled = armature.compile(passed)
    for _ in range(3):
        for value in (float("2.5"), int("1000"), "".join(["a", "b"]), bytes([1, 2])):
            _, first, second = compiled(value)
            assert first is value
            assert second["value"] is value


def test_each_call_makes_its_own_nan() -> None:
    def made(text: str) -> tuple[float, float, float]:
        nan = float(text)
        return nan, nan, nan * 2

    def stored(d: dict[float, int], text: str) -> int:
        return d.setdefault(float(text), len(d))

    compiled = armature.compile(made)
    first, second = compiled("nan"), compiled("nan")
    assert first[0] is first[1]
    assert first[0] is not second[0]
    assert first[2] is not second[2]
    assert [first[0]] != [second[0]]
    plain: dict[float, int] = {}
    captured: dict[float, int] = {}
    store = armature.compile(stored)
    for _ in range(3):
        assert store(captured, "nan") == stored(plain, "nan")

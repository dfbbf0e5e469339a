"""Sets that existed before: asked for single items, walked over, changed, copied and given back.

What a set gives is the item that it holds, which an equal one is not, and the order in which it
gives them is that of its hash table, which depends on all that happened to it.
"""

from __future__ import annotations

import armature
import pytest
from changing_world import Cases, check_world, compilations

CASES = Cases("asked sets")

CASES.add(
    "equal_items_of_other_types",
    """
    def entry(s):
        return list(s), [type(item) for item in s], max(s)
    """,
    "entry({1})",
    "entry({True})",
    "entry({1.0})",
    "entry({1, 2})",
    "entry({True, 2})",
)
CASES.add(
    "asked_with_an_equal_item",
    """
    def entry(s):
        return True in s, 1.0 in s, list(s), s.pop()
    """,
    "entry({1})",
    "entry({True})",
)
CASES.add(
    "intersections_give_the_items_of_the_walked_one",
    """
    def entry(s, t):
        return s & t, t & s, s.intersection(t), s.intersection(list(t)), {**dict.fromkeys(s & t)}
    """,
    "entry({1}, {True})",
    "entry({True}, {1})",
    "entry({1, 2}, {True})",
    "entry({True}, {1.0, 2.0})",
)
CASES.add(
    "views_beside_sets",
    """
    def entry(d, s):
        return d.keys() & s, s & d.keys(), d.keys() | s, d.keys() - s, d.keys() ^ s
    """,
    "entry({1: 2}, {True})",
    "entry({True: 2}, {1, 2, 3})",
    "entry({1: 2, 9: 0, 17: 3, 25: 0}, {9, 1.0})",
)
CASES.add(
    "classes",
    """
    class A:
        pass

    class B(A):
        pass

    def entry(s):
        found = [item for item in s if item is A]
        return found, A in s, sorted(item.__name__ for item in s)
    """,
    "entry({A, B})",
    "entry({B})",
    "entry({A})",
)
CASES.add(
    "nans",
    """
    nan, other = float("nan"), float("nan")

    def entry(s, x, d):
        return x in s, {x} & s == s, d.get(x), x in {nan}
    """,
    "entry({nan}, nan, {nan: 1})",
    "entry({nan}, other, {nan: 1})",
    "entry({other}, other, {other: 1})",
    "entry({other}, nan, {other: 2})",
)
CASES.add(
    "copies_keep_the_table",
    """
    def entry(s):
        t = s.copy()
        t.add(99)
        t.discard(3)
        u = set(s)
        u.update((8, 16, 24))
        return list(t), t, list(u), u, frozenset(s), frozenset(list(s))
    """,
    "entry({1, 2, 3})",
    "entry(set(range(0, 80, 8)))",
    "entry({24, 8, 16, 3})",
    """
    grown = set(range(100))
    grown.difference_update(range(3, 100))
    """,
    "entry(set(grown))",
    "entry({*range(40)} - {*range(2, 40)})",
)
CASES.add(
    "algebra_keeps_the_table",
    """
    def entry(s, t):
        made = s | t, s & t, s - t, s ^ t, t - s, t | s
        s = s | {72}
        s -= t
        return [list(each) for each in made], made, s, list(s)
    """,
    "entry({1, 9, 17, 25, 33}, {17, 4, 9})",
    "entry({1, 9}, {49, 41, 33, 25, 17, 9})",
    "entry(set('abc'), set('cdefghi'))",
    "entry(frozenset({8, 0, 16}), {16, 0})",
)
CASES.add(
    "many_marks_are_cleared_away",
    """
    def entry(s, items):
        t = s.difference(items)
        s.difference_update(iter(items))
        return list(t), t, list(s), s
    """,
    "entry({True, 2, 33, 17}, [5, 5, 1, 1, 2])",
    "entry({*range(0, 48, 8)}, [0, 8, 16, 24])",
    "entry({1, 9, 17, 25}, (1, 9))",
)
CASES.add(
    "what_came_and_went_leaves_its_mark",
    """
    def entry(s, x):
        s.add(x)
        s.discard(x)
        s.add(x + 8)
        return list(s), s
    """,
    "entry({0}, 16)",
    "entry({0}, 8)",
    "entry({8, 0}, 24)",
    "entry({0, 8}, 24)",
    "entry(set(), 40)",
)
CASES.add(
    "changed_in_many_ways",
    """
    def entry(s):
        for number in range(20):
            s.add(number * 8)
            s.discard(number * 8 - 8)
        before = list(s)
        s.intersection_update([152, 7])
        s ^= {1, 9, 17}
        popped = s.pop()
        s.update({33: 0, 41: 0}, (5, 13))
        s.clear()
        s.update([16, 8, 0])
        return before, popped, s, list(s)
    """,
    "entry({1, 9, 17, 25, 33})",
    "entry(set())",
    "entry({7})",
)
CASES.add(
    "popped_between_other_changes",
    """
    def entry(s):
        popped = []
        for step in range(60):
            if step % 3:
                popped.append(s.pop())
            else:
                s.add((step * 37) % 101 * 8)
                s.add(str(step))
            if step % 7 == 0:
                s.discard(popped[-1] if popped else 8)
                s.discard(str(step - 3))
            if step == 20:
                s.update(range(0, 400, 16))
            if step == 30:
                s.difference_update([32, 48, 64])
            if step == 40:
                popped.append(list(s))
                popped.append(list(s | {3, 11}))
            if step == 50:
                popped.append(s.copy().pop())
                s.clear()
                s.update([24, 16, 8, "a", "b"])
        while s:
            popped.append(s.pop())
        s.add(5)
        s.add(13)
        return popped, list(s), s.pop()
    """,
    "entry(set())",
    "entry({1, 9, 17, 25, 33})",
    "entry(set('abcdefghijkl'))",
    "entry({1, 'a', 2.5, None, (1, 'b'), True, b'c', -1, -2})",
    "entry(set(range(0, 800, 8)) - {0, 16, 400})",
)
CASES.add(
    "popped_around_breaks",
    """
    import armature

    def change(s, popped):
        popped.append(s.pop())
        s.add(len(popped) * 8)
        popped.append(s.pop())
        try:
            armature.graph_break()
        finally:
            popped.append(s.pop())
        return popped

    def refuse(s, popped):
        popped.append(s.pop())
        s.add(len(popped) * 16)
        s.discard(24)
        popped.append(s.pop())
        raise KeyError(armature.graph_break())

    def entry(s):
        made, popped = set(s) | {"a", "b", 3, 11, 19, 27}, []
        for number in range(8):
            popped.append(made.pop())
            popped.append(s.pop())
            made.add(number * 8)
            if number % 3 == 1:
                armature.graph_break()
            if number % 3 == 2:
                change(s, popped)
                change(made, popped)
            try:
                if number == 4:
                    refuse(made, popped)
            except KeyError:
                popped.append(made.pop())
        while s:
            popped.append(s.pop())
        return popped, list(made), made.pop()
    """,
    "entry(set(range(0, 240, 8)))",
    "entry(set('abcdefghijklmnopqrst'))",
)
CASES.add(
    "popped_in_a_call_that_is_taken_back",
    """
    import armature

    class Item:
        def __init__(self, s, popped):
            self.s, self.popped = s, popped

        def __hash__(self):
            self.popped.append(self.s.pop())
            self.s.add(len(self.popped) * 8)
            self.popped.append(self.s.pop())
            armature.graph_break()
            return 1

    def entry(items):
        s = set(items)
        popped = [s.pop(), s.pop()]
        hash((Item(s, popped),))
        s.add(16)
        return popped, s.pop(), s.pop(), list(s)
    """,
    "entry(range(0, 200, 8))",
    "entry('abcdefghijklm')",
)
CASES.add(
    "popped_one_by_one",
    """
    def entry(s):
        popped = [s.pop() for _ in range(len(s) - 1)]
        s.add(5)
        s.add(13)
        return popped, s, list(s), s.pop(), s.pop()
    """,
    "entry({1, 9, 17, 25, 33})",
    "entry(set('abcdef'))",
)
CASES.add(
    "iterables_that_raise",
    """
    def items(s):
        yield 1
        yield len(s)
        raise ValueError(len(s))

    def entry(s, method):
        try:
            getattr(s, method)(items(s))
        except ValueError as error:
            return error.args, s
    """,
    "entry({7}, 'update')",
    "entry({1, 2, 7}, 'difference_update')",
    "entry({1, 2, 7}, 'intersection_update')",
    "entry({1, 2, 7}, 'symmetric_difference_update')",
    "entry({1, 2, 7}, 'union')",
    "entry({5, 6, 7}, 'isdisjoint')",
)
CASES.add(
    "iterators_are_read_as_far_as_python_reads_them",
    """
    def entry(s, items):
        it = iter(items)
        disjoint = s.isdisjoint(it)
        rest = list(it)
        it = iter(items)
        above = s.issuperset(it)
        more = list(it)
        it = iter(items)
        return disjoint, rest, above, more, s.intersection(it), list(it)
    """,
    "entry({1, 2}, [5, 1, 7, 8])",
    "entry({1, 2}, [1, 2, 3, 4])",
    "entry({1, 2}, [1, 9, 2, 4, 1])",
    "entry({1, 2}, [])",
)
CASES.add(
    "items_that_cannot_be_hashed",
    """
    def entry(s, items):
        try:
            s.update(items)
        except TypeError as error:
            return str(error), s
        return s
    """,
    "entry({1}, [2, [3], 4])",
    "entry({1}, [2, 3])",
)
CASES.add(
    "subclasses_keep_the_table",
    """
    class S(set):
        pass

    class F(frozenset):
        pass

    def entry(items):
        s, f = S(items), F(items)
        t = S({32, 24, 8, 0})
        t.discard(24)
        t.add(16)
        return list(s), s, list(f), f, t, list(t), F(set(items)), S(items) | {64}
    """,
    "entry([8, 0, 16])",
    "entry({16, 8, 24, 0, 32, 1})",
    "entry(frozenset({9, 1}))",
)
CASES.add(
    "iterators_at_their_end",
    """
    def entry(s, d):
        iterators = iter(s), iter(d), iter(d.values()), iter(d.items()), reversed(d)
        for each in iterators:
            list(each)
        made = iter({1, 2}), iter({1: 2}), reversed({1: 2}.items())
        for each in made:
            list(each)
        return [type(each) for each in (*iterators, *made)], iterators, made
    """,
    "[[type(each) for each in group] for group in entry({1}, {1: 2})[1:]]",
)
CASES.add(
    "large_sets",
    """
    LARGE = set(range(3000))

    def entry(x, y):
        found = x in LARGE, y in LARGE, len(LARGE)
        LARGE.add(y)
        LARGE.discard(x)
        return found, x in LARGE, y in LARGE, len(LARGE)
    """,
    "entry(1, 3000)",
    "entry(2, 3001)",
    "LARGE.discard(3000)",
    "entry(1, 3000)",
)
CASES.add(
    "items_that_methods_compare",
    """
    class Key:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            return isinstance(other, Key) and other.value == self.value

    KEYS = {Key(1), Key(2), "name"}

    def entry(name):
        found = name in KEYS, len(KEYS), 1 in KEYS
        KEYS.add(name + "s")
        return found, name + "s" in KEYS, sorted(map(str, (k for k in KEYS if type(k) is str)))
    """,
    "entry('name')",
    "entry('other')",
    "KEYS.discard('names')",
    "entry('name')",
)
CASES.add(
    "sets_in_constant_sets",
    """
    def entry(x):
        try:
            return x in {1, 2}, x in {frozenset({1}), 2}
        except TypeError as error:
            return str(error)
    """,
    "entry({1})",
    "entry([1])",
    "entry(1)",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_sets(source: str, steps: tuple[str, ...]) -> None:
    check_world(source, *steps)


def test_a_growing_set_is_one_translation_for_all_lengths() -> None:
    counts = compilations(
        """
        SEEN = set()

        def entry(name):
            if name in SEEN:
                return False
            SEEN.add(name)
            return True
        """,
        "entry('a')",
        "entry('a')",
        *[f"SEEN.update('b{i}' for i in range({i}))\nSEEN.discard('a')" for i in range(3)],
        *["entry('a')", "SEEN.discard('a')"] * 3,
        *["SEEN.add('c'); SEEN.add('a')", "entry('a')", "SEEN.discard('c')", "entry('a')"],
    )
    assert counts[:2] == [1, 1]
    assert sum(counts) == 2


def test_a_large_set_costs_no_walk() -> None:
    large = set(range(200_000))

    @armature.compile
    def entry(s: set[int], x: int) -> tuple[bool, int]:
        s.add(-x)
        return x in s, len(s)

    assert entry(large, 7) == (True, 200_001)
    assert entry(large, 7) == (True, 200_001)
    assert -7 in large


@pytest.mark.parametrize("existing", [False, True])
def test_popping_all_of_a_large_set_makes_no_set_for_each(existing: bool) -> None:
    def entry(s: set[int]) -> list[int]:
        s = s if existing else set(range(0, 200_000, 10))
        popped = []
        while s:
            popped.append(s.pop())
            if len(popped) % 4 == 0:
                s.discard(len(popped) * 10)
                s.add(-len(popped))
                popped.append(s.pop())
        return popped

    items = set(range(40_000, 0, -2))
    assert armature.compile(entry)(items.copy()) == entry(items.copy())

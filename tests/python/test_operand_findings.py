"""Small programs over comparisons and operators that once differed from plain Python."""

from __future__ import annotations

import pytest
from changing_world import Cases, check_world

CASES = Cases("operand findings")
CASES.add(
    "whether_an_object_meets_itself_is_guarded",
    """
    import itertools
    import operator
    from collections import OrderedDict, deque, namedtuple

    LOG = []

    class A:
        __hash__ = None

        def __eq__(self, other):
            LOG.append("eq")
            return False

        def __lt__(self, other):
            LOG.append("lt")
            return False

    FIRST, SECOND = A(), A()
    Pair = namedtuple("Pair", "item")
    GLOBAL = [FIRST]

    def entry(o, p):
        found = [
            o in [p],
            o in (p,),
            o not in deque([p]),
            o in iter([p]),
            o in map(lambda each: each, [p]),
            o in itertools.chain([p]),
            o in {1: p}.values(),
            (1, o) in {1: p}.items(),
            operator.contains([p], o),
            operator.countOf([p], o),
            [p].count(o),
            o in GLOBAL,
        ]
        equal = [
            [o] == [p],
            (o,) == (p,),
            {1: o} == {1: p},
            OrderedDict(a=o) == OrderedDict(a=p),
            Pair(o) == Pair(p),
            deque([o]) == deque([p]),
            deque([o]) != deque([p]),
            slice(o) == slice(p),
            (o,) < (p,),
        ]
        try:
            place = [p].index(o)
        except ValueError:
            place = None
        return found, equal, place
    """,
    "entry(FIRST, SECOND)",
    "entry(FIRST, FIRST)",
    "entry(SECOND, FIRST)",
    "GLOBAL[0] = SECOND",
    "entry(SECOND, FIRST)",
    "entry(SECOND, SECOND)",
    "LOG",
)
CASES.add(
    "in_place_operators_ask_the_right_operand_of_a_subclass",
    """
    import operator

    LOG = []

    def reflected(self, other):
        LOG.append(type(self).__name__)
        return "reflected"

    class I(int):
        __radd__ = __rmul__ = __rmod__ = reflected

    class F(float):
        __radd__ = __rmul__ = __rmod__ = reflected

    class S(str):
        __radd__ = __rmul__ = __rmod__ = reflected

    def outcome(operation, left, right):
        try:
            return operation(left, right)
        except TypeError as error:
            return str(error)

    def add(left, right):
        left += right
        return left

    def multiply(left, right):
        left *= right
        return left

    def remainder(left, right):
        left %= right
        return left

    def entry(left, right):
        operations = add, multiply, remainder, operator.iadd, operator.imod
        return [outcome(each, left, right) for each in operations]
    """,
    "entry(5, I(3))",
    "entry(5, F(3))",
    "entry(2.5, F(3))",
    "entry('a', S('b'))",
    "entry('a%s', S('b'))",
    "entry('a%d', I(4))",
    "entry('a', 'b')",
    "entry(1, 'a')",
    "entry((1,), [2])",
    "entry(7, 4)",
    "LOG",
)
CASES.add(
    "repetition_in_place_of_what_may_be_a_sequence",
    """
    class J(int):
        pass

    class T(str):
        pass

    def entry(left, right):
        try:
            left *= right
        except TypeError as error:
            return str(error)
        return left
    """,
    "entry(J(2), [1, 2])",
    "entry(2, [1, 2])",
    "entry({}, [1])",
    "entry(set(), (1,))",
    "entry([1], J(2))",
    "entry(J(3), 'ab')",
    "entry('ab', J(3))",
    "entry(True, (1, 2))",
    "entry(J(3), T('ab'))",
    "entry(T('ab'), 3)",
    "entry(J(3), 2)",
)
CASES.add(
    "one_method_of_an_operator_makes_the_slot_of_both",
    """
    class I(int):
        def __radd__(self, other):
            return "reflected"

    class L(list):
        def __radd__(self, other):
            return "list"

    class T(tuple):
        def __radd__(self, other):
            return "tuple"

    class M(list):
        def __mul__(self, other):
            return "multiplied"

    def entry(left, right):
        results = []
        try:
            results.append(left + right)
        except TypeError as error:
            results.append(str(error))
        try:
            results.append(left * right)
        except TypeError as error:
            results.append(str(error))
        return results
    """,
    "entry(L([1]), I(4))",
    "entry(T([1]), I(4))",
    "entry(L([1]), [2])",
    "entry([1], L([2]))",
    "entry((1,), T((2,)))",
    "entry(L([1]), L([2]))",
    "entry(M([1]), 2)",
    "entry(2, M([1]))",
    "entry(I(2), L([1]))",
)
CASES.add(
    "constant_sets_compare_by_name",
    """
    def entry(a, b):
        names = "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"
        return [getattr(a, name)(b) for name in names], a == b, a < b
    """,
    "entry(frozenset([1]), {1, 2})",
    "entry({1}, frozenset([1, 2]))",
    "entry(frozenset([1, 2]), frozenset([1, 2]))",
    "entry(frozenset([1, 2]), {1, 2})",
)
CASES.add(
    "parts_of_texts_are_what_was_given",
    """
    class T(str):
        pass

    class B(bytes):
        pass

    FIRST, SECOND, DATA, PLAIN = T("ab"), T("cd"), B(b"ab"), ("ab", b"ab")

    def entry(text, data):
        found = [
            text.partition("x"),
            text.rpartition("x"),
            "ab".partition(text[1:]),
            "xaby".partition(text),
            "xaby".rpartition(text),
            "xy".partition(text),
            data.partition(b"x"),
            b"xaby".rpartition(data),
            text.split("x"),
        ]
        same = found[0][0] is text, found[3][1] is text, found[7][1] is data
        return [[type(each).__name__ for each in parts] for parts in found], found, same
    """,
    "entry(FIRST, DATA)",
    "entry(*PLAIN)",
    "entry(SECOND, DATA)",
)
CASES.add(
    "errors_of_formats_name_the_class",
    """
    class T(str):
        pass

    class I(int):
        pass

    def entry(value, specification):
        try:
            return format(value, specification)
        except ValueError as error:
            return str(error)
    """,
    "entry(T('a'), 'x')",
    "entry(I(2), 's')",
    "entry(I(2), '>4')",
    "entry(T('a'), '>4')",
)
CASES.add(
    "checks_of_classes_name_the_first_argument_first",
    """
    class A:
        pass

    def entry(derived, base):
        try:
            return issubclass(derived, base)
        except TypeError as error:
            return str(error)
    """,
    "entry(1.0, 5)",
    "entry(int, 5)",
    "entry(int, (5, int))",
    "entry(1.0, (int, 5))",
    "entry(A, 5)",
    "entry(A, (A, 5))",
)
CASES.add(
    "arguments_of_exceptions_are_one_tuple",
    """
    GIVEN = 1, [2]

    def entry(error, given):
        made = KeyError("key", [1])
        before = error.args
        found = [made.args is made.args, error.args is before]
        made.args = given
        error.args = given
        found += [made.args is given, error.args is given, error.args is before]
        error.args = [*given]
        found += [error.args is given, error.args is error.args]
        return found, made, made.args, error.args
    """,
    "entry(ValueError(1), GIVEN)",
    "entry(ValueError(1), GIVEN)",
    "entry(KeyError([1]), (3,))",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_operands(source: str, steps: tuple[str, ...]) -> None:
    check_world(source, *steps)

"""Python's builtin functions, math and operator: captured functions against plain ones."""

# Wrong formats, old ones, odd comparisons and calls by name are what is tested.
# ruff: noqa: B009, B010, E721, F507, F522, F524, F525, RUF017, UP003, UP018, UP031, UP032

import math
import operator

import pytest
from differential import check as check_calls
from test_containers import check, check_each


class Box:
    kind = "box"

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __eq__(self, other):
        return isinstance(other, Box) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __len__(self):
        return 3

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return 2

    def __repr__(self):
        return f"Box({self.value!r})"

    def __add__(self, other):
        return Box(self.value + (other.value if isinstance(other, Box) else other))

    def __radd__(self, other):
        return Box(other + self.value)

    def __abs__(self):
        return "abs"

    def __round__(self, digits=None):
        return ("round", digits)

    def __iter__(self):
        return iter([self.value])

    def __contains__(self, item):
        return item == self.value

    def __getitem__(self, key):
        return (self.value, key)

    def __format__(self, specification):
        return f"<{specification}>"


def lengths(xs, n):
    return len(xs), len("abc"), len(range(n)), len({1: 2}), len(Box(1)), len((xs,))


def length_error(xs, n):
    return len(n)


def ranges(xs, n):
    r = range(n)
    return (
        list(r),
        range(1, n),
        range(n, 0, -1)[1],
        n in r,
        len(range(0, n, 2)),
        [i for i in range(Box(0))],
    )


def range_error(xs, n):
    return range("a")


def range_zero_step(xs, n):
    return range(0, n, 0)


def minimum_maximum(xs, n):
    return (
        min(xs),
        max(xs),
        min(n, 2, 8),
        max(xs, key=lambda x: -x),
        min([], default="none"),
        max("hello"),
        min((b, a) for a, b in zip(xs, "xyz")),
        max(1, 1.0),
        max(1.0, 1),
        min([Box(3), Box(1)], key=lambda b: b.value).value,
        max(Box(1), Box(2)).value,
        max([1, 2], key=None),
        min(xs, default=0),
    )


def minimum_of_nothing(xs, n):
    return min([])


def maximum_of_nothing(xs, n):
    return max(x for x in [])


def maximum_mixed(xs, n):
    return max(xs, "a")


def maximum_wrong_keyword(xs, n):
    return max(xs, start=1)


def maximum_default_with_many(xs, n):
    return max(1, 2, default=3)


def sums(xs, n):
    return (
        sum(xs),
        sum(xs, 10),
        sum([0.1] * 10),
        sum([[1], [2]], []),
        sum(x * 0.5 for x in xs),
        sum([True, 2, 3.5]),
        sum([Box(1), Box(2)], Box(0)).value,
        sum((), start=n),
        sum([1, Box(2), 3]).value,
    )


def sum_of_strings(xs, n):
    return sum(["a", "b"], "")


def sum_error(xs, n):
    return sum(["a"])


def any_all(xs, n):
    return (
        any(xs),
        all(xs),
        any([]),
        all([]),
        any(x > 2 for x in xs),
        all([Box(1), Box(0)]),
        any([0, "", None]),
    )


def conversions(xs, n):
    return (
        int("12"),
        int("ff", 16),
        int(2.9),
        int(True),
        float("1.5"),
        float(n),
        str(n),
        repr("a"),
        bool(xs),
        bool([]),
        bool(Box(0)),
        tuple(xs),
        list("ab"),
        set(xs) == set(xs),
        frozenset([1]),
        complex(1, 2),
        bytes([1, 2]),
        str(),
        int(),
        float(),
        bool(),
        tuple(),
        list(),
        dict(a=1),
        dict([(1, 2)]),
        str(Box(n)),
        repr([Box(1)]),
        float(Box(1)),
    )


def int_of_box(xs, n):
    return int(Box(1))


def int_error(xs, n):
    return int([1])


def int_text_error(xs, n):
    return int("x")


def float_error(xs, n):
    return float([1])


def list_error(xs, n):
    return list(n)


def characters(xs, n):
    return chr(97 + n), ord("a"), bin(n), oct(n), hex(255), ascii("é"), hex(Box(1))


def numbers(xs, n):
    return (
        abs(-n),
        abs(Box(1)),
        divmod(17, n),
        pow(2, n),
        pow(2, n, 5),
        round(2.567, 2),
        round(2.5),
        round(Box(1)),
        round(Box(1), 3),
        -7 // 2,
        -7 % 3,
        7.5 // 2,
        hash(n) == hash(n),
        2**n,
    )


def division_error(xs, n):
    return n // 0


def attributes(xs, n):
    box = Box(n)
    setattr(box, "extra", xs)
    before = hasattr(box, "extra"), getattr(box, "extra"), getattr(box, "none", "default")
    delattr(box, "extra")
    return before, hasattr(box, "extra"), box.kind, getattr(box, "kind"), hasattr(xs, "append")


def attribute_error(xs, n):
    return getattr(Box(n), "missing")


def attribute_name_error(xs, n):
    return getattr(xs, 1)


def types(xs, n):
    return (
        isinstance(n, int),
        isinstance(True, int),
        isinstance(xs, (str, list)),
        type(n) is int,
        type(xs) is list,
        type(Box(1)) is Box,
        issubclass(bool, int),
        issubclass(Box, (int, object)),
        isinstance(Box(1), Box),
        callable(len),
        callable(Box),
        callable(n),
        callable(lambda: 0),
        type(None) is type(None),
        type("") == str,
        isinstance(n, int | str),
    )


def issubclass_error(xs, n):
    return issubclass(n, int)


def iteration(xs, n):
    it = iter(xs)
    return next(it), next(it, 0), list(it), next(it, "end"), list(Box(1)), 1 in Box(1), Box(5)["k"]


def iter_error(xs, n):
    return iter(n)


def next_error(xs, n):
    return next(xs)


def sorting(xs, n):
    return (
        sorted(xs),
        sorted(xs, reverse=True),
        sorted("hello"),
        sorted({"b": 1, "a": 2}),
        [b.value for b in sorted([Box(3), Box(1), Box(2)])],
        sorted(xs, key=lambda x: x % 2),
        sorted([(2, "b"), (1, "z"), (2, "a")]),
        sorted(xs, key=abs, reverse=1),
        [b.value for b in sorted([Box(3), Box(1), Box(2)], reverse=True)],
    )


def sorting_error(xs, n):
    return sorted([1, "a"])


def sorting_wrong_keyword(xs, n):
    return sorted(xs, cmp=1)


def slices(xs, n):
    s = slice(1, n)
    return (
        xs[s],
        s.start,
        s.indices(10),
        slice(None, None, -1),
        xs[slice(Box(0))],
        "abcdef"[slice(0, None, 2)],
    )


def formatting(xs, n):
    return (
        f"{n:>5}|{n!r}|{xs}",
        format(n, "03d"),
        format(1.5, ".3f"),
        "%d %s %5.2f" % (n, xs, 1.25),
        "%(a)s-%(b)d" % {"a": xs, "b": n},
        "{} {!r} {x[0]}".format(n, xs, x=xs),
        "{0.kind} {0}".format(Box(1)),
        "%s" % Box(n),
        "%r and %%" % (xs,),
        "{:{w}}".format(n, w=6),
        ", ".join(map(str, xs)),
        "-".join([str(x) for x in xs]),
        f"{Box(1):abc}",
        "%-6s|" % (xs[0],),
        "%*d" % (5, n),
        "{a}{b}".format(**{"a": 1, "b": xs}),
        "{0}{0}".format(xs),
    )


def percent_error(xs, n):
    return "%d" % (xs, xs)


def percent_missing(xs, n):
    return "%s %s" % (xs,)


def format_missing(xs, n):
    return "{} {}".format(xs)


def format_missing_key(xs, n):
    return "{a}".format(b=xs)


def format_switch(xs, n):
    return "{} {0}".format(xs)


def join_error(xs, n):
    return ",".join(xs)


def join_not_iterable(xs, n):
    return ",".join(n)


def strings(xs, n):
    s = "Hello, World"
    parts = s.split(", ")
    parts.append("!")
    return (
        parts,
        s.upper(),
        s.replace("l", "L"),
        s.find("W"),
        s.startswith(("He", "x")),
        s[1:n],
        s * 2,
        s.partition(","),
        "a" in s,
        s.encode(),
        s.center(20, "*"),
        list(s.title()),
        s < "I",
        "x".isalpha(),
        " a b ".strip(),
        "a,b,c".rsplit(",", 1),
        "ab\ncd".splitlines(),
    )


def mathematics(xs, n):
    return (
        math.sqrt(n),
        math.floor(2.7),
        math.ceil(2.1),
        math.prod([1, 2, n]),
        math.gcd(12, 18),
        math.pi,
        math.isnan(math.nan),
        math.inf > n,
        math.log(n, 2),
        math.factorial(n),
        math.comb(5, 2),
    )


def math_error(xs, n):
    return math.sqrt(-1)


def operators(xs, n):
    return (
        operator.add(n, 1),
        operator.mul(xs, 2),
        operator.getitem(xs, 0),
        operator.contains(xs, 1),
        operator.lt(1, n),
        operator.eq(xs, xs),
        operator.not_(xs),
        operator.truth(n),
        operator.neg(n),
        operator.concat([1], [2]),
        operator.is_(xs, xs),
        operator.index(Box(1)),
        operator.countOf(xs, 1),
        operator.setitem(xs, 0, "s"),
        operator.iadd(xs, [1]),
        xs,
    )


def callables_as_keys(xs, n):
    table = {len: "len", int: "int", "max": max}
    return table[len], table[int], table["max"](xs)


def bound_methods(xs, n):
    append = xs.append
    append(n)
    get = {"a": 1}.get
    return xs, get("a"), get("b", 2), list(map(xs.count, [1, n]))


def unbound_methods(xs, n):
    list.append(xs, n)
    d = {}
    dict.__setitem__(d, "k", xs)
    return (
        list.__len__(xs),
        dict.get(d, "k"),
        str.upper("a"),
        xs.__len__(),
        xs.__contains__(n),
        d.__getitem__("k"),
        list.__getitem__(xs, 0),
        (1).__add__(2),
        "a".__eq__("a"),
        xs.__eq__(3),
    )


def wrong_arguments(xs, n):
    xs.append()


def wrong_keywords(xs, n):
    xs.append(x=1)


def wrong_count_of_len(xs, n):
    return len(xs, n)


def wrong_isinstance(xs, n):
    return isinstance(n)


def wrong_sum(xs, n):
    return sum()


def wrong_enumerate(xs, n):
    return enumerate(xs, 1, 2)


def wrong_enumerate_keyword(xs, n):
    return enumerate(xs, begin=2)


def each_wrong_call(xs, n):
    calls = [
        lambda: operator.add(1),
        lambda: operator.neg(1, 2),
        lambda: operator.lt(1, 2, 3),
        lambda: operator.concat(1, 2),
        lambda: operator.not_(),
        lambda: bin(),
        lambda: hex(1.5),
        lambda: frozenset([1]).union(x=1),
        lambda: frozenset([xs[0]]).issubset(),
        lambda: {1}.isdisjoint(),
        lambda: {1}.copy(2),
        lambda: {}.get(),
        lambda: {}.pop(1, 2, 3),
        lambda: {}.keys(1),
        lambda: {}.update(1, 2),
        lambda: dict(1, 2),
        lambda: zip(xs, strict=True, lax=1),
        lambda: map(len),
        lambda: filter(None),
        lambda: reversed(),
        lambda: reversed({1}),
        lambda: slice(),
        lambda: getattr(xs),
        lambda: hasattr(xs, 3),
        lambda: max(),
        lambda: min(1, 2, key=1),
        lambda: sorted(),
        lambda: sorted(xs, key=1),
        lambda: xs.sort(1),
        lambda: xs.sort(reverse="x"),
        lambda: tuple(1, 2),
        lambda: list(1, 2),
        lambda: set(1, 2),
        lambda: bool(1, 2),
        lambda: float(1, 2),
        lambda: "a".join(),
        lambda: range(),
        lambda: iter(),
        lambda: next(),
    ]
    out = []
    for call in calls:
        try:
            out.append(call())
        except Exception as error:
            out.append((type(error).__name__, str(error)))
    return out


def wrong_special_method(xs, n):
    return xs.__len__(1)


def wrong_item_method(xs, n):
    return xs.__getitem__()


def add_error(xs, n):
    return xs + n


def compare_error(xs, n):
    return xs < n


def call_error(xs, n):
    return n()


def subscript_error(xs, n):
    return n[0]


FUNCTIONS = [
    value
    for value in list(globals().values())
    if getattr(value, "__code__", None)
    and value.__module__ == __name__
    and value.__code__.co_varnames[:2] == ("xs", "n")
    and value.__name__ != "each_wrong_call"
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_builtins(function):
    check(function, [3, 1, 2], 4)
    check_each(function, ([3, 1, 2], 4), ([2, 5], 3), ([2, 5], 4))


def test_wrong_calls():
    check_calls(each_wrong_call, [3, 1, 2], 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: print("a"),
        lambda x: eval("1"),
        lambda x: vars(x),
        lambda x: globals()["math"].pi,
        lambda x: locals()["x"],
        lambda x: [id(x)] == [id(x)],
        lambda x: list(iter(lambda: 1, 1)),
        lambda x: dir(x) == dir(x),
        lambda x: bytearray(b"a"),
        lambda x: exec("pass"),
    ],
)
def test_unsupported_builtins_break_the_graph(function, capfd):
    check_calls(function, Box(1))

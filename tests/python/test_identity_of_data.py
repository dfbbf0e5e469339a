"""Which of two equal numbers, texts, tuples and sets a program gets back: plain Python's.

Every call gets new objects of equal value. What a function returns and keeps is compared by the
objects it consists of: the arguments, their parts, or others.
"""

import collections
import copy
import functools
import itertools
import operator

import armature
import pytest

MODULES = {each.__name__: each for each in (collections, copy, functools, operator)}

VALUES = {
    "float": lambda: float("2.5"),
    "nan": lambda: float("nan"),
    "str": lambda: "".join(["hel", "lo w"]),
    "int": lambda: int("100000"),
    "bytes": lambda: bytes(bytearray(b"hello w")),
    "complex": lambda: complex("1+2j"),
    "tuple": lambda: (float("1.25"), "".join(["ab", "c d"])),
    "nested": lambda: ((float("1.25"),),),
    "frozenset": lambda: frozenset([float("1.75"), int("123456")]),
    "range": lambda: range(int("1000"), int("2000")),
    "slice": lambda: slice(int("1000"), int("2000")),
}

EXPRESSIONS = """
a
(a, b)
[a, b]
{a: b}
{a, b}
frozenset([a, b])
frozenset({a})
frozenset((a,)) | frozenset((b,))
frozenset((a,)) & frozenset((b,))
frozenset((a,)).union([b])
frozenset([frozenset([a])])
{frozenset([a]): 1}
frozenset([t])
frozenset(t)
set(t)
{a} | {b}
{a} & {b}
set([a]).copy()
{**{a: 1}, b: 2}
dict.fromkeys([a, b])
dict([(a, b)])
{a: 1} | {b: 2}
collections.Counter([a, b])
collections.OrderedDict([(a, b)])
collections.deque([a, b])
max([a, b])
sorted([b, a])
a or b
(a,) * 2
(a,) + (b,)
copy.copy(a)
copy.deepcopy([a, b])
next(iter({a}))
{a}.pop()
{a: b}.popitem()
{a: 1}.setdefault(b, a)
list({a: b}.items())
[*{a, b}]
list({t: 1})[0] is t
functools.reduce(lambda x, y: x, [a, b])
operator.itemgetter(0)([a, b])
sum([], a)
slice(a, b)
ValueError(a, b).args
ValueError(*t).args
KeyError(*t).args is t
(lambda *x: x)(*t) is t
functools.partial(id, *t).args is t
type("Q", (), {"z": a}).z
isinstance(a, str) and (a + "", a * 1, a[:], a.strip(), "".join([a]), f"{a}", a.split("zz"))
isinstance(a, bytes) and (a + b"", a * 1, a[:], a.strip(), b"".join([a]), a.split(b"zz"))
isinstance(a, int) and (a + 0, abs(a), +a, int(a), a.real, range(a, a + 3).start)
isinstance(a, float) and (a + 0, a * 1, float(a), a // 1)
isinstance(a, tuple) and (tuple(a), a + (), a * 1, a[:], (*a,), a[0], list(a))
isinstance(a, frozenset) and (frozenset(a), a.copy(), list(a), set(a), a | set(), a & a, a - set())
list(d)
list(d.items())
{k: v for k, v in d.items()}
list(s)
[x for x in s]
s | {1}
isinstance(a, range) and (a.start, a[:])
isinstance(a, slice) and (a.start, a.stop)
kept.append(a) or kept
table.update({a: b}) or table
""".strip().splitlines()


def consists_of(value, known, seen):
    for name, each in known.items():
        if value is each:
            return name
    place = seen.setdefault(id(value), len(seen))
    if place != len(seen) - 1 and not isinstance(value, bool | type(None)):
        return f"again {place}"
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [consists_of(each, known, seen) for each in value]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(str(consists_of(x, known, seen)) for x in value)
    if isinstance(value, dict):
        return [
            (consists_of(key, known, seen), consists_of(each, known, seen))
            for key, each in value.items()
        ]
    if isinstance(value, slice):
        return [consists_of(x, known, seen) for x in (value.start, value.stop, value.step)]
    return repr(value)


def known_objects(a, b, t):
    known = {"a": a, "b": b, "t": t}
    for name, value in (("a", a), ("b", b)):
        if isinstance(value, tuple | frozenset):
            known |= {f"{name}[{i}]": x for i, x in enumerate(sorted(value, key=repr))}
        if isinstance(value, range | slice):
            known |= {f"{name}.start": value.start, f"{name}.stop": value.stop}
    return known


def outcome(function, a, b):
    t, kept, table = (a, b), [], {}
    try:
        result = function(a, b, t, {a: 1}, {a}, kept, table)
    except TypeError as error:
        return str(error)
    return consists_of((result, kept, table), known_objects(a, b, t), {})


@pytest.mark.parametrize("breaks", [False, True], ids=["whole", "broken"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_result(expression, breaks):
    source = f"def function(a, b, t, d, s, kept, table):\n    result = {expression}\n"
    source += "    armature.graph_break()\n" * breaks + "    return result\n"
    differences = []
    for kind, sames in itertools.product(VALUES, [(True, False, True), (False, True, False)]):
        namespace = dict(MODULES, armature=armature)
        exec(source, namespace)
        function = namespace["function"]
        armature.reset()
        compiled = armature.compile(function)
        for same in sames:
            a = VALUES[kind]()
            b = a if same else VALUES[kind]()
            expected, found = outcome(function, a, b), outcome(compiled, a, b)
            if expected != found:
                differences.append((kind, same, expected, found))
    assert not differences


INSIDE = {
    "an element of a frozenset": lambda given, a: [x is a for x in given[0]],
    "an element of a set": lambda given, a: [x is a for x in given[1]],
    "a key": lambda given, a: [x is a for x in given[2]],
    "a key of items": lambda given, a: [x is a for x, _ in given[2].items()],
    "an item": lambda given, a: [x is a for x in given[3]],
    "an item of a tuple": lambda given, a: given[4][0] is a,
    "a value": lambda given, a: given[5]["k"] is a,
    "an item of a value": lambda given, a: given[5]["t"][0] is a,
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("make", [lambda: float("2.5"), lambda: "".join(["ab", "c d"])])
@pytest.mark.parametrize("name", INSIDE)
def test_part_of_an_argument(name, make, first):
    ask = INSIDE[name]

    def function(given, a):
        return ask(given, a)

    compiled = armature.compile(function)
    for same in (first, not first, first, not first):
        a = make()
        part = a if same else make()
        given = [frozenset([part]), {part}, {part: 1}, [part], (part,), {"k": part, "t": (part,)}]
        assert compiled(given, a) == function(given, a)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", [range, slice])
def test_end_of_an_argument(kind, first):
    def function(given, a):
        return given.start is a, given.stop is a

    compiled = armature.compile(function)
    for same in (first, not first, first, not first):
        a = int("1000")
        given = kind(a if same else int("1000"), 5)
        assert compiled(given, a) == function(given, a)


def test_numbers_that_an_attribute_makes_are_new():
    def function(z, turns):
        kept = [z.real for _ in range(turns)] + [z.imag for _ in range(turns)]
        return len(set(map(id, kept))), kept, [float(x) + 1 for x in range(turns)]

    compiled = armature.compile(function)
    for z in (complex("1.5+2j"), complex("1.5+2j"), complex("3+4j")):
        assert compiled(z, 1500) == function(z, 1500)


def over_a_break(x):
    y = 1000
    _ = x == y
    armature.graph_break()
    return x is y


def in_a_list(x):
    y = 1000
    pair = [x, y]
    _ = x + 1
    armature.graph_break()
    return pair[0] is pair[1]


def in_a_tuple(x):
    pair = (x, (1000, "literal"))
    _ = x + 1
    armature.graph_break()
    return pair[0] is pair[1][0]


def carried(x):
    y = 1000 if x else x
    armature.graph_break()
    for _ in range(2):
        y = y and 1000
    return [x is y, y]


@pytest.mark.parametrize("program", [over_a_break, in_a_list, in_a_tuple, carried])
def test_literals_stay_apart_from_inputs_that_are_equal(program):
    """Even where the first call passes the literal itself."""
    literal = next(
        part
        for constant in program.__code__.co_consts
        for part in (constant if isinstance(constant, tuple) else (constant,))
        if part == 1000
    )
    values = [literal, int("1000"), 0, int("1000"), literal]
    for order in itertools.permutations(values[:3]):
        compiled = armature.compile(program)
        for value in [*order, *values]:
            assert compiled(value) == program(value)

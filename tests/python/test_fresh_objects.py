"""Tuples and functions that are made anew for each call: which is it, and is it a new one?"""

import armature
import pytest
from changing_world import check_world, compilations, quick_collections


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    with quick_collections():
        yield


KEYS = """
class K: pass
K1, K2, NAN = K(), K(), float('nan')
DEEP = ((K1, (1, K2)), 'a')
DATA = (1, ('a', 2.5))
D = {DEEP: [1], DATA: 2, (): 3, (K, len): 4}
"""


@pytest.mark.parametrize(
    "body",
    [
        "return [k is DEEP or k is DATA for k in D], list(D), list(D.items())",
        "E = {**D, 'x': 1}; return [k is DEEP for k in E], E",
        "return [k is key for k in D], D.get(key)",
        "D[key] = 5; return list(D)[-1] is key, D.pop(key)",
        "D[key] = 5; D[key[0], key[1]] = 6; return list(D)[-1] is key, D[key]",
        "E = {(K1, key): 1, (key, 2): 2}; return [k[1] is key for k in E], E[K1, key], E",
        "t = (key, K1); E = {t: 1, (key, K1): 2}; return [k is t for k in E], E",
        "t = (key, 1.5); E = dict.fromkeys([t, key]); return [k is t for k in E], E",
        "S = {key, DEEP, DATA}; return any(k is key for k in S), len(S), DATA in S, key in S",
        "t = (key, 1); S = {t}; return t in S, [k is t or k == t for k in S]",
        "return key in frozenset([1, (1, ('a', 2.5))]), key in {1, (2, 3)}",
        "return (1, ('a', 2.5)) is key, key is DATA, () is key",
        "return D.popitem()[0] is key, list(reversed(D)), D.keys() & {key, 1}",
        "return {k: k is key for k in D} == D, sorted(map(id, D)) == sorted(map(id, list(D)))",
    ],
)
def test_tuples_as_keys_stay_the_objects_that_they_are(body):
    steps = ["entry(DATA)", "entry(tuple([1, ('a', 2.5)]))", "entry((K1, 2))", "entry(DEEP)"]
    steps += ["D[tuple(list(DATA))] = 7", "entry(DATA)", "del D[DATA]; D[(1, ('a', 2.5))] = 8"]
    check_world(f"{KEYS}\ndef entry(key):\n    {body}", *steps, "entry(DATA)", "entry(())")


def test_a_constant_that_comes_back_as_an_argument():
    check_world(
        """
        def pair(): return (1, 2)
        def entry(key, n):
            E = {(n, 2): 0}
            return pair() is key, key is pair(), [k is pair() for k in E], [k is key for k in E]
        """,
        "entry(pair(), 1)",
        "entry(tuple([1, 2]), 1)",
        "entry(pair(), 1)",
        "entry((1, 3), 3)",
    )


FUNCTIONS = """
import functools
def apply(f, *args): return f(*args)
def fresh(text, **names):
    return eval(text, {**globals(), **names} if names else globals())
def entry(f, *args): return apply(f, *args)
"""


@pytest.mark.parametrize(
    "made",
    [
        "lambda v: v + 1.5",
        "lambda v, k=2: v * k",
        "lambda v, *, k=(1, 2.5): (v, k)",
        "lambda v: [lambda w: w + v][0](2)",
        "(lambda n: lambda v: v + n)(3)",
        "fresh('lambda v: [apply(str, v), v in (1, 2)]')",
        "functools.partial(lambda a, b: (a, b), 1)",
    ],
)
def test_equal_functions_are_one_translation(made):
    assert compilations(FUNCTIONS, *[f"entry({made}, 1)"] * 5)[1:] in ([0] * 4, [1, 0, 0, 0])
    check_world(FUNCTIONS, *[f"entry({made}, {v})" for v in (1, 1, 2, "'a'")], repeat=False)


@pytest.mark.parametrize(
    ("arguments", "repeat"),
    [
        # So few that each has its translation.
        (
            [
                "lambda v: v + 1",
                "lambda v: v + 1.0",
                "lambda v: v + True",
                "lambda v: v - 1",
                "lambda w: w + 1",
            ],
            True,
        ),
        (
            [
                "lambda v, w=0: v + w",
                "lambda v, w=1: v + w",
                "lambda v, *, w=1: v + w",
                "lambda v, *, w=3: v + w",
                "(lambda n: lambda v: v + n)(1)",
                "(lambda n: lambda v: v + n)(5)",
            ],
            True,
        ),
        # Each has globals of its own, and is another function in each call.
        (
            [
                "fresh('lambda v: abs(v)', abs=str)",
                "fresh('lambda v: abs(v)')",
                "fresh('lambda v: v + N', N=1)",
                "fresh('lambda v: v + N', N=2)",
                "fresh('lambda v: [lambda: 0.0, 1][0]()')",
                "fresh('lambda v: [lambda: -.0, 1][0]()')",
                "fresh('lambda v: (0.0, v)')",
                "fresh('lambda v: (-.0, v)')",
            ],
            False,
        ),
    ],
    ids=["bodies", "parameters", "globals"],
)
def test_functions_that_differ_in_any_part_are_told_apart(arguments, repeat):
    check_world(
        FUNCTIONS + "\ndef entry(f): return f(2), f.__name__, f.__defaults__, f.__kwdefaults__",
        *(f"entry({argument})" for argument in arguments),
        repeat=repeat,
    )


def test_which_code_object_it_is():
    check_world(
        """
        CODE = (lambda v: v).__code__
        def entry(f, g):
            return f.__code__ is g.__code__, f.__code__ == g.__code__, f.__code__ is CODE, f(1)
        def two(): return lambda v: v + 1
        """,
        "entry(lambda v: v, lambda v: v)",
        "entry(two(), two())",
        "F = two()",
        "entry(F, F)",
        "entry(F, lambda v: v + 1)",
        "F.__code__ = CODE",
        "entry(F, F)",
    )


def test_a_function_whose_code_holds_what_is_no_constant():
    check_world(
        """
        import types
        def holding(thing):
            code = (lambda v: (v, 'thing')).__code__
            held = tuple(thing if c == 'thing' else c for c in code.co_consts)
            return types.FunctionType(code.replace(co_consts=held), {})
        ONE, TWO = [1], [1]
        def entry(f):
            found = f(0)[1]
            return found is ONE, found
        """,
        "entry(holding(ONE))",
        "entry(holding(TWO))",
        "entry(holding(ONE))",
    )


def test_a_captured_function_whose_code_holds_what_is_no_constant():
    held = [1]

    def f(v):
        return v, "thing"

    constants = tuple(held if c == "thing" else c for c in f.__code__.co_consts)
    f.__code__ = f.__code__.replace(co_consts=constants)
    assert armature.compile(f)(1)[1] is held


@pytest.mark.parametrize(
    "body",
    [
        "t = (n, 3); return t, t, [t], {t: t}",
        "return next(zip([2])), next(enumerate([2]))",
        "t = tuple([n]); return t, (t, t), (t, (t,))",
        "return (1, 2), (n, (1, 2))",
        "return divmod(7, 2), 'a b'.partition(' '), {1: 2}.popitem(), list({1: 2}.items())",
        "s = slice(1, n); return s, (s,), [s]",
        "t = ((1, 2), 3); return t, t[0], [t[0]]",
        "return entry.__code__.co_varnames, int.__bases__, TUPLE, TUPLE[0], [TUPLE[0]]",
        "t = (n, 2); print(t); return t, (t,)",
        "return range(3), range(n), [range(1, n, 2)], range(9)[n:], frozenset([n, 'a'])",
        "r = range(n); s = frozenset({n}); return r, s, (r, s), [r, s], {s: r}, s | {1}, r[1:]",
        "s = frozenset(['b', 'a']); return s, n in {1, 2, 3}, frozenset(s) is s, TUPLE in {TUPLE}",
        "t = (n, 2); LOG.append(t); LOG.append((t, TUPLE)); return max(t, (0,)), max(TUPLE, TUPLE)",
    ],
)
def test_tuples_of_constants_are_made_by_each_call(body):
    check_world(
        f"""
TUPLE = (('a', 1), 2)
LOG = []
def work(n):
    {body}
def entry(n):
    LOG.append(work(n))
""",
        *["entry(2)"] * 3,
    )


ALTERNATIVES = """
class A: pass
class B(A): pass
class Other: pass
def entry(x, kinds):
    try:
        return isinstance(x, kinds), issubclass(type(x), (kinds, str)), kinds
    except TypeError as error:
        return str(error)
"""


def test_alternatives_of_classes_are_known_by_the_classes():
    steps = ["entry(3, int | str)", "entry(B(), A | Other)", "entry('a', int | list[int])"]
    steps += ["entry(A(), B | Other)", "B.__bases__ = (Other,)", "entry(B(), A | None)"]
    check_world(ALTERNATIVES, *steps, "entry(None, A | None)", "entry(3, list[int] | int)")
    assert compilations(ALTERNATIVES, *["entry(B(), A | None)"] * 5)[1:] == [0] * 4

"""What is constant is guarded by value; keys are looked up as Python does, without running code."""

import enum
import functools

import armature
import numpy as np
import pytest
import torch
from changing_world import check_world
from differential import check, compilations

X = torch.ones(2, 3)


class Mode(enum.Enum):
    A = 1
    B = 2


class Base:
    def method(self):
        return 1


class Derived(Base):
    pass


def helper(x):
    return x


# Each makes an equal value afresh in every call.
FRESH = {
    "device": lambda: torch.device("cpu"),
    "size": lambda: torch.Size([2, 3]),
    "range": lambda: range(1000, 2000, 3),
    "frozenset": lambda: frozenset([10**10, "ab" * 2]),
    "slice": lambda: slice(10**9, None),
    "complex": lambda: complex(1, 2),
    "nan": lambda: float("nan"),
    "negative zero": lambda: -float("0"),
    "big int": lambda: 10 ** len("x" * 30),
    "bytes": lambda: bytes([1, 2, 3]),
    "nested": lambda: (1, (2.5, frozenset([torch.Size([1])])), slice(1, 2)),
    "finfo": lambda: torch.finfo(torch.float32),
    "dtype": lambda: np.dtype("f4"),
    "swapped dtype": lambda: np.dtype(">f4"),
    "enum": lambda: Mode.A,
    "method": lambda: Base().method,
    "empty list's append": lambda: [].append,
    "str method": lambda: "".join(["a", "b"]).upper,
    "class method": lambda: dict.fromkeys,
    "dict method": lambda: {}.get,
}


@pytest.mark.parametrize("make", FRESH.values(), ids=FRESH.keys())
def test_a_fresh_value_is_one_translation(make):
    def use(value, x):
        return value is None, type(value), value == 1, x + 1

    compiled = armature.compile(use)
    with compilations() as made:
        for _ in range(4):
            assert compiled(make(), X)[:2] == use(make(), X)[:2]
    assert len(made) == 1


DIFFERENT = [
    (1, True, 1.0, 1 + 0j),
    (0.0, -0.0, 0, False),
    (float("nan"), -float("nan"), 0.0),
    (torch.device("cpu"), torch.device("meta"), torch.device("cpu", 0)),
    (torch.Size([1, 2]), (1, 2), torch.Size([2, 1])),
    (range(3), range(0, 3, 1), range(0, 4, 2), range(0, 3, 2)),
    (frozenset([0, 8]), frozenset([8, 0])),
    (slice(1), slice(1.0), slice(True), slice(None, 1, None)),
    ((1, 2.0), (1.0, 2), (1, 2)),
    (np.dtype("f4"), np.dtype(">f4"), np.dtype("f8"), np.dtype("f4", metadata={"a": 1})),
    (b"a", "a"),
]


@pytest.mark.parametrize("values", DIFFERENT, ids=str)
def test_different_values_are_told_apart(values):
    def look(value):
        kind = list(value) if isinstance(value, (frozenset, range, tuple)) else None
        return type(value), kind, str(value), repr(value)

    compiled = armature.compile(look)
    for _ in range(2):
        for value in values:
            assert compiled(value) == look(value)


def test_deep_and_wide_tuples_are_ordinary():
    deep = ()
    for _ in range(100_000):
        deep = (deep,)
    shared = ()
    for _ in range(60):
        shared = (shared, shared)

    def f(t, x):
        return t, len(t), x + 1

    compiled = armature.compile(f)
    for value in (deep, shared, (0,) * 200_000):
        for _ in range(2):
            result = compiled(value, X)
            assert result[0] is value
            assert result[1] == len(value)


# --- Keys

CLASSES = {(Base, Base): "bb", (Derived, Base): "db", (int, str): "is", Base: "b"}
FUNCTIONS = {helper: 1, (helper, len): 2, len: 3}
DTYPES = {torch.float32: "f", (torch.float32, "cpu"): "fc", torch.device("cpu"): "c"}
SHAPES = {torch.Size([2, 3]): "a", (3, 2): "b"}
MODES = {Mode.A: "a", (Mode.B, 1): "b"}


KEYED = {
    "tuple of classes": lambda x: CLASSES[Derived, Base],
    "classes of values": lambda x: CLASSES[int, str],
    "class": lambda x: CLASSES[Base],
    "absent tuple": lambda x: CLASSES.get((Base, Derived), "none"),
    "contains": lambda x: ((Base, Base) in CLASSES, (Base, int) in CLASSES, Base in CLASSES),
    "function": lambda x: (FUNCTIONS[helper], FUNCTIONS[helper, len], FUNCTIONS[len]),
    "dtype": lambda x: (DTYPES[x.dtype], DTYPES[x.dtype, "cpu"], DTYPES[x.device]),
    "shape": lambda x: (SHAPES[x.shape], SHAPES[x.t().shape], SHAPES[tuple(x.shape)]),
    "enum": lambda x: (MODES[Mode.A], MODES.get(Mode.B), MODES[Mode.B, 1]),
    "iteration": lambda x: [len(k) if isinstance(k, tuple) else 0 for k in CLASSES],
    "comparison": lambda x: CLASSES == dict(CLASSES),
    "list in a set": lambda x: [1] in {1, 2, 3},
    "dict in a set": lambda x: {} in {1, 2, 3},
    "set in a set": lambda x: {1} in {1, 2, 3},
    "list in a range": lambda x: [1] in range(3),
    "tuple in a set": lambda x: (x.shape[0], 3) in {(2, 3), 1},
    "class in a set": lambda x: type(x) in {int, str},
    "tuple of a tensor in a set": lambda x: (x, 1) in {1, 2},
}


@pytest.mark.parametrize("function", KEYED.values(), ids=KEYED.keys())
def test_keys(function):
    check(function, X, calls=3)


def test_a_lookup_by_shape_is_one_translation():
    cache = {torch.Size([2, 3]): 5}

    def f(x):
        return x * cache[x.shape]

    compiled = armature.compile(f)
    with compilations() as made:
        for _ in range(3):
            assert torch.equal(compiled(torch.ones(2, 3)), f(torch.ones(2, 3)))
    assert len(made) == 1
    with pytest.raises(KeyError):
        compiled(torch.ones(4))
    cache[torch.Size([4])] = 7
    assert torch.equal(compiled(torch.ones(4)), f(torch.ones(4)))


def test_registry_that_changes():
    registry = {(Base, Base): 1}

    def f(a, b):
        return registry.get((type(a), type(b)), 0)

    compiled = armature.compile(f)
    for a, b in [(Base(), Base()), (Derived(), Base()), (Base(), Base())]:
        assert compiled(a, b) == f(a, b)
    registry[Derived, Base] = 2
    assert compiled(Derived(), Base()) == 2
    del registry[Base, Base]
    assert compiled(Base(), Base()) == 0


def test_a_function_as_a_key_is_itself_and_no_twin():
    def make():
        def twin():
            return 1

        return twin

    first, second = make(), make()
    table = {first: "first"}

    def f(key):
        return table.get(key, "none"), key()

    compiled = armature.compile(f)
    for key in (first, second, first):
        assert compiled(key) == f(key)


def test_an_instance_as_a_key_is_itself():
    first, second = Base(), Base()
    table = {first: "first"}

    def f(key):
        return key in table

    compiled = armature.compile(f)
    for key in (first, second, first):
        assert compiled(key) == f(key)


def test_tensors_as_keys():
    weight, other = torch.ones(2), torch.ones(2)
    state = {weight: {"step": 3}}

    def f(p):
        return state[p]["step"] if p in state else None

    compiled = armature.compile(f)
    for p in (weight, other, weight):
        assert compiled(p) == f(p)


class Number:
    """Equal to ints, and hashed as they are."""

    def __repr__(self):
        return f"Number({self.value})"

    asked = 0

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        Number.asked += 1
        return self.value == other


@pytest.mark.parametrize(
    "function",
    [
        lambda n: n in {1, 2, 3},
        lambda n: n in range(3),
        lambda n: n in (1, 2, 3),
        lambda n: {1: "a", 2: "b"}.get(n),
        lambda n: [1, 2].index(n),
    ],
)
@pytest.mark.parametrize("value", [1, 2, 7])
def test_an_object_with_eq_is_asked(function, value):
    compiled = armature.compile(function)
    for _ in range(2):
        outcomes = []
        for call in (function, compiled):
            Number.asked = 0
            try:
                outcomes.append((call(Number(value)), Number.asked))
            except ValueError as error:
                outcomes.append((str(error), Number.asked))
        assert outcomes[0] == outcomes[1]


def test_a_key_with_eq_in_the_dict_is_asked():
    table = {Number(1): "one", "a": 2}

    def f(key):
        return table.get(key)

    compiled = armature.compile(f)
    for key in (1, 2, 1, "a"):
        assert compiled(key) == f(key)


def test_kl_divergence():
    def f(mean):
        p = torch.distributions.Normal(mean, torch.ones(2))
        q = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        return torch.distributions.kl_divergence(p, q)

    compiled = armature.compile(f)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), f(torch.ones(2)))


# --- Bound methods


def test_a_bound_method_left_on_the_stack_is_one_translation():
    shape = armature.disable(lambda x: x.shape)

    def f(x):
        return x.expand(shape(x)) + 1

    compiled = armature.compile(f)
    with compilations() as made:
        for _ in range(5):
            x = torch.ones(2, 3)
            assert torch.equal(compiled(x), f(x))
    assert len(made) == 2


def test_bound_methods_are_guarded_by_their_parts():
    def call(method, value):
        return method(value)

    compiled = armature.compile(call)
    for _ in range(3):
        for values in ([], [1], {1}):
            plain = values.copy()
            method = "add" if isinstance(values, set) else "append"
            assert compiled(getattr(values, method), 5) == getattr(plain, method)(5)
            assert values == plain
        for text in ("ab", "cd"):
            assert compiled(text.startswith, "a") == text.startswith("a")
            assert compiled(text.endswith, "d") == text.endswith("d")
        assert compiled(torch.ones(2).mul, 3).tolist() == [3.0, 3.0]
        assert compiled(torch.ones(2).add, 3).tolist() == [4.0, 4.0]
        assert compiled(dict.fromkeys, "ab") == dict.fromkeys("ab")


def test_partial_over_a_fresh_method():
    def f(method):
        return method()

    compiled = armature.compile(f)
    for _ in range(3):
        assert compiled(functools.partial("a,b".split, ",")) == ["a", "b"]


# --- A nan is found by its identity


@pytest.mark.parametrize(
    "expression",
    [
        "n in s",
        "s == {n}",
        "len(s | {n})",
        "n in o",
        "n in iter(o.items)",
        "list(o.items).count(n)",
    ],
)
def test_a_nan_inside_another_constant(expression):
    check_world(
        f"""
        class Items:
            def __init__(self, *items): self.items = items
            def __iter__(self): return iter(self.items)
        N = float('nan')
        OTHER = [float('nan')]
        A, B, C = frozenset([N]), frozenset(OTHER), Items(*OTHER)
        def entry(n, s, o): return {expression}
        """,
        "entry(N, A, Items(N))",
        "entry(N, B, C)",
        "entry(N, A, Items(1, N))",
    )

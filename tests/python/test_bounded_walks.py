# ruff: noqa: F821, F841, UP031, UP032, E731 (how programs are written is what is tested)
"""Data of any size, depth and shape: nothing that walks it may crash, or go on for ever, and what
CPython says of such data is what the captured program says."""

import copy
import gc
import operator
import time

import armature
import pytest
import torch
from armature import _C
from differential import entries
from hostile_values import first_difference, nested, outcome

X = torch.ones(2)
DEEP = {
    "list": lambda: nested(lambda x: [x], 1),
    "tuple": lambda: nested(lambda x: (x,), 1),
    "dict": lambda: nested(lambda x: {1: x}, 1),
    "mixed": lambda: nested(lambda x: ([x], {"k": 1}), 1),
    "list of tensor": lambda: nested(lambda x: [x], X),
    "slice": lambda: nested(lambda x: slice(x, [], None), 1),
}
HASHING = ("key", "set", "hash", "isinstance")


def cyclic_list():
    x = [1]
    x.append(x)
    return x


def cyclic_dict():
    x = {1: 2}
    x[2] = x
    return x


def cyclic_tuple():
    x = []
    x.append((x, 1))
    return x[0]


def cyclic_iterator():
    x = [1]
    x.append(iter(x))
    return x


def cyclic_slice():
    x = []
    x.append(slice(x, None))
    return x


def cyclic_view():
    x = {}
    x[1] = x.values()
    return x


def cyclic_default():
    x = []

    def f(y=x):
        return y

    x.append(f)
    return x


CYCLIC = [
    cyclic_list,
    cyclic_dict,
    cyclic_tuple,
    cyclic_iterator,
    cyclic_slice,
    cyclic_view,
    cyclic_default,
]

OPERATIONS = {
    "return": lambda a, b: a,
    "compare": lambda a, b: a == b,
    "unlike": lambda a, b: [a, 1] != [b, 1],
    "in": lambda a, b: a in [b],
    "repr": lambda a, b: repr(a),
    "text": lambda a, b: f"{a} {b!a}",
    "percent": lambda a, b: "%s" % (a,),
    "key": lambda a, b: {(1, a): 1},
    "set": lambda a, b: {a},
    "stack": lambda a, b: torch.stack(a),
    "cat": lambda a, b: torch.cat([a, b]),
    "tensor": lambda a, b: torch.ones(2) + torch.sum(a),
    "append": lambda a, b: [a, [b]],
    "max": lambda a, b: max([a], [b]),
    "isinstance": lambda a, b: isinstance(1, (int, a)),
    "hash": lambda a, b: hash((a, 1)),
    "copy": lambda a, b: [*a],
    "format": lambda a, b: "{}".format(a),
}


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """Deep data makes each collection slow, and there are many of them."""
    gc.disable()
    yield
    gc.enable()


def same(fn, *makers):
    """As differential.check does, over data that only hostile_values knows how to walk."""
    compiled = armature.compile(fn)
    expected = outcome(fn, makers)
    for _ in range(2):
        assert not first_difference(expected, outcome(compiled, makers))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", DEEP)
def test_deep(kind, operation):
    def make():
        value = DEEP[kind]()
        # CPython hashes tuples without a bound of its own.
        for _ in range(15_000 if kind == "tuple" and operation in HASHING else 0):
            (value,) = value
        return value

    same(OPERATIONS[operation], make, make)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("make", CYCLIC)
def test_cyclic(make, operation):
    same(OPERATIONS[operation], make, make)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("make", CYCLIC)
def test_cyclic_made_inside(make, operation):
    def program(_a, _b):
        # What is asked here, not what is handed out.
        return str(type(OPERATIONS[operation](make(), make())))

    same(program, list, list)


def test_caught_recursion_errors():
    def program(a, b):
        errors = []
        for operation in (lambda: a == b, lambda: repr(a), lambda: hash(a)):
            try:
                operation()
            except RecursionError as error:
                errors.append(str(error))
        return errors

    same(program, DEEP["list"], DEEP["list"])
    same(program, cyclic_list, cyclic_list)


def test_a_tuple_made_deep_by_the_program():
    def program(a, _b):
        for _ in range(2000):
            a = (a,)
        b = a
        while b:
            (b,) = b
        return a, {1: (a, 2)}

    same(program, tuple, tuple)


def test_a_tuple_that_holds_itself_in_very_many_places():
    def program(a, _b):
        for _ in range(60):
            a = (a, a)
        return a

    same(program, lambda: (), list)
    same(program, lambda: ([],), list)


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


def test_long_linked_list():
    def total(node, x):
        result = 0
        while node is not None:
            result += node.value
            node = node.next
        return x + result

    head = None
    for i in range(100_000):
        head = Node(i % 3, head)
    compiled = armature.compile(total)
    start = time.perf_counter()
    for _ in range(2):
        assert torch.equal(compiled(head, X), total(head, X))
    assert time.perf_counter() - start < 60
    while head is not None:
        head = head.next


HUGE = {
    "list": lambda: [0] * 10**12,
    "text": lambda: "a" * 10**12,
    "bytes": lambda: b"a" * 10**15,
    "tuple": lambda: (0,) * 10**12,
    "beyond": lambda: "a" * 2**70,
    "shift": lambda: 1 << 10**12,
    "power": lambda: (10**10**3).bit_length(),
    "len": lambda: len(range(2**70)),
    "index": lambda: [1, 2][2**70],
    "slice": lambda: [1, 2][: 2**70],
    "padding": lambda: "{:>{}}".format("a", 2**70),
    "ljust": lambda: "a".ljust(2**70),
    "float": lambda: float(10**400),
    "digits": lambda: str(10**5000),
    "range": lambda: range(10**30)[10**29],
    "zeros": lambda: torch.zeros(2**70),
    "reshape": lambda: torch.ones(2).reshape(2**70),
}


@pytest.mark.parametrize("name", HUGE)
def test_huge(name):
    def program(_a, _b):
        try:
            return HUGE[name]()
        except Exception as error:
            return type(error)

    same(program, list, list)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x, n: (3**n, x),
        lambda x, n: (x, (1 << n) * (1 << n)),
        lambda x, n: (x, ("ab" * n).count("b")),
        lambda x, n: (x, len(str(list(range(n // 100))))),
    ],
)
def test_tracing_does_little_work_that_python_does_once(operation):
    compiled = armature.compile(operation)
    start = time.perf_counter()
    expected = operation(X, 10**6)
    plain = time.perf_counter() - start
    start = time.perf_counter()
    result = compiled(X, 10**6)
    assert time.perf_counter() - start < 5 + 20 * plain
    assert str(type(result[1])) == str(type(expected[1]))


# --- Names that are no identifiers, and text that has no UTF-8.

SURROGATE = "\ud800"
NULL = "a\0b"


@pytest.mark.parametrize("name", [SURROGATE, NULL, "a b", "class", "", "__name__\0", "é"])
def test_odd_names(name):
    class Plain:
        pass

    def attributes(_a, _b):
        p = Plain()
        setattr(p, name, 1)
        q = getattr(p, name), hasattr(p, name + "x"), p.__dict__
        try:
            getattr(p, name + "missing")
        except AttributeError as error:
            return q, str(error)

    def keywords(_a, _b):
        def g(**kwargs):
            return kwargs

        return g(**{name: 1}), {name: X}[name], f"{name!r}"

    def missing(a, _b):
        try:
            return {}[name], a
        except KeyError as error:
            return error.args

    def existing(a, _b):
        return a.__dict__[name] + 1, getattr(a, name), vars(a)

    def existing_object():
        p = Plain()
        setattr(p, name, 5)
        return p

    for program in (attributes, keywords, missing):
        same(program, list, list)
    same(existing, existing_object, list)


@pytest.mark.parametrize("name", [SURROGATE, NULL, "a b\n    import os"])
def test_odd_names_of_code(name):
    def f(a, _b):
        c = a + 1
        print(c.shape, end="")
        return c * 2

    code = f.__code__.replace(
        co_name=name, co_qualname=name, co_filename=name, co_varnames=(name, "b", "c" + name)
    )
    odd = type(f)(code, globals(), name)
    compiled = armature.compile(odd)
    assert torch.equal(compiled(X, 1), odd(X, 1))
    for entry in _C.entries(compiled):
        assert all(isinstance(text, str) for text in (entry["graph"], entry["guards"]))
    armature.explain(odd)(X, 1)


def test_a_keyword_is_never_code():
    import builtins

    builtins.reached = []
    evil = "alpha=1, out=None) or __import__('builtins').reached.append(1) or dict(x"

    def f(x):
        try:
            return torch.add(x, x, **{evil: 1})
        except TypeError as error:
            return str(error)

    try:
        for backend in ("eager", lambda module, inputs: module):
            compiled = armature.compile(f, backend=backend)
            assert compiled(X) == f(X)
        assert not builtins.reached
    finally:
        del builtins.reached


# --- Builtins, shared objects, closures.


def run(text, **names):
    scope = {"torch": torch, "X": X, **names}
    exec(text, scope)
    return scope


@pytest.mark.parametrize("builtins", [None, {}, {"len": len}, 3, [], "text"])
def test_globals_with_odd_builtins(builtins):
    scope = run("def f(x):\n    return len([x]), X + 1")
    scope.pop("__builtins__")
    if builtins is not None:
        scope["__builtins__"] = builtins
    f = type(run)(scope["f"].__code__, scope)

    def attempt(g):
        try:
            return g(X)[0]
        except Exception as error:
            return type(error), str(error)

    expected = attempt(f)
    compiled = armature.compile(f)
    assert attempt(compiled) == expected
    assert attempt(compiled) == expected


def test_one_tuple_given_twice():
    def f(a, b):
        return a is b, (a, b), [a] == [b]

    shared = ([], 1)
    compiled = armature.compile(f)
    for a, b in [(shared, shared), (([], 1), ([], 1)), (shared, shared), ((), ())]:
        same_one, pair, equal = compiled(a, b)
        assert same_one == (a is b) and equal
        assert pair[0] is a and pair[1] is b


def test_a_closure_captures_a_caught_exception():
    def program(_a, _b):
        try:
            raise ValueError(1)
        except ValueError as e:
            first = lambda: e
            inside = first()
        try:
            first()
        except NameError as error:
            return inside, str(error)

    same(program, list, list)

    def escaping(_a, _b):
        try:
            raise ValueError(1)
        except ValueError as e:
            return lambda: e

    same(escaping, list, list)


def test_keys_of_every_kind():
    class Plain:
        pass

    class Hashed:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return type(other) is Hashed and self.value == other.value

    keys = [Plain(), Hashed(1), Hashed(2), Plain, len, print, (1, Plain()), frozenset({1}), None]
    keys += [1.5, b"x", SURROGATE, torch.float32, X, lambda: 1, range(3), Ellipsis, type, (1, (2,))]

    def copies(d):
        return {**d}, dict(d), d.copy(), list(d), {k: 1 for k in d}, len(d), set(d) == set(d)

    def copied(d):
        return copy.deepcopy(d)

    def shared_dict(instance):
        return vars(instance), [*instance.__dict__], {**instance.__dict__}

    for key in keys:
        compiled = armature.compile(copies)
        for _ in range(2):
            expected, actual = copies({key: [1]}), compiled({key: [1]})
            assert expected[:5] == actual[:5] and expected[5:] == actual[5:]
        compiled = armature.compile(copied)
        for _ in range(2):
            assert list(compiled({key: [1]}).values()) == [[1]]
        instance = Plain()
        instance.__dict__[key] = 1
        compiled = armature.compile(shared_dict)
        for _ in range(2):
            assert compiled(instance) == shared_dict(instance)


# --- What Python does in constant time.


def test_lookups_in_big_containers_are_linear():
    big_set = set(range(200_000))
    big_dict = dict.fromkeys(range(200_000), 1)

    def f(x, s, d, n):
        found = 0
        for i in range(n):
            found += (i in s) + (i in d) + (str(i) in d)
        return x + found

    compiled = armature.compile(f)
    start = time.perf_counter()
    for _ in range(3):
        assert torch.equal(compiled(X, big_set, big_dict, 2000), X + 4000)
    assert time.perf_counter() - start < 20


def test_a_large_set_is_not_walked():
    many = set(range(200_000))
    frozen = frozenset(many)

    def f(n):
        many.add(-n)
        many.discard(-n)
        return n in many, n in frozen, -n in many, len(many), len(frozen)

    compiled = armature.compile(f)
    for n in (3, 4, 200_001):
        assert compiled(n) == f(n)
    assert sum(entry["guard_count"] for entry in entries(compiled)) < 100


MANY = 100_000


@pytest.mark.parametrize(
    "operation",
    [
        sorted,
        max,
        list,
        lambda items: [*items, 1],
        lambda items: -1 in items,
        lambda items: sum(1 for item in items),
        lambda items: dict.fromkeys(items),
        lambda items: max(*items),
        lambda items: items == type(items)(items),
        lambda items: len(items),
    ],
)
@pytest.mark.parametrize("make", [list, tuple, dict.fromkeys, set])
def test_what_was_there_before_is_not_guarded_item_by_item_without_end(make, operation):
    def f(x, items):
        y = x * 2
        result = operation(items)
        return y + 1, result

    compiled = armature.compile(f)
    for extra in (0, 0, 1):
        items = make(range(MANY + extra))
        (a, plain), (b, captured) = f(X, items), compiled(X, items)
        assert torch.equal(a, b) and plain == captured
    assert all(entry["guard_count"] < MANY / 10 for entry in entries(compiled))


def test_shared_parts_of_constants_are_walked_once():
    numbers = [frozenset()]
    for _ in range(40):
        numbers.append(frozenset(numbers))

    def f(x):
        made = [frozenset(numbers[:n]) for n in range(30)]
        return x + len(made), hash(made[-1]) == hash(numbers[28])

    compiled = armature.compile(f)
    (a, plain), (b, captured) = f(X), compiled(X)
    assert torch.equal(a, b) and plain == captured


@pytest.mark.parametrize(
    "repeat",
    [
        lambda empty, n: empty * n,
        lambda empty, n: n * empty,
        lambda empty, n: operator.mul(empty, n),
        lambda empty, n: operator.imul(empty, n),
        lambda empty, n: len(empty[:0] * n),
    ],
)
@pytest.mark.parametrize("empty", [[], ()])
def test_nothing_is_repeated_at_once(repeat, empty):
    compiled = armature.compile(repeat)
    for n in (3, 2**62, -(2**62)):
        assert compiled(type(empty)(empty), n) == repeat(type(empty)(empty), n)

"""functools.cmp_to_key: what it gives, and the keys that this makes."""

import functools
import weakref

import armature
import pytest
import torch
from changing_world import check_world

SOURCE = """
import functools
def compare(a, b):
    LOG.append((a, b))
    return (a > b) - (a < b)
def backwards(a, b): return compare(b, a)
LOG = []
class Odd:
    def __lt__(self, other): LOG.append(other); return "odd"
def odd(a, b): return Odd()
K = functools.cmp_to_key(compare)
KEPT = []
def entry(x, *args):
    key = functools.cmp_to_key(compare)
    return PROGRAM, x + 1
"""

EXPRESSIONS = {
    "sorted": "sorted(args, key=key)",
    "reverse": "sorted(args, key=key, reverse=True)",
    "maximum": "(max(args, key=key), min(args, key=key))",
    "two_comparisons": "key(3) < functools.cmp_to_key(backwards)(4)",
    "operators": "[f(key(3), key(4)) for f in (lambda a, b: a < b, lambda a, b: a <= b,"
    " lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a > b, lambda a, b: a >= b)]",
    "answers_of_any_kind": "functools.cmp_to_key(odd)(1) < functools.cmp_to_key(odd)(2)",
    "answers_without_order": "functools.cmp_to_key(lambda a, b: None)(1) < key(2)",
    "raises": "sorted([*args, 'x'], key=key)",
    "with_a_number": "key(3) < 4",
    "a_number_first": "3 == key(4)",
    "without_an_object": "key < key",
    "one_without_an_object": "key(2) == key",
    "existing": "key(3) < K(4)",
    "object": "(key(3).obj, key.obj)",
    "by_name": "functools.cmp_to_key(mycmp=backwards)(obj=3).obj",
    "object_of_a_key": "key(3)(4).obj",
    "hash": "hash(key(3))",
    "in_a_set": "{key(3)}",
    "nothing": "key()",
    "too_many": "key(1, 2)",
    "other_keyword": "key(object=1)",
    "attribute": "key(3).comparison",
    "type": "(type(key).__name__, type(key) is type(key(3)), isinstance(key, type(K)))",
    "callable": "(callable(key), callable(key(3)))",
    "truth": "bool(key)",
    "kept": "KEPT.append(key) or [k(3) < k(4) for k in KEPT]",
    "given_out": "key",
    "assigned": "setattr(key, 'obj', 4) or key.obj",
    "search": "key(3) in [key(1), key(3)]",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_as_in_python(name):
    source = SOURCE.replace("PROGRAM", EXPRESSIONS[name])
    change = "def compare(a, b): return (a < b) - (a > b)"
    step = "entry(torch.ones(2), 3, 1, 2)"
    check_world(source, step, change, step, "odd = compare", step)


def test_one_graph():
    def program(x, items):
        key = functools.cmp_to_key(lambda a, b: a[0] - b[0])
        best = max(items, key=key)
        return x * best[0], sorted(items, key=key), key(best)

    compiled = armature.compile(program, fullgraph=True)
    x = torch.ones(2)
    y, ordered, key = compiled(x, [(3, "a"), (1, "b"), (2, "c")])
    assert torch.equal(y, x * 3)
    assert ordered == [(1, "b"), (2, "c"), (3, "a")]
    assert key.obj == (3, "a") and type(key) is type(functools.cmp_to_key(max))


def test_lifetime_of_what_a_key_wraps():
    class Wrapped:
        pass

    def program(x, wrapped):
        return functools.cmp_to_key(max)(wrapped), x + 1

    compiled = armature.compile(program, fullgraph=True)
    wrapped = Wrapped()
    key, _ = compiled(torch.ones(2), wrapped)
    dead = weakref.ref(wrapped)
    assert key.obj is wrapped
    del key, wrapped
    assert dead() is None

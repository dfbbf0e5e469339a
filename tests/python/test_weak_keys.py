"""Dicts and sets of weak references: WeakKeyDictionary, WeakValueDictionary, singledispatch."""

import functools
import gc
import weakref

import armature
import pytest
import torch
from differential import check, translations


class Thing:
    def __init__(self, number=0):
        self.number = number


class Equal:
    """Weak references to it compare as it does."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Equal) and self.number == other.number

    def __hash__(self):
        return hash(self.number)


A, B, C = Thing(1), Thing(2), Thing(3)


def test_weak_key_dictionary():
    table = weakref.WeakKeyDictionary({A: 1, B: 2})

    def f(thing, x):
        return x + table.get(thing, 10), thing in table, table.get(C)

    x = torch.ones(1)
    check(f, A, x, more=((B, x), (C, x)), breaks=0)
    compiled = armature.compile(f)
    for thing in (A, B, C):
        assert compiled(thing, x) == f(thing, x)
        table[C] = 5
        assert compiled(thing, x) == f(thing, x)
        del table[C]
        assert compiled(thing, x) == f(thing, x)


def test_values_change():
    table = weakref.WeakKeyDictionary({A: 1})
    compiled = armature.compile(lambda: table[A])
    for value in (1, 2, torch.ones(1), None):
        table[A] = value
        assert compiled() is value


def test_missing():
    table = weakref.WeakKeyDictionary()

    def f(thing):
        try:
            return table[thing]
        except KeyError:
            return "missing"

    compiled = armature.compile(f)
    assert compiled(A) == "missing"
    table[A] = 1
    assert compiled(A) == 1 and compiled(B) == "missing"


def test_new_dicts_and_sets():
    def f(a, b):
        keys = {weakref.ref(a): 1, weakref.ref(b): 2}
        refs = {weakref.ref(a), weakref.ref(b)}
        return len(keys), len(refs), keys.get(weakref.ref(b)), weakref.ref(a) in {weakref.ref(b)}

    compiled = armature.compile(f)
    for a, b in ((A, B), (A, A), (B, A)):
        assert compiled(a, b) == f(a, b)


def test_references_compare_as_their_objects():
    table = {weakref.ref(one): one.number for one in (ONE, TWO)}

    def f(key):
        return table.get(weakref.ref(key)), weakref.ref(key) in {weakref.ref(ONE)}

    compiled = armature.compile(f)
    for key in (ONE, TWO, Equal(1), Equal(3)):
        assert compiled(key) == f(key)


ONE, TWO = Equal(1), Equal(2)


def test_the_end_of_a_key():
    table = weakref.WeakKeyDictionary()
    ended = []
    compiled = armature.compile(lambda thing: table.get(thing))
    for number in range(3):
        thing = Thing(number)
        table[thing] = number
        weakref.finalize(thing, ended.append, number)
        assert compiled(thing) == number
        del thing
        gc.collect()
        assert len(table) == 0 and ended == list(range(number + 1))


def test_callbacks_are_not_put_off():
    """No translation keeps a reference that the program has dropped."""
    called = []
    thing = Thing()
    keys = {weakref.ref(thing, called.append): 1}
    compiled = armature.compile(lambda keys, thing: (keys.get(weakref.ref(thing)), len(keys)))
    for _ in range(2):
        assert compiled(keys, thing) == (1, 1)
    del keys
    gc.collect()
    del thing
    assert called == []


def test_single_dispatch():
    @functools.singledispatch
    def general(x):
        return "object"

    @general.register
    def _(x: int):
        return x + 1

    @general.register(list)
    def _(x):
        return len(x)

    @general.register(torch.Tensor)
    def _(x):
        return x * 2

    def f(x, y):
        return general(x), general(y), general.dispatch(bool) is general.dispatch(int)

    values = [1, True, [1, 2], "text", Thing(), None]
    x = torch.ones(2)
    check(f, 1, x, more=tuple((value, x) for value in values))
    compiled = armature.compile(f)
    for value in values:
        for _ in range(3):
            assert str(compiled(value, x)) == str(f(value, x))
    assert armature.explain(f)(1, x).graph_break_count == 0
    general.register(Thing)(lambda x: "thing")
    general.register(str)(lambda x: "str")
    for value in values:
        for _ in range(2):
            assert str(compiled(value, x)) == str(f(value, x))


@pytest.mark.parametrize("kind", [int, Thing])
def test_classes_as_keys(kind):
    table = weakref.WeakKeyDictionary({int: "int", Thing: "thing"})
    compiled = armature.compile(lambda x: (table[kind], table.get(type(x)), x))
    for value in (1, A, 2.0):
        assert compiled(value) == (table[kind], table.get(type(value)), value)
    count = translations(compiled)
    for value in (1, A, 2.0):
        compiled(value)
    assert translations(compiled) == count


def test_weak_value_dictionary():
    table = weakref.WeakValueDictionary(a=A, b=B)

    def f(key, x):
        found = table.get(key)
        return x + (found.number if found else 0), key in table, table["a"] is A, found

    x = torch.ones(1)
    check(f, "a", x, more=(("b", x), ("c", x)), breaks=0)
    compiled = armature.compile(f)
    for key in ("a", "b", "c"):
        assert compiled(key, x) == f(key, x)
    table["b"] = A
    assert compiled("b", x)[3] is A
    kept = Thing(9)
    table["c"] = kept
    assert compiled("c", x)[3] is kept
    del kept
    gc.collect()
    assert compiled("c", x)[1] is False and compiled("c", x)[3] is None


def test_references_of_own_classes():
    class Own(weakref.ref):
        def __call__(self):
            return "own"

    class Plain(weakref.ref):
        pass

    references = [Own(A), Plain(A)]
    compiled = armature.compile(lambda: [each() for each in references])
    assert compiled() == ["own", A]
    Plain.__call__ = lambda self: "changed"
    assert compiled() == ["own", "changed"]


def test_a_class_that_hashes_by_itself_from_then_on():
    def world(wrap):
        class Owner:
            pass

        counts = weakref.WeakKeyDictionary()

        def count(owner, x):
            try:
                counts[owner] += 1
            except KeyError:
                counts[owner] = 0
            return counts[owner], x + 1

        count = wrap(count)
        one, other = Owner(), Owner()
        seen = [count(owner, torch.ones(1))[0] for owner in (one, other) * 3]
        Owner.__hash__ = lambda self: 5
        Owner.__eq__ = lambda self, other: True
        return seen + [count(owner, torch.ones(1))[0] for owner in (one, other) * 3]

    assert world(armature.compile) == world(lambda function: function)


def test_references_of_a_trace_are_its_own():
    table, key = weakref.WeakKeyDictionary({A: 1}), Thing()
    compiled = armature.compile(lambda thing, x: (table.get(thing), x + 1))
    assert compiled(key, torch.ones(1))[0] is None
    assert all(reference.__callback__ for reference in weakref.getweakrefs(key))

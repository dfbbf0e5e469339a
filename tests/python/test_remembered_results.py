"""Calls of functions behind a functools.lru_cache whose results can be changed: each call gets the
object that the cache remembers."""

import functools
import gc
import weakref

import armature
import pytest
import torch
from differential import break_reasons, translations


class Recipe:
    def __init__(self, name):
        self.axes = list(name)
        self.sizes = {axis: i for i, axis in enumerate(name)}


@functools.lru_cache(256)
def recipe(name, *, flag=False):
    return Recipe(name)


@functools.lru_cache(None)
def cooked(made, shape, other=()):
    return [made.sizes[axis] + size for axis, size in zip(made.axes, shape, strict=False)], made


@functools.lru_cache(1)
def last(n):
    return [n]


@pytest.fixture(autouse=True)
def clear():
    for function in (recipe, cooked, last):
        function.cache_clear()


def apply(x, name):
    made = recipe(name)
    sizes, same = cooked(made, tuple(x.shape))
    return x * sum(sizes), made, sizes, same is made


def test_one_graph_once_they_are_remembered():
    x = torch.ones(2, 3)
    compiled = armature.compile(apply)
    first = compiled(x, "ab")
    second = compiled(x, "ab")
    third = compiled(x, "ab")
    for result in (first, second, third):
        value, made, sizes, same = result
        assert same and made is recipe("ab") and sizes is cooked(made, (2, 3))[0]
        assert torch.equal(value, x * sum(sizes))
    explanation = armature.explain(apply)(x, "ab")
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)
    fresh = armature.compile(apply, fullgraph=True)
    assert fresh(x, "ab")[1] is first[1]


def test_what_is_remembered_changes():
    x = torch.ones(2, 3)
    compiled = armature.compile(apply)
    for _ in range(3):
        compiled(x, "ab")
    recipe("ab").sizes["a"] = 10
    assert compiled(x, "ab")[2] == [2, 4]  # cooked before
    cooked.cache_clear()
    for _ in range(2):
        value, made, sizes, _ = compiled(x, "ab")
        assert sizes == [12, 4] and torch.equal(value, x * 16)
    recipe.cache_clear()
    for _ in range(3):
        value, made, sizes, same = compiled(x, "ab")
        assert same and made is recipe("ab") and sizes == [2, 4] and torch.equal(value, x * 6)
    assert compiled(x, "cd")[1] is recipe("cd") is not recipe("ab")
    assert compiled(x[:1], "cd")[2] == [1, 4]


def test_the_program_changes_it():
    def change(x):
        made = recipe("ab", flag=True)
        made.axes.append(len(made.axes))
        return x * len(made.axes), made

    x = torch.ones(2)
    compiled = armature.compile(change)
    for count in range(3, 8):
        value, made = compiled(x)
        assert made is recipe("ab", flag=True) and len(made.axes) == count
        assert torch.equal(value, x * count)
    assert recipe("ab") is not made


def test_nobody_keeps_them():
    x = torch.ones(2, 3)
    compiled = armature.compile(apply)
    for _ in range(3):
        result = compiled(x, "ab")
    reference = weakref.ref(result[1])
    del result
    recipe.cache_clear()
    cooked.cache_clear()
    gc.collect()
    assert reference() is None
    assert compiled(x, "ab")[1] is recipe("ab")


def test_two_calls_give_one_object():
    def twice(x):
        first, second = recipe("ab"), recipe("ab")
        first.axes.append("c")
        return x + len(second.axes), first is second

    x = torch.ones(2)
    compiled = armature.compile(twice)
    for count in range(3, 6):
        value, same = compiled(x)
        assert same and torch.equal(value, x + count)


def test_a_cache_that_forgets():
    def ask(x, n):
        return last(n), x + n

    x = torch.ones(2)
    compiled = armature.compile(ask)
    for n in (1, 1, 2, 2, 1, 1, 1):
        result, value = compiled(x, n)
        assert result is last(n) and torch.equal(value, x + n)


def test_an_argument_that_is_equal_to_others():
    class Equal:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return isinstance(other, Equal) and self.value == other.value

        def __hash__(self):
            return hash(self.value)

    @functools.lru_cache
    def keyed(key):
        return [key.value]

    compiled = armature.compile(lambda x, key: (keyed(key), x + 1))
    x = torch.ones(2)
    for value in (1, 1, 2, 1):
        assert compiled(x, Equal(value))[0] is keyed(Equal(value))


def test_a_typed_cache():
    @functools.lru_cache(typed=True)
    def typed(a):
        return [a]

    compiled = armature.compile(lambda x, a: (typed(a), x + 1))
    x = torch.ones(2)
    for a in (1, True, 1.0, 1, True, 1.0):
        result = compiled(x, a)[0]
        assert result is typed(a) and type(result[0]) is type(a)


def test_a_miss_is_translated_once():
    def ask(x, flag):
        return x + len(recipe("abc").axes) if flag else x

    x = torch.ones(2)
    compiled = armature.compile(ask)
    assert torch.equal(compiled(x, True), x + 3)
    assert break_reasons(compiled)
    for _ in range(5):
        assert torch.equal(compiled(x, True), x + 3)
    assert translations(compiled) <= 3

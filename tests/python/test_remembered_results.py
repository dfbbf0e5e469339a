"""Calls of functions behind a functools.lru_cache whose results can be changed: each call gets the
object that the cache remembers."""

import functools
import gc
import sys
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


def test_what_the_trace_gives_the_cache():
    def ask(x, name):
        made, again = recipe(name), recipe(name, flag=False)
        made.axes.append("z")
        return x + len(recipe(name).axes), made, again, made is again, recipe(name) is made

    x = torch.ones(2)
    compiled = armature.compile(ask, fullgraph=True)
    for name, count in (("ab", 3), ("ab", 4), ("cde", 4), ("ab", 5)):
        value, made, again, same, remembered = compiled(x, name)
        assert not same and remembered and torch.equal(value, x + count)
        assert recipe(name) is made and recipe(name, flag=False) is again
        assert len(made.axes) == count
    assert recipe.cache_info().currsize == 4
    assert translations(compiled) <= 5


def test_given_before_a_break():
    def ask(x):
        made = recipe("ab")
        size = recipe.cache_info().currsize
        armature.graph_break()
        return x + size, recipe("ab") is made, made

    x = torch.ones(2)
    compiled = armature.compile(ask)
    for _ in range(3):
        value, same, made = compiled(x)
        assert same and torch.equal(value, x + 1) and made is recipe("ab")


def test_keys_that_are_equal_and_of_other_types():
    def ask(x, function):
        return function(1), function(True), function(1.0), x + 1

    for typed in (False, True):

        @functools.lru_cache(typed=typed)
        def boxed(a):
            return [a]

        compiled = armature.compile(ask)
        for _ in range(3):
            first, second, third, _ = compiled(torch.ones(2), boxed)
            assert (second is third) is (not typed) and first is not second
            assert first is boxed(1) and second is boxed(True) and third is boxed(1.0)


def test_a_remembered_call_in_another():
    @functools.lru_cache
    def outer(name):
        made = recipe(name)
        return {"made": made, "size": len(made.axes)}

    def ask(x, name):
        result = outer(name)
        return x + result["size"], result

    x = torch.ones(2)
    compiled = armature.compile(ask)
    for _ in range(3):
        value, result = compiled(x, "abc")
        assert torch.equal(value, x + 3)
        assert result is outer("abc") and result["made"] is recipe("abc")
    assert armature.compile(ask, fullgraph=True)(x, "abc")[1] is result


def test_a_function_that_breaks_is_called_once():
    @functools.lru_cache
    def breaks(name):
        armature.graph_break()
        return list(name)

    def ask(x):
        return x + len(breaks("abc")), breaks("abc")

    x = torch.ones(2)
    compiled = armature.compile(ask)
    assert compiled(x)[1] is breaks("abc")
    assert break_reasons(compiled)
    for _ in range(5):
        value, names = compiled(x)
        assert torch.equal(value, x + 3) and names is breaks("abc")
    assert translations(compiled) <= 3
    assert armature.compile(ask, fullgraph=True)(x)[1] is names


def test_a_small_cache_is_asked_by_python():
    def ask(x):
        first = last(1)
        last(2)
        return x + 1, first is last(1)

    compiled = armature.compile(ask)
    for _ in range(3):
        assert compiled(torch.ones(2))[1] is False


def test_a_remembered_number_of_a_function_that_breaks():
    @functools.lru_cache
    def breaks(a):
        armature.graph_break()
        return a + 1

    compiled = armature.compile(lambda x: x + breaks(1))
    breaks(1)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.ones(2) * 3)
    breaks.cache_clear()
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2) * 3)


def test_arguments_that_the_trace_has_made():
    def ask(x, name):
        made = recipe(name)
        sizes, same = cooked(made, tuple(x.shape))
        again = cooked(made, tuple(x.shape))[0]
        other = cooked(made, (1, 1))[0]
        return x * sum(sizes), made, sizes, same is made, again is sizes, other

    x = torch.ones(2, 3)
    compiled = armature.compile(ask, fullgraph=True)
    for name in ("ab", "ab", "cd", "ab"):
        value, made, sizes, same, again, other = compiled(x, name)
        assert same and again and torch.equal(value, x * 6) and made is recipe(name)
        assert sizes is cooked(made, (2, 3))[0] and other is cooked(made, (1, 1))[0]
    assert cooked.cache_info().currsize == 4

    def own(x):
        made = Recipe("ab")
        first = cooked(made, (1, 2))
        return x + sum(first[0]), cooked(made, (1, 2)) is first, first[1] is made

    compiled = armature.compile(own, fullgraph=True)
    for count in range(5, 8):
        value, same, made = compiled(x)
        assert same and made and torch.equal(value, x + 4)
        assert cooked.cache_info().currsize == count


def test_what_is_asked_outlives_no_translation():
    @functools.lru_cache
    def pieces(text):
        return [text]

    key = "".join(["a", "key", str(len(sys.argv))])
    pieces(key)
    before = sys.getrefcount(key)
    compiled = armature.compile(lambda x, key: (x + 1, pieces(key)))
    for _ in range(2):
        assert compiled(torch.ones(1), key)[1] is pieces(key)
    assert sys.getrefcount(key) > before
    del compiled
    armature.reset()
    gc.collect()
    assert sys.getrefcount(key) == before

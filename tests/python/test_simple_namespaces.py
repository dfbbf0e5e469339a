"""types.SimpleNamespace in traced code."""

import types

import armature
import pytest
import torch
from differential import Cases, check

cases = Cases()


@cases.add(torch.ones(2))
def made(x):
    space = types.SimpleNamespace(a=x, b=2)
    space.c = space.a * space.b
    del space.b
    return space, space.c, hasattr(space, "b"), vars(space).keys() == {"a", "c"}, type(space)


@cases.add(types.SimpleNamespace(a=1, inner=types.SimpleNamespace(b=[2])))
def existing(space):
    space.inner.b.append(space.a)
    space.new = space.inner
    space.a += 1
    return space.inner.b, space.new is space.inner, getattr(space, "nothing", 5)


@cases.add(1)
def compared(n):
    one, other = types.SimpleNamespace(a=n), types.SimpleNamespace(a=n)
    different = types.SimpleNamespace(a=n, b=1)
    return one == other, one != other, one == different, one == {"a": n}, one == one


@cases.add(1)
def text(n):
    space = types.SimpleNamespace(b=n, a="x")
    space.me = space
    return repr(space), str(types.SimpleNamespace()), f"{types.SimpleNamespace(a=n)}"


@cases.add(1)
def errors(n):
    texts = []
    for attempt in (
        lambda: types.SimpleNamespace().a,
        lambda: types.SimpleNamespace(1),
        lambda: types.SimpleNamespace() < types.SimpleNamespace(),
        lambda: len(types.SimpleNamespace()),
    ):
        try:
            attempt()
        except Exception as error:
            texts.append((type(error), str(error)))
    return texts


class Box(types.SimpleNamespace):
    def size(self):
        return self.width * self.height


@cases.add(Box(width=2, height=torch.ones(2)))
def of_a_subclass(box):
    made = Box(width=3, height=box.height)
    box.depth = made.size()
    return box.size(), made.depth if hasattr(made, "depth") else None, made == box, type(made)


@cases.add(1)
def orders(n):
    texts = []
    for attempt in (
        lambda a, b: a < b,
        lambda a, b: a >= b,
        lambda a, b: a < 1,
        lambda a, b: hash(a),
        lambda a, b: {a: 1},
    ):
        try:
            texts.append(attempt(types.SimpleNamespace(a=n), types.SimpleNamespace(a=n)))
        except TypeError as error:
            texts.append(str(error))
    return texts


@cases.add(types.SimpleNamespace(a=1), [1])
def dicts(space, log):
    vars(space)["b"] = log
    space.__dict__.update(c=3)
    space.__init__(a=4, d=5)
    return list(vars(space).items()), space.b is log, space


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_namespaces(fn, args, options):
    check(fn, *args, **options)


def test_two_namespaces_that_are_one():
    def program(first, second):
        first.a += 1
        second.a *= 10
        return first.a, second.a

    compiled = armature.compile(program)
    for same in (False, True, False, True):
        plain, captured = ([types.SimpleNamespace(a=n) for n in (1, 2)] for _ in range(2))
        if same:
            plain[1], captured[1] = plain[0], captured[0]
        assert compiled(*captured) == program(*plain)
        assert captured == plain


def test_a_namespace_that_a_break_leaves_alive():
    def program(x, n):
        space = types.SimpleNamespace(x=x, n=n)
        for i in range(n):
            space.n += i
            print(end="")
            space.x = space.x + space.n
        return space

    compiled = armature.compile(program)
    for n in (3, 1500):
        expected, found = program(torch.ones(2), n), compiled(torch.ones(2), n)
        assert found.n == expected.n and torch.equal(found.x, expected.x)


def test_what_is_read_is_guarded():
    space = types.SimpleNamespace(a=1)
    compiled = armature.compile(lambda: space.a)
    assert compiled() == 1
    space.a = 2
    assert compiled() == 2
    del space.a
    with pytest.raises(AttributeError, match="has no attribute 'a'"):
        compiled()

"""functools.partial objects in traced code: made there, found there, called, looked at."""

import functools

import armature
import pytest
import torch
from differential import check


def add(x, y=1, *rest, z=0, **more):
    return x + y + z + sum(rest), list(more.items())


GLOBAL = functools.partial(add, z=3)
NESTED = functools.partial(functools.partial(add, 5, a=1, b=2), 6)
RELU = functools.partial(torch.nn.functional.leaky_relu, negative_slope=0.5)
OPERATION = functools.partial(torch.add, alpha=2)
CLASS = functools.partial(dict, a=1)


def existing(x):
    return GLOBAL(x), NESTED(x), GLOBAL(x, z=4, b=5)


def overridden(x):
    return NESTED(x, b=x, c=4, a=7)


def operations(x):
    return RELU(-x), OPERATION(x, x)


def of_a_class(x):
    return CLASS(b=2)


def new(x):
    partial = functools.partial(add, x, z=2)
    return partial(4), partial(4, 5, a=6), partial.func is add


def returned(x):
    return functools.partial(add, x, [x], z=2, more=3)


def parts(x):
    return GLOBAL.func is add, GLOBAL.args, GLOBAL.keywords, NESTED.args, NESTED.func is add


def given_to_builtins(x):
    return list(map(functools.partial(torch.add, x), [1, 2])), callable(GLOBAL)


def in_a_closure(x):
    double = functools.partial(lambda factor, value: factor * value, 2)

    def apply(function, value):
        return function(value)

    return apply(double, x)


def wrong_arguments(x):
    try:
        functools.partial(add)()
    except TypeError as error:
        return str(error)


def not_callable(x):
    try:
        functools.partial(3)
    except TypeError as error:
        return str(error)


PROGRAMS = [
    existing,
    overridden,
    operations,
    of_a_class,
    new,
    parts,
    given_to_builtins,
    in_a_closure,
    wrong_arguments,
    not_callable,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_partials_are_captured(program):
    x = torch.tensor([1.0, -2.0])
    check(program, x, breaks=0)


def test_a_partial_that_leaves_the_trace():
    compiled = armature.compile(returned)
    x = torch.ones(2)
    for _ in range(2):
        plain, captured = returned(x), compiled(x)
        assert type(captured) is functools.partial
        assert captured.func is plain.func
        assert captured.args[0] is x
        assert captured.args[1] == [x]
        assert captured.keywords == plain.keywords
        assert list(captured.keywords) == list(plain.keywords)
        assert captured.args[1] is not compiled(x).args[1]


def test_what_a_partial_holds_is_guarded():
    partial = functools.partial(add, 1, z=2)
    compiled = armature.compile(lambda x: partial(x))
    assert compiled(1) == (4, [])
    partial.keywords["z"] = 5
    assert compiled(1) == (7, [])
    partial.keywords["w"] = 6
    assert compiled(1) == (7, [("w", 6)])
    partial.__setstate__((add, (2,), {}, {}))
    assert compiled(1) == (3, [])
    partial.__setstate__((lambda *args: args, (2,), {}, {}))
    assert compiled(1) == (2, 1)
    partial = functools.partial(add, 10)
    assert compiled(1) == (11, [])


def test_a_fresh_partial_for_each_call_is_one_translation():
    compiled = armature.compile(lambda function, x: function(x), fullgraph=True)
    for _ in range(5):
        assert compiled(functools.partial(add, z=1), 2) == (4, [])
    assert len(armature._C.entries(compiled)) == 1


def test_a_subclass_of_partial():
    class Own(functools.partial):
        def __call__(self, x):
            return super().__call__(x + 1)

    own = Own(add, 1)
    assert armature.compile(lambda x: own(x))(1) == own(1) == (3, [])

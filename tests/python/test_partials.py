"""functools.partial objects in traced code: made there, found there, called, looked at."""

import functools
import inspect

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


def looked_at(x):
    partial = functools.partial(add, x, 2, z=2)
    partial.keywords["more"] = 1
    partial.note = [partial.args]
    return partial, partial.args, partial.keywords, partial.note, partial.func, partial(0)


def with_attributes_but_none(x):
    partial = functools.partial(add, x)
    return vars(partial), partial.__dict__ is vars(partial), partial, hasattr(partial, "note")


def of_a_partial(x):
    inner = functools.partial(add, x, z=1)
    outer = functools.partial(inner, 2, z=5, a=3)
    seen = functools.partial(add, x)
    seen.note = 1
    kept = functools.partial(seen, 4)
    return (
        outer.func is add,
        outer.args,
        outer.keywords,
        outer(),
        inner.keywords,
        kept.func is seen,
        kept.args,
        kept(),
        outer,
        kept,
    )


class Logging(functools.partial):
    def __call__(self, *args):
        self.calls = getattr(self, "calls", 0) + 1
        return super().__call__(*args), self.calls


class Plain(functools.partial):
    pass


def of_a_subclass(x):
    logging = Logging(add, x, z=1)
    first = logging(2)
    plain = Plain(add, 1, b=2)
    merged = functools.partial(plain, 3)
    return (
        first,
        logging(3),
        logging,
        logging.func is add,
        logging.args,
        logging.keywords,
        logging.calls,
        plain(4),
        plain,
        merged.func is add,
        merged.args,
        isinstance(plain, functools.partial),
        type(plain) is Plain,
        callable(plain),
    )


EXISTING_OF_SUBCLASS = Logging(add, 1, z=2)


def existing_of_a_subclass(x):
    del EXISTING_OF_SUBCLASS.calls
    result = EXISTING_OF_SUBCLASS(x)
    return result, EXISTING_OF_SUBCLASS.args, EXISTING_OF_SUBCLASS.keywords["z"]


class Methods:
    def __init__(self, base):
        self.base = base

    def scaled(self, factor, *, shift=0):
        return self.base * factor + shift

    double = functools.partialmethod(scaled, 2)
    shifted = functools.partialmethod(scaled, shift=10)
    again = functools.partialmethod(double, shift=1)


def partial_methods(x):
    methods = Methods(x)
    bound = methods.double
    return (
        methods.double(),
        methods.shifted(3),
        bound(shift=1),
        methods.again(),
        Methods.double(methods),
    )


def texts(x):
    partial = functools.partial(max, 1, [2], default=3)
    return repr(partial), str(Plain(max, "a")), repr(functools.partial(max)), f"{partial}"


def wrong_attributes(x):
    partial = functools.partial(add)
    found = []
    for name in ("nothing", "__wrapped__"):
        try:
            getattr(partial, name)
        except AttributeError as error:
            found.append(str(error))
    return found


def in_itself(x):
    partial = functools.partial(add, [])
    partial.args[0].append(partial)
    partial.keywords["self"] = partial
    return partial


PROGRAMS = [
    existing,
    looked_at,
    with_attributes_but_none,
    of_a_partial,
    of_a_subclass,
    texts,
    wrong_attributes,
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


def test_an_existing_partial_of_a_subclass():
    def restore():
        vars(EXISTING_OF_SUBCLASS)["calls"] = 5

    check(
        existing_of_a_subclass,
        torch.ones(2),
        watch=vars(EXISTING_OF_SUBCLASS),
        restore=restore,
        breaks=0,
    )


def test_partial_methods():
    check(partial_methods, torch.ones(2))


def test_a_partial_in_itself():
    partial = armature.compile(in_itself)(1)
    assert partial.args[0][0] is partial
    assert partial.keywords["self"] is partial


def test_a_partial_across_breaks():
    def program(x):
        partial = functools.partial(add, x, z=2)
        armature.graph_break()
        partial.keywords["z"] = 3
        partial.note = x
        other = functools.partial(partial, 1)
        armature.graph_break()
        return partial(1), other(), partial.note, partial.keywords, other.func is partial

    check(program, torch.ones(2))


def test_signatures():
    def program(x):
        partial = functools.partial(add, 1, z=2)
        signature = inspect.signature(partial)
        return [str(name) for name in signature.parameters], x + 1

    check(program, torch.ones(2))


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


def test_a_compiled_partial_has_the_dicts_of_the_plain_one():
    partial = functools.partial(lambda x, k=1: x * k, k=2)
    compiled = armature.compile(partial)
    assert compiled(3) == partial(3) == 6
    partial.keywords["k"] = 10
    partial.tag = "t"
    assert compiled(3) == partial(3) == 30
    assert (compiled.tag, compiled.args, compiled.keywords) == ("t", (), {"k": 10})


@pytest.mark.parametrize("kind", [functools.partial, Plain])
@pytest.mark.parametrize("returned", [False, True])
def test_a_dict_that_was_read_stays_the_partials(kind, returned):
    def program(x):
        made = kind(torch.add, x)
        attributes = made.__dict__
        made.first = [x.ndim]
        made.second = 2
        del made.second
        return attributes, vars(made) is attributes, made if returned else None, made(1)

    check(program, torch.ones(2))

"""Special methods whose descriptor fails: of some, CPython takes such a one for none."""

import armature
import pytest
import torch
from differential import Cases, check, observe

cases = Cases()


def fails(self):
    raise AttributeError("unbound")


class Unbound:
    __eq__ = property(fails)
    __lt__ = property(fails)
    __len__ = property(fails)
    __iter__ = property(fails)
    __hash__ = property(fails)
    __contains__ = property(fails)
    __bool__ = property(fails)
    __call__ = property(fails)
    __repr__ = property(fails)
    __str__ = property(fails)
    __add__ = property(fails)


class UnboundError(ValueError):
    __repr__ = property(fails)


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except (AttributeError, TypeError) as error:
        return type(error).__name__, str(error)


@cases.add(Unbound(), Unbound(), torch.ones(2), breaks=0)
def comparisons(one, other, x):
    return (
        outcome(lambda: one == other),
        outcome(lambda: one == one),
        outcome(lambda: one != other),
        outcome(lambda: one < other),
        outcome(lambda: object.__ne__(one, other)),
        outcome(lambda: [one].index(one)),
        x + 1,
    )


@cases.add(Unbound(), torch.ones(2), breaks=0)
def other_methods(one, x):
    return (
        outcome(lambda: list(one)),
        outcome(lambda: len(one)),
        outcome(lambda: hash(one)),
        outcome(lambda: 1 in one),
        outcome(lambda: bool(one)),
        outcome(lambda: one()),
        outcome(lambda: str(one)),
        outcome(lambda: one + 1),
        x + 1,
    )


@cases.add(Unbound(), UnboundError(1), torch.ones(2))
def texts(one, error, x):
    return repr(one)[:5], repr(error)[:5], x + 1


class Proxy:
    def __init__(self, target):
        self._target = target

    def __getattribute__(self, name):
        if name == "_target":
            return object.__getattribute__(self, name)
        return getattr(self._target, name)


class Hiding:
    @property
    def __class__(self):
        raise AttributeError("hidden")


class Base:
    def f(self):
        return "Base.f", type(self).__name__


class Derived(Base):
    def f(self):
        return super(Derived, self).f(), "Derived.f"  # noqa: UP008

    def g(self):
        return super().f()


@cases.add(torch.ones(2), breaks=0)
def super_of_what_says_its_class(x):
    return (
        outcome(Derived.f, Proxy(Derived())),
        outcome(Derived.g, Proxy(Derived())),
        outcome(Derived.f, Proxy(Base())),
        outcome(Derived.f, Hiding()),
        outcome(Derived.f, 5),
        x + 1,
    )


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_unbound(fn, args, options):
    check(fn, *args, **options)


def test_texts_of_errors_follow_the_class_name():
    class Owner:
        value = property()

    def use(x):
        try:
            Owner().value = 1
        except AttributeError as error:
            return str(error), x + 1

    compiled = armature.compile(use)
    x = torch.ones(2)
    for name in ("First", "Second", "Second"):
        Owner.__qualname__ = name
        assert observe(compiled, (x,), {}, None).result[0] == use(x)[0]
        assert name in use(x)[0]


@pytest.mark.parametrize("nothing", [None, ..., NotImplemented], ids=repr)
@pytest.mark.parametrize("name", ["__eq__", "__str__", "__hash__", "__bool__", "__setattr__"])
def test_methods_of_nothing_behind_a_break(name, nothing):
    def call(x, nothing):
        method = getattr(nothing, name, None)
        armature.graph_break()
        results = [outcome(method), outcome(method, 5), outcome(method, ""), outcome(method, None)]
        return results, getattr(method, "__self__", 0) is nothing, x + 1

    check(call, torch.ones(2), nothing)

"""operator.itemgetter, attrgetter and methodcaller; types.MethodType."""

import operator
import types

import armature
import pytest
import torch
from differential import check


class Inner:
    value = 3


class Outer:
    inner = Inner()
    first = operator.itemgetter(0)
    name = "o"

    def shout(self, text="!"):
        return self.name + text


SECOND = operator.itemgetter(1)
USES = {
    "item": lambda: operator.itemgetter(1)([1, 2]),
    "items": lambda: operator.itemgetter(0, -1, slice(1))([1, 2, 3]),
    "item of a dict": lambda: operator.itemgetter("a")({"a": 5}),
    "missing item": lambda: operator.itemgetter("z")({"a": 5}),
    "item of two": lambda: SECOND([1], 2),
    "item by keyword": lambda: SECOND(x=1),
    "no item": lambda: operator.itemgetter(),
    "global": lambda: SECOND("ab"),
    "attribute": lambda: operator.attrgetter("name")(Outer()),
    "dotted": lambda: operator.attrgetter("inner.value", "name")(Outer()),
    "missing attribute": lambda: operator.attrgetter("inner.none")(Outer()),
    "attribute of a number": lambda: operator.attrgetter(3),
    "method": lambda: operator.methodcaller("upper")("a"),
    "method with arguments": lambda: operator.methodcaller("shout", "?")(Outer()),
    "method with keywords": lambda: operator.methodcaller("shout", text="?")(Outer()),
    "sorted": lambda: sorted([(1, 2), (0, 5), (3, 0)], key=SECOND, reverse=True),
    "greatest": lambda: max([(1, 2), (0, 5)], key=operator.itemgetter(1)),
    "mapped": lambda: list(map(SECOND, ["ab", "cd"])),
    "traced index": lambda: operator.itemgetter([1][0])([4, 5]),
    "list as key": lambda: operator.itemgetter([1])({}),
    "on a class": lambda: Outer().first("ab"),
    "text": lambda: (repr(SECOND), SECOND is SECOND, callable(SECOND)),
    "bound": lambda: types.MethodType(Outer.shout, Outer())("."),
    "bound to a number": lambda: types.MethodType(lambda a, b: (a, b), 1)(2),
    "bound to nothing": lambda: types.MethodType(Outer.shout, None),
    "bound number": lambda: types.MethodType(3, Outer()),
    "bound once": lambda: types.MethodType(Outer.shout),
    "parts": lambda: (lambda m: (m.__self__, m.__func__ is len))(types.MethodType(len, [1])),
}


@pytest.mark.parametrize("name", USES)
def test_use(name):
    use = USES[name]

    def function(x):
        try:
            return use(), x + 1
        except Exception as error:
            return type(error), str(error)

    check(function, torch.ones(2))


def test_captured_whole():
    def function(x):
        getter = operator.itemgetter(1)
        return x * getter([1, 2]) + SECOND([3, 4]), operator.attrgetter("ndim")(x)

    check(function, torch.ones(2), breaks=0)


def test_given_ones_are_guarded_by_what_they_are_made_of():
    def function(getter, x):
        return getter([x, x + 1, x + 2])

    compiled = armature.compile(function)
    for getter in (SECOND, operator.itemgetter(0), operator.itemgetter(1), operator.itemgetter(2)):
        assert torch.equal(compiled(getter, torch.ones(1)), function(getter, torch.ones(1)))
    key = [0]
    for index in (0, 1):
        key[0] = index

        class Index:
            def __index__(self):
                return key[0]

        getter = operator.itemgetter(Index())
        assert torch.equal(compiled(getter, torch.ones(1)), function(getter, torch.ones(1)))


def test_methods_made_and_returned():
    def function(x):
        method = types.MethodType(Outer.shout, Outer())
        return method, method(), x + 1

    check(function, torch.ones(2))

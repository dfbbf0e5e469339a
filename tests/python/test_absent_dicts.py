"""An object whose type makes its __dict__ on demand has one when Python would have made it, which
partials and exceptions show."""

import collections
import copy
import functools
import gc

import armature
import pytest


class Number(int):
    pass


class Pair(tuple):
    pass


class Table(collections.OrderedDict):
    pass


class Failure(ValueError):
    pass


class Bound(functools.partial):
    pass


KINDS = {
    "partial": lambda: functools.partial(int, 2),
    "subclass of partial": lambda: Bound(int, 2),
    "exception": lambda: ValueError(1),
    "own exception": lambda: Failure(1),
    "OrderedDict": lambda: collections.OrderedDict(a=1),
    "subclass of OrderedDict": lambda: Table(a=1),
    "int": lambda: Number(3),
    "tuple": lambda: Pair((1, 2)),
}

USES = {
    "absent": lambda it: getattr(it, "absent", "none"),
    "hasattr": lambda it: (hasattr(it, "absent"), hasattr(it, "other")),
    "written": lambda it: setattr(it, "mine", 1),
    "read before": lambda it: (getattr(it, "mine", 0), setattr(it, "mine", 1), it.mine),
    "written twice": lambda it: (setattr(it, "mine", 1), setattr(it, "other", 2), vars(it)),
    "deleted": lambda it: (vars(it), setattr(it, "a", 1), delattr(it, "a"), hasattr(it, "a")),
    "shown": lambda it: (it.__dict__, it.__dict__ is it.__dict__),
    "shown and written": lambda it: (it.__dict__.update(mine=2), it.mine, vars(it)),
    "looked at, then shown": lambda it: (hasattr(it, "mine"), vars(it), vars(it) is it.__dict__),
    "given": lambda it: setattr(it, "__dict__", {"mine": 3}),
    "in two": lambda it: (hasattr(it, "mine"), armature.graph_break(), hasattr(it, "mine")),
    "written in two": lambda it: (setattr(it, "a", 1), armature.graph_break(), vars(it)),
}


def outcome(use, it):
    try:
        result = use(it)
    except (AttributeError, TypeError) as error:
        result = str(error)
    reduced = None
    if not callable(it) or isinstance(it, functools.partial):
        parts = [each for each in it.__reduce_ex__(2) if type(each) in (dict, tuple)]
        reduced = parts, type(copy.copy(it)), vars(copy.copy(it))
    dicts = [sorted(each, key=str) for each in gc.get_referents(it) if type(each) is dict]
    again = functools.partial(it, 1) if callable(it) else it
    return str(result), dicts, str(reduced), type(getattr(again, "func", None))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_is_made_when_python_makes_it(kind, use):
    def function(it):
        return USES[use](it)

    compiled = armature.compile(function)
    for _ in range(3):
        expected, found = outcome(function, KINDS[kind]()), outcome(compiled, KINDS[kind]())
        assert found == expected
    given, other = KINDS[kind](), KINDS[kind]()
    for each in given, other:
        each.mine = 5
    assert outcome(compiled, given) == outcome(function, other)

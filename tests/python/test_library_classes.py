"""Classes of the standard library whose work is partly in C: counters, cached properties, the
checks of typing, OrderedDicts with attributes, enumerations among numbers, exit stacks."""

import collections
import contextlib
import copy
import enum
import functools
import sys
import typing
from collections import Counter, OrderedDict

import armature
import pytest
import torch
from differential import check


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 2


class Share(float, enum.Enum):
    HALF = 0.5


class Loud(int):
    def __rmul__(self, other):
        return "rmul", other

    def __mul__(self, other):
        return "mul", other


class Counted(Counter):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 10)


class Cached:
    def __init__(self, x):
        self.x = x
        self.calls = 0

    @functools.cached_property
    def double(self):
        self.calls += 1
        return self.x * 2

    @functools.cached_property
    def failing(self):
        self.calls += 1
        raise ValueError("no")


COUNTERS = {
    "of text": lambda: Counter("aabc"),
    "of nothing": lambda: Counter(),
    "by keywords": lambda: Counter(a=2, b=0),
    "most common": lambda: Counter("aabcb").most_common(2),
    "elements": lambda: list(Counter("aab").elements()),
    "sum": lambda: Counter("aab") + Counter("bc"),
    "difference": lambda: (Counter("aab") - Counter("bc"), Counter("ab") & Counter("b")),
    "missing": lambda: Counter("a")["zz"],
    "update": lambda: (lambda c: (c.update("ab"), c.update(a=3), c.subtract("b"), c))(Counter("a")),
    "total": lambda: Counter("aab").total(),
    "subclass": lambda: Counted("aab"),
    "unhashable": lambda: Counter([[1]]),
    "not iterable": lambda: Counter(5),
    "copy": lambda: (lambda c: (c.copy(), c == c.copy()))(Counter("ab")),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_counter(name):
    make = COUNTERS[name]

    def function(x):
        try:
            return make(), x + 1
        except Exception as error:
            return type(error), str(error)

    check(function, torch.ones(2))


def test_counter_that_exists():
    def function(counter, keys, x):
        counter.update(keys)
        counter["z"] += 1
        return x * counter["a"], sorted(counter), counter.total()

    check(function, Counter("aab"), "abz", torch.ones(2), breaks=0)
    check(function, Counter(a=1.5), ["a", "z"], torch.ones(2))


class WithSlots:
    __slots__ = ("value",)

    @functools.cached_property
    def half(self):
        return 1


def test_cached_property_of_an_object_without_a_dict():
    def function(x):
        try:
            return WithSlots().half
        except TypeError as error:
            return str(error), x + 1

    check(function, torch.ones(2))


def test_cached_property():
    def function(x):
        cached = Cached(x)
        return cached.double + cached.double, cached.calls, vars(cached).keys()

    def given(cached, x):
        return cached.double + x, cached.calls

    check(function, torch.ones(2), breaks=0)
    check(given, Cached(torch.ones(2)), torch.ones(2), breaks=0)
    cached = Cached(torch.ones(2))
    compiled = armature.compile(given)
    for _ in range(3):
        assert compiled(cached, torch.ones(2))[1] == 1
    assert cached.calls == 1
    del cached.double
    assert compiled(cached, torch.ones(2))[1] == 2
    vars(cached)["double"] = torch.zeros(2)
    assert torch.equal(compiled(cached, torch.ones(2))[0], torch.ones(2))


def test_cached_property_that_raises():
    def function(cached, x):
        for _ in range(2):
            try:
                x = x + cached.failing
            except ValueError as error:
                x = x + len(str(error))
        return x, cached.calls, Cached.double is Cached.__dict__["double"]

    check(function, Cached(torch.ones(2)), torch.ones(2))


@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self) -> None: ...


class Closing:
    def close(self):
        pass


CHECKS = {
    "callable": lambda v: isinstance(v, typing.Callable),
    "sequence": lambda v: (isinstance(v, typing.Sequence), issubclass(type(v), typing.Sized)),
    "hashable": lambda v: isinstance(v, (str, typing.Hashable)),
    "parametrized": lambda v: isinstance(v, typing.List[int]),  # noqa: UP006
    "any": lambda v: isinstance(v, typing.Any),
    "optional": lambda v: isinstance(v, typing.Optional[int]),  # noqa: UP045
    "protocol": lambda v: isinstance(v, Closes),
}


@pytest.mark.parametrize("name", CHECKS)
def test_class_check(name):
    asks = CHECKS[name]

    def function(x):
        answers = []
        for value in (3, [1], "a", len, Closing(), None, x):
            try:
                answers.append(asks(value))
            except TypeError as error:
                answers.append(str(error))
        return answers, x + 1

    check(function, torch.ones(2))


def test_attributes_of_ordered_dicts():
    def function(given, x):
        made = OrderedDict(a=x)
        made.note = [x + 1]
        made.note.append(2)
        given.count = getattr(given, "count", 0) + 1
        given.made = made
        del made["a"]
        return made, made.note[1], vars(made), hasattr(made, "none"), given.count

    check(function, OrderedDict(b=1), torch.ones(2), breaks=0)
    before = OrderedDict(b=1)
    before.count = 4
    check(function, before, torch.ones(2), breaks=0)


def test_an_attribute_hides_a_method_of_an_ordered_dict():
    def function(given, x):
        return given.keys(), x + 1

    compiled = armature.compile(function)
    given = OrderedDict(a=1)
    assert list(compiled(given, torch.ones(1))[0]) == ["a"]
    given.keys = lambda: "hidden"
    assert compiled(given, torch.ones(1))[0] == "hidden"
    del given.keys
    assert list(compiled(given, torch.ones(1))[0]) == ["a"]


def test_copies_of_ordered_dicts_with_attributes():
    def function(given, x):
        return given.copy(), copy.copy(given), copy.deepcopy(given), given | {}, x + 1

    given = OrderedDict(a=1)
    given.note = [1]
    check(function, given, torch.ones(2))


OPERATIONS = {
    "times": lambda x: x * Level.HIGH,
    "times, reflected": lambda x: Level.HIGH * x,
    "plus": lambda x: (x + Level.HIGH, Level.HIGH + x, x - Share.HALF, Share.HALF - x),
    "in place": lambda x: x.add_(Level.HIGH),
    "compared": lambda x: (x < Level.HIGH, Level.HIGH >= x, x == Level.LOW, Share.HALF != x),
    "argument": lambda x: (
        x.sum(Level.LOW),
        torch.sum(x, dim=Level.LOW),
        x.add(x, alpha=Level.HIGH),
    ),
    "power": lambda x: (x**Level.HIGH, Level.HIGH**x),
    "divided": lambda x: (x / Level.HIGH, Share.HALF / x, x // Level.HIGH, Level.HIGH % x),
    "matrix product": lambda x: x @ Level.HIGH,
    "loud": lambda x: (Loud(3) * x, x * Loud(3)),
    "shape": lambda x: x.reshape(1, Level.HIGH),
    "index": lambda x: x[Level.LOW],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers_of_subclasses(name):
    operation = OPERATIONS[name]

    def function(x):
        try:
            return operation(x)
        except Exception as error:
            return type(error)

    check(function, torch.ones(2))


def test_enumerations_are_captured_whole():
    def function(x, level):
        return x * Level.HIGH + level, x.sum(Level.LOW)

    check(function, torch.ones(2), Level.HIGH, more=((torch.ones(2), Level.LOW),), breaks=0)


def test_exit_stack():
    def function(x):
        left = []
        with contextlib.ExitStack() as stack:
            stack.callback(left.append, 1)
            entered = stack.enter_context(contextlib.nullcontext(x))
            stack.push(lambda *error: left.append(error[0]))
            y = entered + 1
        return y, left

    def raising(x):
        left = []
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(contextlib.suppress(KeyError))
                stack.callback(left.append, 1)
                raise ValueError(3)
        except ValueError as error:
            left.append(str(error))
        return x + 1, left

    check(function, torch.ones(2))
    check(raising, torch.ones(2))


def test_version_info():
    def function(x):
        info = sys.version_info
        major, *_ = info
        return info >= (3, 8), info[:2], info.major == major, info.releaselevel, len(info), x + 1

    check(function, torch.ones(2), breaks=0)


def test_default_dicts_and_chain_maps():
    def function(x):
        groups = collections.defaultdict(list)
        for key, value in ("a", 1), ("b", 2), ("a", x):
            groups[key].append(value)
        chain = collections.ChainMap({"k": 1}, groups)
        return chain["a"][1] + chain["k"], list(chain), len(chain)

    check(function, torch.ones(2))

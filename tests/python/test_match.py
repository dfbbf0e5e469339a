"""`match` statements in traced code, against plain Python."""

import collections
import collections.abc
import dataclasses
import enum

import armature
import numpy as np
import pytest
import torch
from differential import Cases, breaking_every, check


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "first second")


class Recording:
    """Tells of each attribute that it is asked for."""

    __match_args__ = ("a", "b")

    def __init__(self, log, **values):
        self.log, self.values = log, values

    def __getattr__(self, name):
        if name in ("log", "values"):
            raise AttributeError(name)
        self.log.append(name)
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None


class Lookups(collections.abc.Mapping):
    def __init__(self, values):
        self.values_, self.log = values, []

    def __getitem__(self, key):
        self.log.append(key)
        return self.values_[key]

    def __iter__(self):
        return iter(self.values_)

    def __len__(self):
        return len(self.values_)


class Missing(dict):
    def __missing__(self, key):
        return "missing"


class Own(collections.abc.Sequence):
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Meta(type):
    def __instancecheck__(cls, instance):
        return hasattr(instance, "x")


class Duck(metaclass=Meta):
    __match_args__ = ("x",)


class Text(str):
    pass


cases = Cases()


def values(value):
    match value:
        case None | True:
            return "singleton"
        case -1 | 2.5 | "text" | b"bytes" | 1 + 2j:
            return "literal"
        case Colour.RED:
            return "red"
        case int(n) if n > 100:
            return "large", n
        case bool() | int():
            return "int"
        case str() as text:
            return text.upper()
        case _:
            return "other"


for item in (None, True, -1, 2.5, b"bytes", 1 + 2j, 101, 7, "other text", 4.5, [], Text("text")):
    cases.append(pytest.param(values, (item,), {}, id=f"values-{item!r}"))


@cases.add([torch.ones(2), 1, 2], more=(([1],), ((1, 2, 3),), ("abc",), ({},)))
def sequences(value):
    match value:
        case []:
            return "empty"
        case [only]:
            return only
        case (torch.Tensor() as t, *rest):
            return t * 2, rest
        case [1, *_, last]:
            return last
        case _:
            return "none of them"


@cases.add([[1, [2, 3]], 4], more=((([1, (2, 3)], 4),), ([[1, [2]], 4],)))
def nested(value):
    match value:
        case [[a, [b, c]], d]:
            return a, b, c, d
        case [[a, [b]], d]:
            return a, b, d


@cases.add({"op": "add", "x": torch.ones(2), "more": 1})
@cases.add({"op": "neg", "x": torch.ones(2)})
@cases.add({"x": 1})
@cases.add(collections.OrderedDict(op="add", x=2))
@cases.add(collections.defaultdict(int, op="neg"))
@cases.add(Missing(op="add"))
@cases.add([("op", "add")])
def mappings(value):
    match value:
        case {"op": "add", "x": x, **rest}:
            return x + 1, rest
        case {"op": "neg", "x": x}:
            return -x
        case {}:
            return "a mapping"


@cases.add({"a": 1, "b": 2}, more=(({"a": 1},), ({},)))
def own_mapping(values):
    subject = Lookups(values)
    match subject:
        case {"a": a, "b": b, **rest}:
            return a, b, rest, subject.log
        case {"a": a}:
            return a, subject.log
    return subject.log


@cases.add(1, 2, 3)
def own_sequence(*items):
    match Own(*items):
        case [first, *middle, last]:
            return first, middle, last


@cases.add(torch.ones(2), more=((3,), ("s",)))
def classes(x):
    match Point(x, [x]):
        case Point(torch.Tensor(), [y]):
            return y + 1
        case Point(x=int(n), y=[m]):
            return n, m
        case Point() as p:
            return p.x


@cases.add(Pair(1, Pair(2, 3)), more=((Pair(1, 2),), ((1, (2, 3)),)))
def named_tuples(value):
    match value:
        case Pair(first, Pair(a, second=b)):
            return first, a, b
        case Pair(a, b):
            return a, b
        case (a, (b, c)):
            return a, b, c


@cases.add(1)
@cases.add("s")
@cases.add([1])
@cases.add({"a": 1})
@cases.add((1,))
@cases.add(frozenset({1}))
def builtin_classes(value):
    match value:
        case int(x) | str(x) | list(x) | dict(x) | tuple(x) | frozenset(x):
            return x is value, x


@cases.add({"a": 1, "b": 2})
@cases.add({"a": 1})
@cases.add({})
def attributes_are_asked_for_in_order(given):
    log = []
    match Recording(log, **given):
        case Recording(a, b, c=3):
            return a, b, log
        case Recording(a):
            return a, log
    return log


@cases.add(Point(1))
@cases.add(3)
def instance_checks_of_metaclasses(value):
    match value:
        case Duck(x):
            return x


def wrong(classes):
    """Patterns that raise."""
    found = []
    for each in classes:
        try:
            match Point(1, 2):
                case each(1, 2):
                    found.append("matched")
        except Exception as error:
            found.append((type(error), str(error)))
    return found


class NoTuple(Point):
    __match_args__ = ["x"]


class NoStrings(Point):
    __match_args__ = (1, 2)


class One(Point):
    __match_args__ = ("x",)


class Twice(Point):
    __match_args__ = ("x", "x")


class Anything(type):
    def __instancecheck__(cls, instance):
        return True


WRONG = [
    Anything(cls.__name__, (), {"__match_args__": cls.__match_args__})
    for cls in (NoTuple, NoStrings, One, Twice)
] + [Anything("Whole", (int,), {}), 3, int, Point]


@cases.add()
def wrong_patterns():
    return wrong(WRONG)


class Keys:
    one, other = "a", "a"


@cases.add()
def a_key_twice():
    try:
        match {"a": 1}:
            case {Keys.one: 1, Keys.other: 1}:
                return "matched"
    except ValueError as error:
        return str(error)


@cases.add(np.array([1, 2]), breaks=0)
def arrays_are_no_sequences(array):
    match array:
        case [_, _]:
            return "sequence"
        case np.ndarray(shape=(n,)):
            return n


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_match(fn, args, options):
    check(fn, *args, **{"breaks": 0, **options})


def test_a_class_that_becomes_a_sequence():
    class Later:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return (10, 20)[index]

    def kind(value):
        match value:
            case [_, second]:
                return second
            case {}:
                return "mapping"
        return "neither"

    compiled = armature.compile(kind)
    later = Later()
    assert compiled(later) == kind(later) == "neither"
    collections.abc.Sequence.register(Later)
    assert compiled(later) == kind(later) == 20

    class Mapping:
        pass

    assert compiled(Mapping()) == kind(Mapping()) == "neither"
    collections.abc.Mapping.register(Mapping)
    assert compiled(Mapping()) == kind(Mapping()) == "mapping"


def test_match_args_are_guarded():
    class Shape:
        __match_args__ = ("width", "height")

        def __init__(self):
            self.width, self.height = 1, 2

    def first(value):
        match value:
            case Shape(a):
                return a

    compiled = armature.compile(first)
    shape = Shape()
    assert compiled(shape) == 1
    Shape.__match_args__ = ("height",)
    assert compiled(shape) == first(shape) == 2
    del Shape.__match_args__
    with pytest.raises(TypeError, match="accepts 0 positional sub-patterns"):
        compiled(shape)


def test_a_break_before_inside_and_behind():
    class Broken:
        __match_args__ = ("left", "right")

        def __init__(self, x):
            self.x = x

        @property
        def left(self):
            armature.graph_break()
            return self.x + 1

        @property
        def right(self):
            return self.x * 2

    def program(x, flag):
        y = x * 3
        armature.graph_break()
        match Broken(y):
            case Broken(a, b) if guard(flag):
                result = a - b
            case Broken(right=b):
                result = b
        armature.graph_break()
        return result, result + y

    def guard(flag):
        armature.graph_break()
        return flag

    for flag in (True, False):
        check(program, torch.ones(2), flag)


def test_a_loop_over_matches():
    def program(items):
        total, seen = 0, []
        for item in items:
            match item:
                case {"n": int(n)}:
                    total += n
                case [*parts]:
                    total += len(parts)
                case Point(x, _):
                    total += x
                case other:
                    seen.append(other)
        return total, seen

    items = [{"n": 1}, [1, 2], Point(5), "other", {"m": 2}] * 300
    check(program, items, calls=2)


@pytest.mark.parametrize("every", range(1, 8))
def test_breaks_within_a_class_pattern(every):
    def program(point):
        match point:
            case Point(x, y=[first, *rest]):
                return "list", x, first, rest
            case Point(x=1, y=y):
                return "one", y
            case Point():
                return "other"

    compiled = armature.compile(program)
    with breaking_every(every):
        for point in (Point(3, [1, 2, 3]), Point(1, 2), Point(2, 2), Point(1, []), 5):
            assert compiled(point) == program(point)

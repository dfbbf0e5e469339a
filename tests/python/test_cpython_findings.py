"""What CPython's own tests of the language and of its types found: each the smallest program."""

from __future__ import annotations

import collections
import functools
import math
import re
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import armature
import pytest
from differential import check

PATTERN = re.compile("a")


def say(text: str) -> str:
    print(end="")  # breaks the graph
    return text


def texts(*calls: Callable[[], Any]) -> list[str]:
    found = []
    for call in calls:
        try:
            found.append(repr(call()))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def method_that_knows_its_class(s):
    return PATTERN.sub(say("b"), s)


def counter_and_dict(s):
    c = collections.Counter(s)
    return c == {"a": 2, "b": 1}, {"a": 2, "b": 1} == c, {"c": 1} | c, c | {"c": 1}


def lists_that_change_while_they_are_compared(s):
    class Clears:
        def __init__(self, other):
            self.other = other

        def __eq__(self, other):
            self.other.clear()
            return NotImplemented

    first, second = [], []
    first.append(Clears(second))
    second.append(Clears(first))
    return first == second, first, second


def construction(s):
    class Plain:
        pass

    class Initialized:
        def __init__(self):
            pass

    key = functools.cmp_to_key(lambda a, b: 0)
    return texts(
        lambda: Plain(1),
        lambda: Plain.__init__(Plain(), 1),
        lambda: Initialized(1),
        lambda: type(key)(5),
        lambda: object.__setattr__(str, s, 1),
    )


def super_calls(s):
    def without_arguments():
        super()

    def without_first(x):
        del x
        super()

    return texts(
        without_arguments,
        lambda: without_first(s),
        lambda: super(1, 2, 3),
        lambda: super(a=1),
        lambda: super(int, s),
    )


def positional_only(s):
    def f(a, b, /):
        pass

    return texts(lambda: f(a=1, b=s))


class Index:
    def __index__(self):
        return 1


def bytes_and_ranges(s):
    class Text:
        def __bytes__(self):
            return b"x"

    i = Index()
    return b"%s %d" % (Text(), i), b"abc"[i:], range(4)[i:], range(4)[i], "abc"[i], b"abc"[i]


def what_contains_what(s):
    return texts(lambda: Index() in "abc", lambda: Index() in b"\1", lambda: Index() in range(3))


def reversed_asks_once(s):
    class Weird:
        asked = 0

        def __len__(self):
            self.asked += 1
            return self.asked + 1

        def __getitem__(self, i):
            return i

    weird = Weird()
    backwards = reversed(weird)
    say(s)
    return list(backwards), weird.asked


def callable_iterator_that_ends_itself(s):
    def spam():
        if spam.inside:
            return 2
        spam.inside = True
        list(spam.iterator)
        return 1

    spam.inside = False
    spam.iterator = iter(spam, 2)
    return list(spam.iterator)


class Point(NamedTuple):
    x: int
    y: int = 1

    def __str__(self):
        return f"{self.x} -> {self.y}"

    def __sub__(self, other):
        return Point(self.x - other.x, self.y - other.y)

    def __bool__(self):
        return self.x != self.y

    def __neg__(self):
        return Point(-self.x, -self.y)


def named_tuple_with_methods(s):
    p = Point(3)
    return str(p), f"{p}", p - Point(1), -p, bool(p), bool(Point(1)), p == (3, 1), p


POINTS = {Point(1): 1, (3, 1): 2}


def named_tuples_for_keys(s):
    found = {Point(1): 1, (3, 1): 2}
    return (
        POINTS == found,
        POINTS[Point(3)],
        POINTS[(1, 1)],
        (3, 1) in found,
        Point(4) in POINTS,
        list(POINTS),
    )


def dict_methods_of_ordered_dict(s):
    d = collections.OrderedDict(a=1, b=2)
    dict.pop(d, "a")
    return texts(lambda: repr(d))


def counter_over_counter(s):
    c = collections.Counter(a=1, b=2)
    return collections.Counter(iter(c)).most_common(1)


def coroutine_of_generator(s):
    @types.coroutine
    def g():
        yield

    return g().gi_code.co_flags & 0x100


class Descriptor:
    def __get__(self, instance, owner=None):
        return lambda name: name * 2


def attribute_hooks(s):
    class Hooked:
        __getattribute__ = Descriptor()

    class Stored(dict):
        __setattr__ = dict.__setitem__

    stored = Stored()
    stored.key = s
    return Hooked().anything, stored


class Unwilling:
    def __divmod__(self, other):
        return NotImplemented

    __rdivmod__ = __divmod__


def builtins_of_builtins(s):
    product = math.prod([2, 3], start=[1, 2])
    blocking = BlockingIOError("a", "b", 3)
    return (
        product == [1, 2] * 6,
        product,
        texts(lambda: divmod(Unwilling(), 3), lambda: divmod(3, Unwilling())),
        blocking.characters_written,
        sys.__class__,
        texts(lambda: sys.__init__ and 1, lambda: sys.nothing),
    )


class Silent:
    __str__ = None

    def __repr__(self):
        return "Silent"


def texts_of_objects(s):
    return texts(lambda: str(Silent()), lambda: f"{Silent()}", lambda: f"{Silent()!r}")


class OnlySet:
    def __setitem__(self, key, value):
        pass


class OnlyDelete:
    def __delitem__(self, key):
        pass


def half_of_two_methods(s):
    def delete(thing):
        del thing[0]

    def assign(thing):
        thing[0] = s

    return texts(
        lambda: delete(OnlySet()),
        lambda: assign(OnlyDelete()),
        lambda: assign(Silent()),
        lambda: delete(Silent()),
    )


def attributes_past_the_class(s):
    return texts(
        lambda: object.__getattribute__(math, "__doc__"),
        lambda: object.__getattribute__(Silent, "__str__"),
        lambda: object.__getattribute__(Silent, "mro") and 1,
    )


class Count:
    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


SEQUENCES = [b"ab", "ab", (1,), [1], bytearray(b"x")]


def repetition_by_index(s):
    found = []
    for sequence in SEQUENCES:
        for count in (Count(2), Count(-1), Count(10**30), s, None, 1.5, Silent()):
            try:
                found.append((sequence * count, count * sequence))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
    return found


class BasesByProperty:
    @property
    def __bases__(self):
        return (int,)


class NoBases:
    pass


def subclasses_of_what_has_bases(s):
    return (
        texts(lambda: issubclass(BasesByProperty(), int)),
        texts(lambda: issubclass(BasesByProperty(), str)),
        texts(lambda: issubclass(NoBases(), int)),
        texts(lambda: issubclass(s, int)),
    )


class WithUnion(type):
    def __or__(cls, other):
        return "union", other


class United(metaclass=WithUnion):
    pass


def unions_of_classes(s):
    found = []
    for left, right in [
        (int, str),
        (int, None),
        (None, int),
        (int, int),
        (int | str, float),
        (float, int | str),
        (United, int),
        (int, United),
        (int, NoBases),
        (int, 3),
        (int, s),
        (int, list[int]),
    ]:
        try:
            found.append(left | right)
        except TypeError as error:
            found.append(str(error))
    return found, issubclass(int, int | float), isinstance(s, int | str)


def attributes_of_ordered_dict(s):
    d = collections.OrderedDict(a=1)
    found = texts(lambda: d.x)
    try:
        d.x = [s]
    except AttributeError as error:
        return "refused", error
    try:
        return found, d.x, vars(d), hasattr(d, "y"), d
    except AttributeError as error:
        return "lost", error


def recursion_in_handlers(s):
    depth = 0

    def recurse():
        nonlocal depth
        depth += 1
        if depth > 3:
            raise RecursionError
        try:
            recurse()
        except RecursionError:
            recurse()

    return texts(recurse), depth


PROGRAMS = [
    repetition_by_index,
    subclasses_of_what_has_bases,
    unions_of_classes,
    attributes_of_ordered_dict,
    recursion_in_handlers,
    named_tuples_for_keys,
    texts_of_objects,
    attributes_past_the_class,
    builtins_of_builtins,
    half_of_two_methods,
    method_that_knows_its_class,
    counter_and_dict,
    lists_that_change_while_they_are_compared,
    construction,
    super_calls,
    positional_only,
    bytes_and_ranges,
    what_contains_what,
    reversed_asks_once,
    callable_iterator_that_ends_itself,
    named_tuple_with_methods,
    dict_methods_of_ordered_dict,
    counter_over_counter,
    coroutine_of_generator,
    attribute_hooks,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_python(program: Callable[[str], Any]) -> None:
    check(program, "aab")


def test_a_module_that_is_imported_by_from(tmp_path, monkeypatch) -> None:
    (tmp_path / "package_of_ours").mkdir()
    (tmp_path / "package_of_ours/__init__.py").write_text("")
    (tmp_path / "package_of_ours/inside.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    import package_of_ours

    def program(x):
        from package_of_ours import inside

        return inside.value + x

    try:
        assert armature.compile(program)(1) == 4
    finally:
        for name in ["package_of_ours", "package_of_ours.inside"]:
            sys.modules.pop(name, None)
    assert package_of_ours


def classes_in_the_making():
    """What can be told of classes whose metaclass is at work on them."""
    found = []

    class Meta(type):
        def mro(cls):
            found.append(cls.__mro__)
            if cls.__mro__ is None and cls.__name__ != "Derived":
                try:

                    class Derived(cls):
                        pass

                except TypeError as error:
                    found.append(str(error))
                try:
                    assert super(cls, cls).missing
                except AttributeError as error:
                    found.append(str(error))
                found.append((isinstance(cls, Meta), hasattr(cls, "missing")))
            return type.mro(cls)

    class Made(metaclass=Meta):
        pass

    return found, Made.__name__


def test_unfinished_classes() -> None:
    expected = repr(classes_in_the_making())
    with armature.capture_frames() as frames:
        assert repr(classes_in_the_making()) == expected
        assert repr(classes_in_the_making()) == expected
    assert any("class that is being made" in reason for reason in frames.counts.break_reasons)


def test_a_cell_is_no_class() -> None:
    cell = (lambda value: lambda: value)(1).__closure__[0]
    for program in [
        lambda value: isinstance(value, type),
        lambda value: value is None,
        lambda value: callable(value),
        lambda value: type(value).__name__,
    ]:
        captured = armature.compile(program)
        for value in [cell, str, None, 1, cell, [cell]]:
            assert captured(value) == program(value)


def frames_that_are_the_same(s):
    try:
        say(s).missing()
    except AttributeError as error:
        traceback = error.__traceback__
    return traceback.tb_frame is sys._getframe()


def sorts_that_see_changes(s):
    def sort(change):
        items = [1, 2]

        def compare(x, y):
            items.append(3)
            change(items)
            return (x > y) - (x < y)

        try:
            items.sort(key=functools.cmp_to_key(compare))
        except ValueError as error:
            return str(error)
        return items

    return sort(list.pop), sort(list.clear), sort(lambda items: items.__delitem__(slice(None)))


class Compared:
    def __init__(self, value, compare):
        self.value = value
        self.compare = compare

    def __lt__(self, other):
        return self.compare(self.value, other.value)


def sorts_of_lists_made_here(s):
    def sort(change):
        items = [2, 1, 3]

        def compare(x, y):
            change(items)
            return x < y

        try:
            items.sort(key=lambda value: Compared(value, compare))
        except ValueError as error:
            return str(error), items
        return items

    def sorts_itself(items):
        items.sort()

    def grows(items):
        items[:] = [4]
        del items[:]

    def grows_and_sorts_itself(items):
        items.append(4)
        items.sort()
        items.clear()

    changes = [list.clear, list.reverse, sorts_itself, grows, grows_and_sorts_itself]
    return [sort(change) for change in [*changes, lambda items: items.extend(())]]


def bases_in_the_making(s):
    class Refused(Exception):
        pass

    class Meta(type):
        ready = False

        def mro(cls):
            if Meta.ready and cls.__name__ == "Below":
                if Below.__bases__ == (Second,):
                    Meta.ready = False
                else:
                    Below.__bases__ = (Second,)
                    raise Refused
            return type.mro(cls)

    class Top(metaclass=Meta):
        pass

    class First(Top):
        pass

    class Second(Top):
        pass

    class Below(Top):
        pass

    Meta.ready = True
    try:
        Below.__bases__ = (First,)
    except Refused:
        return [base.__name__ for base in Below.__bases__]


def keys_that_are_shared(s):
    class Point:
        pass

    points = []
    for _ in range(2):
        point = Point()
        point.x, point.y, point.z = 1, 2, 3
        points.append(vars(point))
    size = sys.getsizeof(points[0])
    points[0].popitem()
    return sys.getsizeof(points[0]) > size, points


@pytest.mark.parametrize(
    "program",
    [
        frames_that_are_the_same,
        sorts_that_see_changes,
        sorts_of_lists_made_here,
        bases_in_the_making,
        keys_that_are_shared,
    ],
)
def test_frames_as_in_python(program: Callable[[str], Any]) -> None:
    expected = program("aab")
    with armature.capture_frames():
        for _ in range(3):
            assert program("aab") == expected

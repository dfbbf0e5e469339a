"""What classes, properties and descriptors tell of themselves; errors of operations on data."""

import functools
import operator
import re
import typing

import armature
import pytest
from differential import check


class Plain:
    pass


class Documented(Plain):
    """Text."""

    value: int = 1


class Meta(type):
    def mro(cls):
        return [*super().mro()]


class WithMeta(metaclass=Meta):
    pass


@typing.runtime_checkable
class HasTotal(typing.Protocol):
    def total(self): ...


class Total:
    def total(self):
        return 1


class Parts:
    @property
    def both(self):
        """Of both."""
        return self._both

    @both.setter
    def both(self, value):
        self._both = value

    alone = property()


class Removable:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return self if instance is None else instance.__dict__.get(self.name, "none")

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value

    def __delete__(self, instance):
        del instance.__dict__[self.name]


class OnlySet:
    def __set__(self, instance, value):
        raise ValueError(value)


class OnlyDelete:
    def __delete__(self, instance):
        instance.__dict__["deleted"] = True


class Described:
    removable = Removable()
    only_set = OnlySet()
    only_delete = OnlyDelete()


def changed(change):
    described = Described()
    try:
        change(described)
    except Exception as error:
        return type(error), str(error), described.__dict__
    return described.removable, described.__dict__


def set_and_deleted(described):
    described.removable = 3
    del described.removable


def states_of_a_generator():
    def numbers():
        seen.append((walk.gi_running, walk.gi_suspended))
        yield 1

    seen = []
    walk = numbers()
    seen.append((walk.gi_running, walk.gi_suspended))
    next(walk)
    seen.append((walk.gi_running, walk.gi_suspended))
    return list(walk), seen, walk.gi_running, walk.gi_suspended, walk.gi_frame


USES = {
    "generator": states_of_a_generator,
    "__doc__": lambda: (Documented.__doc__, Plain.__doc__, WithMeta.__doc__),
    "wraps a class": lambda: functools.wraps(Plain)(lambda: 1).__name__,
    "mro()": lambda: [each.__name__ for each in Documented.mro()],
    "mro() of a metaclass": lambda: [each.__name__ for each in WithMeta.mro()],
    "mro() is new": lambda: (lambda a: (a.append(1), len(Plain.mro())))(Plain.mro()),
    "__annotations__": lambda: (Documented.__annotations__, Plain.__annotations__),
    "Protocol": lambda: (isinstance(Total(), HasTotal), isinstance(3, HasTotal)),
    "SupportsInt": lambda: (isinstance(3, typing.SupportsInt), issubclass(Plain, HasTotal)),
    "class | None": lambda: (
        isinstance(Plain(), Documented | None),
        isinstance(None, Documented | None),
        isinstance(Documented(), int | Plain),
        issubclass(Documented, Plain | int),
    ),
    "text of a union": lambda: str(int | None),
    "property": lambda: (
        Parts.both.fget(type("T", (), {"_both": 1})()),
        Parts.both.__doc__,
        Parts.both.fdel,
        Parts.alone.fget,
    ),
    "set and deleted": lambda: changed(set_and_deleted),
    "deleted before it is set": lambda: changed(lambda d: delattr(d, "removable")),
    "only __set__": lambda: (
        changed(lambda d: setattr(d, "only_set", 1)),
        changed(lambda d: delattr(d, "only_set")),
    ),
    "only __delete__": lambda: (
        changed(lambda d: setattr(d, "only_delete", 1)),
        changed(lambda d: delattr(d, "only_delete")),
    ),
    "indexOf": lambda: (operator.indexOf([1, 2], 2), operator.indexOf("abc", "c")),
    "call": lambda: (operator.call(len, "ab"), operator.call(dict, a=1)),
    "sub by a function": lambda: (
        re.sub("a|b", lambda m: m.group().upper() * 2, "xaybz"),
        re.sub("a*", lambda m: "-", "baac"),
        re.compile("a").sub(lambda m: "b", "aaa", 2),
        re.subn(r"(\w)(\d)", lambda m: m[2] + m[1], "a1b2"),
    ),
    "finditer": lambda: (
        [m.span() for m in re.finditer("a*", "baac")],
        [m.group() for m in re.compile("b").finditer("abab", 2)],
    ),
}
ERRORS = {
    "isinstance": lambda: isinstance(1, 2),
    "issubclass": lambda: issubclass(int, "a"),
    "isinstance of a tuple": lambda: isinstance(1, (str, 3)),
    "type of two": lambda: type(1, 2),
    "type of nothing": lambda: type(),
    "set on a number": lambda: setattr(1, "a", 2),
    "set what a number has": lambda: setattr(1, "real", 2),
    "set a method of a str": lambda: setattr("a", "upper", 2),
    "delete of a number": lambda: delattr(1, "a"),
    "unpacked into a dict": lambda: {**3},
    "indexOf what is not there": lambda: operator.indexOf([1], 2),
    "indexOf of a number": lambda: operator.indexOf(1, 2),
    "call of nothing": lambda: operator.call(),
    "sub by a function that raises": lambda: re.sub("a", lambda m: 1 / 0, "a"),
    "sub by a function of a number": lambda: re.sub("a", lambda m: 1, "a"),
}


@pytest.mark.parametrize("name", USES)
def test_use(name):
    check(USES[name])


# What a Protocol is asked, it answers by a __subclasshook__.
BREAKS = ("property", "mro() of a metaclass", "Protocol", "SupportsInt")
WHOLE = [name for name in USES if name not in BREAKS]


@pytest.mark.parametrize("name", WHOLE)
def test_is_whole(name):
    use = USES[name]
    assert armature.explain(lambda: use())().graph_break_count == 0


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    check(ERRORS[name])


@pytest.mark.parametrize("name", [n for n in ERRORS if "of a number" not in n[4:]])
def test_error_is_caught(name):
    failing = ERRORS[name]

    def f():
        try:
            failing()
        except Exception as error:
            return type(error).__name__, str(error)

    check(f, breaks=0)

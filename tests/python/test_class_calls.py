"""Calls of classes with a __new__ or a metaclass of their own: as plain Python makes and refuses
instances, also when the class changes between two calls."""

import abc
import enum

import armature
import pytest
import torch
from differential import check

X = torch.arange(1.0, 7.0).reshape(2, 3)


class New:
    def __new__(cls, *arguments, **keywords):
        made = super().__new__(cls)
        made.new = arguments, sorted(keywords)
        return made


class NewAndInit(New):
    def __init__(self, first, second=5, *, third=7):
        self.init = first, second, third


class Inherits(NewAndInit):
    pass


class Refused(New):
    __new__ = object.__new__


class RefusedInit(NewAndInit):
    __new__ = object.__new__


class PassesOn:
    def __new__(cls, *arguments):
        return object.__new__(cls, *arguments)


class PassesOnToInit(PassesOn):
    def __init__(self, value):
        self.value = value


class Single:
    made = []

    def __new__(cls, value):
        if not cls.made:
            cls.made.append(super().__new__(cls))
        return cls.made[0]

    def __init__(self, value):
        self.value = value


class Base:
    def __new__(cls, value):
        return super().__new__(Derived if value > 2 else cls)

    def __init__(self, value):
        self.value = "base", value


class Derived(Base):
    def __init__(self, value):
        self.value = "derived", value


class Raises:
    def __new__(cls, value):
        raise KeyError(value)


class Abstract(abc.ABC):
    def __new__(cls):
        return super().__new__(cls)

    @abc.abstractmethod
    def method(self): ...


class Concrete(Abstract):
    def method(self):
        return 3


class OfDict(dict):
    def __new__(cls, *arguments):
        made = super().__new__(cls)
        made.new = arguments
        return made


class Slotted:
    __slots__ = ("value",)

    def __new__(cls, value):
        made = object.__new__(cls)
        made.value = value
        return made


class NewError(ValueError):
    def __new__(cls, *arguments):
        made = super().__new__(cls, *arguments, "new")
        made.new = len(arguments)
        return made


class BadInit(New):
    def __init__(self):
        return 3


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Meta(type):
    calls = []

    def __call__(cls, *arguments, **keywords):
        made = super().__call__(*arguments, **keywords)
        Meta.calls.append(type(made).__name__)
        return made


class OfMeta(metaclass=Meta):
    def __init__(self, value, *, other=3):
        self.value = value, other


class OfMetaWithNew(New, metaclass=Meta):
    pass


class Instead(type):
    def __call__(cls, value):
        return value, cls.__name__


class OfInstead(metaclass=Instead):
    pass


calls = {
    "new": lambda x: New(1, x, key=3),
    "new and init": lambda x: NewAndInit(1, third=x),
    "inherited": lambda x: Inherits(x, 2),
    "inherited keywords": lambda x: Inherits(first=x, second=2),
    "too many for init": lambda x: Inherits(1, 2, 3),
    "too few for init": lambda x: Inherits(),
    "too many for object": lambda x: Refused(1),
    "none for object": lambda x: Refused(),
    "init alone": lambda x: RefusedInit(x),
    "passed on": lambda x: PassesOn(),
    "too many passed on": lambda x: PassesOn(x),
    "passed on to init": lambda x: PassesOnToInit(x),
    "single": lambda x: [Single(1) is Single(2), Single(x).value],
    "another class": lambda x: [Base(1).value, Base(5).value, type(Base(5))],
    "another class's base": lambda x: Derived(1).value,
    "raises": lambda x: Raises(1),
    "abstract": lambda x: Abstract(),
    "concrete": lambda x: Concrete().method(),
    "of dict": lambda x: [OfDict({"a": x}), OfDict({"a": 1}).new],
    "slots": lambda x: Slotted(x).value,
    "error": lambda x: [NewError(1, 2).args, NewError().new],
    "bad init": lambda x: BadInit(),
    "enum": lambda x: [Color(1), Color(2) is Color.BLUE],
    "not in enum": lambda x: Color(3),
    "metaclass": lambda x: OfMeta(x, other=2).value,
    "metaclass, wrong arguments": lambda x: OfMeta(),
    "metaclass and new": lambda x: OfMetaWithNew(x, a=3).new,
    "instead": lambda x: OfInstead(x),
    "type's call": lambda x: type.__call__(OfInstead),
    "of no class": lambda x: object.__new__(3),
    "of a builtin class": lambda x: object.__new__(int),
    "of nothing": lambda x: object.__new__(),
}


@pytest.mark.parametrize("call", calls.values(), ids=calls)
def test_calls(call):
    def program(x):
        try:
            made = call(x + 1)
        except Exception as error:
            return type(error), str(error), x * 2
        return made, getattr(made, "__dict__", None), x * 2

    check(program, X, more=((X * 2,),))


def makes(x):
    class_ = Changing
    made = class_(x + 1)
    return type(made).__name__, getattr(made, "value", None), x * 2


class Changing:
    pass


def with_new(cls, value):
    made = object.__new__(cls)
    made.value = value * 3
    return made


def with_init(self, value):
    self.value = value * 5


@pytest.mark.parametrize("first", range(4))
def test_classes_that_change(first):
    """__new__ and __init__ come, change and go between the calls."""

    def set_up(step):
        global Changing

        class Changing:
            __qualname__ = "Changing"

            def __init__(self, value):
                self.value = value

        if step == 1:
            Changing.__new__ = with_new
        elif step == 2:
            Changing.__new__ = with_new
            del Changing.__init__
        elif step == 3:
            Changing.__init__ = with_init

    order = [(first + i) % 4 for i in range(8)]
    compiled = armature.compile(makes)
    for step in order:
        set_up(step)
        expected, actual = makes(X), compiled(X)
        assert expected[0] == actual[0]
        assert torch.equal(expected[1], actual[1]) and torch.equal(expected[2], actual[2])


def test_class_that_gets_a_new():
    class Late:
        def __init__(self, value):
            self.value = value + 1

    class LateMeta(type):
        pass

    class OfLateMeta(metaclass=LateMeta):
        def __init__(self, value):
            self.value = value + 1

    def program(x):
        return Late(x).value * 2, OfLateMeta(x).value * 3

    compiled = armature.compile(program)

    def same():
        for expected, actual in zip(program(X), compiled(X), strict=True):
            assert torch.equal(expected, actual)

    def new(cls, value):
        made = object.__new__(cls)
        made.__init__(value * 7)
        return made

    def call(cls, value):
        return type.__call__(cls, value * 11)

    same()
    Late.__new__ = new
    same()
    LateMeta.__call__ = call
    same()
    del Late.__new__
    Late.__new__ = lambda cls, value: object.__new__(cls)
    same()
    del LateMeta.__call__
    same()

"""Class statements in traced code, those included that only Python can run, at the cost of one
break (test_made_classes.py has those of which the trace makes the class)."""

import dataclasses
import enum

import pytest
import torch
from differential import Cases, check


class Meta(type):
    def __prepare__(name, bases, **options):
        return {"prepared": options}

    def __new__(cls, name, bases, namespace, **options):
        return super().__new__(cls, name, bases, dict(namespace))

    def __init__(cls, name, bases, namespace, **options):
        super().__init__(name, bases, dict(namespace))
        cls.options = options


class Registering:
    registered: list = []

    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        cls.registered.append((cls.__name__, options))


class Named:
    def __set_name__(self, owner, name):
        self.name = owner.__name__ + "." + name

    def __get__(self, instance, owner):
        return self.name


class Entry:
    def __mro_entries__(self, bases):
        return (Registering,)


cases = Cases()


@cases.add(torch.ones(2), breaks=0)
def plain(x):
    y = x + 1

    class Scale:
        """Text."""

        factor = 3
        bias: float = 1.0

        def __init__(self, value):
            self.value = value

        def __call__(self, z):
            return self.value * z + y

    scale = Scale(x)
    return scale(2.0) * Scale.factor, Scale.__doc__, Scale.__qualname__


@cases.add(torch.ones(2), breaks=0)
def with_the_class_cell(x):
    class Base(torch.nn.Module):
        def forward(self, y):
            return y + 1

    base = Base()
    return base(x)


@cases.add(torch.ones(2))
def super_in_a_local_class(x):
    class First:
        def add(self, y):
            return y + 1

    class Second(First):
        def add(self, y):
            return super().add(y) * 2, __class__ is Second

    return Second().add(x)


@cases.add(2)
def metaclass(n):
    class Made(metaclass=Meta, option=n):
        value = prepared  # noqa: F821

    return Made.value, Made.options, type(Made) is Meta


@cases.add(2, watch=Registering.registered, restore=Registering.registered.clear)
def hooks(n):
    class Sub(Registering, option=n):
        field = Named()

    class Other(Entry()):
        pass

    return Sub.field, Sub().field, Other.__bases__ == (Registering,)


@cases.add(3, breaks=0)
def decorated(n):
    seen = []

    def decorate(cls):
        seen.append(cls.__name__)
        return cls

    @decorate
    class Made:
        values = [i * n for i in range(n)]

    return Made.values, seen


@cases.add(3, breaks=1)
def data_class(n):
    @dataclasses.dataclass
    class Data:
        x: int
        y: list = dataclasses.field(default_factory=list)

    data = Data(n)
    data.y.append(1)
    return data.x + 1, data.y, data == Data(n, [1]), repr(data).split(".")[-1]


@cases.add(3)
def enumeration(n):
    class Colour(enum.Enum):
        RED = n
        BLUE = n + 1

    return Colour.RED.value, Colour(n + 1).name, len(Colour)


@cases.add(1)
def raising(n):
    try:

        class Broken:
            value = n // (n - 1)

    except ZeroDivisionError as error:
        return str(error)


@cases.add(3)
def in_a_loop(n):
    made = []
    for i in range(n):

        class Made:
            number = i

        made.append(Made.number)
    return made


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_class_statement(fn, args, options):
    check(fn, *args, **options)

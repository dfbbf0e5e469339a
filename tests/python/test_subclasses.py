"""type.__subclasses__() and the numbers of type: facts that no version of a class says."""

import gc
import weakref

import armature
import torch
from differential import check


def fresh():
    class Base:
        pass

    return Base


def names(x, base):
    return [cls.__name__ for cls in base.__subclasses__()], x + len(base.__subclasses__())


def test_they_come_and_go():
    base = fresh()
    compiled = armature.compile(names, fullgraph=True)
    x = torch.ones(2)

    def same():
        gc.collect()
        assert compiled(x, base)[0] == names(x, base)[0]
        assert torch.equal(compiled(x, base)[1], names(x, base)[1])

    same()
    first = type("First", (base,), {})
    same()
    second = type("Second", (base,), {})
    third = type("Third", (first,), {})
    same()
    reference = weakref.ref(second)
    del second
    same()
    assert reference() is None
    second = type("Second", (base,), {})
    same()
    third.__bases__ = (base,)
    same()
    second.__name__ = "Renamed"
    same()
    reference = weakref.ref(first)
    del first, third
    same()
    assert reference() is None


def test_nobody_keeps_them():
    base = fresh()

    def given(x):
        return base.__subclasses__()

    compiled = armature.compile(given, fullgraph=True)
    x = torch.ones(2)
    for _ in range(4):
        made = type("Made", (base,), {"value": 1})
        result = compiled(x)
        assert type(result) is list and len(result) == 1 and result[0] is made
        assert compiled(x) is not compiled(x)
        reference = weakref.ref(made)
        del made, result
        gc.collect()
        assert reference() is None and compiled(x) == []


def test_twins_at_one_address():
    def told(x, base):
        total = x
        for cls in base.__subclasses__():
            total = total + cls.value
        return total

    base = fresh()
    compiled = armature.compile(told)
    x = torch.zeros(2)
    for value in range(1, 7):
        made = type("Made", (base,), {"value": value})
        assert torch.equal(compiled(x, base), x + value)
        del made
        gc.collect()


def test_those_of_builtin_classes_and_of_metaclasses():
    class Meta(type):
        def __subclasses__(cls):
            return ["own"]

    class Own(metaclass=Meta):
        pass

    class Counting(int):
        pass

    def told(x):
        return Own.__subclasses__(), Counting in int.__subclasses__(), x + 1, bool.__subclasses__()

    check(told, torch.ones(2))
    assert type.__subclasses__(Own) == []

    def past(x):
        return type.__subclasses__(Own), x + 1

    check(past, torch.ones(2), breaks=0)


def test_those_that_are_made_meanwhile():
    base = fresh()

    def made(x):
        class First:
            pass

        class Second(First):
            pass

        class Third(First, base):
            pass

        below = [cls.__name__ for cls in First.__subclasses__()]
        return below, [cls.__name__ for cls in Second.__subclasses__()], x + 1

    check(made, torch.ones(2), breaks=0)

    def below_existing(x):
        class Made(base):
            pass

        return Made in base.__subclasses__(), x + 1

    check(below_existing, torch.ones(2))


class Mapping(dict):
    pass


class Slotted:
    __slots__ = ("a", "b")


def test_numbers_of_type():
    def told(x, cls):
        numbers = (cls.__basicsize__, cls.__itemsize__, cls.__dictoffset__, cls.__weakrefoffset__)
        return numbers, bool(cls.__flags__ & (1 << 6)), bool(cls.__flags__ & (1 << 10)), x + 1

    for cls in (Mapping, Slotted, dict, tuple, int):
        check(told, torch.ones(2), cls, breaks=0)


def test_a_flag_that_changes():
    import abc

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def method(self):
            raise NotImplementedError

    def told(x):
        return bool(Abstract.__flags__ & (1 << 20)), x + 1

    compiled = armature.compile(told, fullgraph=True)
    x = torch.ones(2)
    assert compiled(x)[0] is told(x)[0] is True
    Abstract.method = None
    abc.update_abstractmethods(Abstract)
    assert compiled(x)[0] is told(x)[0] is False

"""Classes that a function has asked about itself die when plain Python lets go of them."""

import abc
import collections
import functools
import gc
import weakref

import armature
import pytest
from differential import breaking_every, entries


class Base:
    mark = 1
    prop = property(lambda self: 5)

    def which(self):
        return type(self).__name__

    @classmethod
    def made(cls):
        return cls()

    @staticmethod
    def static():
        return 6


class Meta(type):
    def __hash__(cls):
        return 1

    def __eq__(cls, other):
        return cls is other


def order(cls):
    return [base.__name__ for base in cls.__mro__[1:-1]], len(cls.__mro__)


def order_itself(cls):
    return cls.__mro__


def order_is_one(cls):
    order, bases = cls.__mro__, cls.__bases__
    print(end="")
    return order is cls.__mro__, bases is cls.__bases__, cls.__mro__ is cls.__bases__


def computed_order(cls):
    return cls.mro()[0] is cls, cls.mro() is cls.mro()


def bases(cls):
    return cls.__base__, cls.__bases__


def found_along(cls):
    for base in reversed(cls.__mro__):
        if "mark" in base.__dict__:
            return base.mark
    return None


def as_keys(cls):
    found = {base: len(base.__name__) for base in cls.__mro__}
    print(end="")
    return set(cls.__mro__) == set(found), {cls.__mro__: 2}[cls.__mro__]


def derived(cls):
    made = type("Made", (cls,), {"own": 1})
    return made.__name__, made.__mro__[1] is cls, made().which()


def named(cls):
    Pair = collections.namedtuple("Pair", "cls number")
    pair = Pair(cls, 1)
    print(end="")
    return pair.number, (cls, 2)[1], (cls,) in {(cls,): 3}


def asked(cls):
    return issubclass(cls, Base), isinstance(cls(), cls), cls().which(), cls.__subclasses__()


def cached(cls):
    @functools.lru_cache
    def find(one):
        return len(one.__mro__)

    return find(cls), find(cls)


def looked_up(cls):
    return super(cls, cls()).which(), cls.mark, hasattr(cls, "missing")


def slot(cls):
    one = cls()
    print(end="")
    return getattr(one, "a", 3), hasattr(one, "b")


def wrapped(cls):
    one = cls()
    return one.prop, cls.prop is cls.prop, one.made().prop, cls.static()


def own_dict(cls):
    one = cls()
    print(end="")
    return one.__dict__ if hasattr(one, "__dict__") else None


def names_of_own(cls):
    return [name for name, value in vars(cls).items() if value is not None and name[0] != "_"]


PROGRAMS = [
    slot, wrapped, own_dict, names_of_own, order, order_itself, order_is_one, computed_order, bases,
    found_along, as_keys, derived, named, asked, cached, looked_up,
]  # fmt: skip


def plain_class():
    return type("Plain", (Base,), {})


def deep_class():
    return type("Deep", (plain_class(),), {"mark": 3})


def slots_class():
    return type("Slots", (Base,), {"__slots__": ("a",)})


def abstract_class():
    return abc.ABCMeta("Abstract", (Base,), {})


def class_with_metaclass():
    return Meta("WithMeta", (Base,), {})


def class_that_knows_itself():
    class Knowing(Base):
        __slots__ = ("a", "b")

        def __init__(self):
            self.a = 1

        @property
        def prop(self):
            return __class__.__name__

        @classmethod
        def made(cls):
            return __class__()

        @staticmethod
        def static():
            return super(__class__, __class__()).which()

    return Knowing


MAKERS = [
    plain_class,
    class_that_knows_itself,
    deep_class,
    slots_class,
    abstract_class,
    class_with_metaclass,
]


def run(fn, make):
    """What three calls say, each of another class, and whether those live after it."""
    outcomes = []
    for _ in range(3):
        cls = make()
        reference = weakref.ref(cls)
        outcomes.append((repr(fn(cls)), repr(fn(cls))))
        del cls
        gc.collect()
        outcomes.append(reference() is not None)
    return outcomes


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("fn", PROGRAMS)
def test_class_dies(fn, make, every):
    expected = run(fn, make)
    armature.reset()
    with breaking_every(every):
        assert run(armature.compile(fn), make) == expected


def test_parts_are_replaced():
    """What a class had under a name before may lie where what it has now does."""

    class Changed:
        __slots__ = ("a", "b")

    def program(one):
        return one.prop, one.made(), one.static(), hasattr(one, "a")

    compiled = armature.compile(program)
    slots = Changed.a, Changed.b
    for number in range(40):
        Changed.prop = property(lambda self, number=number % 3: number)
        Changed.made = classmethod(lambda cls, number=number % 5: number)
        Changed.static = staticmethod(lambda number=number % 7: number)
        Changed.a = slots[number % 2]
        one = Changed()
        slots[0].__set__(one, 1)
        assert compiled(one) == program(one)


def test_bases_are_assigned():
    """The tuples that a class had before may lie where its new ones do."""

    def program(cls):
        return [base.mark for base in cls.__mro__ if hasattr(base, "mark")], cls.__bases__

    first = type("First", (Base,), {"mark": 2})
    second = type("Second", (Base,), {"mark": 3})
    cls = type("Changed", (first,), {})
    compiled = armature.compile(program)
    for bases in [(first,), (second,), (first,), (first, second), (second, first), (first,)] * 3:
        cls.__bases__ = bases
        assert compiled(cls) == program(cls)
        first.mark += 1
        assert compiled(cls) == program(cls)


def test_guards_say_what_they_know():
    class Asked(Base):
        shown = property(lambda self: 1)

    def program(one):
        return one.shown, Asked.__mro__

    compiled = armature.compile(program)
    assert compiled(Asked()) == program(Asked())
    (guards,) = [entry["guards"] for entry in entries(compiled)]
    assert ".shown is <property object>" in guards
    assert f"__mro__ is (<class {__name__}." in guards

"""Named tuples, and classes with metaclasses, slots or __init_subclass__, that a trace makes."""

import collections
import gc
import sys
import types
import typing
import weakref

import armature
import pytest
import torch
from differential import Cases, check

cases = Cases()


@cases.add(torch.ones(2), breaks=0)
def a_named_tuple(x):
    Point = collections.namedtuple("Point", ["x", "y"])
    point = Point(x, y=2)
    a, b = point
    return point.x + point.y, point._replace(y=3).y, point._asdict(), a is x, b, Point._make([1, 2])


@cases.add(torch.ones(2), breaks=0)
def what_a_named_tuple_says(x):
    Point = collections.namedtuple("Point", "x, y z", defaults=(1, x), module="elsewhere")
    made = Point(0)
    return (
        made,
        Point.__module__,
        Point.__doc__,
        Point.x.__doc__,
        Point._fields,
        Point._field_defaults,
        Point.__new__.__defaults__,
        Point.__new__.__name__,
        Point.__new__.__qualname__,
        Point._make.__func__.__doc__,
        repr(Point(1, 2, 3)),
        Point.__slots__,
        made.z is x,
        isinstance(made, tuple),
        Point(1, 2, 3) == (1, 2, 3),
        hash(Point(1, 2, 3)) == hash((1, 2, 3)),
    )


@cases.add(torch.ones(2), breaks=0)
def the_module_of_the_caller(x):
    return collections.namedtuple("Point", "x")(x).__module__, x + 1


@cases.add(torch.ones(2), breaks=0)
def names_that_are_not_allowed(x):
    texts = []
    for names in (["a", "a"], ["class"], ["_a"], ["1"], [1]):
        try:
            collections.namedtuple("Point", names)
        except ValueError as error:
            texts.append(str(error))
    renamed = collections.namedtuple("Point", ["a", "class", "a", "_b"], rename=True)
    return texts, renamed._fields, renamed(1, x, 3, 4)


@cases.add(torch.ones(2), breaks=0)
def wrong_arguments(x):
    Point = collections.namedtuple("Point", "x y")
    texts = []
    for arguments in ((1,), (1, 2, 3)):
        try:
            Point(*arguments)
        except TypeError as error:
            texts.append(str(error))
    try:
        Point(1, 2)._replace(z=1)
    except ValueError as error:
        texts.append(str(error))
    try:
        Point(1, 2).x = 3
    except AttributeError as error:
        texts.append(str(error))
    return texts, x + 1


@cases.add(torch.ones(2), breaks=0)
def a_class_over_a_named_tuple(x):
    class Point(collections.namedtuple("Base", "x y")):
        __slots__ = ()

        def total(self):
            return self.x + self.y

        def __add__(self, other):
            return type(self)(self.x + other.x, self.y + other.y)

    return (Point(x, 1) + Point(2, 3)).total(), Point.__mro__[1].__name__, Point(1, 2)


class Annotated(typing.NamedTuple):
    first: int
    second: int = 2


@cases.add(torch.ones(2), breaks=0)
def a_statement_of_typing(x):
    class Point(typing.NamedTuple):
        """Text."""

        x: torch.Tensor
        y: int = 3

        def total(self):
            return self.x * self.y

        @property
        def double(self):
            return self.total() * 2

    point = Point(x)
    return (
        point,
        point.double,
        Point.__annotations__,
        Point.__new__.__annotations__,
        Point.__orig_bases__ == (typing.NamedTuple,),
        Point.__bases__,
        Point.__doc__,
        Point._field_defaults,
        Point.__qualname__,
    )


@cases.add(torch.ones(2), breaks=0)
def a_function_of_typing(x):
    Point = typing.NamedTuple("Point", [("x", int), ("y", int)])  # noqa: UP014
    return Point(x, 2), Point.__annotations__


@cases.add(torch.ones(2))
def it_leaves_and_comes_back(x):
    Point = collections.namedtuple("Point", "x y")
    point = Point(x + 1, 2)
    armature.graph_break()
    other = Point(point.x * 2, point.y)
    return point, other, type(point) is type(other)


# --- __slots__.


@cases.add(torch.ones(2), breaks=0)
def slots(x):
    class Base:
        __slots__ = ["__hidden", "a"]

        def __init__(self, a):
            self.a = a
            self.__hidden = a * 2

        def hidden(self):
            return self.__hidden

    class Derived(Base):
        __slots__ = "b"

    class Open(Derived):
        pass

    made = Derived(x)
    made.b = 3
    texts = []
    for action in (lambda: setattr(made, "c", 1), lambda: Derived(1).b):
        try:
            action()
        except AttributeError as error:
            texts.append(str(error))
    del made.b
    opened = Open(1)
    opened.c, opened.b = x, 2
    return (
        made.hidden(),
        texts,
        hasattr(made, "b"),
        Base.__slots__,
        Derived.__slots__,
        opened.__dict__,
        hasattr(made, "__dict__"),
    )


@cases.add(torch.ones(2), breaks=0)
def an_object_with_slots_leaves(x):
    class Made:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    made = Made(x + 1)
    return made.a, made


@cases.add(torch.ones(2), breaks=0)
def slots_that_are_in_the_way(x):
    try:

        class Made:
            __slots__ = ("a",)
            a = 1
    except ValueError as error:
        return str(error), x


def test_slots_of_what_was_made():
    def run(x):
        class Base:
            __slots__ = ("__weakref__", "a")

        class Made(Base):
            __slots__ = ("b",)

        made = Made()
        made.a, made.b = x + 1, [x]
        return made

    def plain_slots(x):
        class Base:
            __slots__ = ("a",)

        class Made(Base):
            __slots__ = ("b",)

        made = Made()
        made.a, made.b = x + 1, [x]
        return made

    for function in (run, plain_slots):
        compiled = armature.compile(function)
        x = torch.ones(2)
        first, second = compiled(x), compiled(x)
        assert type(first) is not type(second)
        for made in (first, second):
            assert made.b[0] is x and torch.equal(made.a, x + 1) and not hasattr(made, "__dict__")
            assert type(made).b.__get__(made) is made.b
            del made.a
            with pytest.raises(AttributeError):
                made.a  # noqa: B018
            made.a = 5
            assert made.a == 5


# --- __init_subclass__.


class Registry:
    known: list = []
    options: dict = {}

    def __init_subclass__(cls, option=1, **rest):
        super().__init_subclass__(**rest)
        cls.option = option
        Registry.known.append(cls)
        Registry.options[cls.__name__] = option

    def value(self):
        return self.option


class Deeper(Registry, option=7):
    def __init_subclass__(cls, **rest):
        rest.setdefault("option", 9)
        super().__init_subclass__(**rest)
        cls.deep = True


@cases.add(torch.ones(2), breaks=0)
def told_of_subclasses(x):
    class First(Registry, option=3):
        pass

    class Second(Deeper):
        def value(self):
            return super().value() + 1

    class Third(First):
        pass

    return (
        First().value() * x,
        Second().value(),
        Second.deep,
        Third.option,
        First.__bases__,
        Second.__mro__[1:],
        "option" in First.__dict__,
    )


def test_nothing_else_is_seen():
    def run(x):
        class Made(Registry, option=3):
            pass

        return x + Made.option

    gc.collect()
    before = set(map(id, object.__subclasses__()))
    assert torch.equal(armature.compile(run, fullgraph=True)(torch.ones(2)), torch.full((2,), 4.0))
    gc.collect()
    assert {cls for cls in object.__subclasses__() if id(cls) not in before} == set()


def test_registered_once():
    def run(x):
        class Made(Registry, option=x.shape[0]):
            pass

        return Made, Made().value() * x

    compiled = armature.compile(run)
    Registry.known.clear()
    for size in (2, 2, 3, 4, 5):
        made, value = compiled(torch.ones(size))
        assert torch.equal(value, torch.ones(size) * size)
        assert Registry.known[-1] is made and Registry.options["Made"] == size
        assert Registry.__subclasses__()[-1] is made
        assert made.__base__ is Registry and made.__mro__ == (made, Registry, object)
        assert isinstance(made(), Registry) and made().__dict__ == {}
    assert len(Registry.known) == 5
    Registry.known.clear()
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None or sys.gettrace()
    names = [cls.__name__ for cls in Registry.__subclasses__()]
    assert "Plain" not in names and names.count("Made") == 0


@cases.add(torch.ones(2), breaks=0)
def an_error_of_init_subclass(x):
    try:

        class Made(Registry, unknown=1):
            pass
    except TypeError as error:
        return type(error).__name__, x + 1


# --- Metaclasses.


class Counting(type):
    made: list = []

    def __new__(cls, name, bases, namespace, **rest):
        namespace["added"] = len(namespace) > 0
        result = super().__new__(cls, name + "Counted", bases, namespace)
        result.rest = rest
        cls.made.append(name)
        return result

    def __init__(cls, name, bases, namespace, **rest):
        super().__init__(name, bases, namespace)
        cls.initialized = name

    def __call__(cls, *arguments):
        made = super().__call__(*arguments)
        made.called = len(arguments)
        return made

    @property
    def shown(cls):
        return cls.__name__.lower()

    def __len__(cls):
        return 5

    def __contains__(cls, item):
        return item == 1


class Initializing(type):
    def __init__(cls, name, bases, namespace, scale=1):
        super().__init__(name, bases, namespace)
        cls.scale = scale


class Counted(metaclass=Counting):
    pass


class Prepared(type):
    @classmethod
    def __prepare__(cls, name, bases, **rest):
        return {"prepared": name, **rest}

    def __new__(cls, name, bases, namespace, **rest):
        return super().__new__(cls, name, bases, namespace)

    def __init__(cls, name, bases, namespace, **rest):
        pass


@cases.add(torch.ones(2), breaks=0)
def metaclasses(x):
    class Made(metaclass=Counting, flag=2):
        def __init__(self, value):
            self.value = value

    class Derived(Counted):
        def value(self):
            return __class__ is Derived

    class Init(metaclass=Initializing):
        factor = 2

    class Prep(metaclass=Prepared, other=4):
        seen = prepared  # noqa: F821

    made = Made(x)
    return (
        made.called,
        made.value + 1,
        Made.rest,
        Made.initialized,
        Made.__name__,
        Made.shown,
        len(Made),
        1 in Made,
        type(Made) is Counting,
        isinstance(Made, Counting),
        Derived().value(),
        type(Derived).__name__,
        Init.scale * Init.factor,
        (Prep.seen, Prep.other, type(Prep).__name__),
    )


@cases.add(torch.ones(2), breaks=0)
def a_function_as_metaclass_is_left(x):
    class Made(metaclass=Counting):
        pass

    return Made()


def test_metaclass_runs_once_a_call():
    def run(x):
        class Made(metaclass=Counting):
            pass

        return Made, x + len(Made)

    compiled = armature.compile(run)
    Counting.made.clear()
    for _ in range(3):
        made, value = compiled(torch.ones(2))
        assert type(made) is Counting and made.__name__ == "MadeCounted"
        assert made.added is True and made.initialized == "Made"
    assert Counting.made == ["Made"] * 3


# --- eval()


@cases.add(torch.ones(2), breaks=0)
def known_texts(x):
    names = {"__builtins__": {"size": len}, "x": x}
    add = eval("lambda y, z=(1, 2): x + y + size(z)", names)
    names["x"] = x * 10
    return add(1), eval(" size((x, x))", names), list(names), add.__module__


@cases.add(torch.ones(2), breaks=0)
def a_name_that_is_not_there(x):
    read = eval("lambda: missing", {"__builtins__": {}})
    try:
        read()
    except NameError as error:
        return str(error), x + 1


@cases.add(torch.ones(2))
def what_eval_leaves_to_python(x):
    values = []
    for text in ("1 +", "1 is 1", "x", "'\\d'"):
        try:
            values.append(eval(text, {"x": 3}))
        except SyntaxError as error:
            values.append(str(error))
    return values, eval("x + 1")


def test_builtins_of_an_evaluated_function():
    def run(x):
        names = {"__builtins__": {"len": len}}
        function = eval("lambda y: len(y)", names)
        names["__builtins__"] = {"len": max}
        return function, x + 1

    def kept(x):
        names = {"__builtins__": {"len": len}}
        function = eval("lambda y: len(y)", names)
        names["function"] = function
        return function, x + 1

    armature.config.strict = False
    try:
        for function in (run, kept):
            plain, captured = function, armature.compile(function)
            for made in (plain, captured, captured):
                result = made(torch.ones(2))[0]
                assert result([4, 5]) == 2
                assert result.__globals__["__builtins__"] is not None
    finally:
        armature.config.strict = True


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_cases(fn, args, options):
    check(fn, *args, **options)


def test_what_a_metaclass_gets_after_its_classes():
    class Descriptor:
        def __set__(self, instance, value):
            raise AssertionError("never")

    def program(x):
        class Meta(type):
            pass

        class Made(metaclass=Meta):
            pass

        Made.a = 42
        Meta.a = Descriptor()
        return x + Made.a

    check(program, torch.ones(2))
    check(lambda x: (type("Meta", (type,), {}), program(x))[1], torch.ones(2))


def test_bases_that_cannot_come_later():
    T = typing.TypeVar("T")

    class Final:
        def __init_subclass__(cls, **keywords):
            if any(base is not Final and issubclass(base, Final) for base in cls.__bases__):
                raise RuntimeError("it is final")
            super().__init_subclass__(**keywords)

    def program(x):
        class Test(typing.Generic[T], Final):
            pass

        for base in (Test, Test[int]):
            try:
                types.new_class("Below", (base,))
            except RuntimeError as error:
                x = x + len(str(error))
        return x, Test.__name__

    check(program, torch.ones(2))

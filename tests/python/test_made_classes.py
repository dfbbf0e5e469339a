"""Classes that a trace makes: each call has a new one, and nobody sees what stood for it."""

import contextlib
import gc
import weakref

import armature
import pytest
import torch
from differential import Cases, check

cases = Cases()


class Outside:
    registry: list = []

    def scaled(self, value):
        return value * self.factor

    @classmethod
    def named(cls):
        return cls.__name__


class OtherOutside(Outside):
    factor = 5


class Described:
    def __set_name__(self, owner, name):
        self.name = owner.__name__ + "." + name

    def __get__(self, instance, owner):
        return self.name, instance is None, owner.__name__

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value


@cases.add(torch.ones(2), breaks=0)
def methods_of_all_kinds(x):
    class Made:
        factor = 2

        def __init__(self, value):
            self.value = value

        @staticmethod
        def add(a, b=1):
            return a + b

        @classmethod
        def make(cls, value):
            return cls(cls.add(value))

        @property
        def double(self):
            return self.value * self.factor

        @double.setter
        def double(self, value):
            self.value = value / 2

        def __call__(self, other):
            return self.double + other

        add_again = add

    made = Made.make(x)
    made.double = made.double * 3
    return made(1.0), Made.add(1), made.add(2, 3), Made.add_again(5), Made.double.fset is not None


@cases.add(torch.ones(2), breaks=0)
def a_property_without_a_setter(x):
    class Made:
        @property
        def value(self):
            return x

    try:
        Made().value = 3
    except AttributeError as error:
        return str(error), Made().value + 1


@cases.add(torch.ones(2), breaks=0)
def super_and_the_class_cell(x):
    class First:
        def value(self):
            return 1

    class Second(First):
        def value(self):
            return super().value() + 2

    class Third(Second, Outside):
        factor = 3

        def value(self):
            return super().value() + super(Second, self).value(), __class__ is Third

    return Third().value(), Third().scaled(x), Third.named(), Third.__mro__[3:]


@cases.add(torch.ones(2), breaks=0)
def closures(x):
    count = 0
    kept = x + 1

    class Made:
        def add(self, n):
            nonlocal count
            count += n
            return kept * count

    return Made().add(2), Made().add(3), count


@cases.add(torch.ones(2), breaks=0)
def a_name_of_the_body_before_the_closure(x):
    value = 1

    class Made:
        first = value
        second = first + value
        both = [first, second]
        del first

        def outer(self):
            return value

    return Made.both, Made().outer(), hasattr(Made, "first"), x


@cases.add(torch.ones(2), breaks=0)
def what_a_class_says_of_itself(x):
    class Made(OtherOutside):
        """Text."""

        number: int = 3
        other: "torch.Tensor"

    made = Made()
    return (
        (Made.__name__, Made.__qualname__, Made.__doc__, Made.__module__, repr(Made)),
        (Made.__annotations__, Made.__mro__[1:], Made.__bases__, Made.__base__),
        (isinstance(made, Outside), issubclass(Made, OtherOutside), isinstance(1, Made)),
        (type(made) is Made, made.__class__ is Made, type(Made) is type),
        ("number" in Made.__dict__, Made.__dict__["number"], "scaled" in vars(Made)),
        made.scaled(x),
    )


@cases.add(torch.ones(2), breaks=0)
def attributes_written(x):
    class Made:
        count = 0
        values = [x]

    Made.count += 1
    Made.later = Made.count + 1
    Made.values.append(x + 1)
    Made.method = lambda self: self.count + self.later
    del Made.count
    Made.count = 7
    Made.__doc__ = "set"
    return Made.count, Made.later, len(Made.values), Made().method(), Made.__doc__


@cases.add(torch.ones(2), breaks=0)
def special_methods_set_later(x):
    class Made:
        pass

    made = Made()
    Made.__len__ = lambda self: 3
    Made.__getitem__ = lambda self, index: index * 2
    Made.__eq__ = lambda self, other: True
    first = len(made), made[4], made == 5
    del Made.__eq__
    return first, made == 5, x


@cases.add(torch.ones(2), breaks=0)
def equality_without_a_hash(x):
    class Made:
        def __eq__(self, other):
            return True

    try:
        hash(Made())
    except TypeError as error:
        return str(error), Made() == 1, Made.__hash__


@cases.add(torch.ones(2), breaks=0)
def over_builtins(x):
    class Table(dict):
        def __missing__(self, key):
            return key * 2

    class Items(list):
        def total(self):
            return sum(self)

    class Number(int):
        def twice(self):
            return self * 2

    return Table(a=1)["b"], Items([1, 2]).total(), Number(4).twice(), Table(b=x)


@cases.add(torch.ones(2), breaks=0)
def raised_and_caught(x):
    class Problem(ValueError):
        def __init__(self, code):
            super().__init__(f"code {code}")
            self.code = code

    class Worse(Problem):
        pass

    try:
        try:
            raise Worse(3)
        except Worse as error:
            raise Problem(error.code + 1) from error
    except Problem as error:
        return error.code, str(error), type(error.__cause__).__name__, x + 1


@cases.add(torch.ones(2))
def raised_and_not_caught(x):
    class Problem(ValueError):
        pass

    raise Problem("of " + str(tuple(x.shape)))


@cases.add(torch.ones(2), breaks=0)
def a_module(x):
    class Layer(torch.nn.Module):
        scale = 2

        def forward(self, y):
            return y * self.scale + 1

    return Layer()(x)


@cases.add(torch.ones(2), breaks=0)
def descriptors(x):
    class Made:
        field = Described()

        class Inner:
            field = Described()

    made = Made()
    made.field = 4
    return Made.field, made.field, made.__dict__, Made.Inner().field, x + 1


@cases.add(torch.ones(2), breaks=0)
def by_type(x):
    Made = type("Made", (Outside,), {"factor": 3, "twice": lambda self: self.factor * 2})
    return Made().scaled(x), Made().twice(), Made.__name__, Made.__module__, Made.__qualname__


@cases.add(3, breaks=0)
def in_a_loop(n):
    made = []
    for i in range(n):

        class Made:
            number = i

            def value(self):
                return self.number + i

        made.append(Made)
    return [m.number for m in made], [m().value() for m in made], len(set(made))


@cases.add(3, breaks=0)
def as_keys(n):
    class First:
        pass

    class Second:
        pass

    table = {First: n, Second: n + 1}
    return table[First], table.get(Second), Outside in table, table[type(First())]


@cases.add(3, breaks=0)
def compared(n):
    def make():
        class Made:
            pass

        return Made

    first, second = make(), make()
    return first is second, first == second, first == first, isinstance(first(), second)


@cases.add(1, breaks=0)
def a_conflict_of_layouts(n):
    results = []
    for bases in ((int, str), (bool,), (Outside, Outside), (object, Outside)):
        try:
            results.append(type("Made", bases, {}).__name__)
        except TypeError as error:
            results.append(str(error).replace("\n", " "))
    return results


@cases.add(1, breaks=0)
def an_error_in_the_body(n):
    try:

        class Broken:
            value = n // (n - 1)

    except ZeroDivisionError as error:
        return str(error)


@cases.add(1, breaks=0)
def an_unknown_name_in_the_body(n):
    try:

        class Broken:
            value = unheard_of

    except NameError as error:
        return str(error), error.name


@cases.add(torch.ones(2), breaks=1)
def a_break_behind(x):
    class Made:
        factor = 2

        def value(self):
            return x * self.factor

    made = Made()
    print("broken")
    return made.value(), type(made) is Made


@cases.add(torch.ones(2))
def a_break_in_a_method(x):
    class Made:
        def value(self):
            y = x + 1
            print("broken")
            return y * 2

    return Made().value()


@cases.add(torch.ones(2))
def a_break_in_the_body(x):
    class Made:
        first = x + 1
        print("broken")
        second = 2

    return Made.first * Made.second


@cases.add(torch.ones(2), breaks=0)
def instances_with_dict_and_slots(x):
    class Empty:
        __slots__ = ()

    class Made(Empty):
        pass

    made = Made()
    made.value = x
    try:
        Empty().value = 1
    except AttributeError as error:
        return str(error), made.__dict__, made.value + 1


class Registered:
    pass


@cases.add(torch.ones(2), breaks=0)
def class_that_nothing_holds(x):
    """A base knows it until the collector comes."""

    class Kept(Registered):
        pass

    class Below(Kept):
        value = x + 1

    return x


@cases.add(torch.ones(2), breaks=0)
def class_thrown_into_a_generator(x):
    class Stop(StopIteration):
        pass

    @contextlib.contextmanager
    def manager():
        yield

    value = Stop("spam")
    try:
        with manager():
            raise value
    except Exception as error:
        return error is value, repr(error), x + 1


@cases.add(torch.ones(2), breaks=0)
def wrong_arguments(x):
    texts = []
    for arguments in ((1, (), {}), ("A", [], {}), ("A", (), []), ("A", None, {})):
        try:
            type(*arguments)
        except TypeError as error:
            texts.append(str(error))
    return texts, x + 1


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_made_class(fn, args, options):
    check(fn, *args, **options)


def test_each_call_returns_a_class_of_its_own():
    @armature.compile
    def make(x):
        class Made(Outside):
            factor = x + 1

            def own(self):
                return self.factor, __class__

        return Made, Made()

    (first, one), (second, two) = make(torch.ones(2)), make(torch.zeros(2))
    assert first is not second and type(one) is first and type(two) is second
    assert one.own()[1] is first and two.own()[1] is second
    assert torch.equal(one.own()[0], torch.full((2,), 2.0))
    assert first.__qualname__.endswith("make.<locals>.Made") and first.__module__ == __name__
    assert list(first.__dict__) == ["__module__", "factor", "own", "__doc__"]
    assert first in Outside.__subclasses__() and second in Outside.__subclasses__()
    gone = [weakref.ref(each) for each in (first, second)]
    del first, second, one, two
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_the_order_of_the_dict():
    def make():
        class Made:
            """Text."""

            b = 1

            def __eq__(self, other):
                return True

            a = 2

        Made.c = 3
        Made.b = 4
        return Made

    assert list(armature.compile(make)().__dict__) == list(make().__dict__)


def test_what_the_class_has_of_itself():
    @armature.compile
    def make():
        class Made:
            pass

        made = Made()
        made.__dict__["value"] = 3
        return Made.__dict__["__dict__"], Made.__weakref__, Made, made

    for _ in range(2):
        of_dict, of_weak_references, cls, made = make()
        assert of_dict is cls.__dict__["__dict__"] and of_dict.__objclass__ is cls
        assert of_weak_references is cls.__dict__["__weakref__"] and made.value == 3


def test_nobody_sees_the_prototype():
    gc.collect()
    before = Outside.__subclasses__()
    seen = []

    @armature.compile
    def use(x):
        class Made(Outside):
            factor = 2

        return Made().scaled(x)

    for _ in range(3):
        use(torch.ones(2))
        gc.collect()
        seen.append(Outside.__subclasses__())
    assert seen == [before] * 3
    assert not [
        each
        for each in gc.get_objects()
        if getattr(each, "__name__", "") == "Made"
        and isinstance(each, type)
        and each.__qualname__.startswith("test_nobody")
    ]


def test_a_changed_base_is_noticed():
    class Base:
        value = 1

    @armature.compile
    def use(x):
        class Made(Base):
            pass

        return Made().value, Made.value, hasattr(Made, "other")

    assert use(1) == (1, 1, False)
    Base.value = 2
    assert use(1) == (2, 2, False)
    Base.other = 3
    assert use(1) == (2, 2, True)
    Base.__init_subclass__ = classmethod(lambda cls: setattr(cls, "value", 9))
    assert use(1) == (9, 9, True)


def test_a_changed_base_of_several_is_noticed():
    class Root:
        pass

    class First(Root):
        pass

    class Second:
        value = 1

    @armature.compile
    def use(x):
        class Made(First, Second):
            pass

        return Made().value

    assert use(1) == 1
    First.value = 2
    assert use(1) == 2
    del First.value
    Second.value = 3
    assert use(1) == 3
    First.__bases__ = (Second,)
    assert use(1) == 3


def test_bases_know_what_nothing_holds():
    fresh = armature.compile(class_that_nothing_holds)
    for function in (class_that_nothing_holds, fresh, fresh):
        gc.collect()
        before = len(Registered.__subclasses__())
        function(torch.ones(2))
        names = [cls.__name__ for cls in Registered.__subclasses__()[before:]]
        below = [cls.__name__ for cls in Registered.__subclasses__()[-1].__subclasses__()]
        assert (names, below) == (["Kept"], ["Below"])


def attributes_in_another_order(x):
    class Made:
        first = 1
        second = x
        third = 3

    first = Made.first
    del Made.first
    Made.fourth = 4
    del Made.third
    Made.first = first
    Made.third = 5
    return Made


def test_attributes_set_anew_stand_last():
    def items(made):
        # __dict__ and __weakref__ are the class's own.
        own = ("__dict__", "__weakref__")
        return [(name, name in own or value) for name, value in made.__dict__.items()]

    x = torch.ones(2)
    compiled = armature.compile(attributes_in_another_order, fullgraph=True)
    for _ in range(3):
        assert repr(items(compiled(x))) == repr(items(attributes_in_another_order(x)))


@pytest.mark.parametrize("call", ['type("Made", (), {})', 'type(*("Made", (int,), {"a": 3}))'])
def test_a_class_of_a_module_without_a_name(call):
    def world():
        names = {"torch": torch}
        exec(
            f"def fn(x):\n    made = {call}\n    return str(made), hasattr(made, 'a'), x + 1", names
        )
        return names["fn"]

    plain, compiled = world(), armature.compile(world())
    for _ in range(2):
        assert compiled(torch.ones(2))[:2] == plain(torch.ones(2))[:2]

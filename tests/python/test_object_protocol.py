"""What objects are asked for: attributes of exceptions and slots, generators that are sent values,
descriptors within descriptors. Each function is run plainly and captured, and must agree."""

import collections
import types

import armature
import pytest
import torch
from changing_world import check_world, quick_collections
from differential import Cases, break_reasons, check

cases = Cases()


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_case(fn, args, options):
    check(fn, *args, **options)


# --- Generators.


def echo():
    received = []
    while (value := (yield len(received))) is not None:
        received.append(value)
    return received


@cases.add(breaks=0)
def values_are_sent():
    generator = echo()
    counts = [next(generator), generator.send(1), generator.send(2)]
    try:
        generator.send(None)
    except StopIteration as stop:
        return counts, stop.value


@cases.add(breaks=0)
def the_first_value_sent_is_none():
    generator = echo()
    try:
        generator.send(1)
    except TypeError as error:
        return str(error), generator.send(None)


def delegates():
    return (yield from echo())


@cases.add(breaks=0)
def values_are_sent_through_delegation():
    generator = delegates()
    next(generator)
    generator.send(5)
    try:
        next(generator)
    except StopIteration as stop:
        return stop.value


class Receiver:
    """An iterator that is no generator, and has a send() of its own."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        self.count -= 1
        if self.count < 0:
            raise StopIteration("returned")
        return self.count, value


def delegates_to(receiver):
    returned = yield from receiver
    yield returned


@cases.add(2, breaks=0)
def an_iterator_returns_a_value(count):
    return list(delegates_to(Receiver(count)))


@cases.add(2, breaks=0)
def an_iterator_is_sent_values(count):
    generator = delegates_to(Receiver(count))
    return next(generator), generator.send("a"), generator.send("b")


@cases.add(breaks=0)
def a_value_is_returned_once():
    def returns():
        yield 1
        return 2

    def delegates_twice(generator):
        first = yield from generator
        second = yield from generator
        yield first, second

    return list(delegates_twice(returns()))


@cases.add(breaks=0)
def next_raises_with_the_value():
    def returns():
        return 3
        yield

    try:
        next(returns())
    except StopIteration as stop:
        return stop.value, stop.args


@cases.add(breaks=0)
def a_stop_iteration_inside_has_a_cause():
    def stops():
        yield next(iter([]))

    try:
        list(stops())
    except RuntimeError as error:
        return type(error.__cause__).__name__, error.__cause__ is error.__context__


async def coroutine(x):
    return x + 1


@cases.add(torch.ones(2), breaks=None)
def a_coroutine_is_made(x):
    made = coroutine(x)
    try:
        made.send(None)
    except StopIteration as stop:
        return stop.value


# --- Exceptions.


@cases.add(breaks=0)
def links_of_an_exception_are_set():
    error, other = ValueError("a"), KeyError("b")
    error.__cause__ = other
    linked = error.__cause__ is other, error.__suppress_context__
    error.__suppress_context__ = False
    error.__context__ = other
    return error, linked


@cases.add(breaks=0)
def wrong_links_are_refused():
    error, messages = ValueError("a"), []
    for name, value in [
        ("__cause__", 1),
        ("__context__", "a"),
        ("__suppress_context__", 1),
    ]:
        try:
            setattr(error, name, value)
        except TypeError as refused:
            messages.append(str(refused))
        try:
            delattr(error, name)
        except TypeError as refused:
            messages.append(str(refused))
    return messages


class Described(Exception):
    args = property(lambda self: ("described",))

    def __getattr__(self, name):
        return f"no {name}"

    def __setattr__(self, name, value):
        super().__setattr__(name, [value])


@cases.add(breaks=None)
def an_exception_class_overrides_access():
    error = Described("a")
    error.added = 1
    return error.args, error.missing, error.added


# --- Slots.


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1


def slots_of(obj):
    return [getattr(obj, name, "empty") for name in ("a", "b")]


@cases.add(breaks=0)
def slots_of_new_objects_are_deleted():
    slotted = Slotted()
    del slotted.a
    found = [hasattr(slotted, "a")]
    try:
        del slotted.a
    except AttributeError as error:
        found.append(str(error))
    return slotted, found


@pytest.mark.parametrize("program", ["deletes", "deletes_and_sets", "sets_and_deletes"])
def test_slots_of_existing_objects_are_deleted(program):
    def deletes(obj):
        del obj.a
        return hasattr(obj, "a")

    def deletes_and_sets(obj):
        del obj.a
        obj.a = 2
        return obj.a

    def sets_and_deletes(obj):
        obj.b = 2
        del obj.b
        return hasattr(obj, "b")

    function = locals()[program]
    compiled = armature.compile(function)
    for value in (1, 1, "other"):
        plain, captured = Slotted(), Slotted()
        plain.a = captured.a = value
        assert compiled(captured) == function(plain)
        assert slots_of(captured) == slots_of(plain)
    assert break_reasons(compiled) == []


def test_a_slot_that_became_empty():
    def deletes(obj):
        del obj.a

    compiled = armature.compile(deletes)
    compiled(Slotted())
    slotted = Slotted()
    del slotted.a
    with pytest.raises(AttributeError, match=r"^a$"):
        compiled(slotted)


# --- Descriptors.


class OfClass:
    @classmethod
    @property
    def name(cls):
        return cls.__name__

    @classmethod
    def own(cls):
        return cls


cases.add(breaks=0)(lambda: (OfClass.name, OfClass().name, OfClass.own()))


class Named(property):
    """Over property, like constraints.dependent_property of torch.distributions."""

    def __call__(self, text):
        return text + "?"


class Loud(property):
    def __get__(self, instance, owner=None):
        return "loud", super().__get__(instance, owner)


class NamedStatic(staticmethod):
    pass


class NamedClass(classmethod):
    pass


class OfDerivedDescriptors:
    def __init__(self):
        self._size = 3

    @Named
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value * 2

    @size.deleter
    def size(self):
        self._size = None

    constant = Named(lambda self: self._size + 1)
    unreadable = Named()
    loud = Loud(lambda self: self._size)

    @NamedStatic
    def static(x):
        return x + 1

    @NamedClass
    def of_class(cls, x):
        return cls.__name__, x


class OverDerivedDescriptors(OfDerivedDescriptors):
    @Named
    def size(self):
        return super().size + 10


def use_derived_descriptors(kind):
    one = kind()
    found = [one.size, one.constant, one.loud, one.static(2), kind.static(3), one.of_class(4)]
    found += [kind.of_class(5), kind.constant("what")]
    for name in ("unreadable", "size", "constant"):
        try:
            found.append(getattr(one, name))
            setattr(one, name, 5)
            found.append(one._size)
            delattr(one, name)
            found.append(one._size)
        except AttributeError as error:
            found.append(str(error))
        except TypeError as error:
            found.append(str(error))
    return found


# property.__get__ by super(), and the call of a descriptor as an object, are Python's.
cases.add(breaks=2)(lambda: use_derived_descriptors(OfDerivedDescriptors))
cases.add()(lambda: use_derived_descriptors(OverDerivedDescriptors))


class Meta(type):
    def describe(cls):
        return cls.__name__

    def __call__(cls):
        return super().__call__(), cls.describe()


class DerivedMeta(Meta):
    def describe(cls):
        return super().describe() + "!"


class Instance(metaclass=DerivedMeta):
    pass


cases.add(breaks=0)(lambda: Instance.describe())


@cases.add(breaks=None)
def a_metaclass_makes_an_instance():
    instance, name = Instance()
    return type(instance) is Instance, name


cases.add(breaks=None)(lambda: type(super(OfClass, OfClass()).__init__).__name__)
cases.add([1], breaks=None)(
    lambda items: (type(items.__len__).__name__, type(items.append).__name__)
)


# --- Dicts.


class Named(dict):
    pass


@cases.add(breaks=0)
def subclasses_of_dict_are_made():
    empty, filled = Named(), Named({"a": 1}, b=2)
    return empty, filled, type(filled) is Named


@cases.add({"a": 1}, breaks=0)
def dict_init_is_called(existing):
    existing.__init__(b=2)
    return existing


class Answering(dict):
    def __missing__(self, name):
        return f"no {name}"


def test_globals_that_answer_for_missing_names():
    code = (lambda: missing).__code__  # noqa: F821
    for namespace in (Answering(), collections.OrderedDict(missing=1)):
        namespace["__builtins__"] = __builtins__
        function = types.FunctionType(code, namespace)
        assert armature.compile(function)() == function()


def test_subclasses_of_a_builtin_class_are_no_constant():
    compiled = armature.compile(lambda: [cls.__name__ for cls in frozenset.__subclasses__()])
    before = compiled()

    class Added(frozenset):
        pass

    assert sorted(compiled()) == sorted([*before, Added.__name__])


def test_formatting_a_tensor_says_what_it_needs():
    for function in (lambda x: f"{x}", lambda x: f"{x:>3}", lambda x: "{}".format(x)):  # noqa: UP032
        compiled = check(function, torch.tensor(3), breaks=1)
        assert break_reasons(compiled)[0]["gb_type"] == "Text of a traced object"


class Rewriting(Exception):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


EXISTING = Rewriting()


@cases.add()
def attributes_of_an_existing_exception_by_the_functions_of_object():
    try:
        EXISTING.x = 1
        return EXISTING.x, [object.__getattribute__(EXISTING, "x")]
    except AttributeError as error:
        return str(error)


SLOTTED = """
class Base:
    __slots__ = ("a",)

    def filled(self):
        try:
            return self.a
        except AttributeError:
            self.a = [1]
            return self.a


class Slotted(Base):
    __slots__ = ("b", "__dict__")


class Computed(Slotted):
    def __getattr__(self, name):
        return "computed " + name


O = Slotted()
C = Computed()


def entry(x, o):
    return x + 1, getattr(o, "a", 0), hasattr(o, "b"), getattr(C, "b"), o.filled(), o.filled()


def deletes(o):
    del o.b


def message(o):
    try:
        deletes(o)
    except AttributeError as error:
        return str(error), error.name, error.obj is o
"""


CELLS = """
def make():
    y = [1]

    def looks(x):
        y
        return x + 1

    def answers(x):
        try:
            return y, x
        except NameError as error:
            return str(error), error.name

    def deletes(x):
        nonlocal y
        try:
            del y
        except NameError as error:
            return str(error)

    def put(value):
        nonlocal y
        y = value

    return looks, answers, deletes, put


looks, answers, deletes, put = make()


def entry(x):
    return looks(x)


def from_outside(x):
    try:
        return looks(x), answers(x)
    except NameError as error:
        return str(error), answers(x), deletes(x)
"""


@pytest.mark.parametrize("entry", ["entry", "looks", "answers", "from_outside"])
def test_cells_without_contents(entry):
    with quick_collections():
        check_world(
            CELLS,
            f"entry = {entry}",
            "entry(1)",
            "deletes(1)",
            "entry(1)",
            "put(3)",
            "entry(1)",
            "deletes(1)",
            "entry(1)",
            "entry = deletes",
            "entry(1)",
            "put(None)",
            "entry(1)",
        )


def test_slots_without_a_value():
    with quick_collections():
        check_world(
            SLOTTED,
            "entry(1, O)",
            "del O.a",
            "O.b = 3",
            "entry(1, O)",
            "del O.a, O.b",
            "entry(1, O)",
            "C.b = 4",
            "entry(1, O)",
            "entry(1, Slotted())",
            "entry(1, C)",
            "del Computed.__getattr__",
            "entry(1, O)",
            "Slotted.a = 5",
            "entry(1, Slotted())",
            "entry = message",
            "entry(O)",
            "O.b = 1",
            "entry(O)",
            "entry(O)",
        )

"""Compiled functions as wrappers, and in a class where Python expects functions."""

import copy
import enum
import functools
import inspect
import pickle
import pydoc

import armature
import pytest
import torch

TRANSFORMS = [armature.compile, armature.disable, lambda function: function]
transformed = pytest.mark.parametrize("transform", TRANSFORMS)


def documented(x: int, *, y: str = "y"):
    """Documented."""
    return x, y


def test_what_goes_past_the_attributes_of_an_object_finds_the_function():
    compiled = armature.compile(documented)
    text = pydoc.render_doc(compiled, renderer=pydoc.plaintext)
    assert "Documented." in text
    assert text == pydoc.render_doc(documented, renderer=pydoc.plaintext)
    for name in ("__code__", "__doc__", "__kwdefaults__", "__qualname__"):
        assert object.__getattribute__(compiled, name) == getattr(documented, name)
    assert isinstance(type(compiled).__doc__, str) and type(compiled).__name__ == "CompiledFunction"


# --- __wrapped__


def inner(x: int, *, y: str = "y"):
    return x, y


def outer(*args, **kwargs):
    return inner(*args, **kwargs)


def test_a_wrapper_that_is_compiled_wraps_what_it_did():
    @functools.wraps(inner)
    def wrapper(*args, **kwargs):
        return inner(*args, **kwargs)

    compiled = armature.compile(wrapper)
    assert compiled.__wrapped__ is wrapper.__wrapped__ is inner
    assert inspect.signature(compiled) == inspect.signature(wrapper) == inspect.signature(inner)
    assert inspect.unwrap(compiled) is inspect.unwrap(wrapper) is inner
    assert inspect.getsource(compiled) == inspect.getsource(wrapper)
    assert compiled(1) == (1, "y")


def test_a_compiled_function_becomes_a_wrapper():
    plain = lambda *args: args  # noqa: E731
    compiled = armature.compile(plain)
    assert compiled.__wrapped__ is plain and not hasattr(plain, "__wrapped__")
    with pytest.raises(AttributeError, match="__wrapped__"):
        del compiled.__wrapped__
    assert functools.wraps(inner)(compiled) is compiled
    assert compiled.__wrapped__ is plain.__wrapped__ is inner
    assert compiled.__name__ == "inner"
    assert inspect.signature(compiled) == inspect.signature(inner)
    compiled.__wrapped__ = outer
    assert plain.__wrapped__ is compiled.__wrapped__ is outer
    del compiled.__wrapped__
    assert compiled.__wrapped__ is plain and not hasattr(plain, "__wrapped__")


def test_a_signature_of_its_own_ends_the_search():
    @functools.wraps(inner)
    def wrapper(*args):
        return args

    wrapper.__signature__ = inspect.signature(lambda a, b: None)
    assert inspect.signature(armature.compile(wrapper)) == inspect.signature(wrapper)


def test_a_wrapper_is_unwrapped_in_a_trace():
    @functools.wraps(inner)
    def wrapper(*args):
        return args

    def f(x, function):
        return function.__wrapped__(x), function(x)

    compiled = armature.compile(f)
    for _ in range(2):
        result = compiled(torch.ones(1), armature.compile(wrapper))
        assert result == ((torch.ones(1), "y"), (torch.ones(1),))


# --- What type.__new__ makes of functions


class Made:
    @armature.compile
    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.given = args
        return made

    @armature.compile
    def __init_subclass__(cls, /, mark=0, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.mark = mark

    @armature.compile
    def __class_getitem__(cls, item):
        return cls, item

    @armature.compile
    def method(self):
        return self


class Derived(Made, mark=3):
    def __init__(self, *args):
        self.initialized = args


@transformed
def test_special_functions_of_a_class(transform):
    class Box:
        @transform
        def __new__(cls, *args):
            return super().__new__(cls)

        @transform
        def __init_subclass__(cls, /, mark=0):
            cls.mark = mark

        @transform
        def __class_getitem__(cls, item):
            return cls, item

        @transform
        def __getitem__(self, item):
            return self, item

    class Below(Box, mark=5):
        pass

    for cls in (Box, Below):
        box = cls(1, 2)
        assert type(box) is cls
        assert type(box.__new__(cls)) is type(cls.__new__(cls)) is cls
        assert cls[4] == box.__class_getitem__(4) == (cls, 4)
        assert box[4] == (box, 4)
    assert Below.mark == 5 and not hasattr(Box, "mark")
    assert Below.__init_subclass__() is None and Below.mark == 0
    kinds = [type(vars(Box)[name]) for name in ("__new__", "__init_subclass__")]
    assert [*kinds, type(vars(Box)["__class_getitem__"])] == [
        staticmethod,
        classmethod,
        classmethod,
    ]
    assert type(vars(Box)["__getitem__"]) not in (staticmethod, classmethod)


def test_instances_are_made_copied_and_pickled():
    for cls in (Made, Derived):
        made = cls(1, 2)
        assert made.given == (1, 2)
        for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert type(again) is cls and vars(again) == vars(made)
    assert Derived(4).initialized == (4,)
    assert Derived.mark == 3 and Derived[1] == (Derived, 1)
    assert pickle.loads(pickle.dumps(Made.__new__)) is Made.__new__
    assert Made.method(made) is made


def test_instances_are_made_in_a_trace():
    def f(x):
        return Made(x), Derived(x), Made[1], Derived[2]

    compiled = armature.compile(f)
    for _ in range(2):
        made, derived, *items = compiled(torch.ones(1))
        assert type(made) is Made and type(derived) is Derived
        assert made.given == (torch.ones(1),) and derived.initialized == (torch.ones(1),)
        assert items == [(Made, 1), (Derived, 2)]


@transformed
def test_what_is_assigned_later_stays_as_it_is(transform):
    class Later:
        pass

    Later.__class_getitem__ = transform(lambda *args: args)
    Later.__new__ = transform(lambda *args: args)
    assert Later[4] == (4,)
    assert Later(1) == (Later, 1)
    assert type(vars(Later)["__new__"]) not in (staticmethod, classmethod)


@transformed
def test_other_names_and_other_owners(transform):
    function = transform(lambda *args: args)

    class Other:
        new = function
        __call__ = function

        def __set_name__(self, owner, name):
            type.__setattr__(owner, "__class_getitem__", None)

    other = Other()
    assert other.new() == other() == (other,)

    class Replaced:
        first = Other()
        __class_getitem__ = function

    assert vars(Replaced)["__class_getitem__"] is None


def test_past_a_metaclass_that_watches():
    seen = []

    class Watching(type):
        def __setattr__(cls, name, value):
            seen.append(name)

    class Watched(metaclass=Watching):
        @armature.compile
        def __class_getitem__(cls, item):
            return cls, item

    assert Watched[3] == (Watched, 3) and seen == []


@transformed
def test_members_of_an_enumeration(transform):
    class Kind(enum.Enum):
        @transform
        def __new__(cls, value):
            member = object.__new__(cls)
            member._value_ = value * 10
            return member

        FIRST = 1

    assert Kind.FIRST.value == 10 and Kind(10) is Kind.FIRST


def test_in_the_body_of_a_class_that_a_trace_makes():
    function = armature.compile(lambda *args: args[1:])

    def f(x):
        class Plain:
            method = function

        class Special:
            __class_getitem__ = function

        return Plain().method(x), Special[x]

    compiled = armature.compile(f)
    for _ in range(2):
        assert compiled(torch.ones(1)) == ((torch.ones(1),), (torch.ones(1),))
    found = armature.explain(lambda x: type("Plain", (), {"method": function})().method(x))(1)
    assert found.result == (1,) and found.graph_break_count == 0

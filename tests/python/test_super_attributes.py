"""What a super object says of itself."""

import armature
import torch
from differential import check


class Base:
    pass


class Derived(Base):
    def parts(self):
        there = super()
        return (
            there.__self__ is self,
            there.__thisclass__ is Derived,
            there.__self_class__ is type(self),
            hasattr(there, "__self__"),
            getattr(there, "missing", 3),
        )

    @classmethod
    def parts_of_class(cls):
        return super().__self__ is cls, super().__self_class__ is cls


class Shadowed(Base):
    __self__ = "mine"


class BelowShadowed(Shadowed):
    def own(self):
        return super().__self__


class Further(Derived):
    pass


def test_members():
    def function(x):
        try:
            given = Further().parts(), Further.parts_of_class(), BelowShadowed().own()
            return given, super(Derived, Further()).__thisclass__ is Derived, x + 1
        except AttributeError as error:
            return str(error)

    check(function, torch.ones(2), breaks=0)


def test_what_only_its_type_has():
    def function(x):
        there = super(Derived, Further())
        try:
            return callable(there.__get__), hasattr(there, "missing"), x + 1
        except AttributeError as error:
            return str(error)

    check(function, torch.ones(2))


def test_super_objects_have_a_hash():
    def program(x):
        above = super(Derived, Derived())
        return hash(above) == hash(above), above in {above: 1}, x + 1

    check(program, torch.ones(2))


def test_attributes_that_a_static_method_takes_from_its_function():
    def program(x):
        def documented():
            """Says what."""

        wrappers = [staticmethod(documented), classmethod(documented), staticmethod(lambda: 1)]
        return [(w.__doc__, w.__name__, w.__wrapped__ is documented) for w in wrappers], x + 1

    check(program, torch.ones(2))


def test_none_is_no_object():
    def program(x):
        found = [repr(super(Derived, None))]
        try:
            super(Derived, None).parts  # noqa: B018
        except AttributeError as error:
            found.append(str(error))
        return found, x + 1

    check(program, torch.ones(2))


def test_super_of_a_proxy_is_not_asked_twice():
    asked = []

    class Base:
        pass

    class Proxy:
        @property
        def __class__(self):
            asked.append("class")
            return Base

    def function(proxy):
        return super(Base, proxy)

    expected = function(Proxy()).__self_class__
    asked.clear()
    assert armature.compile(function)(Proxy()).__self_class__ is expected
    assert asked == ["class"]

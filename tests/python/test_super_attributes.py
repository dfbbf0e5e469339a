"""What a super object says of itself."""

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

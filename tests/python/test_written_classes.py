"""What a trace writes to classes that existed before it is found again, and there afterwards."""

import enum
import gc
import weakref

import armature
import pytest
import torch


class World:
    """Classes of its own for each run."""

    def __init__(self):
        class Base:
            count = 0
            inherited = 1

            def method(self):
                return "method", self.count

        class Derived(Base):
            pass

        class Other:
            count = 10

        class Mixed(Derived, Other):
            pass

        class Meta(type):
            log = []

            def __setattr__(cls, name, value):
                cls.log.append(name)
                super().__setattr__(name, value)

        class OfMeta(metaclass=Meta):
            pass

        class Colour(enum.Enum):
            RED = 1

        self.Base, self.Derived, self.Other, self.Mixed = Base, Derived, Other, Mixed
        self.Meta, self.OfMeta, self.Colour = Meta, OfMeta, Colour
        Meta.log = []

    def state(self):
        return [
            [(name, value) for name, value in vars(cls).items() if name[0] != "_"]
            for cls in (self.Base, self.Derived, self.Other, self.Mixed, self.OfMeta)
        ] + [self.Meta.log]


def counter(world, x):
    world.Base.count += 1
    return x * world.Base.count, world.Derived.count, world.Mixed().count


def found_by_subclasses(world, x):
    first = world.Derived.count, world.Mixed().inherited
    world.Base.count = 5
    second = world.Derived.count, world.Mixed.count, world.Other.count
    world.Derived.count = 6
    third = world.Base.count, world.Mixed().count
    del world.Derived.count
    world.Other.inherited = 8
    return first, second, third, world.Mixed().count, world.Mixed.inherited, x + 1


def deleted(world, x):
    value = world.Base.__dict__.get("inherited")
    if value is not None:
        del world.Base.inherited
    try:
        return world.Derived.inherited, x + 1
    except AttributeError as error:
        return str(error), hasattr(world.Base, "inherited"), x + 1


def deleted_and_set_again(world, x):
    del world.Base.count
    world.Base.count = 4
    world.Base.last = 5
    return world.Base.count, list(vars(world.Base))[-2:], x + 1


def missing(world, x):
    try:
        del world.Derived.count
    except AttributeError as error:
        return str(error), x + 1


def methods(world, x):
    made = world.Derived()
    first = made.method()
    world.Base.method = lambda self: ("other", self.count)
    world.Base.double = property(lambda self: self.count * 2)
    world.Base.make = classmethod(lambda cls: cls.__name__)
    world.Base.add = staticmethod(lambda a: a + 1)
    return first, made.method(), made.double, made.make(), made.add(2), x + 1


def tensors(world, x):
    world.Base.last = x + 1
    world.Derived.total = getattr(world.Derived, "total", 0) + world.Derived().last
    return world.Derived.total * 2


def by_setattr(world, x):
    world.Base.new = [1]
    world.Base.new.append(2)
    delattr(world.Base, "count")
    return world.Derived.new, vars(world.Base).get("count", "none"), x + 1


def through_an_instance(world, x):
    made = world.Derived()
    type(made).count = type(made).count + 1
    made.count += 10
    return made.count, world.Base.count, world.Derived.count, x + 1


def many_turns(world, x):
    for i in range(1500):
        world.Base.count += i % 3
        if i % 100 == 0:
            world.Derived.seen = world.Derived().count
    return world.Base.count, x + 1


def broken_between(world, x):
    world.Base.count += 1
    first = world.Derived.count
    armature.graph_break()
    world.Base.count += 1
    return first, world.Derived.count, x + 1


def method_of_a_metaclass(world, x):
    world.OfMeta.value = 3
    return world.OfMeta.value, len(world.Meta.log), x + 1


def members_of_enums(world, x):
    try:
        world.Colour.RED = 2
    except AttributeError as error:
        return str(error), x + 1


def builtin_classes(world, x):
    try:
        int.real = 2
    except TypeError as error:
        return str(error), x + 1


def special_methods(world, x):
    world.Base.__len__ = lambda self: 3
    return len(world.Derived()), x + 1


def below_made_classes(world, x):
    class Made(world.Derived):
        pass

    world.Base.count = world.Base.count + 7
    world.Derived.own = 1
    return Made.count, Made().own, Made().method(), x + 1


def in_super(world, x):
    class Made(world.Derived):
        def method(self):
            return super().method(), "made"

    world.Base.method = lambda self: "written"
    return Made().method(), x + 1


def exceptions(world, x):
    world.Base.count = 3
    world.Base.later = 1
    raise ValueError(world.Derived.count)


FUNCTIONS = [
    counter,
    found_by_subclasses,
    deleted,
    deleted_and_set_again,
    missing,
    methods,
    tensors,
    by_setattr,
    through_an_instance,
    many_turns,
    broken_between,
    method_of_a_metaclass,
    members_of_enums,
    builtin_classes,
    special_methods,
    below_made_classes,
    in_super,
    exceptions,
]


def text(value):
    """Of what functions and classes of two worlds have in common."""
    if isinstance(value, list | tuple):
        return [text(each) for each in value]
    if isinstance(value, int | str | torch.Tensor | type(None)):
        return repr(value)
    return type(value).__name__


@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes(function):
    plain, captured = World(), World()
    compiled = armature.compile(function)
    for call in range(4):
        x = torch.ones(2) + call
        results = []
        for each, world in ((function, plain), (compiled, captured)):
            try:
                result = each(world, x)
            except (AttributeError, TypeError, ValueError) as error:
                result = type(error), str(error)
            results.append((text(result), text(world.state())))
        assert results[0] == results[1], f"call {call}"
        # The world changes between calls, too.
        for world in (plain, captured):
            world.Mixed.inherited = call
            if call == 1:
                world.Base.count = 40
                world.Derived.count = 50
                world.Base.inherited = 60
                world.Base.method = lambda self: "changed"


@pytest.mark.parametrize(
    "function",
    [counter, found_by_subclasses, deleted_and_set_again, methods, tensors, through_an_instance],
)
def test_captured_whole(function):
    armature.compile(function, fullgraph=True)(World(), torch.ones(2))


def test_what_is_overwritten_dies_then():
    class Holder:
        pass

    class Value:
        pass

    def use(x):
        Holder.value = 1
        return x + 1

    compiled = armature.compile(use)
    for function in (use, compiled, compiled):
        value = Holder.value = Value()
        reference = weakref.ref(value)
        del value
        function(torch.ones(2))
        assert reference() is None and Holder.value == 1


def test_a_finalizer_of_what_is_overwritten_runs():
    seen = []

    class Holder:
        pass

    class Value:
        def __del__(self):
            seen.append(Holder.value)

    def use(x):
        Holder.value = 1
        seen.append("after")
        return x + 1

    compiled = armature.compile(use)
    for function in (use, compiled, compiled):
        seen.clear()
        Holder.value = Value()
        function(torch.ones(2))
        gc.collect()
        assert seen == [1, "after"]


def test_a_write_that_fails_later_is_done_once():
    class Holder:
        count = 0

    def use(x, y):
        Holder.count += 1
        return x @ y

    compiled = armature.compile(use)
    compiled(torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError):
        compiled(torch.ones(2), torch.ones(3))
    assert Holder.count == 2

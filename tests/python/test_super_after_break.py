"""super() without arguments finds its class and its first argument behind a graph break."""

# ruff: noqa: F821, F841 -- super() reads the first argument unseen.

import armature
import pytest
import torch


class Base:
    def __init__(self, offset=1):
        self.offset = offset

    def run(self, x):
        return x + self.offset

    @classmethod
    def make(cls, x):
        return cls(x)


class Derived(Base):
    def __init__(self, offset):
        armature.graph_break()
        super().__init__(offset + 1)

    def run(self, x):
        y = x * 2
        armature.graph_break()
        return super().run(y)

    @classmethod
    def make(cls, x):
        armature.graph_break()
        return super().make(x)


class Guarded(Base):
    """The break lies where Python has to go on by itself."""

    def run(self, x):
        try:
            armature.graph_break()
            return super().run(x)
        finally:
            x = None


class InCell(Base):
    """The first argument is a cell."""

    def run(self, x):
        try:
            armature.graph_break()
            add = lambda: super(InCell, self).run(x) + self.offset  # noqa: E731
            return add() + super().run(x)
        finally:
            self.done = True


@pytest.mark.parametrize(
    "program",
    [
        lambda x: Derived(3).run(x),
        lambda x: Derived.make(3).run(x),
        lambda x: Guarded(3).run(x),
        lambda x: InCell(3).run(x),
    ],
)
def test_super_after_a_break(program):
    x = torch.ones(2)
    assert armature.compile(program)(x).tolist() == program(x).tolist()


@pytest.mark.parametrize("kind", [Derived, Guarded, InCell])
def test_super_in_a_compiled_method(kind):
    x, instance = torch.ones(2), kind(3)
    assert armature.compile(instance.run)(x).tolist() == instance.run(x).tolist()


def test_autograd_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 5

    x = torch.ones(2, requires_grad=True)
    result = armature.compile(lambda x: Double.apply(x) + 1)(x)
    assert result.tolist() == [3, 3]
    result.sum().backward()
    assert x.grad.tolist() == [5, 5]


class Named:
    def __init__(self, name):
        self.name = name

    def whose(self):
        return self.name


class Changing(Named):
    """super() looks at what the first argument is by then."""

    def bound_anew(self, other):
        armature.graph_break()
        self = other
        return super().whose()

    def deleted(self, other):
        armature.graph_break()
        del self
        try:
            return super().whose()
        except RuntimeError as error:
            return str(error)

    def deleted_and_bound(self, other):
        del self
        armature.graph_break()
        self = other
        return super().whose()

    def bound_by_a_closure(self, other):
        def change():
            nonlocal self
            self = other

        armature.graph_break()
        change()
        return super().whose(), self.name

    def named_when_missing(self, other):
        armature.graph_break()
        del self
        try:
            return self
        except UnboundLocalError as error:
            return str(error), super

    def beside_a_stack(self, other):
        return [super().whose(), armature.graph_break(), super().whose(), other.name]

    def handling(self, other):
        try:
            raise KeyError(self.name)
        except KeyError as error:
            armature.graph_break()
            self = other
            return super().whose(), str(error)

    def in_a_generator(self, other):
        def items(self):
            armature.graph_break()
            yield super().whose()
            self = other
            yield super().whose()

        return list(items(self))

    def generator(self, other):
        armature.graph_break()
        yield super().whose()
        armature.graph_break()
        self = other
        yield super().whose()
        yield self.name

    def in_a_generator_of_its_own(self, other):
        given = iter(self.generator(other))
        first = next(given)
        armature.graph_break()
        return first, list(given)


@pytest.mark.parametrize(
    "name", [name for name, value in vars(Changing).items() if callable(value) and name[0] != "_"]
)
def test_the_first_argument_changes(name):
    def entry(method):
        result = method(Changing("first"), Changing("other"))
        return list(result) if hasattr(result, "__next__") else result

    method = vars(Changing)[name]
    expected = entry(method)
    assert armature.compile(entry)(method) == expected
    assert entry(armature.compile(method)) == expected


class Base:
    def method(self):
        return 1


class WithoutPositionalParameter(Base):
    def of_starred(*arguments):
        return super().method()

    def of_a_starred_name_bound_anew(*arguments):
        arguments = 5
        return super().method(), arguments

    def of_a_keyword(*, key=1):
        return super().method(), key

    def of_none():
        return super().method()


@pytest.mark.parametrize(
    "name", [name for name in vars(WithoutPositionalParameter) if name.startswith("of_")]
)
@pytest.mark.parametrize("holder", [WithoutPositionalParameter, WithoutPositionalParameter()])
def test_the_error_without_a_positional_parameter(name, holder):
    def call(x):
        return x + getattr(holder, name)()

    for function in (call, lambda _: getattr(holder, name)()):
        messages = []
        for each in (function, armature.compile(function)):
            with pytest.raises((RuntimeError, TypeError)) as caught:
                each(torch.ones(1))
            messages.append((type(caught.value), str(caught.value)))
        assert messages[0] == messages[1]

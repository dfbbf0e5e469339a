"""super() without arguments finds its class and its first argument behind a graph break."""

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

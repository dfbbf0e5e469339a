"""A compiled torch.nn.Module is the module, with another forward."""

import copy
import io
import pickle

import armature
import pytest
import torch
from armature import _C
from torch import nn


class Block(nn.Module):
    """A layer with a buffer, a plain attribute and a dropout."""

    def __init__(self, size=4):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("offset", torch.ones(size))
        self.scale = 2.0

    def forward(self, x, *, bias=0.0):
        return self.dropout(self.linear(x)) * self.scale + self.offset + bias


@pytest.fixture
def module():
    torch.manual_seed(0)
    return Block().eval()


X = torch.arange(8.0).reshape(2, 4)


def captured(compiled):
    """How many translations the module's forward has."""
    return len(_C.entries(type(compiled).forward))


def test_is_the_module(module):
    compiled = armature.compile(module)
    torch.testing.assert_close(compiled(X, bias=1.0), module(X, bias=1.0))
    assert captured(compiled) == 1
    assert isinstance(compiled, Block)
    assert repr(compiled) == repr(module)
    assert type(compiled).__name__ == "Block"
    assert list(compiled.state_dict()) == list(module.state_dict())
    assert all(a is b for a, b in zip(compiled.parameters(), module.parameters(), strict=True))
    assert [name for name, _ in compiled.named_modules()] == ["", "linear", "dropout"]
    assert compiled.linear is module.linear


def test_state_is_shared_both_ways(module):
    compiled = armature.compile(module)
    compiled.scale = 3.0
    assert module.scale == 3.0
    torch.testing.assert_close(compiled(X), module(X))
    module.scale = 5.0
    torch.testing.assert_close(compiled(X), module(X))
    compiled.linear.weight = nn.Parameter(torch.zeros(4, 4))
    torch.testing.assert_close(compiled(X), module(X))
    del compiled.scale
    assert not hasattr(module, "scale")
    with pytest.raises(AttributeError, match="scale"):
        compiled(X)


def test_train_eval_and_to(module):
    compiled = armature.compile(module)
    compiled(X)
    assert compiled.train() is compiled
    assert module.training and module.dropout.training
    torch.manual_seed(1)
    actual = compiled(X)
    torch.manual_seed(1)
    torch.testing.assert_close(actual, module(X))
    assert compiled.eval().to(torch.float64) is compiled
    assert module.linear.weight.dtype == torch.float64
    torch.testing.assert_close(compiled(X.double()), module(X.double()))


def test_load_state_dict(module):
    compiled = armature.compile(module)
    compiled(X)
    compiled.load_state_dict(Block().state_dict())
    torch.testing.assert_close(compiled(X), module(X))
    module.load_state_dict(compiled.state_dict())


def test_hooks_run(module):
    compiled = armature.compile(module)
    compiled(X)
    calls = []
    compiled.register_forward_pre_hook(lambda m, args: calls.append("before"))
    module.register_forward_hook(lambda m, args, result: calls.append("after") or result + 1)
    module.linear.register_forward_hook(lambda m, args, result: result * 2)
    actual = compiled(X)
    assert calls == ["before", "after"]
    torch.testing.assert_close(actual, module(X))


def test_gradients(module):
    compiled = armature.compile(module)
    compiled(X).square().sum().backward()
    actual = [p.grad.clone() for p in compiled.parameters()]
    module.zero_grad()
    assert compiled.linear.weight.grad is None
    module(X).square().sum().backward()
    for mine, expected in zip(actual, module.parameters(), strict=True):
        torch.testing.assert_close(mine, expected.grad)


def test_forward_set_on_the_instance(module):
    module.forward = lambda x: x + module.offset
    compiled = armature.compile(module)
    assert compiled(X).tolist() == (X + 1).tolist()
    assert isinstance(compiled.forward, _C.CompiledFunction)
    assert len(_C.entries(compiled.forward)) == 1
    compiled.forward = lambda x: x - module.offset
    assert compiled(X).tolist() == module(X).tolist() == (X - 1).tolist()
    del compiled.forward
    torch.testing.assert_close(compiled(X), Block.forward(module, X))


def test_compiled_twice(module):
    compiled = armature.compile(armature.compile(module))
    assert type(compiled).__mro__.count(Block) == 1
    assert len([c for c in type(compiled).__mro__ if c.__name__ == "Block"]) == 2
    torch.testing.assert_close(compiled(X), module(X))


def test_inside_another_module_or_function(module):
    compiled = armature.compile(module)
    parent = nn.Sequential(compiled, nn.ReLU())
    assert "0.linear.weight" in parent.state_dict()
    expected = module(X).relu()
    torch.testing.assert_close(parent(X), expected)
    torch.testing.assert_close(armature.compile(parent)(X), expected)
    found = armature.explain(lambda x: compiled(x) * 2)(X)
    assert (found.graph_count, found.graph_break_count) == (1, 0)
    torch.testing.assert_close(found.result, module(X) * 2)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_deep_copies_are_compiled_and_apart(module, copier):
    compiled = armature.compile(module)
    compiled(X)
    other = copier(compiled)
    torch.testing.assert_close(other(X), module(X))
    assert captured(other) == 1
    with torch.no_grad():
        other.linear.weight.zero_()
    other.scale = 7.0
    assert module.scale == 2.0
    assert module.linear.weight.abs().sum() > 0


def test_shallow_copy(module):
    other = copy.copy(armature.compile(module))
    other.extra = 1
    assert not hasattr(module, "extra")
    assert other.linear is module.linear
    torch.testing.assert_close(other(X), module(X))


def test_save_and_load(module):
    file = io.BytesIO()
    torch.save(armature.compile(module), file)
    file.seek(0)
    torch.testing.assert_close(torch.load(file, weights_only=False)(X), module(X))


def test_decorated_forward():
    class Twice(nn.Module):
        @armature.compile
        def forward(self, x):
            return x * 2

    assert Twice()(X).tolist() == (X * 2).tolist()
    compiled = armature.compile(Twice())
    assert compiled(X).tolist() == (X * 2).tolist()
    assert captured(compiled) == 1


def test_classes_that_watch_their_subclasses_see_none():
    seen = []

    class Watched(nn.Linear):
        def __init_subclass__(cls, *, required):
            seen.append(cls)

    torch.testing.assert_close(armature.compile(Watched(4, 4).eval())(X).shape, X.shape)
    assert seen == []


def test_slots_are_taken_along():
    class Slotted(nn.Module):
        __slots__ = ("factor",)

        def __init__(self):
            super().__init__()
            self.factor = 3

        def forward(self, x):
            return x * self.factor

    assert armature.compile(Slotted())(X).tolist() == (X * 3).tolist()


def test_disabled_module(module):
    disabled = armature.disable(module)
    found = armature.explain(lambda x: disabled(x) + 1)(X)
    assert [r.gb_type for r in found.break_reasons] == ["Call of a disabled function"]
    torch.testing.assert_close(found.result, module(X) + 1)


def test_a_module_without_forward():
    with pytest.raises(NotImplementedError, match="forward"):
        armature.compile(nn.Module())(X)

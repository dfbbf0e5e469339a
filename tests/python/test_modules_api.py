"""A compiled torch.nn.Module stands for the module; in its own code, there is only the module."""

import collections
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
    """How many translations the module's call has."""
    return len(_C.entries(compiled))


def test_stands_for_the_module(module):
    compiled = armature.compile(module)
    torch.testing.assert_close(compiled(X, bias=1.0), module(X, bias=1.0))
    assert captured(compiled) == 1
    assert isinstance(compiled, Block)
    assert repr(compiled) == repr(module)
    assert compiled.__class__ is Block
    assert compiled._orig_mod is module
    assert compiled == module and hash(compiled) == hash(module)
    assert dir(compiled) == dir(module)
    assert vars(compiled) is vars(module)
    assert compiled.__doc__ == Block.__doc__
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


def test_forward_is_captured_when_it_is_called_itself(module):
    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    module.register_forward_hook(lambda module, args, output: output + 100)
    compiled = armature.compile(module, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled.forward(X, bias=1.0), module.forward(X, bias=1.0))
    assert len(graphs) == 1
    assert compiled.forward == module.forward
    assert compiled.forward.__func__ is Block.forward
    torch.testing.assert_close(compiled(X), module(X))
    module.forward = lambda x: x * 5
    assert torch.equal(compiled.forward(X), X * 5)
    del module.forward
    assert torch.equal(armature.disable(module).forward(X), module.forward(X))
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        compiled.forward(X, other=1)


def test_forward_set_on_the_instance(module):
    module.forward = lambda x: x + module.offset
    compiled = armature.compile(module)
    assert compiled(X).tolist() == (X + 1).tolist()
    assert captured(compiled) > 0
    compiled.forward = lambda x: x - module.offset
    assert compiled(X).tolist() == module(X).tolist() == (X - 1).tolist()
    del compiled.forward
    torch.testing.assert_close(compiled(X), Block.forward(module, X))


def test_compiled_twice(module):
    compiled = armature.compile(armature.compile(module))
    assert compiled._orig_mod is module
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
    assert captured(compiled) > 0


def test_no_class_appears():
    seen = []

    class Registry(type):
        def __new__(meta, *args, **kwargs):
            seen.append(args[0])
            return super().__new__(meta, *args, **kwargs)

    class Watched(nn.Linear, metaclass=Registry):
        def __init_subclass__(cls, *, required):
            seen.append(cls)

    assert seen == ["Watched"]
    assert armature.compile(Watched(4, 4).eval())(X).shape == X.shape
    assert seen == ["Watched"]
    assert Watched.__subclasses__() == []


def test_self_is_the_module_that_was_given():
    seen = []

    class Looks(nn.Module):
        def forward(self, x):
            seen.append((self, type(self), id(self), hash(self), self is given, self == given))
            return x + 1 if self is given and type(self) is Looks else x

    given = Looks()
    compiled = armature.compile(given)
    for _ in range(3):
        assert torch.equal(compiled(X), X + 1)
    assert all(s == (given, Looks, id(given), hash(given), True, True) for s in seen)
    assert all(s[0] is given for s in seen) and len(seen) == 3


def test_hooks_receive_the_module(module):
    compiled = armature.compile(module)
    seen = []
    compiled.register_forward_pre_hook(lambda m, args: seen.append(m))
    compiled.register_forward_hook(lambda m, args, result: seen.append(m))
    compiled.apply(seen.append)
    for _ in range(2):
        compiled(X)
    assert len(seen) == 3 + 4
    assert all(type(m) in (Block, nn.Linear, nn.Dropout) for m in seen)
    assert seen[2] is seen[3] is module


def test_the_class_may_change(module):
    class Shifted(Block):
        def forward(self, x):
            return super().forward(x) + 1

    class Called(Block):
        def __call__(self, x):
            return "called"

    compiled = armature.compile(module)
    expected = compiled(X)
    module.__class__ = Shifted
    torch.testing.assert_close(compiled(X), expected + 1)
    assert isinstance(compiled, Shifted)
    compiled.__class__ = Called
    assert type(module) is Called and compiled(X) == "called"
    compiled.__class__ = Block
    torch.testing.assert_close(compiled(X), expected)


def test_lazy_module():
    lazy = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    compiled = armature.compile(lazy)
    result = compiled(X)
    assert type(lazy[0]) is nn.Linear and lazy[0].in_features == 4
    torch.testing.assert_close(compiled(X), result)
    alone = nn.LazyLinear(3)
    compiled = armature.compile(alone)
    result = compiled(X)
    assert type(alone) is nn.Linear and isinstance(compiled, nn.Linear)
    torch.testing.assert_close(compiled(X), alone(X))


def test_containers_keep_their_operators():
    layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    compiled = armature.compile(layers)
    assert len(compiled) == 2 and compiled
    assert compiled[0] is layers[0] and list(compiled) == list(layers)
    assert layers[1] in compiled
    assert len(compiled + layers) == 4
    compiled[1] = nn.Sigmoid()
    torch.testing.assert_close(compiled(X), layers[0](X).sigmoid())
    compiled.append(nn.Tanh())
    del compiled[1]
    torch.testing.assert_close(compiled(X), layers[0](X).tanh())
    before = compiled
    compiled += nn.Sequential(nn.ReLU())
    assert compiled is before and len(layers) == 3
    with pytest.raises(TypeError, match="Linear"):
        len(armature.compile(nn.Linear(1, 1)))


def test_methods_that_return_the_module(module):
    compiled = armature.compile(module)
    assert compiled.requires_grad_(False).float().train(False) is compiled
    assert compiled.get_submodule("linear") is module.linear
    assert compiled.forward.__self__ is module
    assert compiled.forward == module.forward
    assert next(iter(compiled.modules())) is module


def test_as_a_child(module):
    class Parent(nn.Module):
        def __init__(self):
            super().__init__()
            self.child = armature.compile(module)
            self.layers = nn.ModuleList([armature.compile(nn.Linear(4, 4))])

        def forward(self, x):
            return self.layers[0](self.child(x))

    parent = Parent().eval()
    assert isinstance(parent.child, Block)
    names = [name for name, _ in parent.named_parameters()]
    assert names == ["child.linear.weight", "child.linear.bias", "layers.0.weight", "layers.0.bias"]
    parent.to(torch.float64).train()
    assert module.training and module.linear.weight.dtype == torch.float64
    parent.eval().float()
    expected = parent.layers[0]._orig_mod(module(X))
    torch.testing.assert_close(parent(X), expected)
    torch.testing.assert_close(armature.compile(parent)(X), expected)
    other = copy.deepcopy(parent)
    torch.testing.assert_close(other(X), expected)
    assert other.child._orig_mod is not module
    torch.testing.assert_close(pickle.loads(pickle.dumps(armature.compile(module)))(X), module(X))


def test_isinstance_inside_a_trace(module):
    compiled = armature.compile(module)

    def f(x):
        if isinstance(compiled, nn.Module) and not isinstance(compiled, dict):
            return x + 1
        return x

    assert torch.equal(armature.compile(f)(X), X + 1)


def test_a_callable_object_stands_for_itself():
    class Adder:
        def __init__(self, amount):
            self.amount = amount

        def __call__(self, x):
            return x + self.amount, self

    adder = Adder(1)
    compiled = armature.compile(adder)
    assert isinstance(compiled, Adder) and compiled.amount == 1
    compiled.amount = 5
    result, seen = compiled(X)
    assert torch.equal(result, X + 5) and seen is adder
    assert captured(compiled) == 1
    assert copy.copy(compiled).amount == 5
    del compiled.amount
    with pytest.raises(AttributeError, match="'Adder' object has no attribute 'amount'"):
        compiled(X)
    with pytest.raises(AttributeError, match="'Adder' object has no attribute 'amount'"):
        compiled.amount  # noqa: B018


def test_a_call_that_does_not_take_self():
    class Static(nn.Module):
        @staticmethod
        def __call__(x):
            return x + 1

    class Inner:
        __hash__ = None

        def __call__(self, x):
            return x + 2

    class Instance(nn.Module):
        __call__ = Inner()

    for module, added in ((Static(), 1), (Instance(), 2)):
        assert torch.equal(armature.compile(module)(X), X + added)


def test_parts_of_the_stand_in_are_not_attributes_of_the_module(module):
    compiled = armature.compile(module)
    with pytest.raises(AttributeError):
        compiled._orig_mod = nn.ReLU()
    assert "_orig_mod" not in vars(module) and not hasattr(module, "_orig_mod")


def test_disabled_module(module):
    disabled = armature.disable(module)
    found = armature.explain(lambda x: disabled(x) + 1)(X)
    assert [r.gb_type for r in found.break_reasons] == ["Call of a disabled function"]
    torch.testing.assert_close(found.result, module(X) + 1)


def test_a_module_without_forward():
    with pytest.raises(NotImplementedError, match="forward"):
        armature.compile(nn.Module())(X)


@pytest.mark.parametrize("table", ["_parameters", "_buffers", "_modules"])
@pytest.mark.parametrize("base", [dict, collections.OrderedDict])
def test_tables_of_other_classes(table, base):
    asked = []

    class Counted(base):
        def __contains__(self, name):
            asked.append(name)
            return super().__contains__(name)

        def __getitem__(self, name):
            value = super().__getitem__(name)
            return value * 2 if isinstance(value, torch.Tensor) else value

    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("offset", torch.ones(2))
            self.inner = torch.nn.Identity()

        def forward(self, x):
            return self.inner(x * self.weight + self.offset), hasattr(self, "absent")

    def outcome(function):
        asked.clear()
        result, has = function(torch.ones(2))
        return result.tolist(), has, list(asked)

    for kind in (Counted, base):
        holder = Holder()
        holder.__dict__[table] = kind(getattr(holder, table))
        compiled = armature.compile(holder)
        for _ in range(2):
            assert outcome(compiled) == outcome(holder)
        holder.__dict__[table] = Counted(getattr(holder, table))
        assert outcome(compiled) == outcome(holder)

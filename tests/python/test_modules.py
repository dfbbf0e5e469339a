"""nn.Module: layers, hooks, changes of parameters and attributes, training."""

import copy

import armature
import pytest
import torch
from differential import check, translations
from graph_texts import graph_of
from torch import nn


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b) or torch.allclose(a, b, equal_nan=True)
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


def run(module):
    """The module's plain and captured forward, as functions of the same name."""
    return module.forward, armature.compile(module.forward)


class MLP(nn.Module):
    def __init__(self, dropout=0.5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.norm = nn.LayerNorm(4)
        self.dropout = nn.Dropout(dropout)
        self.scale = 2.0
        self.register_buffer("offset", torch.ones(4))
        self.calls = 0

    def forward(self, x, *, extra=None):
        self.calls += 1
        x = self.dropout(self.norm(self.layers(x))) * self.scale + self.offset
        return x if extra is None else x + extra


class Attention(nn.Module):
    def __init__(self, size=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size, bias=False)

    def forward(self, x, mask=None):
        batch, length, size = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, size // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / (size // self.heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        y = (weights @ v).transpose(1, 2).contiguous().view(batch, length, size)
        return self.out(y), weights


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.list = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.table = nn.ModuleDict({"a": nn.Tanh(), "b": nn.Linear(4, 4)})
        self.parameters_ = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
        self.shared = self.list[0]

    def forward(self, x):
        for i, layer in enumerate(self.list):
            x = layer(x) + i
        for name, layer in self.table.items():
            x = layer(x) + len(name)
        x = x + self.parameters_[0] * self.parameters_[1]
        return self.shared(x) + len(self.list) + ("a" in self.table)


X = torch.randn(2, 4)


@pytest.mark.parametrize("train", [True, False])
def test_mlp(train):
    module = MLP()
    module.train(train)
    plain, compiled = run(module)
    for call in range(3):
        torch.manual_seed(call)
        expected = plain(X)
        torch.manual_seed(call)
        same(compiled(X), expected)
    assert module.calls == 6
    same(compiled(X, extra=X).shape, X.shape)


def test_train_and_eval_alternate():
    module = MLP()
    plain, compiled = run(module)
    for mode in (True, False, True, False):
        module.train(mode)
        torch.manual_seed(0)
        expected = plain(X)
        torch.manual_seed(0)
        same(compiled(X), expected)


def test_the_module_itself_is_compiled():
    module = MLP().eval()
    compiled = armature.compile(module)
    expected = copy.deepcopy(module)(X)
    for _ in range(3):
        same(compiled(X), expected)


def test_attention():
    module = Attention()
    plain, compiled = run(module)
    x = torch.randn(2, 5, 8)
    mask = torch.tril(torch.ones(5, 5))
    for _ in range(2):
        same(compiled(x), plain(x))
        same(compiled(x, mask), plain(x, mask))
        same(compiled(x[:1]), plain(x[:1]))


def test_containers():
    plain, compiled = run(Containers())
    for _ in range(3):
        same(compiled(X), plain(X))


def test_gradients():
    for module, x in [(MLP(0.0), X), (Containers(), X)]:
        other = copy.deepcopy(module)
        compiled = armature.compile(other.forward)
        for _ in range(2):
            a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
            module(a).pow(2).sum().backward()
            compiled(b).pow(2).sum().backward()
            same(a.grad, b.grad)
        for p, q in zip(module.parameters(), other.parameters(), strict=True):
            same(p.grad, q.grad)


def test_training_loop():
    results = []
    for capture in (False, True):
        torch.manual_seed(0)
        module = MLP(0.1)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        forward = armature.compile(module.forward) if capture else module.forward
        for _ in range(5):
            optimizer.zero_grad()
            loss = forward(X).pow(2).mean()
            loss.backward()
            optimizer.step()
        results.append([loss.detach(), *[p.detach() for p in module.parameters()]])
    same(results[0], results[1])


def test_changes_between_calls():
    module = MLP().eval()
    plain, compiled = run(module)

    def agree():
        before = module.calls
        expected = plain(X)
        module.calls = before
        same(compiled(X), expected)
        module.calls = before

    agree()
    module.scale = 3.0
    agree()
    module.layers[0].weight = nn.Parameter(torch.randn(8, 4))
    agree()
    with torch.no_grad():
        module.layers[0].weight.mul_(2)
    agree()
    module.layers[1] = nn.Sigmoid()
    agree()
    module.layers.append(nn.Tanh())
    agree()
    module.norm = nn.Identity()
    agree()
    module.offset = torch.zeros(4)
    agree()
    module.layers[0].bias = None
    agree()
    module.load_state_dict({name: value * 2 for name, value in module.state_dict().items()})
    agree()
    module.layers[2].forward = lambda x: x.mean(-1, keepdim=True) + torch.zeros(4)
    agree()


@pytest.mark.parametrize("when", ["before", "after"])
def test_hooks(when):
    module = MLP().eval()
    log = []

    def forward_hook(layer, args, output):
        log.append((type(layer).__name__, len(args)))
        return output + 1

    def pre_hook(layer, args):
        return (args[0] * 2,)

    def keyword_hook(layer, args, kwargs, output):
        log.append(sorted(kwargs))

    def add():
        module.layers[0].register_forward_hook(forward_hook)
        module.layers.register_forward_pre_hook(pre_hook)
        module.norm.register_forward_hook(keyword_hook, with_kwargs=True)

    def outer(x):
        return module(x)

    compiled = armature.compile(outer)
    if when == "before":
        add()
    for step in range(3):
        if step == 1 and when == "after":
            add()
        log.clear()
        module.calls = 0
        expected, expected_log = outer(X), list(log)
        log.clear()
        module.calls = 0
        same(compiled(X), expected)
        assert log == expected_log
    handle = module.register_forward_hook(lambda layer, args, output: output * 10)
    same(compiled(X), outer(X))
    handle.remove()
    same(compiled(X), outer(X))


def test_global_hooks():
    module = nn.Linear(4, 4)

    def outer(x):
        return module(x)

    compiled = armature.compile(outer)
    same(compiled(X), outer(X))
    handle = nn.modules.module.register_module_forward_hook(lambda layer, args, out: out + 5)
    try:
        same(compiled(X), outer(X))
    finally:
        handle.remove()
    same(compiled(X), outer(X))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backward_hooks(backend):
    module = nn.Linear(4, 4)
    seen = []
    module.register_full_backward_hook(lambda layer, grad_in, grad_out: seen.append(grad_out[0]))
    compiled = armature.compile(lambda x: module(x).sum(), backend=backend)
    compiled(X).backward()
    assert len(seen) == 1 and torch.equal(seen[0], torch.ones(2, 4))


class CustomGetattr(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def __getattr__(self, name):
        if name == "alias":
            return self.inner
        return super().__getattr__(name)

    def forward(self, x):
        return self.alias(x) + hasattr(self, "nothing")


def test_custom_getattr():
    plain, compiled = run(CustomGetattr())
    for _ in range(2):
        same(compiled(X), plain(X))


class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x)), self.a.weight is self.b.weight


def test_shared_parameters():
    module = TiedWeights()
    plain, compiled = run(module)
    same(compiled(X), plain(X))
    module.b.weight = nn.Parameter(torch.randn(4, 4))
    same(compiled(X), plain(X))


class WritesBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(()))
        self.last = None

    def forward(self, x):
        self.count += 1
        self.last = x.mean()
        self.count = self.count * 2
        return self.norm(x) + self.count


def test_buffers_written():
    first, second = WritesBuffers(), WritesBuffers()
    compiled = armature.compile(second.forward)
    for _ in range(3):
        same(compiled(X), first(X))
        for (name, a), (_, b) in zip(first.named_buffers(), second.named_buffers(), strict=True):
            assert torch.equal(a, b), name
        same(second.last, first.last)


def test_module_made_inside():
    def f(x):
        layer = nn.Linear(4, 4)
        nn.init.ones_(layer.weight)
        nn.init.zeros_(layer.bias)
        return layer(x)

    check(f, X)


def test_parameters_are_iterated():
    module = MLP()

    def f(x):
        total = x.sum()
        for name, parameter in module.named_parameters():
            total = total + parameter.sum() * len(name)
        for buffer in module.buffers():
            total = total + buffer.sum()
        return total, len(list(module.children())), module.training

    compiled = armature.compile(f)
    for _ in range(2):
        same(compiled(X), f(X))


def test_functional_and_loss():
    def f(x, target):
        y = nn.functional.gelu(x)
        y = nn.functional.dropout(y, 0.5, training=False)
        return nn.functional.cross_entropy(y, target), nn.MSELoss()(x, y)

    check(f, X, torch.tensor([1, 2]))


def test_other_layers():
    module = nn.ModuleList(
        [
            nn.Conv1d(4, 4, 1), nn.Embedding(10, 4), nn.GELU(), nn.Softmax(-1), nn.BatchNorm1d(4),
            nn.MultiheadAttention(4, 2, batch_first=True), nn.LSTM(4, 4, batch_first=True),
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.PReLU(), nn.GroupNorm(2, 4),
        ]
    ).eval()  # fmt: skip
    x = torch.randn(2, 4, 4)
    arguments = {1: (torch.tensor([[1, 2]]),), 5: (x, x, x)}
    for i, layer in enumerate(module):
        given = arguments.get(i, (x,))

        def call(*args):
            return layer(*args)

        compiled = armature.compile(call)
        for _ in range(2):
            same(compiled(*given), layer(*given))


def test_each_instance_has_its_own_translation():
    a, b = MLP().eval(), MLP().eval()
    compiled = armature.compile(lambda m, x: m(x))
    for _ in range(2):
        same(compiled(a, X), a(X))
        same(compiled(b, X), b(X))
    assert translations(compiled) <= 16


query = torch._C._get_tracing_state


def test_functions_bound_to_what_a_binding_generator_keeps():
    global query

    def f(x):
        return query(), x + 1

    x = torch.ones(3)
    assert armature.explain(f)(x).graph_break_count == 0
    previous, compiled = query, armature.compile(f)
    try:
        assert compiled(x)[0] is None
        query = torch._C._get_privateuse1_backend_name
        assert compiled(x)[0] == query()
    finally:
        query = previous
    assert compiled(x)[0] is None


def test_a_module_with_hooks_is_one_graph():
    module = nn.Linear(3, 3)
    module.register_forward_hook(lambda module, args, result: result * 2)
    found = armature.explain(module)(torch.ones(3))
    assert (found.graph_count, found.graph_break_count) == (1, 0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        return torch.add(self.norm(x * self.scale), self.shift)


SCALED = Scaled()
LAYERS = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), SCALED)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: LAYERS(x),
        lambda x: torch.sub(x, SCALED.scale),
        lambda x: torch.addcmul(x, value=2, tensor1=SCALED.scale, tensor2=SCALED.shift),
    ],
    ids=["modules", "parameter", "keywords"],
)
def test_inputs_come_in_the_order_of_torch_dynamo(fn):
    """A parameter is an input from its load on, an argument from its first use on."""
    assert graph_of(armature.compile, fn, X) == graph_of(torch.compile, fn, X)

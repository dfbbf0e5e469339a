"""Backends: torch.compile's by name, and any callable with its contract."""

import armature
import pytest
import torch
from torch import nn


class Recorder:
    """A backend that remembers what it got and runs the graph as it is."""

    def __init__(self):
        self.calls = []

    def __call__(self, module, inputs):
        self.calls.append((module, inputs))
        return module.forward


def test_custom_backend_gets_a_graph_module_and_example_inputs():
    weight = torch.full((3,), 2.0)
    recorder = Recorder()

    @armature.compile(backend=recorder)
    def f(x, scale):
        y = torch.relu(x) * scale
        return {"y": y, "z": y + weight}, x.shape

    x = torch.tensor([-1.0, 0.0, 3.0])
    result, shape = f(x, 4)
    assert result["y"].tolist() == [0, 0, 12] and result["z"].tolist() == [2, 2, 14]
    assert shape == (3,)
    ((module, inputs),) = recorder.calls
    assert isinstance(module, torch.fx.GraphModule)
    assert len(inputs) == 2 and inputs[0] is x and inputs[1] is weight
    assert [n.op for n in module.graph.nodes].count("placeholder") == 2
    assert torch.relu in [n.target for n in module.graph.nodes]
    assert isinstance(module(*inputs), tuple)
    assert any(
        n.stack_trace and "torch.relu(x) * scale" in n.stack_trace for n in module.graph.nodes
    )


def test_custom_backend_observes_shapes():
    recorder = Recorder()
    f = armature.compile(lambda x: x + 1, backend=recorder)
    f(torch.ones(2))
    f(torch.ones(2))
    assert len(recorder.calls) == 1
    f(torch.ones(3))
    assert [inputs[0].shape[0] for _, inputs in recorder.calls] == [2, 3]


def test_each_part_of_a_broken_graph_goes_to_the_backend():
    recorder = Recorder()

    @armature.compile(backend=recorder)
    def f(x):
        y = x + 1
        armature.graph_break()
        return y * 2

    assert f(torch.ones(1)).item() == 4
    assert len(recorder.calls) == 2


def test_backends_do_not_share_code():
    def f(x):
        return x + 1

    first, second = Recorder(), Recorder()
    armature.compile(f, backend=first)(torch.ones(1))
    armature.compile(f, backend=second)(torch.ones(1))
    assert len(first.calls) == len(second.calls) == 1


def test_mode_and_options_reach_a_custom_backend():
    seen = []

    def backend(module, inputs, **settings):
        seen.append(settings)
        return module.forward

    armature.compile(lambda x: x + 1, backend=backend, mode="fast", options={"a": 1})(torch.ones(1))
    assert seen == [{"mode": "fast", "options": {"a": 1}}]


def test_list_backends():
    names = armature.list_backends()
    assert {"eager", "aot_eager", "inductor"} <= set(names)


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_training_equals_eager(backend):
    """Three steps of an optimizer: losses, gradients and parameters stay equal."""
    plain, x = mlp(), torch.randn(5, 4)
    compiled = armature.compile(mlp(), backend=backend, fullgraph=True)
    losses = []
    for model in (plain, compiled):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses.append([])
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for expected, actual in zip(plain.parameters(), compiled.parameters(), strict=True):
        torch.testing.assert_close(actual.grad, expected.grad)
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("backend", ["aot_eager"])
def test_gradients_of_inputs_and_grad_modes(backend):
    compiled = armature.compile(lambda x, y: (x * y).sin().sum(), backend=backend)
    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3)
    compiled(x, y).backward()
    torch.testing.assert_close(x.grad, (x * y).cos().detach() * y)
    with torch.no_grad():
        assert not compiled(x, y).requires_grad
    assert compiled(x, y).requires_grad


def test_mutation_through_aot():
    def f(x):
        x.add_(1)
        return x * 2

    x, y = torch.ones(2), torch.ones(2)
    torch.testing.assert_close(armature.compile(f, backend="aot_eager")(x), f(y))
    torch.testing.assert_close(x, y)


def test_inductor():
    # Precompiled headers pay off over many kernels; here there is one.
    f = armature.compile(
        lambda x, w: (x * w).relu() + 1,
        backend="inductor",
        options={"cpp_cache_precompile_headers": False},
    )
    x = torch.randn(8)
    w = torch.randn(8, requires_grad=True)
    result = f(x, w)
    torch.testing.assert_close(result, (x * w).relu() + 1)
    result.sum().backward()
    torch.testing.assert_close(w.grad, x * ((x * w) > 0))

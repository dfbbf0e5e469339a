"""Backends: torch.compile's by name, and any callable with its contract."""

import contextlib

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


def test_nodes_say_what_their_values_are_like():
    seen = []

    def backend(module, inputs):
        for each in module.modules():
            if isinstance(each, torch.fx.GraphModule):
                seen.append({node.name: node for node in each.graph.nodes})
        return module

    def sums(y):
        return y.double().sum(0)

    def maxima(y):
        return y.double().amax(0)

    def f(x, weight):
        y = (x @ weight).t()
        largest, _ = y.max(0)
        chosen = torch.cond(
            x.sum() > 0, lambda y: y.double().sum(0), lambda y: y.double().amax(0), (y,)
        )
        return largest.detach(), chosen

    weight = torch.nn.Parameter(torch.ones(3, 4))
    given = armature.compile(f, backend=backend, fullgraph=True)(torch.ones(2, 3), weight)
    expected = f(torch.ones(2, 3), weight)
    assert all(torch.equal(*pair) for pair in zip(given, expected, strict=True))
    body, nodes = next(each for each in seen if "double" in each), seen[0]
    assert [nodes["l_x_"].type, nodes["l_weight_"].type] == [torch.Tensor, torch.nn.Parameter]

    def of(node):
        value = node.meta["example_value"]
        assert isinstance(value, torch._subclasses.FakeTensor)
        return value.dtype, tuple(value.shape), value.stride(), value.device, value.requires_grad

    cpu = torch.device("cpu")
    assert of(nodes["l_weight_"]) == (torch.float32, (3, 4), (4, 1), cpu, True)
    assert of(nodes["y"]) == (torch.float32, (4, 2), (1, 4), cpu, True)
    assert of(nodes["largest"]) == (torch.float32, (2,), (1,), cpu, True)
    assert of(nodes["detach"]) == (torch.float32, (2,), (1,), cpu, False)
    assert of(body["double"])[:2] == (torch.float64, (4, 2))
    values = [node.meta.get("example_value") for node in nodes.values()]
    modes = {value.fake_mode for value in values if value is not None}
    assert len(modes) == 1


def test_looking_at_values_changes_no_mode():
    def f(x):
        with torch.no_grad():
            return torch.vmap(lambda row: row.sin() * row.sum())(x)

    class Seen(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    compiled = armature.compile(f, backend=lambda module, inputs: module)
    for mode in (contextlib.nullcontext(), Seen()):
        with mode:
            assert torch.equal(compiled(torch.ones(2, 3)), f(torch.ones(2, 3)))
    assert torch.is_grad_enabled()
    assert torch._C._functorch.get_dynamic_layer_stack_depth() == 0
    assert torch._C._len_torch_function_stack() == 0


def item_added(x, mask, y):
    x = x.clone()
    x[mask] += 1
    return x


def assigned(x, mask, y):
    x = x.clone()
    x[mask] = y
    return x


def assigned_in_a_view(x, mask, y):
    x = x.clone()
    x.unsqueeze(1)[mask] = y.unsqueeze(1)
    return x


def assigned_by_a_tuple(x, mask, y):
    x = x * 2
    x[..., mask] = y * 3
    return x


def put(x, mask, y):
    return x.index_put(indices=(mask,), values=y)


def put_in_place(x, mask, y):
    return x.clone().index_put_((mask,), y)


def chosen(x, mask, y):
    return x[mask].sin()


def repeated(x, mask, y):
    return torch.repeat_interleave(x, mask.long()) * 2


def placed(x, mask, y):
    return x.index_select(0, mask.nonzero()[:, 0])


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        item_added,
        assigned,
        assigned_in_a_view,
        assigned_by_a_tuple,
        put,
        put_in_place,
        chosen,
        repeated,
        placed,
    ],
)
def test_sizes_that_only_data_tell_are_not_for_backends(f, requires_grad):
    compiled = armature.compile(f, backend="aot_eager")
    for true in ([0, 2], [1, 2], [0, 1]):
        mask = torch.zeros(4, dtype=torch.bool)
        mask[true] = True
        results, gradients = [], []
        for function in (f, compiled):
            x = torch.arange(4.0).requires_grad_(requires_grad)
            y = torch.tensor([5.0, 7.0]).requires_grad_(requires_grad)
            results.append(function(x, mask, y))
            if requires_grad:
                results[-1].sum().backward()
                gradients.append((x.grad, y.grad))
        assert torch.equal(*results)
        for plain, captured in zip(*gradients, strict=True) if gradients else ():
            assert (plain is None and captured is None) or torch.equal(plain, captured)


def test_errors_of_operations_are_the_programs_under_backends():
    log = []

    def f(x, y):
        log.append("before")
        try:
            return x @ y
        except RuntimeError as error:
            return str(error)

    def g(x, y):
        log.append("before")
        return x.view(7)

    given = torch.ones(2, 3), torch.ones(2, 3)
    assert armature.compile(f, backend="aot_eager")(*given) == f(*given)
    messages = []
    for function in (g, armature.compile(g, backend="aot_eager")):
        with pytest.raises(RuntimeError) as raised:
            function(*given)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert log == ["before"] * 4


def by_python_types(x, n):
    return x.to(float), x.to(dtype=int), torch.zeros(2, dtype=bool), torch.ones(2, dtype=complex)


def by_bounds_that_are_data(x, n):
    y = x.clone()
    y[:n] = 1
    y[n:, None] += 2
    return y, y[n:], y[None, :n]


def by_a_keyword_of_pythons(x, n):
    return (x.clone().random_(**{"from": 0, "to": 1}),)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("f", [by_python_types, by_bounds_that_are_data, by_a_keyword_of_pythons])
def test_arguments_that_graphs_have_no_text_for(f, backend):
    compiled = armature.compile(f, backend=backend)
    for count in (1, 3, 2):
        x = torch.arange(4.0) + count
        plain, captured = f(x, torch.tensor(count)), compiled(x, torch.tensor(count))
        pairs = (
            zip(plain, captured, strict=True) if isinstance(plain, tuple) else [(plain, captured)]
        )
        assert all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


@pytest.mark.filterwarnings("ignore:.*record_function is called")
@pytest.mark.parametrize(
    "make",
    [
        lambda parameters: torch.optim.Adam(parameters),
        lambda parameters: torch.optim.AdamW(parameters, amsgrad=True),
        lambda parameters: torch.optim.RMSprop(parameters, momentum=0.5, centered=True),
        lambda parameters: torch.optim.Adadelta(parameters),
        lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.5),
        lambda parameters: torch.optim.NAdam(parameters),
    ],
)
def test_optimizers_under_a_backend(make):
    results = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = make(model.parameters())

        def step(optimizer=optimizer):
            optimizer.step()

        compiled = armature.compile(step, backend="aot_eager") if is_compiled else step
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(3)).sum().backward()
            compiled()
        results.append([parameter.detach().clone() for parameter in model.parameters()])
    for plain, captured in zip(*results, strict=True):
        torch.testing.assert_close(plain, captured)


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_under_a_backend(layer):
    module = layer(3, 4)
    compiled = armature.compile(lambda x: module(x)[0] * 2, backend="aot_eager")
    for length in (2, 2, 5):
        x = torch.ones(length, 3)
        given, expected = compiled(x), module(x)[0] * 2
        torch.testing.assert_close(given, expected)
        gradients = [torch.autograd.grad(y.sum(), module.parameters()) for y in (given, expected)]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("in_place", [torch.Tensor.addcmul_, torch.Tensor.addcdiv_])
def test_scales_that_are_data(in_place):
    name = in_place.__name__

    def f(x, a, b, scale):
        getattr(x, name)(a, b, value=scale)
        return getattr(x, name)(a, b, value=2)

    for backend in ("eager", "aot_eager"):
        compiled = armature.compile(f, backend=backend, fullgraph=True)
        for scale in (3.0, -1.5):
            arguments = torch.full((2,), 4.0), torch.full((2,), 8.0), torch.tensor(scale)
            given, expected = torch.ones(2), torch.ones(2)
            assert compiled(given, *arguments) is given
            f(expected, *arguments)
            torch.testing.assert_close(given, expected)


@pytest.mark.parametrize("base", [-1, -2, -1.5, -0.0, 3, -(2**40)])
def test_powers_of_a_constant(base):
    """torch.fx writes no parentheses around it."""

    def power(x):
        return base**x, x**base

    compiled = armature.compile(power, backend=Recorder())
    x = torch.tensor([1.0, 2.0, 3.0])
    assert repr(compiled(x)) == repr(power(x))


@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
@pytest.mark.parametrize(
    "index", [lambda k: k, lambda k: (0, k), lambda k: (..., -k), lambda k: k > 0]
)
def test_assigned_where_an_array_says(backend, index):
    def program(x, k, value):
        y = x * 2
        y[index(k)] = value
        return y + 1

    compiled = armature.compile(program, backend=backend)
    for k in (0, 1, 0, 2):
        for value in (5, torch.tensor(7.0)):
            given = torch.arange(9.0).reshape(3, 3), torch.tensor(k), value
            assert torch.equal(compiled(*given), program(*given))

"""Graphs: their text, JSON, torch.fx module and function, against torch.fx and plain calls."""

import dis
import gc
import json
import operator
import random
import time
import types
import warnings
import weakref

import numpy
import pytest
import torch
import torch.nn.functional as F
from armature import _C
from torch.fx import graph as fx_graph


def function(target, *arguments, **keywords):
    return ("call_function", target, arguments, keywords)


def method(name, *arguments, **keywords):
    return ("call_method", name, arguments, keywords)


def graph(inputs, nodes, outputs, **options):
    """The description for armature._C; "%name" refers to an input or a node of that name."""
    numbers = {name: f"%{i}" for i, name in enumerate([*inputs, *nodes])}

    def resolve(value):
        if isinstance(value, str) and value.startswith("%"):
            return numbers[value[1:]]
        if type(value) in (list, tuple):
            return type(value)(map(resolve, value))
        if type(value) is dict:
            return {key: resolve(item) for key, item in value.items()}
        return value

    return {
        "inputs": list(inputs.items()),
        "nodes": [
            (node[0], node[1], *map(resolve, node[2:4]), *node[4:]) for node in nodes.values()
        ],
        "outputs": resolve(outputs),
        **options,
    }


def at(node, line, variable=None, code=None):
    options = {"code": code or at.__code__, "line": line}
    if variable:
        options["variable_name"] = variable
    return (*node, options)


X = torch.arange(12.0).reshape(3, 4)

GRAPHS = {
    "arithmetic": graph(
        {"x": X, "y": X + 1},
        {
            "a": function(operator.add, "%x", "%y"),
            "b": function(operator.mul, "%a", 2),
            "c": function(operator.sub, 1, "%b"),
            "d": function(operator.neg, "%c"),
            "e": function(operator.truediv, "%d", "%y"),
            "f": function(operator.pow, "%e", 2),
            "g": function(operator.gt, "%f", 0.5),
            "h": function(operator.invert, "%g"),
            "i": function(operator.and_, "%g", "%h"),
            "j": function(operator.abs, "%f"),
            "k": function(getattr, "%x", "T"),
            "l": function(operator.matmul, "%x", "%k"),
            "m": function(operator.mod, "%x", 2),
        },
        ["%i", "%j", "%l", "%m"],
    ),
    "in place": graph(
        {"x": X, "y": X + 1},
        {
            "a": method("clone", "%x"),
            "b": function(operator.iadd, "%a", "%y"),
            "c": function(operator.setitem, "%b", 0, 1.0),
            "d": function(operator.getitem, "%y", (slice(None), 0)),
            "e": function(operator.imul, "%b", 3),
            "f": function(operator.setitem, "%e", (slice(None), 1), "%d"),
            "g": method("add_", "%e", 1),
        },
        ["%a", "%g"],
    ),
    "arguments": graph(
        {
            "x": X,
            "self._modules[fc]._parameters[weight]": torch.ones(5, 4),
            "self.b": torch.ones(5),
        },
        {
            "y": function(
                torch._C._nn.linear, "%x", "%self._modules[fc]._parameters[weight]", "%self.b"
            ),
            "a": function(torch.cat, ["%y", "%y"], dim=1),
            "b": method("split", "%a", [4, 6], dim=-1),
            "c": function(operator.getitem, "%b", 1),
            "d": function(operator.getitem, "%c", (Ellipsis, None, slice(1, None, 2))),
            "e": function(torch.stack, ("%y", "%y")),
            "f": method("permute", "%e", (2, 0, 1)),
            "g": method("to", "%f", torch.float64),
            "h": function(torch.zeros, 2, 3, dtype=torch.int64, device=torch.device("cpu")),
            "i": function(F.softmax, "%y", dim=-1, dtype=None),
            "j": function(torch.clamp, "%i", max=float("inf")),
            "k": function(torch.einsum, "ij,kj->ik", "%y", "%i"),
        },
        ["%c", "%d", "%f", "%g", "%h", "%j", "%k"],
    ),
    "names": graph(
        {"x": X, "x.y": X, "x_y": X, "class": X, "print": X},
        {
            "a": function(torch.max, "%x", 0),
            "b": function(operator.getitem, "%a", 0),
            "c": function(torch.sum, "%x.y"),
            "d": function(torch.sum, "%x_y"),
            "e": function(torch.sum, "%class"),
            "f": function(torch.any, "%print"),
            "g": method("__add__", "%c", 1),
            "h": function(torch.ops.aten.add.Tensor, "%c", 1),
            "i": function(torch.ops.aten.add, "%c", 1),
            "j": function(torch._C._set_grad_enabled, True),
            "k": function(torch.Tensor.add, "%c", 1),
            "l": at(function(torch.sin, "%c"), 3, "sum_1"),
            "m": at(function(torch.cos, "%c"), 4, "z"),
            "n": at(function(torch.cos, "%c"), 4, "z"),
            "o": at(function(torch.cos, "%c"), 4, "input"),
        },
        ["%b", *(f"%{name}" for name in "cdefghiklmno")],
    ),
    "numpy": graph({"x": numpy.arange(3)}, {"a": function(numpy.flip, "%x")}, ["%a"]),
    "only inputs": graph({"x": X, "y": X}, {}, ["%y", "%x"]),
    "no outputs": graph({"x": X}, {"a": function(torch.sin, "%x")}, []),
    "no inputs": graph({}, {"a": function(torch.ones, 3)}, ["%a"]),
    "dicts": graph(
        {"x": X},
        {
            "a": function(dict, a="%x", b=["%x", 1], c={"d": "%x", "e": (1,)}),
            "b": function(operator.getitem, "%a", "c"),
            "c": function(operator.getitem, "%b", "d"),
        },
        ["%c"],
    ),
    "lines": graph(
        {"x": X},
        {
            "a": at(function(torch.sin, "%x"), 1),
            "b": at(function(torch.sin, "%a"), 1),
            "c": at(function(torch.sin, "%b"), at.__code__.co_firstlineno),
            "d": function(torch.sin, "%c"),
        },
        ["%d"],
    ),
}


def inputs_of(description):
    return [
        value.copy() if isinstance(value, numpy.ndarray) else value.clone()
        for _, value in description["inputs"]
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_text_is_that_of_fx(name):
    description = GRAPHS[name]
    module = _C.graph_to_torch(description)
    assert _C.graph_text(description) == module.print_readable(print_output=False)


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in ("dicts", "numpy")])
def test_text_with_metadata(name):
    description = {**GRAPHS[name], "evaluate": True}
    module = _C.graph_to_torch(description)
    values = dict(
        zip((node.name for node in module.graph.nodes), inputs_of(description), strict=False)
    )

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            result = super().run_node(node)
            values[node.name] = result
            return result

    Recorder(module).run(*inputs_of(description))
    for node in module.graph.nodes:
        if node.op != "output" and isinstance(values[node.name], torch.Tensor):
            node.meta["val"] = values[node.name]
    assert _C.graph_text(description) == module.print_readable(print_output=False)


@pytest.mark.parametrize("name", GRAPHS)
def test_names_are_those_that_fx_gives(name):
    description = GRAPHS[name]
    ours = _C.graph_to_torch(description)
    fresh = torch.fx.Graph()
    copies = {}
    variables = {}
    for i, node in enumerate(description["nodes"]):
        options = node[4] if len(node) > 4 else {}
        variables[i] = options.get("variable_name")
    calls = iter(variables.values())
    for node in ours.graph.nodes:
        if node.op == "output":
            break
        arguments = fx_graph.map_arg(node.args, copies.get)
        keywords = fx_graph.map_arg(node.kwargs, copies.get)
        copies[node] = fresh.create_node(node.op, node.target, arguments, keywords)
        variable = next(calls) if node.op != "placeholder" else None
        if variable:
            copies[node]._rename(variable)
    assert [node.name for node in copies] == [node.name for node in copies.values()]


def test_placeholders_are_named_as_by_torchdynamo():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4)])
            self.plain = torch.ones(4)

        def forward(self, x):
            y = self.layers[0](x)
            y += self.plain
            z, i = torch.max(y, 0)
            return z.relu() + i

    modules = []

    def backend(module, examples):
        modules.append(module)
        return module

    module = Module()
    torch.compile(module, backend=backend)(torch.ones(2, 4))
    names = [node.name for node in modules[0].graph.nodes]
    targets = [node.target for node in modules[0].graph.find_nodes(op="placeholder")]
    linear = module.layers[0]
    parameters = "self._modules[layers]._modules[0]._parameters"
    variable = lambda node, name: (*node, {"variable_name": name})  # noqa: E731
    ours = _C.graph_to_torch(
        graph(
            {
                f"{parameters}[weight]": linear.weight,
                f"{parameters}[bias]": linear.bias,
                "x": torch.ones(2, 4),
                "self.plain": module.plain,
            },
            {
                "a": variable(
                    function(
                        torch._C._nn.linear, "%x", f"%{parameters}[weight]", f"%{parameters}[bias]"
                    ),
                    "y",
                ),
                "b": variable(function(operator.iadd, "%a", "%self.plain"), "y"),
                "c": function(torch.max, "%b", 0),
                "d": variable(function(operator.getitem, "%c", 0), "z"),
                "e": variable(function(operator.getitem, "%c", 1), "i"),
                "f": method("relu", "%d"),
                "g": function(operator.add, "%f", "%e"),
            },
            ["%g"],
        )
    )
    assert [node.target for node in ours.graph.find_nodes(op="placeholder")] == targets
    assert [node.name for node in ours.graph.nodes] == names


@pytest.mark.parametrize("name", GRAPHS)
def test_function_does_what_the_module_does(name):
    description = GRAPHS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _C.graph_to_torch(description)(*inputs_of(description))
        found = _C.graph_to_function(description)(*inputs_of(description))
    assert type(found) is tuple and len(found) == len(expected)
    for one, other in zip(expected, found, strict=True):
        assert (one == other).all()


def test_operators_become_instructions():
    code = _C.graph_to_function(GRAPHS["arithmetic"]).__code__
    opcodes = {instruction.opname for instruction in dis.get_instructions(code)}
    assert {"BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT"} <= opcodes
    assert code.co_filename == "<armature graph>"
    code = _C.graph_to_function(GRAPHS["in place"]).__code__
    opcodes = {instruction.opname for instruction in dis.get_instructions(code)}
    assert {"STORE_SUBSCR", "BINARY_SUBSCR"} <= opcodes


class Recorder:
    """Records what happens to it, and what is still alive then."""

    alive = weakref.WeakSet()
    log = []

    def __init__(self, name):
        self.name = name
        Recorder.alive.add(self)

    def step(self, name, *others, **keywords):
        Recorder.log.append((name, sorted(recorder.name for recorder in Recorder.alive)))
        return Recorder(name)

    __add__ = __matmul__ = lambda self, other: self.step("sum", other)


def test_values_die_at_their_last_use():
    description = graph(
        {"x": None},
        {
            "a": method("step", "%x", "a"),
            "b": method("step", "%a", "b"),
            "c": method("step", "%b", "c"),
            "d": function(operator.add, "%c", "%b"),
            "e": method("step", "%d", "d", key="%d"),
            "f": function(operator.add, "%e", "%e"),
            "g": method("step", "%f", "e"),
        },
        ["%g"],
    )
    run = _C.graph_to_function(description)
    Recorder.log.clear()
    (result,) = run(Recorder("x"))
    assert result.name == "e"
    # Who calls a function may hold its arguments, as CPython does while a frame hook is set.
    log = [(name, [each for each in alive if each != "x"]) for name, alive in Recorder.log]
    assert log == [
        ("a", []),
        ("b", ["a"]),
        ("c", ["b"]),
        ("sum", ["b", "c"]),
        ("d", ["sum"]),
        ("sum", ["d"]),
        ("e", ["sum"]),
    ]
    del result
    gc.collect()
    assert not Recorder.alive


def test_lines_are_those_of_the_program():
    def fail(x):
        raise ValueError

    run = _C.graph_to_function(graph({"x": X}, {"a": at(function(fail, "%x"), 77)}, ["%a"]))
    with pytest.raises(ValueError) as error:
        run(X)
    assert error.traceback[-2].lineno + 1 == 77


def random_node(chance, values):
    """A call on any of the values, and often on the last one."""
    first, second = (f"%{chance.choice([values[-1], chance.choice(values)])}" for _ in range(2))
    return chance.choice(
        [
            function(operator.add, first, second),
            function(operator.mul, first, 2),
            function(operator.sub, 1, first),
            function(torch.relu, first),
            method("add", first, second, alpha=2),
            method("sum", first, -1, keepdim=True),
            function(operator.getitem, first, (slice(None), slice(0, 1))),
            function(torch.maximum, first, second),
            function(getattr, first, "real"),
            method("lerp", first, second, 0.5),
            function(torch.lerp, first, end=second, weight=0.5),
        ]
    )


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs(seed):
    chance = random.Random(seed)
    inputs = {name: torch.rand(3, 4) for name in ("x", "y", "z")}
    values = list(inputs)
    nodes = {}
    for i in range(chance.randrange(1, 40)):
        nodes[f"n{i}"] = random_node(chance, values)
        values.append(f"n{i}")
    outputs = [f"%{chance.choice(values)}" for _ in range(chance.randrange(1, 4))]
    description = graph(inputs, nodes, outputs)
    module = _C.graph_to_torch(description)

    def used(module):
        # Inputs that nobody uses are no parameters: "L_x_" is x.
        return [inputs[node.target[2]] for node in module.graph.find_nodes(op="placeholder")]

    expected = module(*used(module))
    found = _C.graph_to_function(description)(*used(module))
    assert all(map(torch.equal, expected, found))
    assert _C.graph_text(description) == module.print_readable(print_output=False)
    pruned = {**description, "evaluate": True, "prune": True}
    module = _C.graph_to_torch(pruned)
    assert all(map(torch.equal, expected, _C.graph_to_function(pruned)(*used(module))))
    assert all(map(torch.equal, expected, module(*used(module))))


def test_items_that_nobody_uses_go():
    description = graph(
        {"x": X, "unused": X},
        {
            "a": function(torch.sin, "%x"),
            "b": function(torch.cos, "%a"),
            "c": function(torch.rand, 3),
            "d": method("add_", "%x", 1),
            "e": function(F.relu, "%x", inplace=True),
            "f": function(F.relu, "%x", True),
            "g": function(F.relu, "%x"),
            "h": function(torch.exp, "%x", out="%x"),
            "i": function(torch.max, "%x", 0),
            "j": function(operator.getitem, "%i", 0),
            "k": function(operator.iadd, "%x", 1),
        },
        ["%a"],
        evaluate=True,
        prune=True,
    )
    names = [node["name"] for node in json.loads(_C.graph_json(description))["nodes"]]
    kept = "l_x_ sin cos rand add_ relu relu_1 relu_2 exp max_1 iadd output"
    assert names == kept.split()
    # What was not evaluated might raise, and stays.
    names = [
        node["name"]
        for node in json.loads(_C.graph_json({**description, "evaluate": False}))["nodes"]
    ]
    assert "getitem" in names and "l_unused_" not in names


def test_json():
    description = {**GRAPHS["arguments"], "evaluate": False}
    nodes = json.loads(_C.graph_json(description))["nodes"]
    assert [node["name"] for node in nodes] == [
        node.name for node in _C.graph_to_torch(description).graph.nodes
    ]
    by_name = {node["name"]: node for node in nodes}
    assert by_name["l_x_"] == {
        "name": "l_x_",
        "operation": "placeholder",
        "source": "L['x']",
        "target": "L_x_",
        "users": 1,
    }
    assert by_name["cat"]["arguments"] == [{"list": [{"node": "linear"}, {"node": "linear"}]}]
    assert by_name["cat"]["keyword_arguments"] == {"dim": 1}
    assert by_name["cat"]["target"] == "torch.cat"
    assert by_name["zeros"]["keyword_arguments"]["dtype"] == {"constant": "torch.int64"}
    assert by_name["clamp"]["keyword_arguments"]["max"] == {"constant": "inf"}
    assert by_name["getitem_1"]["arguments"][1] == {
        "tuple": [{"constant": "Ellipsis"}, None, {"slice": [1, None, 2]}]
    }
    evaluated = graph({"x": X}, {"a": at(function(torch.sin, "%x"), 5)}, ["%a"], evaluate=True)
    node = json.loads(_C.graph_json(evaluated))["nodes"][1]
    assert node["metadata"]["text"] == "f32[3, 4]" and node["metadata"]["strides"] == [4, 1]
    assert node["location"] == {"file": at.__code__.co_filename, "line": 5, "function": "at"}


def test_torch_backends_accept_the_module():
    description = graph(
        {"x": X, "w": torch.ones(5, 4)},
        {"a": at(function(torch._C._nn.linear, "%x", "%w"), 7), "b": method("relu", "%a")},
        ["%b"],
    )
    module = _C.graph_to_torch(description)
    assert type(module) is not torch.nn.Module and isinstance(module, torch.fx.GraphModule)
    nodes = list(module.graph.nodes)
    assert "line 7, in at\n" in nodes[2].meta["stack_trace"]
    assert all("example_value" not in node.meta for node in nodes)
    from torch._dynamo.backends.debugging import aot_eager

    arguments = inputs_of(description)
    compiled = aot_eager(module, arguments)
    assert torch.equal(compiled(*arguments)[0], module(*arguments)[0])


def test_a_thousand_nodes_are_quick():
    nodes = {str(i + 1): function(operator.add, f"%{i}", f"%{i // 2}") for i in range(1000)}
    description = graph({"0": X}, nodes, ["%1000"])
    start = time.perf_counter()
    run = _C.graph_to_function(description)
    elapsed = time.perf_counter() - start
    assert isinstance(run, types.FunctionType)
    assert elapsed < 0.1  # a millisecond or two, where nothing else runs
    assert run(X)[0].shape == X.shape


@pytest.mark.parametrize(
    "name", ["getitem", "setitem", "neg", "add", "iadd", "matmul", "and_", "lt", "pow"]
)
@pytest.mark.parametrize("count", range(5))
def test_operators_with_any_number_of_operands(name, count):
    target = getattr(operator, name)
    for keywords in ({}, {"other": 1}):
        node = function(target, *["%x"] * count, **keywords)
        text = _C.graph_text(graph({"x": X}, {"a": node}, ["%a"]))
        assert text.count("l_x_") >= count and "return (" in text

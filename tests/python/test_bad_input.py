"""Bad input is a clear error, or an honest plain call."""

import math
import operator
import types

import armature
import pytest
import torch


@pytest.mark.parametrize("value", [3, "text", [], property(lambda self: 1)])
def test_not_callable(value):
    with pytest.raises(TypeError, match=f"{type(value).__name__}.*not callable.*give a function"):
        armature.compile(value)


def test_class():
    with pytest.raises(TypeError, match=r"Linear is a class.*one of its instances"):
        armature.compile(torch.nn.Linear)


def test_unknown_backend_lists_the_known_ones():
    with pytest.raises(armature.InvalidBackend, match=r"'nonsense'.*aot_eager.*eager.*inductor"):
        armature.compile(backend="nonsense")


def test_backend_of_a_wrong_type():
    with pytest.raises(TypeError, match=r"name of a backend or a function.*'int'"):
        armature.compile(lambda x: x, backend=3)


def test_backend_that_raises_is_named_and_asked_again():
    calls = []

    def fragile(module, inputs):
        calls.append(inputs)
        raise OSError("no room")

    compiled = armature.compile(lambda x: x + 1, backend=fragile)
    for _ in range(2):
        with pytest.raises(OSError, match="no room") as caught:
            compiled(torch.ones(1))
        assert caught.value.__notes__ == [
            "Raised by the backend 'fragile' while it compiled a graph."
        ]
    assert len(calls) == 2


@pytest.mark.parametrize("result", [None, 3])
def test_backend_that_returns_no_callable(result):
    def lazy(module, inputs):
        return result

    with pytest.raises(TypeError, match="'lazy' must return a callable"):
        armature.compile(lambda x: x + 1, backend=lazy)(torch.ones(1))


def test_arguments_that_mean_nothing():
    with pytest.raises(NotImplementedError, match="dynamic=True is not supported yet"):
        armature.compile(lambda x: x, dynamic=True)
    with pytest.raises(ValueError, match="neither a mode nor options"):
        armature.compile(lambda x: x, mode="max-autotune")
    with pytest.raises(ValueError, match="neither a mode nor options"):
        armature.compile(lambda x: x, options={"a": 1})
    with pytest.raises(TypeError, match="unexpected keyword"):
        armature.compile(lambda x: x, nonsense=1)


def test_function_without_source():
    namespace = {"torch": torch}
    exec("def gone(x):\n    y = torch.relu(x)\n    return y + 1", namespace)
    found = armature.explain(namespace["gone"])(torch.ones(2))
    assert found.graph_count == 1 and found.graph_break_count == 0
    assert "relu" in found.graphs[0]
    assert found.result.tolist() == [2, 2]


def test_function_made_of_bare_code():
    code = (lambda x: x * 3).__code__.replace(co_filename="/nowhere/at/all.py", co_firstlineno=999)
    found = armature.explain(types.FunctionType(code, {}))(torch.ones(2))
    assert found.graph_count == 1
    assert found.result.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("builtin", "arguments"),
    [
        (torch.add, (torch.ones(2), torch.ones(2))),
        (len, ([1, 2, 3],)),
        (math.hypot, (3.0, 4.0)),
        (sorted, ([3, 1, 2],)),
        (operator.itemgetter(1), ([3, 1, 2],)),
        ([5].__getitem__, (0,)),
        (print, ()),
    ],
    ids=["torch.add", "len", "math.hypot", "sorted", "itemgetter", "list.__getitem__", "print"],
)
def test_builtins(builtin, arguments):
    expected = builtin(*arguments)
    actual = armature.compile(builtin)(*arguments)
    torch.testing.assert_close(actual, expected)


def test_builtin_that_raises():
    with pytest.raises(TypeError, match="has no len"):
        armature.compile(len)(3)


def test_script_module():
    script = torch.jit.script(torch.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="ScriptModule"):
        armature.compile(script)


def test_error_in_the_function_is_the_functions_error():
    def f(x):
        return [x][3]

    with pytest.raises(IndexError, match="list index out of range"):
        armature.compile(f)(torch.ones(1))


@pytest.mark.parametrize("make", [type, lambda *given: type(given[1][0])(*given)])
def test_a_class_below_that_of_what_is_compiled(make):
    for compiled in (armature.compile(torch.nn.Linear(2, 2)), armature.compile(lambda x: x)):
        base = type(compiled)
        if base is not type(lambda: None):
            with pytest.raises(TypeError, match=r"makes no classes|acceptable base type"):
                make("Below", (base,), {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": 5}, "options must be a mapping of names or None, not an object of type 'int'"),
        ({"options": []}, "options must be a mapping"),
        ({"mode": 3, "backend": "inductor"}, "mode must be the name of a mode or None"),
        ({"fullgraph": "x"}, "fullgraph must be a bool, not str"),
        ({"dynamic": "x"}, "dynamic must be a bool, not str"),
        ({"disable": 1}, "disable must be a bool, not int"),
    ],
)
def test_arguments_of_another_type(arguments, message):
    with pytest.raises(TypeError, match=message):
        armature.compile(lambda x: x, **arguments)


@pytest.mark.parametrize(
    "name", ["skip_modules", "ignore_logging_functions", "reorderable_logging_functions"]
)
def test_settings_that_are_not_several(name):
    before = getattr(armature.config, name)
    with pytest.raises(TypeError, match=f"{name} .*several .*not a int"):
        setattr(armature.config, name, 5)
    assert getattr(armature.config, name) == before

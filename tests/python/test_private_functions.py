"""armature._C is private, and yet no call of it may crash: every function and every method of its
types is called with every kind of value, in every number, with keywords."""

import gc
import itertools
import json
import os
import random
import subprocess
import sys
import types
from pathlib import Path

import armature
import pytest
import torch
from armature import _C

VALUES = [
    None, 0, -1, 3, 2**70, 1.5, "", "text", "\ud800", "a\0b", b"x", [], [1], (), (1, "x"), {},
    {"inputs": 3}, {"inputs": [1]}, {"nodes": [()]}, {"outputs": ["%5"]}, {"outputs": ["x"]},
    {"inputs": [("x", 1)], "outputs": ["%0"]}, {"inputs": [("", 1)]},
    {"nodes": [("call_function", 3, (), {})]}, {"nodes": [("call_method", len, (1,), {})]},
    {"nodes": [("call_method", "x", (), {})]}, {"nodes": [("call_function", len, 1, {})]},
    {"nodes": [("call_function", len, (1,), {1: 2})], "outputs": ["%0"]},
    {"nodes": [("call_function", len, (1,), {}, {"line": "x", "code": 1})], "outputs": ["%0"]},
    {"nodes": [("call_function", len, ("%-1",), {})], "outputs": ["%0"]},
    {"nodes": [("call_function", torch.add, (1,), {"a b": 1})], "outputs": ["%0"]},
    len, int, object(), lambda: 1, lambda x: x, torch.ones(2), torch, slice(1),
    (lambda: 1).__code__, armature.compile(lambda x: x), armature.disable(lambda x: x),
    [(("Local", 0, "x"), "TYPE_MATCH", 1)], [(("Local", 5, "x"), "TYPE_MATCH", int)],
    [(("Local", -1, "x"), "ID_MATCH", int)], [(None, "TYPE_MATCH", int)], [(None, "GLOBAL_STATE")],
    [(("GlobalsDict", 3), "ID_MATCH", 3)], [("Local", 0, "x")], [("Slot", ("Local", 0, "x"), 1)],
    [(("Local", 0, "x"), "DICT_CONTAINS", [])], [(("Local", 0, "x"), "TENSOR_MATCH")],
    [(("Local", 0, "x"), "DUPLICATE_INPUT")], [(("Local", 0, "x"), "CLOSURE_MATCH", 1)],
    [(("Local", 0, 3), "NONE_MATCH")], [(("ListItem", ("Local", 0, "x"), -5), "NONE_MATCH")],
    [(("TypeAttribute", ("Local", 0, "x"), "a"), "NONE_MATCH")],
]  # fmt: skip


def deep():
    value = ("Local", 0, "x")
    for _ in range(100_000):
        value = ("Type", value)
    return value


def targets():
    """(text, callable), anew for each call."""
    names = [name for name in dir(_C) if not name.startswith("__")]
    for name in names:
        value = getattr(_C, name)
        yield name, value
        if isinstance(value, type):
            for method in dir(value):
                if method not in dir(object):
                    yield f"{name}.{method}", getattr(value, method)
    compiled = _C.CompiledFunction(lambda x: x)
    disabled = _C.DisabledFunction(len)
    manager = _C.GuardManager([(("Local", 0, "x"), "TYPE_MATCH", int)], [("Local", 0, "x")], [1])
    for text, instance in [("compiled", compiled), ("disabled", disabled), ("manager", manager)]:
        for method in dir(instance):
            found = getattr(instance, method)
            if callable(found) and method not in ("__init_subclass__", "__class__"):
                yield f"{text}.{method}", found


def calls():
    values = [*VALUES, deep(), [(deep(), "NONE_MATCH")]]
    yield ()
    yield from ((value,) for value in values)
    yield from itertools.product(values, values[::3])
    yield from itertools.product(values[::5], values[::7], values[::6])
    yield from ((value, [], [1], [index]) for value in values for index in (0, 1, -1, 2**70, "x"))


# Their own answer to a wrong call; RuntimeError is what a tensor says that is asked for its truth.
EXPECTED = (TypeError, ValueError, OverflowError, NotImplementedError, AttributeError, IndexError)
OF_ARGUMENTS = "Boolean value of Tensor with more than one value is ambiguous"


def main(start: int, step: int) -> None:
    everything = list(calls())
    for number, (name, target) in enumerate(targets()):
        if number % step != start:
            continue
        for index, args in enumerate(everything):
            # Before the call, so that a crash is told.
            print(json.dumps([name, index]), flush=True) if index % 50 == 0 else None
            for keywords in ({}, {"x": 1}) if index % 10 == 0 else ({},):
                try:
                    target(*args, **keywords)
                except EXPECTED:
                    pass
                except Exception as error:
                    if str(error) == OF_ARGUMENTS:
                        continue
                    what = f"{name}{args!r:.300}: {type(error).__name__}: {error}"
                    raise AssertionError(what) from error
        _C.set_hooks()
        if name == "set_tensor_access":
            _C.set_tensor_access("layout")


@pytest.mark.parametrize("start", range(2))
def test_every_private_function_with_every_kind_of_value(start):
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), str(start), "2"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(Path(armature.__file__).parent.parent)},
    )
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"after {last}: {done.returncode}\n{done.stderr[-2000:]}"


class Settable:
    kind = 1


def uses_private_functions(existing, numbers, random):
    Settable.kind = next(existing, None)
    chained, saved = itertools.chain(numbers, numbers), itertools.cycle(numbers)
    next(chained), next(saved)
    generator, walked = (n for n in numbers), reversed(numbers)
    next(generator), next(walked)
    Made = type("Made", (Settable,), {})
    return chained, saved, generator, walked, Made, random.random()


def test_nothing_but_generated_code_calls_what_trusts_it():
    compiled = armature.compile(uses_private_functions, backend="eager")
    for existing in (enumerate([1, 2]), itertools.pairwise([1, 2])):
        compiled(existing, [1, 2, 3], random.Random(1))
    gc.unfreeze()  # What tests have hidden from collections is among all objects.
    trusting = {
        each.__name__: each
        for each in gc.get_objects()
        if type(each) is types.BuiltinFunctionType and type(each.__self__) in (type(None), tuple)
    }
    for name in (
        "advance_iterator",
        "set_iterator_state",
        "new_chain",
        "make_iterator",
        "place_generator",
        "make_class",
        "set_class_attribute",
        "skip_draws",
    ):
        for arguments in ((), (1,), (None, None), ([], 0, "x", 3, 4)):
            with pytest.raises(TypeError, match=rf"{name}\(\) is called by compiled code alone"):
                trusting[name](*arguments)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))


@pytest.mark.parametrize("other", [object, type, int, _C.CompiledFunction, type("Other", (), {})])
def test_another_class_does_not_become_error_on_graph_break(other):
    with pytest.raises(TypeError, match="the class error_on_graph_break, not"):
        _C.model_error_on_graph_break(other)
    assert armature.compile(lambda: type(other))() is type(other)

"""torch's own samples of its operations, whose results and arguments are then changed in place.

Plain Python says what becomes of every array, and which are one, or lie in one memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
import torch_samples
from torch.utils._pytree import tree_leaves

CHUNKS = 8
# What they leave in memory is anything.
UNINITIALIZED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"} | {
    "new_empty_strided",
    "resize_",
    "resize_as_",
}


def strided(value: Any) -> list[torch.Tensor]:
    arrays = [each for each in tree_leaves(value) if isinstance(each, torch.Tensor)]
    return [each for each in arrays if each.layout == torch.strided]


def zero_first(value: Any) -> None:
    """Sets the first array in nested sequences to zeros, if one stands there."""
    while isinstance(value, tuple | list) and len(value):
        value = value[0]
    if isinstance(value, torch.Tensor):
        value.zero_()


def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda arguments, keywords: function(*arguments, **keywords)


def with_changed_result(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        zero_first(result)
        return result

    return call


def with_changed_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        zero_first(arguments)
        return result

    return call


def outcome(function: Callable[..., Any], sample: Any) -> Any:
    arguments = torch_samples.copy((sample.input, *sample.args))
    keywords = torch_samples.copy(sample.kwargs)
    torch.manual_seed(5)
    try:
        result = function(arguments, keywords)
    except Exception as error:
        return type(error), str(error), strided((arguments, keywords))
    given, arrays = strided((arguments, keywords)), strided(result)
    which = [next((i for i, each in enumerate(given) if each is array), -1) for array in arrays]
    memories = [array.untyped_storage().data_ptr() for array in given + arrays]
    shared = [
        [i for i, other in enumerate(memories) if memory and other == memory] for memory in memories
    ]
    return which, shared, arrays + given, torch.rand(1)


def assert_same(expected: Any, actual: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert (expected.dtype, expected.stride()) == (actual.dtype, actual.stride())
        # Compilers of graphs compute some by other formulas.
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3, equal_nan=True)
    elif isinstance(expected, list | tuple):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            assert_same(one, other)
    else:
        assert expected == actual


@functools.cache
def samples() -> list[tuple[str, Callable[..., Any], Any]]:
    """One of each operation that takes and makes strided arrays."""
    found = []
    for operation in torch_samples.operator_database():
        if operation.name in UNINITIALIZED or torch.float32 not in operation.dtypes:
            continue
        sample = next(iter(operation.sample_inputs("cpu", torch.float32)), None)
        if sample is None:
            continue
        given = tree_leaves((sample.input, sample.args, sample.kwargs))
        if all(each.layout == torch.strided for each in given if isinstance(each, torch.Tensor)):
            name = f"{operation.name} {operation.variant_test_name}".strip()
            found.append((name, operation.op, sample))
    return found


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [as_it_is, with_changed_result, with_changed_argument])
def test_operations(program: Callable[..., Any], backend: str, chunk: int) -> None:
    known = samples()
    assert len(known) > 400
    different = []
    for name, operation, sample in known[chunk::CHUNKS]:
        armature.reset()
        call = program(operation)
        try:
            expected = outcome(call, sample)
            assert_same(expected, outcome(armature.compile(call, backend=backend), sample))
        except AssertionError as error:
            different.append(f"{name}: {error}")
    assert different == []

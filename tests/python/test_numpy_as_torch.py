"""Graphs with operations of NumPy under torch's backends: config.numpy_as_torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import numpy as np
import pytest
import torch
from armature import config

pytestmark = pytest.mark.filterwarnings("ignore")


class Counting:
    """A backend that notes the graphs that it is given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, module: Any, examples: list[Any]) -> Callable[..., Any]:
        assert not any(isinstance(each, np.ndarray) for each in examples)
        self.graphs.append(module)
        return module.forward

    def operations(self) -> list[int]:
        return [sum("call" in node.op for node in each.graph.nodes) for each in self.graphs]


class CountingDynamo(Counting):
    """The same for TorchDynamo, which counts as it does."""


def array() -> np.ndarray[Any, Any]:
    return np.arange(6.0).reshape(2, 3) + 1


def close(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.allclose(left, right)
    if isinstance(left, (np.ndarray, np.generic)):
        return left.dtype == right.dtype and left.shape == right.shape and np.allclose(left, right)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(close, left, right))
    return bool(left == right)


TRANSLATED: list[Callable[[Any], Any]] = [
    lambda a: np.sin(a) + 1,
    lambda a: a @ a.T,
    lambda a: a.sum(axis=0) / a.mean(),
    lambda a: (a.reshape(3, 2).T, a[0, 1:], a[:, ::2]),
    lambda a: a.astype(np.float32) * np.float32(2),
    lambda a: np.zeros((2, 3), dtype=np.int32) + np.int32(3),
    lambda a: (a.astype(int), a.astype(bool), np.ones(3, dtype=float)),
    lambda a: np.concatenate([a, np.ones((1, 3))]),
    lambda a: np.where(a > 2, a, 0.0),
    lambda a: np.linalg.norm(a, axis=1),
    lambda a: a.sum(),
    lambda a: torch.from_numpy(a) * 2,
    lambda a: (torch.from_numpy(a) + 1).numpy() * 3,
    lambda a: torch.from_numpy(np.cos(a)).mean() * a.max(),
    lambda a: np.array_split(a, 2),
    lambda a: np.clip(a, 2, a_max=4).argmax(),
    lambda a: a.dtype == np.float64 and a * 2,
]

# Those without an equal.
DECLINED: list[Callable[[Any], Any]] = [
    lambda a: np.sin(torch.from_numpy(a)) + a.sum(),
    lambda a: np.add.reduce(a),
    lambda a: a.astype(np.longdouble) + 1,
    lambda a: np.interp(a[0], a[1], a[1]),
    lambda a: np.add(a, 1, out=a) + 1,
]


@pytest.mark.parametrize("index", range(len(TRANSLATED)))
@pytest.mark.parametrize("name", ["counting", "aot_eager"])
def test_goes_to_the_backend(index: int, name: str) -> None:
    f = TRANSLATED[index]
    backend = Counting() if name == "counting" else name
    with config.patch(numpy_as_torch=True if name == "counting" else None):
        compiled = armature.compile(f, backend=backend, fullgraph=True)
    for _ in range(2):
        assert close(compiled(array()), f(array()))
    if isinstance(backend, Counting):
        assert len(backend.graphs) == 1
        dynamo = CountingDynamo()
        torch._dynamo.reset()
        torch.compile(f, backend=dynamo)(array())
        assert backend.operations() == dynamo.operations() or len(dynamo.graphs) != 1


@pytest.mark.parametrize("f", DECLINED)
def test_without_an_equal_numpy_runs(f: Callable[[Any], Any]) -> None:
    backend = Counting()
    with config.patch(numpy_as_torch=True):
        compiled = armature.compile(f, backend=backend, fullgraph=True)
    for _ in range(2):
        given, other = array(), array()
        assert close(compiled(given), f(other))
        assert close(given, other)
    assert not backend.graphs


def test_the_default_is_for_names() -> None:
    backend = Counting()
    compiled = armature.compile(lambda a: a + 1, backend=backend)
    assert close(compiled(array()), array() + 1)
    assert not backend.graphs
    with config.patch(numpy_as_torch=False):
        off = armature.compile(lambda a: np.log(a), backend="aot_eager")
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        off(array() - 1)


@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
def test_what_comes_before_a_failure_is_not_lost(backend: str) -> None:
    """The exception is NumPy's, where nothing has been changed that could not be again."""

    def inverted(a: Any, log: list[str]) -> Any:
        log.append("before")
        return np.linalg.inv(a) + 1

    def picked(a: Any, log: list[str]) -> Any:
        log.append("before")
        return np.arange(3)[a]

    for function, good, bad in [
        (inverted, np.eye(2), np.zeros((2, 2))),
        (picked, np.array([1]), np.array([7])),
    ]:
        outcomes = []
        for call in (function, armature.compile(function, backend=backend)):
            log: list[str] = []
            call(good, log)
            with pytest.raises((ValueError, IndexError)) as caught:
                call(bad, log)
            frames = [entry.lineno for entry in caught.traceback if entry.name == function.__name__]
            outcomes.append((log, type(caught.value), str(caught.value), frames))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("value", [1, "yes", 0])
def test_the_setting_is_a_bool(value: Any) -> None:
    with pytest.raises(TypeError, match="numpy_as_torch must be a bool"):
        config.numpy_as_torch = value


def test_the_setting_is_no_other_functions() -> None:
    backend = Counting()

    def f(a):
        return a * 2

    plain = armature.compile(f, backend=backend)
    with config.patch(numpy_as_torch=True):
        other = armature.compile(f, backend=backend)
    for compiled in (plain, other, plain, other):
        assert close(compiled(array()), f(array()))
    assert len(backend.graphs) == 1


@pytest.mark.parametrize("backend", ["aot_eager", "counting"])
def test_arrays_are_changed_in_place(backend: str) -> None:
    def f(a):
        b = a.T
        a += 1
        b[0] = 7
        t = torch.from_numpy(a)
        t.mul_(2)
        return a.sum(), b

    with config.patch(numpy_as_torch=True):
        compiled = armature.compile(f, backend=Counting() if backend == "counting" else backend)
    for _ in range(2):
        given, other = array(), array()
        assert close(compiled(given), f(other))
        assert close(given, other)


def test_arrays_that_are_no_tensors() -> None:
    def f(a):
        return a + 1

    with config.patch(numpy_as_torch=True):
        compiled = armature.compile(f, backend=Counting())
    readable = array()
    readable.flags.writeable = False
    for each in (array(), readable, array()[::-1], array().astype(np.longdouble), array()):
        for _ in range(2):
            assert close(compiled(each), f(each))


def test_read_only_arrays_stay_as_they_are() -> None:
    def f(a):
        a += 1
        return a.sum()

    with config.patch(numpy_as_torch=True):
        compiled = armature.compile(f, backend=Counting())
    assert close(compiled(array()), f(array()))
    readable = array()
    readable.flags.writeable = False
    for of in (f, compiled):
        with pytest.raises(ValueError, match="read-only"):
            of(readable)
    assert close(readable, array())


def test_errors_of_the_backend_are_the_users() -> None:
    def backend(module: Any, examples: list[Any]) -> Any:
        raise ZeroDivisionError("of the backend")

    with config.patch(numpy_as_torch=True):
        compiled = armature.compile(lambda a: a + 1, backend=backend)
    with pytest.raises(ZeroDivisionError, match="of the backend"):
        compiled(array())

"""Translations belong to a code object and its settings: whoever compiles it again finds them."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import compilations

X = torch.arange(3.0)
SCALE = 2


def double(x: Any) -> Any:
    return x * SCALE


def count(call: Callable[[], Any], expected: Any = None) -> int:
    """How many translations the call makes."""
    with compilations() as made:
        result = call()
    if expected is not None:
        assert torch.equal(result, expected)
    return len(made)


def test_a_function_that_is_compiled_again() -> None:
    assert [count(lambda: armature.compile(double)(X), X * 2) for _ in range(3)] == [1, 0, 0]
    first, second = armature.compile(double), armature.compile(double)
    assert count(lambda: first(X)) + count(lambda: second(X)) == 0
    armature.reset()
    assert [count(lambda: second(X)), count(lambda: first(X))] == [1, 0]


def test_what_changes_between_two_calls_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count(lambda: armature.compile(double)(X), X * 2) == 1
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert count(lambda: armature.compile(double)(X), X * 3) == 1
    monkeypatch.setitem(globals(), "SCALE", 2)
    assert count(lambda: armature.compile(double)(X), X * 2) == 0


def test_nested_functions_made_anew() -> None:
    def outer(x: Any, n: int) -> Any:
        @armature.compile
        def inner(y: Any, m: int = n) -> Any:
            return y * n + m

        return inner(x)

    assert [count(lambda: outer(X, 1), X + 1) for _ in range(3)] == [1, 0, 0]
    assert count(lambda: outer(X, 5), X * 5 + 5) == 1
    assert count(lambda: outer(X, 1), X + 1) == 0
    compiled = armature.compile(outer)
    assert count(lambda: compiled(X, 1), X + 1) > 0
    assert [count(lambda: compiled(X, 1), X + 1) for _ in range(3)] == [0, 0, 0]
    assert [count(lambda: armature.compile(outer)(X, 1), X + 1) for _ in range(2)] == [0, 0]


def test_twins_with_other_globals_and_code() -> None:
    def twin(**names: Any) -> Any:
        return types.FunctionType(double.__code__, {"SCALE": 7, **names})

    assert count(lambda: armature.compile(double)(X), X * 2) == 1
    one, two = twin(), twin(SCALE=8)
    assert count(lambda: armature.compile(one)(X), X * 7) == 1
    assert count(lambda: armature.compile(two)(X), X * 8) == 1
    compiled = armature.compile(one)
    assert count(lambda: compiled(X), X * 7) == 0
    one.__code__ = (lambda x: x + SCALE).__code__
    assert count(lambda: compiled(X), X + 7) == 1
    one.__code__ = double.__code__
    assert count(lambda: compiled(X), X * 7) <= 1


def test_defaults_and_closures_are_each_functions_own() -> None:
    def make(n: int, default: int) -> Any:
        def inner(x: Any, m: int = default) -> Any:
            nonlocal n
            n += 1
            return x * n + m

        return inner

    one, two = make(1, 10), make(5, 20)
    for function, expected in ((one, X * 2 + 10), (two, X * 6 + 20), (one, X * 3 + 10)):
        assert torch.equal(armature.compile(function)(X), expected)


def test_settings_keep_apart() -> None:
    def backend(module: Any, inputs: Any) -> Any:
        return module.forward

    def call(**settings: Any) -> Callable[[], Any]:
        return lambda: armature.compile(double, **settings)(X)

    held = armature.compile(double)  # whatever is collected meanwhile
    assert count(lambda: held(X), X * 2) == 1
    assert [count(call(fullgraph=True), X * 2) for _ in range(2)] == [1, 0]
    assert [count(call(backend=backend), X * 2) for _ in range(2)] == [1, 0]
    fresh = [count(call(backend=lambda module, inputs: module.forward), X * 2) for _ in range(2)]
    assert fresh == [1, 1]
    assert [count(call(backend="aot_eager"), X * 2) for _ in range(2)] == [1, 0]
    with armature.config.patch(recompile_limit=3):
        assert [count(call(), X * 2) for _ in range(2)] == [1, 0]
    assert count(call(), X * 2) == 0


def test_explanations_are_of_a_compilation_of_their_own() -> None:
    compiled = armature.compile(double)
    compiled(X)
    assert [armature.explain(double)(X).graph_count for _ in range(2)] == [1, 1]
    assert count(lambda: compiled(X)) == 0


def test_the_limit_is_that_of_the_code() -> None:
    def f(x: Any, n: int) -> Any:
        items = [x] * 9
        return items[n]

    with armature.config.patch(recompile_limit=4):
        made = [count(lambda n=n: armature.compile(f)(X, n)) for n in range(8)]
    assert sum(made) == 4


def test_what_breaks_is_shared_whole() -> None:
    def broken(x: Any) -> Any:
        y = x + 1
        armature.graph_break()
        return y * 2

    assert count(lambda: armature.compile(broken)(X), (X + 1) * 2) == 2
    assert [count(lambda: armature.compile(broken)(X), (X + 1) * 2) for _ in range(2)] == [0, 0]


def test_modules() -> None:
    class Model(torch.nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: Any) -> Any:
            return x * self.factor

    one, two = Model(2), Model(3)
    assert [count(lambda: armature.compile(one)(X), X * 2) for _ in range(3)] == [1, 0, 0]
    assert torch.equal(armature.compile(two)(X), X * 3)
    assert count(lambda: armature.compile(one)(X), X * 2) == 0


@pytest.mark.parametrize("broken", [False, True])
def test_what_nobody_uses_dies_with_a_full_collection(broken: bool) -> None:
    class Held:
        pass

    def backend(module: Any, inputs: Any) -> Any:
        return module.forward

    namespace: dict[str, Any] = {"held": Held(), "armature": armature, "BREAKS": broken}
    exec(
        "def f(x):\n    if BREAKS: armature.graph_break()\n    return x + 1, held\n",
        namespace,
    )
    watched = [weakref.ref(thing) for thing in (namespace["held"], namespace["f"], backend)]
    armature.compile(namespace["f"], backend=backend)(X)
    del namespace, backend
    gc.collect()
    assert [reference() for reference in watched] == [None] * 3


def test_a_function_dies_at_once() -> None:
    def make() -> Any:
        def f(x: Any) -> Any:
            return x + 1

        return f

    f = make()
    watched = weakref.ref(f)
    armature.compile(f)(X)
    gc.disable()
    try:
        del f
        assert watched() is None
    finally:
        gc.enable()


def test_families_that_share_and_die_in_any_order() -> None:
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        compiled: list[Any] = [armature.compile(double) for _ in range(3)]
        for function in compiled:
            assert torch.equal(function(X), X * 2)
        for index in order:
            compiled[index] = None
            gc.collect()
            for function in compiled:
                assert function is None or torch.equal(function(X), X * 2)


def test_a_function_that_compiles_itself_again() -> None:
    def f(x: Any, depth: int) -> Any:
        if depth == 0:
            return x
        armature.graph_break()
        return armature.compile(f)(x + 1, depth - 1)

    expected = f(X, 3)
    assert torch.equal(armature.compile(f)(X, 3), expected)
    assert count(lambda: armature.compile(f)(X, 3), expected) == 0

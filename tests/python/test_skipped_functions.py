"""Functions that stay Python, while what they call is captured: disable(recursive=False),
skip_frame() and config.skip_modules; beside TorchDynamo, which has the first two."""

from __future__ import annotations

import gc
import pickle
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
import torch._dynamo
from armature import _C
from differential import break_reasons, check
from torch._dynamo.testing import CompileCounter

CAPTURED: list[tuple[str, bool]] = []


def note(who: str, is_captured: bool) -> None:
    CAPTURED.append((who, is_captured))


def captured(function: Callable[..., Any], *args: Any) -> dict[str, bool]:
    """Who was captured in a call, of those that say so by note()."""
    CAPTURED.clear()
    armature.compile(function)(*args)
    return dict(CAPTURED)


def below(x: torch.Tensor) -> torch.Tensor:
    note("below", armature.is_compiling())
    return x * 3


def middle(x: torch.Tensor) -> torch.Tensor:
    note("middle", armature.is_compiling())
    return below(x + 1) + 1


class Counter:
    """A backend that counts its graphs and their operations."""

    def __init__(self) -> None:
        self.graphs = self.operations = 0

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        self.graphs += 1
        self.operations += sum(n.op.startswith("call") for n in module.graph.nodes)
        return module.forward


def counts(function: Callable[..., Any], *args: Any) -> tuple[int, int]:
    counter = Counter()
    armature.compile(function, backend=counter)(*args)
    return counter.graphs, counter.operations


def dynamo_counts(function: Callable[..., Any], *args: Any) -> tuple[int, int]:
    torch._dynamo.reset()
    counter = CompileCounter()
    torch.compile(function, backend=counter)(*args)
    return counter.frame_count, counter.op_count


X = torch.ones(2)


# --- disable(recursive=False)


def test_only_the_disabled_function_itself_is_plain() -> None:
    inner = armature.disable(middle, recursive=False)

    def f(x: torch.Tensor) -> torch.Tensor:
        return inner(x * 2) + 1

    check(f, X, breaks=None)
    assert captured(f, X) == {"middle": False, "below": True}
    whole = armature.disable(middle)
    assert captured(lambda x: whole(x * 2) + 1, X) == {"middle": False, "below": False}


def test_disabled_as_in_dynamo() -> None:
    def plain(x: torch.Tensor) -> torch.Tensor:
        return triple(x + 1) + 1

    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    ours = armature.disable(plain, recursive=False)
    theirs = torch._dynamo.disable(plain, recursive=False)
    found = counts(lambda x: ours(x * 2) + 1, X)
    assert found == dynamo_counts(lambda x: theirs(x * 2) + 1, X) == (3, 3)


@pytest.mark.parametrize("recursive", [True, False])
def test_called_from_plain_python(recursive: bool) -> None:
    inner = armature.compile(lambda x: x + 1 if armature.is_compiling() else x - 1)
    outer = armature.disable(lambda x: (inner(x), below(x)), recursive=recursive)
    CAPTURED.clear()
    assert outer(X)[0].tolist() == ([0, 0] if recursive else [2, 2])
    assert CAPTURED == [("below", False)]  # of which nobody has asked for more


class Thing:
    @armature.disable(recursive=False)
    def __init__(self, value: torch.Tensor) -> None:
        note("init", armature.is_compiling())
        self.value = below(value)

    @armature.disable(recursive=False)
    def method(self, x: torch.Tensor) -> torch.Tensor:
        note("method", armature.is_compiling())
        return below(x) + self.value

    @armature.disable(recursive=False)
    def __call__(self, x: torch.Tensor, *, more: int) -> torch.Tensor:
        note("call", armature.is_compiling())
        return below(x) + more


def test_methods_and_constructors() -> None:
    def f(x: torch.Tensor) -> Any:
        thing = Thing(x)
        return thing.method(x), thing(x, more=3)

    check(f, X, breaks=None)
    assert captured(f, X) == {"init": False, "method": False, "call": False, "below": True}


class Layer(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        note("forward", armature.is_compiling())
        return below(x)


def test_modules_and_callable_objects() -> None:
    class Adder:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            note("adder", armature.is_compiling())
            return below(x)

    adder = armature.disable(Adder(), recursive=False)
    assert captured(lambda x: adder(x + 1), X) == {"adder": False, "below": True}
    layer = armature.disable(Layer(), recursive=False)
    assert captured(lambda x: layer(x + 1), X)["below"]
    assert not captured(lambda x: armature.disable(layer)(x + 1), X)["below"]
    partial = armature.disable(types.MethodType(middle, X), recursive=False)
    assert captured(lambda: partial(), *()) == {"middle": False, "below": True}


def test_generators_and_recursion() -> None:
    @armature.disable(recursive=False)
    def numbers(x: torch.Tensor) -> Iterator[torch.Tensor]:
        yield below(x)
        yield below(x + 1)

    def f(x: torch.Tensor) -> Any:
        return [n + 1 for n in numbers(x)]

    check(f, X, breaks=None)
    assert captured(f, X) == {"below": True}

    @armature.disable(recursive=False)
    def count(n: int) -> int:
        return count(n - 1) + 1 if n else 0

    check(lambda n: count(n) + 1, 50, breaks=None)


def test_kinds_and_pickles() -> None:
    disabled = armature.disable(middle, recursive=False, reason="too big")
    assert (disabled.recursive, disabled.reason) == (False, "too big")
    assert armature.disable(disabled, recursive=False) is disabled
    whole = armature.disable(disabled)
    assert whole.recursive and whole.function is middle
    assert armature.disable(whole, recursive=False) is whole  # that asks for more
    copy = pickle.loads(pickle.dumps(disabled))
    assert (copy.recursive, copy.reason, copy.function) == (False, "too big", middle)
    assert armature.compile(whole) is whole
    with pytest.raises(TypeError):
        armature.disable(3, recursive=False)


def test_the_reason_is_told() -> None:
    disabled = armature.disable(middle, reason="it prints")
    (reason,) = armature.explain(lambda x: disabled(x) + 1)(X).break_reasons
    assert reason.explanation.endswith("Reason: it prints")
    with pytest.raises(armature.Unsupported, match="Reason: it prints"):
        armature.compile(lambda x: disabled(x), fullgraph=True)(X)


def test_a_disabled_function_dies() -> None:
    def made() -> weakref.ref[Any]:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return below(x)

        disabled = armature.disable(inner, recursive=False)
        armature.compile(lambda x: disabled(x) + 1)(X)
        return weakref.ref(inner)

    reference = made()
    gc.collect()
    assert reference() is None


# --- skip_frame()


def test_the_whole_frame_is_plain() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        note("f", armature.is_compiling())
        x = x + 1
        armature.skip_frame()
        return below(x) + 2

    def theirs(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        torch._dynamo.skip_frame()
        return triple(x) + 2

    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    check(f, X, breaks=None)
    assert captured(f, X) == {"f": False, "below": True}
    assert counts(f, X) == (1, 1)
    assert dynamo_counts(theirs, X)[0] == 1


def test_skipped_inside_a_called_function() -> None:
    def inner(x: torch.Tensor, skip: Callable[..., None]) -> torch.Tensor:
        x = x * 5
        skip("why")
        return triple(x) + 2

    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    def f(x: torch.Tensor, skip: Callable[..., None]) -> torch.Tensor:
        return inner(x + 1, skip) + 2

    compiled = check(f, X, armature.skip_frame, breaks=None)
    found = {reason["gb_type"]: reason["context"] for reason in break_reasons(compiled)}
    assert found.keys() == {"Skipped function", "Call of skip_frame()"}
    assert found["Call of skip_frame()"] == "why" and "inner" in found["Skipped function"]
    assert len(_C.entries(compiled)) == 4
    ours = counts(f, X, armature.skip_frame)
    assert ours == dynamo_counts(f, X, torch._dynamo.skip_frame) == (3, 3)


def test_behind_a_break_the_rest_is_plain() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        armature.graph_break()
        x = x + 2
        armature.skip_frame()
        return below(x) + 4

    check(f, X, breaks=None)
    assert counts(f, X) == (2, 2)


def test_skipped_where_the_condition_holds() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        note("f", armature.is_compiling())
        if n > 2:
            armature.skip_frame()
        return below(x) + n

    compiled = armature.compile(f)
    for n in (1, 3, 1, 3, 2, 4):
        CAPTURED.clear()
        assert torch.equal(compiled(X, n), f(X, n))
    CAPTURED.clear()
    compiled(X, 3)
    assert CAPTURED == [("f", False), ("below", True)]


def test_skipped_in_loops_handlers_and_special_methods() -> None:
    class Key:
        def __init__(self, value: int) -> None:
            self.value = value

        def __lt__(self, other: Key) -> bool:
            armature.skip_frame()
            return self.value < other.value

    def inner(x: torch.Tensor, i: int) -> torch.Tensor:
        try:
            if i % 2:
                armature.skip_frame("odd")
            return x + i
        finally:
            below(x)

    def f(x: torch.Tensor) -> Any:
        for i in range(5):
            x = inner(x, i)
        keys = sorted([Key(2), Key(1), Key(3)])
        return x, [key.value for key in keys]

    check(f, X, breaks=None)


def test_skipped_by_a_recursive_function() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        if n == 0:
            armature.skip_frame()
            return x
        return f(x + 1, n - 1) * 2

    check(f, X, 4, breaks=None)


def test_as_a_decorator_and_plainly() -> None:
    assert (
        armature.skip_frame() is armature.skip_frame("why") is armature.skip_frame(msg="x") is None
    )
    decorated = armature.skip_frame(middle)
    assert isinstance(decorated, _C.DisabledFunction) and not decorated.recursive
    assert captured(lambda x: decorated(x), X) == {"middle": False, "below": True}
    with pytest.raises(TypeError):
        armature.skip_frame(3)


def test_skip_frame_with_fullgraph() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        armature.skip_frame("here")
        return x

    with pytest.raises(armature.Unsupported, match="skip_frame") as caught:
        armature.compile(lambda x: inner(x), fullgraph=True)(X)
    assert [row[2] for row in caught.value.reason["stack"]] == ["<lambda>", "inner"]
    assert caught.value.reason["context"] == "here"


# --- config.skip_modules


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made = types.ModuleType("skipped_package.part")
    made.__dict__.update(note=note, below=below, armature=armature)
    program = """
def work(x):
    note("work", armature.is_compiling())
    return below(x) + 1

class Worker:
    def __init__(self, x):
        note("init", armature.is_compiling())
        self.x = below(x)
    def __getattr__(self, name):
        note("getattr", armature.is_compiling())
        return below(self.x)
    def each(self, x):
        note("each", armature.is_compiling())
        yield below(x)
        yield x

def outer(function, x):
    note("outer", armature.is_compiling())
    return function(x)
"""
    exec(compile(program, "skipped_package/part.py", "exec"), made.__dict__)
    sys.modules["skipped_package.part"] = made
    yield made
    del sys.modules["skipped_package.part"]


@pytest.mark.parametrize(
    ("names", "is_skipped"),
    [
        (["skipped_package.part"], True),
        (("other", "skipped_package"), True),
        (["skipped_pack"], False),
        (["skipped_package.part.inside"], False),
        (["part"], False),
        ([""], False),
        ([], False),
    ],
)
def test_by_name(module: types.ModuleType, names: list[str], is_skipped: bool) -> None:
    with armature.config.patch(skip_modules=names):
        check(lambda x: module.work(x) * 2, X, breaks=None)
        found = captured(lambda x: module.work(x) * 2, X)
        assert found == {"work": not is_skipped, "below": True}
        (*reasons,) = armature.explain(lambda x: module.work(x) * 2)(X).break_reasons
        assert {r.gb_type for r in reasons} == ({"Skipped function"} if is_skipped else set())


def test_every_way_to_call_it(module: types.ModuleType) -> None:
    def f(x: torch.Tensor) -> Any:
        worker = module.Worker(x)
        return worker.missing, list(worker.each(x)), module.outer(middle, x)

    with armature.config.patch(skip_modules=["skipped_package"]):
        check(f, X, breaks=None)
        found = captured(f, X)
    assert found == {
        "init": False,
        "getattr": False,
        "each": False,
        "outer": False,
        "middle": True,
        "below": True,
    }


def test_the_compiled_function_itself(module: types.ModuleType) -> None:
    with armature.config.patch(skip_modules=["skipped_package"]):
        assert captured(module.work, X) == {"work": False, "below": True}
        found = armature.explain(module.work)(X)
        assert [r.gb_type for r in found.break_reasons] == ["Skipped function"]
        with pytest.raises(armature.Unsupported, match=r"skip_modules"):
            armature.compile(module.work, fullgraph=True)(X)
        with pytest.raises(armature.Unsupported, match=r"skip_modules"):
            armature.compile(lambda x: module.work(x), fullgraph=True)(X)


def test_a_change_holds_from_the_next_call_on(module: types.ModuleType) -> None:
    compiled = armature.compile(lambda x: module.work(x) * 2)

    def is_captured() -> bool:
        CAPTURED.clear()
        compiled(X)
        return ("work", True) in CAPTURED

    assert is_captured()
    with armature.config.patch(skip_modules=["skipped_package.part"]):
        assert not is_captured()
        compiled(X)
    assert is_captured()


def test_a_module_that_lies_about_its_name(module: types.ModuleType) -> None:
    class Name(str):
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        def __hash__(self) -> int:
            raise AssertionError

    class Key:
        def __hash__(self) -> int:
            return hash("__name__")

        def __eq__(self, other: object) -> bool:
            raise AssertionError

    with armature.config.patch(skip_modules=["skipped_package"]):
        module.__dict__["__name__"] = Name("skipped_package")
        assert captured(lambda x: module.work(x), X)["work"]
        namespace: dict[Any, Any] = {"note": note, "armature": armature}
        exec("def work(x):\n    note('work', armature.is_compiling())\n    return x + 1", namespace)
        namespace[Key()] = 1
        assert captured(lambda x: namespace["work"](x), X)["work"]


def test_nonsense_is_refused() -> None:
    for wrong in ("torch", [1], [type("S", (str,), {})("torch")], 3):
        with pytest.raises(TypeError):
            armature.config.skip_modules = wrong  # type: ignore[assignment]
    assert armature.config.skip_modules == ()
    assert "skip_modules=()" in repr(armature.config)

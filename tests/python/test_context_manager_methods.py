"""Context managers of torch whose methods a program calls itself, without a with statement: an
ExitStack, a class around one, or code that enters here and leaves there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every, check, compare, observe

Manager = Callable[[], Any]

MANAGERS: dict[str, Manager] = {
    "no_grad": lambda: torch.no_grad(),
    "enable_grad": lambda: torch.enable_grad(),
    "set_grad_enabled": lambda: torch.set_grad_enabled(False),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast_off": lambda: torch.amp.autocast("cpu", enabled=False),
    "inference_mode": lambda: torch.inference_mode(),
    "record_function": lambda: torch.profiler.record_function("range"),
}


def modes() -> tuple[Any, ...]:
    return (
        torch.is_inference_mode_enabled(),
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
    )


def state() -> tuple[Any, ...]:
    nested = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return *modes(), nested


@pytest.fixture(autouse=True)
def leaves_no_mode() -> Iterator[None]:
    before = state()
    yield
    assert state() == before


def check_in_threads(fn: Callable[..., Any]) -> None:
    """Each call in a thread of its own, where it may leave modes as it likes."""
    compiled = armature.compile(fn)

    def call(run: Callable[..., Any]) -> Any:
        return observe(run, (inputs(True),), {}, None), state()

    with contextlib.ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(3)]
        runs = [fn, compiled, compiled]
        results = [pool.submit(call, run).result() for pool, run in zip(pools, runs, strict=True)]
    for seen, left in results[1:]:
        compare(results[0][0], seen)
        assert left == results[0][1]


def body(x: torch.Tensor) -> tuple[Any, ...]:
    y = (x @ x).sin()
    return y.detach(), y.dtype, y.requires_grad, modes()


def in_stack(make: Manager, x: torch.Tensor) -> Any:
    with contextlib.ExitStack() as stack:
        entered = stack.enter_context(make())
        inside = body(x)
    return inside, body(x), type(entered).__name__


def in_stack_raising(make: Manager, x: torch.Tensor) -> Any:
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(make())
            stack.enter_context(make())
            inside = body(x)
            raise KeyError("inside")
    except KeyError as error:
        return inside, body(x), error.args


def by_hand(make: Manager, x: torch.Tensor) -> Any:
    manager = make()
    manager.__enter__()
    try:
        inside = body(x)
    finally:
        left = manager.__exit__(None, None, None)
    return inside, body(x), left


def by_class(make: Manager, x: torch.Tensor) -> Any:
    manager = make()
    type(manager).__enter__(manager)
    inside = body(x)
    left = type(manager).__exit__(manager, None, None, None)
    return inside, body(x), left


class Around:
    def __init__(self, make: Manager) -> None:
        self.make = make

    def __enter__(self) -> Any:
        self.manager = self.make()
        return self.manager.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self.manager.__exit__(*error)


def in_class(make: Manager, x: torch.Tensor) -> Any:
    with Around(make):
        inside = body(x)
    return inside, body(x)


def one_after_the_other(make: Manager, x: torch.Tensor) -> Any:
    manager = make()
    results = []
    for _ in range(2):
        manager.__enter__()
        results.append(body(x))
        manager.__exit__(None, None, None)
    return results, body(x)


def over_a_break(make: Manager, x: torch.Tensor) -> Any:
    manager = make()
    manager.__enter__()
    before = body(x)
    armature.graph_break()
    behind = body(x)
    manager.__exit__(None, None, None)
    return before, behind, body(x)


def in_stack_over_a_break(make: Manager, x: torch.Tensor) -> Any:
    with contextlib.ExitStack() as stack:
        stack.enter_context(make())
        before = body(x)
        armature.graph_break()
        behind = body(x)
    return before, behind, body(x)


WHOLE = [in_stack, in_stack_raising, by_hand, by_class, in_class, one_after_the_other]
BROKEN = [over_a_break, in_stack_over_a_break]


def inputs(requires_grad: bool) -> torch.Tensor:
    return (torch.arange(9.0).reshape(3, 3) / 9).requires_grad_(requires_grad)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("use", WHOLE + BROKEN)
def test_is_as_plain(use: Callable[..., Any], manager: str, requires_grad: bool) -> None:
    make = MANAGERS[manager]
    options = {"fullgraph": use in WHOLE}
    check(lambda x: use(make, x), inputs(requires_grad), options=options)


@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("use", WHOLE)
def test_breaks_inside(use: Callable[..., Any], manager: str, every: int) -> None:
    make = MANAGERS[manager]
    with breaking_every(every):
        check(lambda x: use(make, x), inputs(True))


def test_what_a_gradient_mode_remembers() -> None:
    def fn(x: torch.Tensor) -> Any:
        manager = torch.no_grad()
        first = manager.prev
        manager.__enter__()
        second = manager.prev
        manager.__enter__()  # forgets the mode before
        inside = body(x)
        manager.__exit__(None, None, None)
        left = body(x)
        torch.set_grad_enabled(True)
        return first, second, manager.prev, inside, left

    check(fn, inputs(True))


def test_left_without_being_entered() -> None:
    def gradients(x: torch.Tensor) -> Any:
        manager = torch.no_grad()
        manager.__exit__(None, None, None)  # which sets what it was made with: no gradients
        inside = body(x)
        torch.set_grad_enabled(True)
        return inside, body(x)

    def autocast(x: torch.Tensor) -> Any:
        torch.autocast("cpu").__exit__(None, None, None)
        return body(x)

    def inside_another(x: torch.Tensor) -> Any:
        with torch.autocast("cpu"):
            torch.autocast("cpu").__exit__(None, None, None)
            return body(x)

    def a_range(x: torch.Tensor) -> Any:
        torch.profiler.record_function("range").__exit__(None, None, None)
        return body(x)

    for fn in (gradients, autocast, inside_another, a_range):
        check_in_threads(fn)


CROSSING: dict[str, tuple[Manager, Manager]] = {
    "autocast": (lambda: torch.autocast("cpu"), lambda: torch.autocast("cpu", enabled=False)),
    "gradients": (torch.no_grad, torch.enable_grad),
}


@pytest.mark.parametrize("managers", CROSSING)
def test_regions_that_cross(managers: str) -> None:
    make_first, make_second = CROSSING[managers]

    def fn(x: torch.Tensor) -> Any:
        first, second = make_first(), make_second()
        first.__enter__()
        second.__enter__()
        results = [body(x)]
        first.__exit__(None, None, None)
        results.append(body(x))
        second.__exit__(None, None, None)
        return results, body(x)

    check_in_threads(fn)


def test_a_manager_that_is_entered_and_given_away() -> None:
    def enter(x: torch.Tensor, make: Manager) -> Any:
        manager = make()
        manager.__enter__()
        return manager, body(x)

    x = inputs(True)
    for make in (torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.bfloat16)):
        results = []
        for run in (enter, armature.compile(enter), armature.compile(enter)):
            manager, inside = run(x, make)
            during = state()
            attributes = dict(vars(manager))
            manager.__exit__(None, None, None)
            results.append((inside[1:], during, attributes, type(manager), state()))
        assert results[1] == results[0] == results[2]


@pytest.mark.parametrize(
    "arguments", [(), (None,), (None, None, None, None)], ids=["none", "one", "four"]
)
def test_wrong_arguments(arguments: tuple[None, ...]) -> None:
    def leave(x: torch.Tensor) -> Any:
        with torch.no_grad():
            manager = torch.no_grad()
            try:
                manager.__exit__(*arguments)
            except TypeError as error:
                return str(error), body(x)
            return body(x)

    def enter(x: torch.Tensor) -> Any:
        try:
            torch.no_grad().__enter__(*arguments, 1)
        except TypeError as error:
            return str(error), body(x)
        return body(x)

    for fn in (leave, enter):
        check(fn, inputs(True))


def test_methods_that_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Own(torch.no_grad):
        def __enter__(self) -> None:
            seen.append("enter")
            super().__enter__()

        def __exit__(self, *error: Any) -> None:
            seen.append("exit")
            super().__exit__(*error)

    x = inputs(True)
    for make in (torch.no_grad, Own):

        def fn(x: torch.Tensor, make: Manager = make) -> Any:
            return by_hand(make, x)

        compiled = check(fn, x)
        seen.clear()
        before = torch.no_grad.__enter__
        with monkeypatch.context() as patch:
            patch.setattr(
                torch.no_grad, "__enter__", lambda self: (seen.append("own"), before(self))[1]
            )
            compare(observe(fn, (x,), {}, None), observe(compiled, (x,), {}, None))
        half = len(seen) // 2
        assert seen[:half] == seen[half:] and "own" in seen
        seen.clear()
        compare(observe(fn, (x,), {}, None), observe(compiled, (x,), {}, None))


def test_methods_of_tensors_under_a_device() -> None:
    def fn(x: torch.Tensor) -> Any:
        with torch.device("cpu"):
            shape, dtype = x.shape, x.dtype
            return torch.ones(shape[0], dtype=dtype) + x.detach(), x.requires_grad

    check(fn, inputs(True), options={"fullgraph": True})

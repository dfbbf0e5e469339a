"""Operations that change an array in part before they raise: they do so once."""

from __future__ import annotations

import gc
import traceback
from typing import Any

import armature
import pytest
import torch

NOTED: list[Any] = []


def added(x: torch.Tensor, index: torch.Tensor) -> Any:
    NOTED.append("begun")
    x.index_add_(0, index, torch.ones(len(index)))
    NOTED.append("over")
    return x


def behind_a_change(x: torch.Tensor, index: torch.Tensor) -> Any:
    NOTED.append("begun")
    x.mul_(2)
    return x.index_add_(0, index, torch.ones(len(index)))


def of_a_helper(x: torch.Tensor, index: torch.Tensor) -> Any:
    NOTED.append("helper")
    result = behind_a_change(x, index)
    NOTED.append("over")
    return result


def in_a_handler(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        return behind_a_change(x, index)
    except IndexError as error:
        return str(error), [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def of_the_graphs_own(x: torch.Tensor, index: torch.Tensor) -> Any:
    y = x.clone()
    x.add_(1)
    NOTED.append(y)
    return y.index_add_(0, index, torch.ones(len(index)))


def behind_a_break(x: torch.Tensor, index: torch.Tensor) -> Any:
    x += 1
    armature.graph_break()
    return added(x, index)


def with_a_context(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        raise KeyError("handled")
    except KeyError:
        return added(x, index)


def outcome(function: Any, index: list[int]) -> str:
    NOTED.clear()
    x = torch.arange(4.0)
    result: Any = None
    try:
        result = function(x, torch.tensor(index))
    except IndexError as error:
        frames = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        result = str(error), frames[1:], repr(error.__context__)
    return repr((result, x, NOTED))


@pytest.mark.parametrize(
    "function",
    [
        added,
        behind_a_change,
        of_a_helper,
        in_a_handler,
        of_the_graphs_own,
        behind_a_break,
        with_a_context,
    ],
    ids=lambda function: function.__name__,
)
def test_arrays_are_changed_once(function: Any) -> None:
    compiled = armature.compile(function)
    for index in ([0, 1], [0, 1, 9], [2, 3], [0, 9], [1, 1, 7]):
        assert outcome(compiled, index) == outcome(function, index)


def held_by_a_dead_local(n: int, x: torch.Tensor) -> None:
    text = str(n)  # noqa: F841
    x[5] = 1


def test_what_guards_have_made_lives_as_long_as_the_call_that_goes_on() -> None:
    compiled = armature.compile(held_by_a_dead_local)
    for n in (300, -300, -400, -400, -500):
        with pytest.raises(IndexError):
            compiled(n, torch.ones(2))
        gc.collect()


def gives_gradients(t: torch.Tensor, other: torch.Tensor, log: list[int]) -> None:
    if not other.requires_grad:
        other.requires_grad_(True)
    log.append(1)
    part = t[0:2]
    part += t[1:3]
    log.append(2)


def changes_the_layout(t: torch.Tensor, other: torch.Tensor, log: list[int]) -> None:
    if other.dim() == 1:
        other.unsqueeze_(0)
    log.append(1)
    part = t[0:2]
    part += t[1:3]
    log.append(2)


@pytest.mark.parametrize("function", [gives_gradients, changes_the_layout])
def test_effects_are_kept_where_an_input_is_not_what_it_was(function: Any) -> None:
    compiled = armature.compile(function)
    for _ in range(3):
        seen = []
        for each in (function, compiled):
            other = torch.ones(3)
            log: list[int] = []
            with pytest.raises(RuntimeError, match="some elements of the input tensor"):
                each(torch.arange(3.0), other, log)
            seen.append((log, other.requires_grad, other.shape))
        assert seen[0] == seen[1]


WEIGHT = torch.ones(3, requires_grad=True)


def drops_a_value_in_a_handler_of_others(t: torch.Tensor, log: list[Any]) -> torch.Tensor:
    z = t = WEIGHT * 2
    t.register_hook(log.append)
    log.append(1)
    try:
        t = WEIGHT.view(3)
        t.add_(1)
        z = t + 1
    except AttributeError:
        z = t + 2
    return z


def test_a_handler_of_other_errors_needs_no_value() -> None:
    compiled = armature.compile(drops_a_value_in_a_handler_of_others)
    for _ in range(2):
        seen = []
        for each in (drops_a_value_in_a_handler_of_others, compiled):
            log: list[Any] = []
            with pytest.raises(RuntimeError, match="a view of a leaf") as caught:
                each(torch.arange(3.0), log)
            seen.append((log, [entry.lineno for entry in caught.traceback[1:]]))
        assert seen[0] == seen[1]


class Raised(Exception):
    pass


def raises(held: Any) -> None:
    raise Raised


def fails_in_a_handler(t: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    t.add_(1)
    y = t.sum()
    try:
        raises(y)
    except Raised:
        return t.index_select(0, index)
    return y


def fails_in_a_handler_of_a_handler(t: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    y = torch.rand(3)
    try:
        raises(y)
    except Raised:
        try:
            raises(t + y)
        except Raised:
            t.add_(1)
            return t[index]
    return y


@pytest.mark.parametrize("function", [fails_in_a_handler, fails_in_a_handler_of_a_handler])
def test_the_context_of_a_failure_has_the_values_of_its_frames(function: Any) -> None:
    compiled = armature.compile(function)
    for _ in range(2):
        contexts = []
        for each in (function, compiled):
            with pytest.raises(IndexError) as caught:
                each(torch.arange(3.0), torch.tensor([9]))
            context = caught.value.__context__
            assert type(context) is Raised and context.__traceback__ is not None
            inner = context.__traceback__.tb_next
            assert inner is not None
            contexts.append((repr(context.__context__), list(inner.tb_frame.f_locals)))
        assert contexts[0] == contexts[1]


class Doubling(torch.nn.Module):
    steps = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return torch.nn.functional.linear(x * 2, torch.ones(2, 3))


def suspended(arrays: list[torch.Tensor]) -> Any:
    for array in arrays:
        try:
            yield array
        finally:
            NOTED.append("closed")


@pytest.mark.parametrize("finishes", [True, False])
def test_effects_are_kept_behind_a_loop_over_a_generator(finishes: bool) -> None:
    """What it has yielded is nobody's any more."""

    def program(net: Doubling, arrays: list[torch.Tensor], x: torch.Tensor) -> Any:
        generator = suspended(arrays)
        for array in generator:
            array.mul_(0.5)
            if not finishes:
                break
        NOTED.append("changed")
        x = x + 1
        return net(x)

    outcomes = []
    for call in (program, armature.compile(program)):
        NOTED.clear()
        net, arrays = Doubling(), [torch.ones(3), torch.ones(3)]
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"same dtype|to have the"):
                call(net, arrays, torch.ones(4, 3).double())
        gc.collect()
        outcomes.append((net.steps, [array.tolist() for array in arrays], list(NOTED)))
    assert outcomes[0] == outcomes[1]


def test_effects_are_kept_where_a_generator_has_what_nobody_used() -> None:
    """The graph keeps it until the operation is done, and no longer."""

    def program(target: torch.Tensor, x: torch.Tensor, index: torch.Tensor) -> Any:
        kept = x.relu()
        target.add_(1)
        NOTED.append("before")

        def gathered() -> Any:
            nonlocal kept
            kept = torch.gather(x, 0, index)
            yield kept

        for _ in gathered():
            NOTED.append("turn")
        return kept

    def mapped(target: torch.Tensor, x: torch.Tensor, index: torch.Tensor) -> Any:
        kept = x.relu()
        target.add_(1)
        NOTED.append("before")

        def gather(part: torch.Tensor) -> Any:
            nonlocal kept
            kept = torch.gather(part, 0, index)
            return kept

        return [*map(gather, [x, x])], kept

    for function in (program, mapped):
        outcomes = []
        for call in (function, armature.compile(function)):
            NOTED.clear()
            target = torch.zeros(2)
            call(target, torch.arange(3.0), torch.tensor([0, 1]))
            with pytest.raises(RuntimeError, match="out of bounds") as caught:
                call(target, torch.arange(3.0), torch.tensor([0, 7]))
            frames = [(entry.name, entry.lineno) for entry in traceback.extract_tb(caught.tb)]
            outcomes.append((target.tolist(), list(NOTED), frames[1:]))
        assert outcomes[0] == outcomes[1]


class Suppressing:
    def __init__(self, suppresses: bool, total: Any = None) -> None:
        self.suppresses, self.total = suppresses, total

    def __enter__(self) -> None:
        NOTED.append("enter")

    def __exit__(self, kind: Any, error: Any, where: Any) -> bool:
        NOTED.append(("exit", kind and kind.__name__, str(error)))
        if self.total is not None:
            self.total.add_(100)
        return self.suppresses


def counting(x: torch.Tensor) -> Any:
    try:
        while True:
            yield x.add_(1)
    finally:
        NOTED.append("closed")


def test_what_a_call_was_gone_on_with_is_let_go_of() -> None:
    """Of a frame that ends normally, nothing holds the generator: no guard that asked after it."""

    def program(total: torch.Tensor, x: torch.Tensor, k: torch.Tensor) -> None:
        with Suppressing(False, total), Suppressing(True):
            with Suppressing(False, total), Suppressing(True):
                pass
            torch.linalg.cholesky(k)
        try:
            generator = counting(x)
            NOTED.append(next(generator))
            torch.linalg.solve(k, torch.ones(2))
        except RuntimeError:
            torch.rand(1)

    outcomes = []
    for call in (program, armature.compile(program)):
        NOTED.clear()
        total = torch.zeros(())
        for k in (torch.eye(2), torch.zeros(2, 2), torch.zeros(2, 2)):
            call(total, torch.arange(3.0), k)
            NOTED.append("end")
        outcomes.append((repr(NOTED), total.item()))
    assert outcomes[0] == outcomes[1]

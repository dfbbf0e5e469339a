"""What an operation gives back and says besides its result: its own argument, an exception that
only real tensors raise, a warning; and operations that a mode of the program sees."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import check
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

MAY_RETURN_ITS_ARGUMENT: list[Callable[[torch.Tensor], Any]] = [
    lambda x: x.contiguous(),
    lambda x: x.conj(),
    lambda x: x.resolve_conj(),
    lambda x: x.flatten(),
    lambda x: x.to(torch.float32),
    lambda x: x.to("cpu"),
    lambda x: x.float(),
    lambda x: x.double(),
    lambda x: x.view(-1),
    lambda x: x.squeeze(),
    lambda x: x.t(),
    lambda x: x * 1,
    lambda x: x.contiguous().conj().float(),
    lambda x: torch.positive(x),
    lambda x: torch.atleast_1d(x, x)[1],
    lambda x: torch.broadcast_tensors(x, x)[0],
    lambda x: torch.nn.functional.dropout(x, 0.5, False),
    lambda x: x.add_(1),
    lambda x: x.relu_().contiguous(),
]


@pytest.mark.parametrize("operation", MAY_RETURN_ITS_ARGUMENT)
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_an_operation_that_returns_its_argument(operation: Any, shape: tuple[int, ...]) -> None:
    def fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        try:
            result = operation(x)
        except RuntimeError:
            return None
        computed = y + 1
        again = operation(computed)
        return result is x, result is y, again is computed, result is again, x is y

    check(fn, torch.ones(shape), torch.zeros(shape))


def test_a_result_as_a_key() -> None:
    def fn(x: torch.Tensor) -> Any:
        known = {x: "x", x * 2: "other"}
        return known.get(x.contiguous()), known.get(x * 2), x.contiguous() in known

    check(fn, torch.ones(3))


def catch(operation: Callable[..., Any]) -> Callable[..., Any]:
    def fn(*arguments: Any) -> Any:
        try:
            operation(*arguments)
        except (RuntimeError, IndexError) as error:
            return type(error), str(error)
        return "nothing was raised"

    return fn


ONES = torch.ones(4, 4, 3)


@pytest.mark.parametrize(
    "operation, arguments",
    [
        (lambda x: x[:, [0, 1]], (torch.empty(10, 0),)),
        (lambda x: x[:, (0, 1)], (torch.empty(10, 0),)),
        (lambda x: x[[5]], (torch.empty(3),)),
        (lambda x: x[5], (torch.empty(3),)),
        (lambda x: x[0, 5], (torch.empty(3, 3),)),
        (lambda x: x.view(torch.float64), (ONES,)),
        (lambda x: x[:, :, 1:].view(torch.float64), (ONES,)),
        (lambda x: x.view(torch.float64), (ONES[:, :, 1:],)),
        (lambda x: x.view(torch.float64), (ONES[:, :, :2],)),
        (lambda x: x.H, (torch.ones(2),)),
        (lambda x, name: getattr(x, name), (torch.ones(2), "mT")),
        (lambda x: torch.argmax(x), (torch.ones(3, dtype=torch.bool),)),
        (lambda x: torch.linalg.cholesky(x), (torch.ones(1, 1).half(),)),
        (lambda x: torch.bitwise_and(x, x), (torch.ones(2),)),
    ],
)
def test_an_exception_of_an_unused_operation(operation: Any, arguments: tuple[Any, ...]) -> None:
    check(catch(operation), *arguments)

    def uncaught(*values: Any) -> int:
        operation(*values)
        return 1

    check(uncaught, *arguments)


def test_an_error_about_the_place_in_memory() -> None:
    fn = catch(lambda x: x.view(torch.float64))
    captured = armature.compile(fn)
    memory = torch.zeros(9)
    for offset in (1, 0, 1, 2):
        x = memory[offset : offset + 4]
        assert captured(x) == fn(x)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, mask: x[mask],
        lambda x, mask: x[mask].shape,
        lambda x, mask: torch.nn.functional.softmax(x).sum(),
        lambda x, mask: (x.T.shape, torch.ones(2, 2, 2).T.shape),
    ],
)
def test_warnings_are_as_many(fn: Any) -> None:
    def count(run: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            before = list(warnings.filters)
            run(torch.ones(4), torch.tensor([1, 0, 1, 0], dtype=torch.uint8))
            assert warnings.filters == before
        return [str(each.message) for each in caught]

    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        plain = count(fn)
        captured = armature.compile(fn)
        assert [count(captured), count(captured)] == [plain, plain]
        assert torch.is_warn_always_enabled()
    finally:
        torch.set_warn_always(always)


class Refused(RuntimeError):
    pass


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise Refused("function")


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise Refused("dispatch")


@pytest.mark.parametrize("mode", [FunctionMode, DispatchMode])
def test_a_mode_of_the_program_sees_operations(mode: Any) -> None:
    def caught(x: torch.Tensor) -> Any:
        y = x + 1
        try:
            with mode():
                torch.empty([])
        except Refused as error:
            return str(error), y
        return "nothing was raised"

    def uncaught(x: torch.Tensor) -> int:
        with mode():
            x * 2
        return 1

    check(caught, torch.ones(2))
    check(uncaught, torch.ones(2))


def test_a_mode_that_comes_later() -> None:
    captured = armature.compile(lambda x: (x + 1, 5)[1])
    x = torch.ones(2)
    assert captured(x) == 5
    with pytest.raises(Refused), FunctionMode():
        captured(x)
    with pytest.raises(Refused), DispatchMode():
        captured(x)
    with torch.device("cpu"):
        assert captured(x) == 5


def test_c_functions_that_are_no_operations() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        torch._enable_functionalization(reapply_views=False)
        try:
            y = torch._to_functional_tensor(x) + 1
            torch._sync(y)
            return torch._from_functional_tensor(y)
        finally:
            torch._disable_functionalization()

    check(fn, torch.ones(2))


def test_the_layout_of_a_tensor_that_is_resized() -> None:
    def fn(x: torch.Tensor) -> Any:
        flipped = x.permute(0, 2, 1)
        out = torch.empty(0)
        same = torch.add(flipped, flipped, out=out)
        kept = torch.empty(2, 4, 3)
        torch.add(flipped, flipped, out=kept)
        return same is out, same.stride(), out.shape, kept.stride(), torch.exp(flipped).stride()

    check(fn, torch.ones(2, 3, 4))


def test_tensors_that_share_memory() -> None:
    def fn(x: torch.Tensor) -> Any:
        try:
            x[:-1] <<= x[1:]
        except RuntimeError as error:
            return str(error)[:40]
        return "nothing was raised"

    check(fn, torch.ones(10))

    def add(x: torch.Tensor) -> Any:
        try:
            x[:-1].add_(x[1:])
        except RuntimeError as error:
            return str(error)[:40]
        return "nothing was raised"

    check(add, torch.ones(10))


def test_methods_of_tensors_are_equal() -> None:
    def fn(x: torch.Tensor) -> Any:
        size = x.size
        print(end="")
        return (
            [size == x.size, x.size == size, size != x.size, size is x.size, size == x.sum],
            [size == (x + 1).size, x.sum == x.sum, x.size == 3],
        )

    check(fn, torch.ones(2))


def in_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        y = x * x
        view = x.view(-1)
        made = torch.ones(2)
        told = y.is_inference(), view.is_inference(), view.requires_grad, y.is_leaf
        changed = made.add_(1).is_inference()
    return told, changed, y.is_inference(), (y + 1).is_inference(), y.view(-1).is_inference()


def changed_in_inference_mode(x: torch.Tensor) -> Any:
    y = x.clone()
    with torch.inference_mode():
        y.add_(1)
        view = y.view(-1)
        told = y.is_inference(), view.is_inference()
    try:
        view.add_(1)
    except RuntimeError as error:
        return told, str(error)[:40]
    return told, y.requires_grad


def mixed_with_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        made = torch.ones(2)
    try:
        return made * x
    except RuntimeError as error:
        return str(error)


@torch.inference_mode()
def wholly_in_inference_mode(x: torch.Tensor) -> Any:
    y = x * x
    return y.is_inference(), y.requires_grad, y.view(-1).is_inference(), x.is_inference()


@pytest.mark.parametrize(
    "fn",
    [
        in_inference_mode,
        changed_in_inference_mode,
        mixed_with_inference_mode,
        wholly_in_inference_mode,
        lambda x: (x.is_inference(), (x + 1).is_inference(), x.view(-1).is_inference()),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "requires grad", "inference"])
def test_inference_mode(fn: Any, kind: str) -> None:
    with torch.inference_mode(kind == "inference"):
        x = torch.ones(2, requires_grad=kind == "requires grad")
    captured = armature.compile(fn)

    def outcome(run: Any) -> str:
        try:
            return repr(run(x))
        except RuntimeError as error:
            return str(error)

    plain = outcome(fn)
    assert [outcome(captured), outcome(captured)] == [plain, plain]


def added_in_place(x: torch.Tensor) -> Any:
    return x.add_(1)


def written_to(x: torch.Tensor) -> Any:
    return torch.mul(torch.ones(2), 3, out=x)


def normalized(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        norm = torch.nn.BatchNorm1d(2)
    try:
        return norm(torch.ones(3, 2) * x)
    finally:
        x += norm.num_batches_tracked


@pytest.mark.parametrize("change", [added_in_place, written_to, normalized])
def test_what_is_changed_before_torch_raises_stays_changed(change: Any) -> None:
    def fn(x: torch.Tensor) -> Any:
        try:
            change(x)
        except RuntimeError as error:
            return str(error)[:40]

    captured = armature.compile(fn)
    with torch.inference_mode():
        plain, found = torch.ones(2), torch.ones(2)
    for _ in range(3):
        assert captured(found) == fn(plain)
        assert torch.equal(found, plain)


def test_hooks_on_saved_tensors_are_called_as_often() -> None:
    def fn(x: torch.Tensor, packed: list[Any]) -> Any:
        def pack(tensor: torch.Tensor) -> torch.Tensor:
            packed.append(tuple(tensor.shape))
            return tensor * 2

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor / 2):
            y = x * x
            y.sin()
            seen = len(packed)
            shape = y.sum(0).shape
            try:
                z = y.exp()
            finally:
                del packed[10:]
        return z, (shape, seen)

    x = torch.ones(2, 3, requires_grad=True)
    captured = armature.compile(fn)
    for _ in range(2):
        plain: list[Any] = []
        found: list[Any] = []
        expected, actual = fn(x, plain), captured(x, found)
        assert found == plain
        assert torch.equal(actual[0], expected[0]) and actual[1] == expected[1]

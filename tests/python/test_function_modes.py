"""Modes of torch.overrides that a traced program enters."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
import torch.nn.functional as F
from differential import break_reasons
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode

HEARD: list[Any] = []


class Notes(TorchFunctionMode):
    """Writes down what it hears of."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        HEARD.append((func.__name__, len(types), len(args), kwargs is None))
        return func(*args, **(kwargs or {}))


class Replaces(TorchFunctionMode):
    def __init__(self, factor: int):
        super().__init__()
        self.factor = factor
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        if func in (torch.add, torch.Tensor.add):
            return torch.mul(args[0], self.factor)
        if func is F.softmax:
            return args[0].sum()
        return func(*args, **(kwargs or {}))


class Raises(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise ValueError("not here")


def notes(x: torch.Tensor) -> torch.Tensor:
    with Notes():
        y = x + 1
        y = torch.sin(y).cos()
        y = 1 - y
        y = y * torch.ones(3) + F.relu(y)
    return y + 1


def replaces(x: torch.Tensor) -> Any:
    mode = Replaces(3)
    with mode:
        y = torch.add(x, 2) + 1
        z = F.softmax(y, 0)
    return y + 1, z, mode.count


def nested(x: torch.Tensor) -> Any:
    outer, inner = Replaces(3), Replaces(5)
    with outer, Notes(), inner:
        y = x + 1
        z = x.mul(2)
    return y, z, outer.count, inner.count


def attributes(x: torch.Tensor) -> Any:
    with Notes():
        size = x.shape[0] + x.dim() + x.size(0)
        flag = x.requires_grad or x.is_floating_point()
        y = x.T.reshape(1, 3)
    return y * size, flag


def raises(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    try:
        with Raises():
            y = y + 1
    except ValueError as error:
        HEARD.append(str(error))
    return y + 1


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    with Notes():
        y += 1
        y[0] = 5
        y.mul_(2)
    return y


def breaks_inside(x: torch.Tensor) -> torch.Tensor:
    mode = Replaces(2)
    y = x * 2
    with mode:
        y = torch.add(y, 1)
        torch._dynamo.graph_break()
        y = torch.add(y, 1)
    HEARD.append(mode.count)
    return y + 1


def leaves_early(x: torch.Tensor) -> torch.Tensor:
    for i in range(3):
        with Replaces(i):
            x = x + 1
            if i == 1:
                return x
    return x


def from_outside(x: torch.Tensor) -> torch.Tensor:
    with MODE:
        y = x + 1
    return y - 1


MODE = Replaces(7)


def base(x: torch.Tensor) -> torch.Tensor:
    with BaseTorchFunctionMode():
        return F.dropout(x + 1, training=False) @ x


def keeps_lists(x: torch.Tensor) -> torch.Tensor:
    parts = [x, x + 1]
    with Notes():
        return torch.cat(parts).sum(dim=0, keepdim=True)


def asks(x: torch.Tensor) -> Any:
    before = torch.overrides._get_current_function_mode()
    with Replaces(1) as mode:
        inside = torch.overrides._get_current_function_mode() is mode
        held = len(torch.overrides._get_current_function_mode_stack())
    return before, inside, held, x + 1


def gradients(x: torch.Tensor) -> torch.Tensor:
    with Notes():
        with torch.no_grad():
            y = x * 2
    return x * y


def generator(x: torch.Tensor) -> torch.Tensor:
    def turns():
        with Replaces(4):
            yield torch.add(x, 1)
            yield x + 2

    total = x
    for each in turns():
        total = total + each
    return total


def module(x: torch.Tensor) -> torch.Tensor:
    with Notes():
        return LINEAR(x)


def methods_in_python(x: torch.Tensor) -> Any:
    with Replaces(2) as mode:
        y = x.norm() + x.split(1)[0] + x**2
        kept = x.__reduce_ex__(4)[1][1]
    return y, kept, mode.count


def devices(x: torch.Tensor) -> Any:
    with torch.device("cpu") as device:
        y = torch.zeros(3) + x
    with torch.device("meta"):
        z = torch.ones(3)
        w = torch.ones(3, device="cpu")
    return y + w, z.device, device


LINEAR = torch.nn.Linear(3, 3)


def plain(x: torch.Tensor) -> torch.Tensor:
    y = torch.add(x, 1) * torch.ones(3)
    return (F.softmax(y, 0) + y.shape[0]).sin()


def rows(x: torch.Tensor) -> torch.Tensor:
    with Notes(), Replaces(3):
        return torch.vmap(lambda row, by: torch.add(row, 1) * by.sum(), in_dims=(0, None))(x, x)


def rows_of_rows(x: torch.Tensor) -> torch.Tensor:
    outer = x.reshape(1, 3) + x.reshape(3, 1)
    with Notes():
        mapped = torch.vmap(torch.vmap(lambda a, b: a * b + a.dim()), in_dims=(-1, 0), out_dims=1)
        return mapped(outer, outer)


def noted_in_rows(x: torch.Tensor) -> torch.Tensor:
    def inside(row: torch.Tensor) -> torch.Tensor:
        with Notes():
            return row.sin() + 1

    return torch.vmap(inside)(x)


def items_by_rows(x: torch.Tensor) -> torch.Tensor:
    table = x.detach().reshape(3, 1) * 2
    with TransformGetItemToIndex():
        return torch.vmap(lambda i: table[i] + table[i, i - i])(torch.arange(3))


def gradients_inside(x: torch.Tensor) -> torch.Tensor:
    with Notes():
        return torch.func.grad(lambda y: (y * y).sum())(x)


PROGRAMS = [
    notes,
    replaces,
    nested,
    attributes,
    raises,
    in_place,
    breaks_inside,
    leaves_early,
    from_outside,
    base,
    keeps_lists,
    asks,
    gradients,
    generator,
    module,
    devices,
    methods_in_python,
    rows,
    rows_of_rows,
    noted_in_rows,
    items_by_rows,
    gradients_inside,
]
NOT_WHOLE = [breaks_inside, gradients, generator, devices, methods_in_python]
NOT_WHOLE += [gradients_inside]
WHOLE = [program for program in PROGRAMS if program not in NOT_WHOLE]


def outcome(
    function: Callable[..., Any],
    requires_grad: bool,
    modes: list[TorchFunctionMode] | None = None,
) -> str:
    HEARD.clear()
    MODE.count = 0
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    with contextlib.ExitStack() as stack:
        for mode in modes or []:
            stack.enter_context(mode)
        try:
            result = function(x)
        except (ValueError, RuntimeError) as error:
            result = (type(error), str(error))
        held = len(torch.overrides._get_current_function_mode_stack())
    value = result[0] if isinstance(result, tuple) else result
    if isinstance(value, torch.Tensor) and value.requires_grad:
        value.sum().backward()
    states = [vars(mode) for mode in modes or []]
    text = repr((result, HEARD, x.grad, MODE.count, held, states))
    return re.sub(r"grad_fn=<\w+>|0x[0-9a-f]*", "", text)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_function_modes(program: Callable[..., Any], backend: str) -> None:
    compiled = armature.compile(program, backend=backend)
    for requires_grad in (False, True, False):
        expected = outcome(program, requires_grad)
        found = outcome(compiled, requires_grad)
        if backend == "eager" or not requires_grad:
            assert found == expected


@pytest.mark.parametrize("program", WHOLE, ids=lambda each: each.__name__)
def test_function_modes_are_captured_whole(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program, fullgraph=True)
    assert outcome(compiled, False) == outcome(program, False)
    assert not break_reasons(compiled)


def test_a_method_that_changes_between_calls() -> None:
    class Changes(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def program(x: torch.Tensor) -> torch.Tensor:
        with Changes():
            return x + 1

    compiled = armature.compile(program)
    x = torch.ones(3)
    assert torch.equal(compiled(x), program(x))
    Changes.__torch_function__ = lambda self, func, types, args=(), kwargs=None: args[0] - 5
    assert torch.equal(compiled(x), program(x))
    assert torch.equal(compiled(x), torch.full((3,), -4.0))


def under(modes: list[TorchFunctionMode], function: Callable[..., Any]) -> str:
    return outcome(function, False, modes)


@pytest.mark.parametrize("program", [*PROGRAMS, plain], ids=lambda each: each.__name__)
def test_modes_that_are_in_force(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program)

    def modes() -> list[list[TorchFunctionMode]]:
        return [
            [Replaces(11)],
            [Replaces(11)],
            [Replaces(12)],
            [],
            [Replaces(2), Notes()],
            [Notes(), Replaces(2)],
            [Raises()],
            [],
        ]

    for plainly, captured in zip(modes(), modes(), strict=True):
        expected = under(plainly, program)
        assert under(captured, compiled) == expected


@pytest.mark.parametrize("program", [plain, replaces, nested, attributes, in_place, keeps_lists])
def test_modes_that_are_in_force_are_captured(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program, fullgraph=True)
    for factor in (5, 5, 6):
        assert under([Replaces(factor)], compiled) == under([Replaces(factor)], program)
    assert not break_reasons(compiled)


def takes_out(x: torch.Tensor) -> Any:
    mode = torch.overrides._pop_mode()
    try:
        y = torch.add(x, 1)
    finally:
        torch.overrides._push_mode(mode)
    return torch.add(y, 1), len(torch.overrides._get_current_function_mode_stack())


def leaves_out(x: torch.Tensor) -> torch.Tensor:
    y = torch.add(x, 1)
    HEARD.append(type(torch.overrides._pop_mode()).__name__)
    return torch.add(y, 1)


@pytest.mark.parametrize("program", [takes_out, leaves_out])
def test_modes_that_the_program_takes_out(program: Callable[..., Any]) -> None:
    compiled = armature.compile(program, fullgraph=True)
    for _ in range(2):
        found = []
        for function in (program, compiled):
            mode = Replaces(3)
            torch.overrides._push_mode(mode)
            try:
                found.append(outcome(function, False) + repr(vars(mode)))
            finally:
                while torch._C._len_torch_function_stack():
                    torch.overrides._pop_mode()
        assert found[1] == found[0]


def test_a_default_device() -> None:
    compiled = armature.compile(notes)
    for device in (None, "cpu", None):
        torch.set_default_device(device)
        try:
            assert outcome(compiled, False) == outcome(notes, False)
        finally:
            torch.set_default_device(None)


@pytest.mark.parametrize("autocast_first", [False, True])
def test_a_device_beside_autocast(autocast_first: bool) -> None:
    def inside() -> Any:
        with torch.device("meta"), torch.autocast("cpu"):
            made = torch.ones(2)
            return (
                made.device.type,
                (made + 1).device.type,
                torch.nn.Linear(1, 1).weight.device.type,
            )

    def around() -> str:
        return torch.ones(2).device.type

    modes = [torch.device("meta"), torch.autocast("cpu")]
    assert armature.compile(inside)() == inside() == ("meta", "meta", "meta")
    with contextlib.ExitStack() as stack:
        for mode in reversed(modes) if autocast_first else modes:
            stack.enter_context(mode)
        assert armature.compile(around)() == around() == "meta"

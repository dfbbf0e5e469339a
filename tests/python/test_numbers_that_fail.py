"""Operations that raise because of the value of a number, which an earlier call had otherwise."""

from __future__ import annotations

import traceback
from typing import Any

import armature
import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

LOG: list[Any] = []
STATE = torch.zeros(2)


# Each with numbers that are right, wrong, right.
OPERATIONS = {
    "pow": (lambda x, k: x**k, (2, -1, 3)),
    "pow_": (lambda x, k: x.pow_(k), (2, -1, 3)),
    "full": (lambda x, k: torch.full((3,), k, dtype=torch.uint8), (2, 300, 3)),
    "masked_fill": (lambda x, k: x.to(torch.uint8).masked_fill(x > 0, k), (2, 300, 3)),
    "masked_fill of a tensor": (
        lambda x, k: x.to(torch.uint8).masked_fill(x > 0, torch.tensor(k)),
        (2, 300, 3),
    ),
    "masked_fill of half": (
        lambda x, k: x.half().masked_fill(x > 0, value=torch.tensor(k)),
        (2.0, 1e9, 3.0),
    ),
    "where": (lambda x, k: torch.where(x > 0, x.to(torch.uint8), k), (2, 300, 3)),
    "clamp": (lambda x, k: x.to(torch.uint8).clamp(max=k), (2, 300, 3)),
    "pad": (lambda x, k: F.pad(x.to(torch.uint8), (1, 1), value=k), (2, 300, 3)),
    "celu": (lambda x, k: F.celu(x.float(), k), (1.0, 0.0, 2.0)),
    "smooth_l1": (lambda x, k: F.smooth_l1_loss(x.float(), x.float(), beta=k), (1.0, -1.0, 2.0)),
    "in a sequence": (lambda x, k: torch.tensor([k, 1], dtype=torch.uint8) + x[:2], (2, 300, 3)),
    "alpha": (lambda x, k: x.to(torch.uint8).add(1, alpha=k), (2, 300, 3)),
    "more than 64 bits": (lambda x, k: torch.full((2,), k), (-1, 2**63, 3)),
    "add": (lambda x, k: x + k, (2, -1, 3)),
}


class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, operation: Any, k: Any) -> Any:
        return operation(x, k) * 1.0

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, None, None


def handled(operation: Any, x: Any, k: Any) -> Any:
    STATE.unsqueeze_(0)
    LOG.append("before")
    try:
        y = operation(x, k)
    except RuntimeError as error:
        LOG.append(str(error))
        y = None
    STATE.squeeze_(0)
    return y


def finished(operation: Any, x: Any, k: Any) -> Any:
    STATE.add_(1)
    LOG.append("before")
    try:
        return operation(x, k)
    finally:
        LOG.append("finally")


def left(operation: Any, x: Any, k: Any) -> Any:
    STATE.requires_grad_(not STATE.requires_grad)
    LOG.append("before")
    y = operation(x, k)
    LOG.append("behind")
    return y


def unused(operation: Any, x: Any, k: Any) -> Any:
    STATE.mul_(2)
    LOG.append("before")
    operation(x, k)
    LOG.append("behind")


def in_a_function(operation: Any, x: Any, k: Any) -> Any:
    STATE.add_(1)
    LOG.append("before")
    y = Power.apply(x, operation, k)
    LOG.append("behind")
    return y


def in_a_checkpoint(operation: Any, x: Any, k: Any) -> Any:
    STATE.add_(1)
    LOG.append("before")
    y = checkpoint(operation, x, k, use_reentrant=False)
    LOG.append("behind")
    return y


def outcome(function: Any, operation: Any, k: Any) -> str:
    LOG.clear()
    try:
        result = repr(function(operation, torch.arange(3), k))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == __file__]
        result = repr((type(error), str(error), lines[1:]))
    return result + repr((LOG, STATE))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    "program", (handled, finished, left, unused, in_a_function, in_a_checkpoint)
)
def test_the_second_number_fails(program: Any, name: str) -> None:
    operation, numbers = OPERATIONS[name]
    outcomes = []
    for function in (program, armature.compile(program)):
        global STATE
        STATE = torch.zeros(2)
        outcomes.append([outcome(function, operation, k) for k in (*numbers, numbers[1])])
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize(
    "operation",
    (
        lambda x: F.dropout(x, 0.5),
        lambda x: x.bernoulli(0.5),
        lambda x: torch.nn.functional.gumbel_softmax(x, tau=1j),
    ),
)
def test_what_raises_may_have_drawn_random_numbers(operation: Any) -> None:
    def function(x: Any) -> Any:
        try:
            y = operation(x)
        except (RuntimeError, TypeError) as error:
            y = str(error)
        return y, torch.rand(2)

    compiled = armature.compile(function)
    for x in (torch.ones(4), torch.ones(4, dtype=torch.int64), torch.ones(4), torch.ones(4).byte()):
        outcomes = []
        for each in (function, compiled):
            torch.manual_seed(0)
            outcomes.append(repr((each(x), torch.rand(1))))
        assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("clones", (False, True))
@pytest.mark.parametrize(
    "change",
    (
        lambda x, n: x.unsqueeze_(n),
        lambda x, n: x.squeeze_(n),
        lambda x, n: x.transpose_(n, 0),
        lambda x, n: x.swapaxes_(0, n),
        lambda x, n: x.unsqueeze_(torch.zeros(3).index_fill(0, n, 1.0).argmax()),
        lambda x, n: x.resize_(n + 1),
        lambda x, n: x.as_strided_((2,), (n,)),
    ),
)
def test_dimensions_that_are_arrays(change: Any, clones: bool) -> None:
    """What stands for them must not say how the tensor lies in its memory."""

    def function(x: Any, n: Any) -> Any:
        LOG.append("before")
        x = x.clone() if clones else x
        try:
            y = change(x, n)
        except IndexError as error:
            return str(error)
        return y.shape, x.shape, x.stride(), y.view(y.shape[0], -1), y is x

    compiled = armature.compile(function)
    for n in (1, 2, 0, 2, 1):
        outcomes = []
        for each in (function, compiled):
            LOG.clear()
            x = torch.arange(3.0).reshape(1, 3)
            outcomes.append(repr((each(x, torch.tensor(n)), x, LOG)))
        assert outcomes[1] == outcomes[0]


SIZES = {
    "max": (lambda x: x.max(), (2, 3), (0, 3)),
    "max of a dimension": (lambda x: x.max(dim=1)[0], (2, 3), (2, 0)),
    "median": (lambda x: x.median(dim=1)[0], (2, 3), (2, 0)),
    "interpolate": (
        lambda x: F.interpolate(x, size=(4, 4), mode="bilinear"),
        (1, 2, 3, 3),
        (1, 2, 0, 3),
    ),
    "pool": (lambda x: F.adaptive_avg_pool2d(x, 2), (1, 2, 4, 4), (1, 2, 0, 4)),
    "conv1d": (lambda x: F.conv1d(x, torch.ones(1, 2, 1), padding=1), (1, 2, 4), (1, 2, 0)),
}


@pytest.mark.parametrize("backend", ("eager", "aot_eager", lambda module, _: module.forward))
@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_fail(name: str, backend: Any) -> None:
    """A call of other sizes has run before."""
    operation, good, bad = SIZES[name]

    def function(x: Any, total: Any) -> Any:
        LOG.append("before")
        total.add_(1)
        try:
            return operation(x).shape
        except (RuntimeError, IndexError) as error:
            LOG.append(str(error))
            return "handled"
        finally:
            LOG.append("finally")

    compiled = armature.compile(function, backend=backend)
    for sizes in (good, bad, good, bad):
        outcomes = []
        for each in (function, compiled):
            LOG.clear()
            total = torch.zeros(1)
            outcomes.append(repr((each(torch.ones(sizes), total), total, LOG)))
        assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("convert", (lambda x, w: x.type_as(w), lambda x, w: x.to(w)))
def test_what_names_a_dtype_passes_no_gradient(convert: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        y = convert(x, w)
        if y.requires_grad:
            y = y.detach() * 100
        return y, y.requires_grad, y.is_leaf

    compiled = armature.compile(function)
    for x in (torch.tensor([True]), torch.ones(1).double(), torch.ones(1), torch.ones(1).half()):
        for requires_grad in (False, True):
            w = torch.nn.Parameter(torch.ones(2), requires_grad=requires_grad)
            assert repr(compiled(x, w)) == repr(function(x, w))
            if x.is_floating_point():
                y = x.clone().requires_grad_()
                assert repr(compiled(y, w)) == repr(function(y, w))

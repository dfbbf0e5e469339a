"""Results that are the argument, or lie in its memory, under backends that return copies.

What of a result changes, or is changed with, its argument has to do so under every backend: whether
two arrays are one is decided by torch, not by a compiler's form of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import break_reasons
from torch import nn
from torch.nn import functional

EVALUATED = nn.Dropout(0.5).eval()


def changed(result: torch.Tensor, *others: torch.Tensor) -> Any:
    result.add_(1)
    return (result, *others)


def checkpointed(x: torch.Tensor) -> Any:
    return torch.utils.checkpoint.checkpoint(
        lambda y: functional.dropout(y, 0.5, False), x, use_reentrant=False
    )


FUNCTIONS: list[Callable[[torch.Tensor], Any]] = [
    lambda x: functional.dropout(x, 0.5, False),
    lambda x: changed(functional.dropout(x, 0.5, False)),
    lambda x: changed(functional.dropout(x, 0.0)),
    lambda x: changed(functional.dropout(x, p=0, training=True)),
    lambda x: changed(torch.dropout(x, 0.5, False)),
    lambda x: changed(EVALUATED(x)),
    lambda x: changed(x, functional.dropout(x, 0.5, False)),
    lambda x: changed(functional.dropout(x, 0.5, False).view(2, 2), x),
    lambda x: changed(torch.chunk(functional.dropout(x, 0.5, False), 2)[1]),
    lambda x: changed(functional.dropout(functional.dropout(x, 0.5, False), 0.0)),
    lambda x: (functional.dropout(x, 0.5, False) + 1, functional.dropout(x, 0.5, False)),
    lambda x: changed(functional.dropout(x, 0.5, False) is x and x),
    lambda x: changed(checkpointed(x), x),
    lambda x: changed(x.flatten()),
    lambda x: changed(x.unsqueeze(0).flatten(0, 0).squeeze(0), x),
    lambda x: changed(torch.unsafe_split(x, 2)[1]),
    lambda x: changed(torch.unsafe_chunk(x, 2)[0]),
    lambda x: changed(torch.unsafe_split_with_sizes(x, [1, 3])[1]),
    lambda x: changed(x.as_strided((2,), (1,), 1)),
    lambda x: changed(x.as_strided((2,), (2,)), x[1:]),
    lambda x: changed(x[2:].as_strided((2,), (1,), 0), x[2:]),
    lambda x: changed(x[::2].as_strided((2,), (1,), 1)),
    lambda x: (changed(x)[0], x[1:].as_strided((2,), (1,), 0)),
]


def own(function: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """The same on an array that the trace has made."""

    def made(x: torch.Tensor) -> Any:
        x = x * 2
        return function(x), x

    return made


def shifted(make: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], Any]:
    """Reads, through what is made of the array, what it writes to the array."""

    def shift(x: torch.Tensor) -> Any:
        y = x * 2
        z = make(y)
        z[1:] = y[:-1]
        return y, z

    return shift


def through_a_view(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    v = y[:3]
    y.add_(1)
    y[1:] = v
    return y


SHIFTS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda y: y.add_(1),
    lambda y: functional.dropout(y, 0.5, False),
    lambda y: y.contiguous(),
    lambda y: y.flatten(),
    lambda y: y.to(torch.float32),
    lambda y: torch.atleast_1d(y),
]


def outcome(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    """What the call leaves: values, and which arrays are one, or in one memory; or raises."""
    try:
        arrays = [*torch.utils._pytree.tree_leaves(function(x)), x]
    except RuntimeError as error:  # torch refuses to copy an array over itself
        return str(error), x.tolist()
    values = [each.tolist() for each in arrays]
    return values, [
        [
            (one is other, one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())
            for other in arrays
        ]
        for one in arrays
    ]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_is_one_array_stays_one(backend: str) -> None:
    functions = [*FUNCTIONS, *map(own, FUNCTIONS), *map(shifted, SHIFTS), through_a_view]
    for number, function in enumerate(functions):
        expected = outcome(function, torch.arange(4.0))
        armature.reset()  # The same code holds many functions.
        compiled = armature.compile(function, backend=backend)
        for _ in range(2):
            actual = outcome(compiled, torch.arange(4.0))
            # Backends that compile may give two results that were one memory a memory each.
            if backend == "aot_eager" and number >= len(FUNCTIONS):
                assert actual[0] == expected[0], number
            else:
                assert actual == expected, number


def test_views_from_outside_are_not_left() -> None:
    def outside(x: torch.Tensor) -> Any:
        return changed(x.as_strided((2,), (1,), 0), x)

    results = []
    for function in (outside, armature.compile(outside, backend="aot_eager")):
        whole = torch.arange(4.0)
        results.append((outcome(function, whole[2:]), whole.tolist()))
    assert results[0] == results[1]


def conjugates_beside_parts(x: torch.Tensor) -> Any:
    c = torch.complex(x, x)
    parts = torch.view_as_real(c)
    k = c.conj()
    k.mul_(2)
    return c, parts, k


def one_window(x: torch.Tensor) -> torch.Tensor:
    x.unfold(0, 2, 1)[0].add_(1)
    return x


def one_row(x: torch.Tensor) -> torch.Tensor:
    x.expand(3, 4)[1].mul_(2)
    return x


def test_changes_by_way_of_odd_views() -> None:
    for function in (conjugates_beside_parts, one_window, one_row):
        expected = outcome(function, torch.arange(4.0))
        actual = outcome(armature.compile(function, backend="aot_eager"), torch.arange(4.0))
        assert actual == expected


def test_the_graph_shows_a_dropout_that_nobody_could_tell() -> None:
    texts = []

    def backend(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Any:
        texts.append(graph.code)
        return graph.forward

    def layer(x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x * 2, 0.5, False) + 1

    armature.compile(layer, backend=backend)(torch.ones(3))
    assert "dropout + 1" in texts[0]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_dropout_between_layers_draws_the_same_numbers(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    layers = kind(3, 2, 2, dropout=0.5, bidirectional=True)
    compiled = armature.compile(lambda x: layers(x)[0], backend="aot_eager")
    for gradients in (False, True):
        x = torch.randn(4, 2, 3, requires_grad=gradients)
        torch.manual_seed(1)
        expected = layers(x)[0], torch.rand(2)
        torch.manual_seed(1)
        actual = compiled(x), torch.rand(2)
        assert all(torch.equal(*pair) for pair in zip(expected, actual, strict=True))


def test_lengths_that_are_data() -> None:
    def loss(scores: torch.Tensor, targets: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return functional.ctc_loss(scores, targets, lengths, lengths) * 2

    torch.manual_seed(0)
    arguments = (
        torch.randn(9, 2, 5).log_softmax(2),
        torch.randint(1, 5, (2, 4)),
        torch.tensor([4, 3]),
    )
    compiled = armature.compile(loss, backend="aot_eager")
    assert torch.equal(compiled(*arguments), loss(*arguments))


def not_fitting() -> list[Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]:
    names = ("atan2_", "clamp_max_", "copysign_", "eq_", "fmod_", "hypot_", "pow_", "xlogy_")
    return [
        lambda x, y, name=name: getattr(x, name)(y)  # type: ignore[misc]
        for name in names
    ]


def test_what_does_not_fit_has_torchs_error() -> None:
    for function in not_fitting():
        errors = []
        for called in (function, armature.compile(function, backend="aot_eager")):
            with pytest.raises(RuntimeError) as caught:
                called(torch.ones(5, 1), torch.ones(5))
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_sources_of_other_shapes_stay_in_graphs() -> None:
    def scattered(x: torch.Tensor, mask: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x * 2
        x.masked_scatter_(mask, y)
        x.index_add_(0, torch.tensor([0, 0, 1]), y.view(3, 2))
        return x

    arguments = torch.ones(2, 2), torch.eye(2) > 0, torch.arange(6.0)
    compiled = armature.compile(scattered, backend="aot_eager")
    assert torch.equal(compiled(*arguments), scattered(*arguments))
    assert break_reasons(compiled) == []

"""Inputs that share memory, under backends that compute as if none did."""

import armature
import numpy
import pytest
import torch
from fuzz.library_state import contained

WEIGHT = torch.arange(6.0).reshape(2, 3)


class Holder:
    def __init__(self):
        self.held = torch.ones(2, 3)


HOLDER = Holder()


def changes_first(x, y):
    x.add_(1)
    return x * y


def beside_a_global(x, y):
    x.add_(1)
    return x * WEIGHT + y


def beside_an_attribute(x, y):
    x.add_(1)
    return x * HOLDER.held + y


def through_a_view(x, y):
    x[0].mul_(2)
    x[1] = y[0]
    return x + y


def behind_a_break(x, y):
    x.add_(1)
    armature.graph_break()
    x.mul_(2)
    return x * y * WEIGHT


def changes_nothing(x, y):
    return x * y + WEIGHT


def pairs():
    x = torch.ones(2, 3)
    rows = torch.arange(12.0).reshape(4, 3)
    array = numpy.ones((2, 3), "float32")
    yield torch.ones(2, 3), torch.ones(2, 3)
    yield x, x
    yield x, x[:]
    yield rows[:2], rows[1:3]
    yield rows[:2], rows[2:]
    yield rows[::2], rows[1::2]
    yield WEIGHT, torch.ones(2, 3)
    yield WEIGHT[:], torch.ones(2, 3)
    yield torch.ones(2, 3), WEIGHT
    yield HOLDER.held, WEIGHT
    yield HOLDER.held.view(3, 2).view(2, 3), torch.ones(2, 3)
    yield torch.from_numpy(array), torch.from_numpy(array)
    yield torch.ones(2, 3), torch.ones(2, 3)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", contained])
@pytest.mark.parametrize(
    "fn",
    [
        changes_first,
        beside_a_global,
        beside_an_attribute,
        through_a_view,
        behind_a_break,
        changes_nothing,
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_what_is_changed_is_seen_everywhere(fn, backend, order):
    def outcomes(run):
        WEIGHT.copy_(torch.arange(6.0).reshape(2, 3))
        HOLDER.held.fill_(1)
        found = []
        for x, y in list(pairs())[::order]:
            result = run(x, y)
            found.append([each.tolist() for each in (result, x, y, WEIGHT, HOLDER.held)])
        return found

    assert outcomes(armature.compile(fn, backend=backend)) == outcomes(fn)

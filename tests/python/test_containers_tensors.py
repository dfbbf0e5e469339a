"""Tensors in containers, and builtins of tensors."""

import operator

import pytest
import torch
from differential import check


def rows(x, y):
    return [row * 2 for row in x], list(y), len(x)


def pairs(x, y):
    return [(i, a + b) for i, (a, b) in enumerate(zip(x, y, strict=True))]


def unpacked(x, y):
    first, *rest = x
    return first, rest


def backwards(x, y):
    return list(reversed([x, y]))


def sums(x, y):
    return sum([x, y]), sum([x, y], y), sum(x), sum(a * 2 for a in (x, y))


def by_name(x, y):
    return operator.add(x, y), operator.mul(x, 2), operator.neg(x), operator.getitem(x, 0)


def dicts(x, y):
    d = {"x": x, "y": y}
    d["sum"] = d["x"] + d.pop("y")
    return d, [v + 1 for v in d.values()], {k: v * 2 for k, v in d.items()}


def lists(x, y):
    xs = [x]
    xs += [y, x + y]
    xs.insert(0, x * y)
    xs.sort(key=lambda t: t.dim())
    return xs, xs[1:], xs[::-1], xs.pop() is xs[0]


def identities(x, y):
    xs = [x, y]
    return x is xs[0], xs.index(x), x in xs, {x: 1}[x]


def mapped(x, y):
    return list(map(lambda a, b: a - b, [x, y], [y, x])), tuple(map(torch.neg, [x, y]))


def added_in_place(x, y):
    xs = [x]
    xs[0] += y
    return xs, x


def converted(x, y):
    return int(x[0, 0]), float(y[0, 0]), bool(x[0, 0] > 0), str(x.shape), abs(x)


def compared(x, y):
    return max(x[0, 0], y[0, 0]), sorted([x[0, 0], y[0, 0]]), any([x[0, 0] > 5])


class Heads:
    def __init__(self, n):
        self.n = n


HEADS = Heads(4)


def sizes(x, y):
    heads = (HEADS.n, 1)
    sums = (heads + x.shape, x.shape + heads, (x.shape[0], HEADS.n) + y.shape, (1,) + x.shape)
    heads += x.shape
    return x.expand((HEADS.n, *x.shape)), x.expand((HEADS.n,) + x.shape), sums, heads


def sizes_and_tensors(x, y):
    sums = []
    for add in (lambda: (x, 1) + x.shape, lambda: x.shape + (y, 1), lambda: x.shape + (HEADS,)):
        try:
            sums.append(add())
        except TypeError as error:
            sums.append(str(error))
    return sums


WITHOUT_BREAK = [
    rows,
    pairs,
    unpacked,
    backwards,
    sums,
    by_name,
    dicts,
    lists,
    identities,
    mapped,
    sizes,
]
WITH_BREAK = [converted, compared, sizes_and_tensors]


@pytest.mark.parametrize("function", [*WITHOUT_BREAK, added_in_place])
def test_whole(function):
    check(function, torch.ones(2, 3), torch.full((2, 3), 4.0), breaks=0)


@pytest.mark.parametrize("function", WITH_BREAK)
def test_broken(function):
    check(function, torch.ones(2, 3), torch.full((2, 3), 4.0))

"""A frozenset knows sets itself, and does not ask the class of one that is not derived from it."""

import torch
from differential import check


class ReflectedSet(set):
    def __ror__(self, other):
        return "ror"

    def __rand__(self, other):
        return "rand"

    def __gt__(self, other):
        return "gt"

    def __eq__(self, other):
        return "eq"

    __hash__ = None


class ReflectedFrozenSet(frozenset):
    def __ror__(self, other):
        return "ror"


def test_a_frozenset_knows_sets_itself():
    given = ReflectedSet([2])

    def function(x):
        frozen, grown = frozenset([1]), frozenset([5])
        grown |= given
        results = [
            [frozen | s, frozen & s, frozen - s, frozen ^ s, frozen < s, frozen == s, frozen != s]
            for s in (given, ReflectedSet([1, 3]))
        ]
        return results, grown, frozen | ReflectedFrozenSet([4]), x + 1

    check(function, torch.ones(2))

"""Iteration over objects that have __getitem__ and no __iter__."""

import armature
import pytest
import torch
from differential import check


class Items:
    def __init__(self, count=3, error=IndexError):
        self.count = count
        self.error = error
        self.asked = []

    def __getitem__(self, index):
        self.asked.append(index)
        if index >= self.count:
            raise self.error(index)
        return index * 10


class Sized(Items):
    def __len__(self):
        return self.count


class NotIterable(Items):
    __iter__ = None


def left_in_the_middle():
    walk = iter(Items(4))
    return next(walk), walk


def after_its_end():
    items = Items(1)
    walk = iter(items)
    seen = [list(walk)]
    items.count = 5
    return seen, list(walk), items.asked


class Told(Sized):
    """Says what it is asked."""

    def __getitem__(self, index):
        print("item", index)
        return super().__getitem__(index)

    def __len__(self):
        print("length", self.count)
        return self.count


def left_in_the_middle_backwards():
    walk = reversed(Told(4))
    armature.graph_break()
    first = next(walk)
    armature.graph_break()
    return first, list(walk), list(walk), type(walk).__name__


def backwards_over_a_break():
    seen = []
    for item in reversed(Told()):
        armature.graph_break()
        seen.append(item)
    return seen


def shrunk_meanwhile():
    items = Told(4)
    walk = reversed(items)
    first = next(walk)
    items.count = 2
    return first, walk.__length_hint__(), list(walk), walk.__length_hint__()


def ended_backwards():
    walks = [reversed(Told(1)), reversed("ab"), reversed((1, 2))]
    seen = [list(walk) for walk in walks]
    armature.graph_break()
    return seen, [list(walk) for walk in walks], [type(walk).__name__ for walk in walks]


USES = {
    "list": lambda: list(Items()),
    "for": lambda: [each + 1 for each in Items()],
    "unpacked": lambda: (lambda a, b, *c: (a, b, c))(*Items()),
    "assigned": lambda: [a for a, b, c in [Items()]],
    "in": lambda: (10 in Items(), 7 in Items()),
    "zip": lambda: dict(zip(Items(), Items(2), strict=False)),
    "enumerate": lambda: list(enumerate(Items())),
    "map": lambda: list(map(str, Items())),
    "sum": lambda: (sum(Items()), max(Items()), sorted(Items(), reverse=True)),
    "reversed": lambda: list(reversed(Sized())),
    "reversed and told": lambda: (list(reversed(Told())), [*reversed(Told())]),
    "reversed in the middle": left_in_the_middle_backwards,
    "reversed over a break": backwards_over_a_break,
    "reversed and shrunk": shrunk_meanwhile,
    "reversed to its end": ended_backwards,
    "reversed without a length": lambda: list(reversed(Items())),
    "StopIteration ends it": lambda: list(Items(2, StopIteration)),
    "another error": lambda: list(Items(2, KeyError)),
    "type": lambda: type(iter(Items())).__name__,
    "itself": lambda: (lambda walk: iter(walk) is walk)(iter(Items())),
    "asked": lambda: (lambda items: (list(items), items.asked))(Items()),
    "length hint": lambda: (lambda walk: (next(walk), walk.__length_hint__()))(iter(Sized())),
    "no length hint": lambda: iter(Items()).__length_hint__(),
    "__iter__ = None": lambda: list(NotIterable()),
    "after its end": after_its_end,
}


@pytest.mark.parametrize("name", USES)
def test_use(name):
    check(USES[name])


@pytest.mark.parametrize("name", ["list", "for", "unpacked", "in", "zip", "asked", "after its end"])
def test_is_whole(name):
    use = USES[name]
    assert armature.explain(lambda: use())().graph_break_count == 0


def test_left_in_the_middle():
    compiled = armature.compile(left_in_the_middle)
    for _ in range(3):
        first, walk = compiled()
        assert (first, list(walk)) == (0, [10, 20, 30])


def test_given():
    def f(items, x):
        return [x * each for each in items], list(items.asked)

    check(f, Items(), torch.ones(2), more=((Items(2), torch.ones(2)),), breaks=0)


def test_given_iterator():
    compiled = armature.compile(lambda walk: (next(walk), list(walk)))
    for _ in range(2):
        assert compiled(iter(Items())) == (0, [10, 20])

"""How many items a container has is an input of its own, where that varies and nothing else is
asked of it."""

import collections

import armature
import pytest
import torch
from differential import compilations


def count(items, other):
    return len(items), len(items) + 1, len(items) * 2


def count_and_append(items, other):
    before = len(items)
    if hasattr(items, "append"):
        items.append(before)
        items.append(other)
    return before, len(items)


def compare(items, other):
    return "many" if len(items) > 30 else "few"


def emptiness(items, other):
    return ("some" if items else "none"), not items, bool(items)


def count_behind_a_change(items, other):
    items.clear()
    return len(items)


def count_and_sum(items, other):
    return len(items), sum(items), len(items)


def count_both(items, other):
    first = len(items)
    other[first] = first
    return first, len(other), len(items)


def text(items, other):
    return f"{len(items)} of {len(other)}: {items is other}"


MADE = {
    "list": list,
    "dict": dict.fromkeys,
    "deque": collections.deque,
    "set": set,
    "tuple": tuple,
    "own list": type("Own", (list,), {}),
    "counting": type("Counting", (list,), {"__len__": lambda self: 7}),
    "ordered": collections.OrderedDict.fromkeys,
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(
    "program",
    [
        count,
        count_and_append,
        compare,
        emptiness,
        count_behind_a_change,
        count_and_sum,
        count_both,
        text,
    ],
)
def test_lengths_are_plain_pythons(program, kind):
    captured = armature.compile(program)
    for size in (0, 3, 7, 31, 32, 1, 0, 50):
        outcomes = []
        for function in (program, captured):
            items, other = MADE[kind](range(size)), {-1: 0}
            for arguments in ((items, other), (items, {})):
                try:
                    outcomes.append(function(*arguments))
                except (AttributeError, TypeError) as error:
                    outcomes.append((type(error), str(error)))
            outcomes.append((list(items), other))
        assert outcomes[:3] == outcomes[3:]


@pytest.mark.parametrize("kind", ["list", "dict", "deque"])
@pytest.mark.parametrize("program", [count, compare, emptiness, text])
def test_two_translations_are_enough(program, kind):
    captured = armature.compile(program)
    with compilations() as made:
        for size in range(1, 30):
            items = MADE[kind](range(size))
            assert captured(items, {}) == program(items, {})
    assert len(made) <= 2


def test_a_cache_that_grows():
    class Model:
        def __init__(self):
            self.cache, self.log = {}, []

        def forward(self, x, key):
            if key not in self.cache:
                self.cache[key] = x * 2
            self.log.append(len(self.log))
            return self.cache[key] + len(self.log)

    model, plain = Model(), Model()
    captured = armature.compile(model.forward)
    x = torch.arange(3.0)
    with compilations() as made:
        for key in ["a", "a"] * 30:
            assert captured(x, key).equal(plain.forward(x, key))
    assert model.log == plain.log
    assert len(made) <= 3


def test_a_list_that_is_both_arguments():
    def program(items, other):
        other.append(1)
        return len(items), len(other)

    captured = armature.compile(program)
    for size in (1, 2, 5, 6):
        same, expected = [0] * size, [0] * size
        assert captured(same, same) == program(expected, expected)
        assert captured([0] * size, [0]) == program([0] * size, [0])


def test_texts_of_several_values_that_vary():
    def program(epoch, step, name):
        line = f"epoch {epoch} step {step:>4} of {name}: {epoch}.{step!r}"
        return line, len(line) > 5, line == "no", line + "!"

    captured = armature.compile(program)
    with compilations() as made:
        for step in range(40):
            values = (step // 5, step * 3, "ab" * (step % 4))
            assert captured(*values) == program(*values)
    # The comparisons look at the text, which makes it a constant.
    assert made

    def text_alone(epoch, step, name):
        return f"epoch {epoch} step {step:>4} of {name}: {epoch}.{step!r}"

    captured = armature.compile(text_alone)
    with compilations() as made:
        for step in range(40):
            values = (step // 5, step * 3, "ab" * (step % 4))
            assert captured(*values) == text_alone(*values)
    assert len(made) <= 4

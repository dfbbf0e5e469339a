"""Random numbers of Python's own generators: drawn as eager draws them, in the same state after."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import armature
import pytest
from differential import compilations


def units(generator):
    return [generator.random() for _ in range(3)], generator.random() < 0.5


def bits(generator):
    return [generator.getrandbits(count) for count in (0, 1, 31, 32, 33, 64, 100)]


def mixed(generator):
    first = generator.random()
    return generator.getrandbits(3), first, generator.random() + generator.getrandbits(40)


def below(generator):
    return generator.randrange(10), generator.randint(5, 7), generator.choice("abc")


def shuffled(generator):
    items = list(range(12))
    generator.shuffle(items)
    return items, generator.sample(items, 3), generator.uniform(1, 2), generator.gauss(0, 1)


def breaks(generator):
    first = generator.random()
    print(end="")
    return first, generator.random()


def state_between(generator):
    first = generator.random()
    state = generator.getstate()
    second = generator.random()
    generator.setstate(state)
    return first, second == generator.random(), second


def two_names(generator):
    other = [generator]
    return generator.random(), other[0].random(), generator.getrandbits(8)


class Derived(random.Random):
    def random(self):
        return 1 - super().random()


def fails(generator):
    drawn = generator.random()
    return drawn, generator.getrandbits(-1)


PROGRAMS = [units, bits, mixed, below, shuffled, breaks, state_between, two_names, fails]


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("kind", [random.Random, Derived])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_draws(program: Callable[..., Any], kind: type[random.Random]) -> None:
    plain, captured = kind(5), kind(5)
    compiled = armature.compile(program)
    for call in range(60):
        assert outcome(compiled, captured) == outcome(program, plain), call
        assert captured.getstate() == plain.getstate(), call


def test_two_generators_that_are_one() -> None:
    def program(first, second):
        return first.random(), second.random(), first.getrandbits(4)

    compiled = armature.compile(program)
    for call in range(8):
        plain, captured = random.Random(call), random.Random(call)
        others = (random.Random(1), random.Random(1)) if call % 2 else (plain, captured)
        assert compiled(captured, others[1]) == program(plain, others[0])
        assert captured.getstate() == plain.getstate()


def test_the_module_s_generator() -> None:
    def program():
        return random.random(), random.randrange(100), random.random() < 0.25

    compiled = armature.compile(program)
    for seed in range(20):
        random.seed(seed)
        expected = program(), random.getstate()
        random.seed(seed)
        assert (compiled(), random.getstate()) == expected


def test_few_translations() -> None:
    generator = random.Random(0)
    compiled = armature.compile(lambda: generator.random() * 2 + 1)
    with compilations() as made:
        assert len({compiled() for _ in range(100)}) == 100
    assert len(made) == 1

"""contextvars.ContextVar, as the context of the running thread has it."""

import contextvars

import armature
import pytest
import torch
from differential import check

WITH_DEFAULT = contextvars.ContextVar("WITH_DEFAULT", default=5)
WITHOUT = contextvars.ContextVar("WITHOUT")
SHARED = contextvars.ContextVar("SHARED", default=None)


@pytest.fixture(autouse=True)
def own_context():
    """Each test in the context that it found."""
    tokens = [(each, each.set(0)) for each in (WITH_DEFAULT, WITHOUT, SHARED)]
    for each, token in tokens:
        each.reset(token)
    yield


def missing():
    try:
        WITHOUT.get()
    except LookupError as error:
        return error.args[0] is WITHOUT


def scoped(value):
    token = WITH_DEFAULT.set(value)
    try:
        return WITH_DEFAULT.get() + 1
    finally:
        WITH_DEFAULT.reset(token)


def nested():
    first = WITHOUT.set(1)
    second = WITHOUT.set(2)
    seen = [WITHOUT.get()]
    WITHOUT.reset(second)
    seen.append(WITHOUT.get())
    WITHOUT.reset(first)
    return seen, WITHOUT.get("gone")


def outer_reset_first():
    first = WITHOUT.set(1)
    WITHOUT.set(2)
    WITHOUT.reset(first)
    return WITHOUT.get("gone")


def old_values():
    first = WITH_DEFAULT.set(1)
    second = WITH_DEFAULT.set(2)
    result = (second.old_value, second.var is WITH_DEFAULT, first.var is WITH_DEFAULT)
    WITH_DEFAULT.reset(first)
    return result


USES = {
    "default": lambda: WITH_DEFAULT.get(),
    "given default": lambda: (WITH_DEFAULT.get(7), WITHOUT.get("none")),
    "missing": missing,
    "name": lambda: (WITH_DEFAULT.name, WITHOUT.name),
    "scoped": lambda: scoped(3),
    "nested": nested,
    "outer reset first": outer_reset_first,
    "old values": old_values,
}


@pytest.mark.parametrize("name", USES)
def test_use(name):
    use = USES[name]
    check(use)
    assert armature.explain(lambda: use())().graph_break_count == 0


ERRORS = {
    "too many arguments": lambda: WITHOUT.get(1, 2),
    "set nothing": lambda: WITHOUT.set(),
    "reset twice": lambda: [WITHOUT.reset(t) for t in [WITHOUT.set(1)] * 2],
    "token of another": lambda: WITHOUT.reset(WITH_DEFAULT.set(1)),
    "missing old value": lambda: str(WITHOUT.set(1).old_value),
    "no token": lambda: WITHOUT.reset(3),
    "attribute": lambda: WITHOUT.none,
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    context = contextvars.copy_context()
    compiled = armature.compile(ERRORS[name])
    for _ in range(3):
        outcomes = []
        for use in (ERRORS[name], compiled):
            try:
                outcomes.append(context.copy().run(use))
            except Exception as error:
                outcomes.append((type(error), str(error).split(" at 0x")[0]))
        assert outcomes[0] == outcomes[1]


def test_a_set_stays():
    def f(x, value):
        SHARED.set([x, value])
        return SHARED.get()[0] + value

    compiled = armature.compile(f, fullgraph=True)

    def run():
        for value in (1, 2):
            assert torch.equal(compiled(torch.ones(2), value), torch.ones(2) + value)
            assert SHARED.get()[1] == value

    contextvars.copy_context().run(run)
    assert SHARED.get() is None


def test_the_token_leaves():
    compiled = armature.compile(lambda value: (SHARED.set(value), SHARED.set(value + 1)))

    def run():
        for value in (1, 5):
            first, second = compiled(value)
            assert SHARED.get() == value + 1 and second.old_value == value
            SHARED.reset(second)
            assert SHARED.get() == value
            SHARED.reset(first)
            assert SHARED.get() is None

    contextvars.copy_context().run(run)


def test_what_was_set_is_guarded():
    compiled = armature.compile(lambda: (WITHOUT.get("none"), WITH_DEFAULT.get()))

    def run():
        assert compiled() == ("none", 5)
        WITHOUT.set("some")
        assert compiled() == ("some", 5)
        WITH_DEFAULT.set(6)
        assert compiled() == ("some", 6)

    contextvars.copy_context().run(run)
    assert compiled() == ("none", 5)


def test_around_a_break():
    def f(x):
        token = SHARED.set(x)
        try:
            torch.ones(1).tolist()
            return SHARED.get() + 1
        finally:
            SHARED.reset(token)

    check(f, torch.ones(2))
    assert SHARED.get() is None


def test_an_exception_leaves_it_set():
    def f(value):
        SHARED.set(value)
        raise ValueError(value)

    compiled = armature.compile(f)

    def run():
        for value in (1, 2):
            with pytest.raises(ValueError):
                compiled(value)
            assert SHARED.get() == value

    contextvars.copy_context().run(run)

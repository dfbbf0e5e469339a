"""Warnings that operations raise, in a function that records them."""

import warnings

import armature
import pytest
import torch


def texts(recorded):
    return [str(warning.message)[:20] for warning in recorded]


def asks_whether_any_came(x):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        torch.nn.functional.mse_loss(x, torch.ones(3, 2))
        if recorded:
            return "warned"
    return "fine"


def asks_before_and_behind(x):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        before = len(recorded)
        y = x[:1].std()
        between = texts(recorded)
        z = x[1:].std()
        return before, between, texts(recorded), y, z


def in_a_loop(x):
    counts = []
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        for _ in range(4):
            x = x + x[:1].std().nan_to_num()
            counts.append(len(recorded))
    return x, counts


def behind_the_region(x):
    with warnings.catch_warnings(record=True) as inner:
        warnings.simplefilter("always")
        x = x + x[:1].std().nan_to_num()
    x = x * x[1:].std().nan_to_num()
    return x, len(inner)


def with_the_filters_as_they_are(x):
    with warnings.catch_warnings(record=True) as recorded:
        x = x + x[:1].std().nan_to_num()
        first = len(recorded)
        with warnings.catch_warnings(record=True) as nested:
            x = x + x[:1].std().nan_to_num()
        x = x + x[:1].std().nan_to_num()
    return x, first, len(recorded), len(nested)


def asked_by_another_function(x):
    def count():
        return len(recorded)

    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        y = x[:1].std()
        return count(), y, count()


@pytest.mark.parametrize(
    "function",
    [
        asks_whether_any_came,
        asks_before_and_behind,
        in_a_loop,
        behind_the_region,
        with_the_filters_as_they_are,
        asked_by_another_function,
    ],
)
def test_what_was_recorded(function):
    def outcome(called):
        with warnings.catch_warnings(record=True) as outer:
            warnings.simplefilter("always")
            results = [called(torch.ones(2)) for _ in range(3)]
        return repr(results), texts(outer)

    assert outcome(armature.compile(function)) == outcome(function)


def test_the_list_comes_from_outside():
    def count(x, recorded):
        before = len(recorded)
        y = x[:1].std()
        return before, len(recorded), y

    compiled = armature.compile(count)
    for function in (count, compiled, compiled):
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("always")
            assert function(torch.ones(2), recorded)[:2] == (0, 1)


def fails_behind_a_warning(x):
    try:
        torch.nn.functional.mse_loss(x, torch.ones(3))
    except (RuntimeError, UserWarning) as error:
        return type(error), x + 1


def fails_where_warnings_are_recorded(x):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        try:
            torch.nn.functional.l1_loss(x, torch.ones(3))
        except RuntimeError as error:
            return str(error), len(recorded), x + 1


@pytest.mark.parametrize("size", [2, 100_000])
@pytest.mark.parametrize("action", ["always", "error"])
@pytest.mark.parametrize("function", [fails_behind_a_warning, fails_where_warnings_are_recorded])
def test_what_fails_may_have_warned(function, action, size):
    def outcome(called):
        with warnings.catch_warnings(record=action == "always") as recorded:
            warnings.simplefilter(action)
            results = [called(torch.ones(size))[:-1] for _ in range(3)]
        return results, recorded and texts(recorded)

    assert outcome(armature.compile(function)) == outcome(function)

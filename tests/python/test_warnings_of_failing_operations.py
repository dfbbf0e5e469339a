"""An operation that warns and then raises: the program's filters decide about the warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch


def indexed(x: Any) -> Any:
    try:
        return x["a"]
    except TypeError as error:
        return str(error)


def called_by_name(x: Any) -> Any:
    try:
        return x.__getitem__("a")
    except TypeError as error:
        return str(error)


def assigned(x: Any) -> Any:
    y = x.clone()
    try:
        y["a"] = 0
    except TypeError as error:
        return str(error), y
    return y


@pytest.mark.parametrize("function", [indexed, called_by_name, assigned])
@pytest.mark.parametrize("action", ["always", "ignore", "error", "default"])
def test_warning(
    function: Callable[[Any], Any], action: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    def told(f: Callable[[Any], Any]) -> list[Any]:
        results = []
        for _ in range(2):
            with warnings.catch_warnings(record=True) as recorded:
                warnings.simplefilter(action)
                try:
                    results.append(repr(f(torch.ones(2))))
                except Exception as error:
                    results.append((type(error), str(error)))
            results.append([(each.category, str(each.message)) for each in recorded])
        results.append(capfd.readouterr())
        return results

    expected = told(function)
    # torch itself prints a warning that is an error while another one is on its way.
    last = getattr(sys, "last_value", None)
    assert told(armature.compile(function)) == expected
    assert action == "error" or getattr(sys, "last_value", None) is last
    assert warnings._showwarnmsg.__module__ == "warnings"  # type: ignore[attr-defined]

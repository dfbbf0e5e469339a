"""Devices that a program names by a str, wherever torch takes one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from differential import check


class Passing(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def by_method(x: torch.Tensor, name: str) -> Any:
    y = x.to(name)
    return y.device, y.is_meta, y.dtype


def by_function(x: torch.Tensor, name: str) -> Any:
    y = torch.Tensor.to(x, name)
    z = torch.Tensor.to(x, name, torch.float64)
    return y.device, y.is_meta, z.device, z.dtype


def by_keyword(x: torch.Tensor, name: str) -> Any:
    return torch.Tensor.to(x, device=name).device, torch.ones(2, device=name).device


def in_a_mode(x: torch.Tensor, name: str) -> Any:
    with Passing():
        y = x.to(name)
    return y.device, y.is_meta


def under_a_device(x: torch.Tensor, name: str) -> Any:
    with torch.device("cpu"):
        y = torch.zeros(2).to(name)
        return y.device, y.is_meta


@pytest.mark.parametrize("name", ["cpu", "meta"])
@pytest.mark.parametrize("fn", [by_method, by_function, by_keyword, in_a_mode, under_a_device])
def test_is_as_plain(fn: Any, name: str) -> None:
    check(fn, torch.ones(2), name)


def test_letters_that_are_no_device() -> None:
    check(lambda x: torch.einsum("cpu", x).shape, torch.ones(2, 3, 4))

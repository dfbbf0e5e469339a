"""What the trace tries on tensors without data is not told to the program's logs."""

from __future__ import annotations

import logging

import armature
import pytest
import torch

LOGGER = logging.getLogger("torch._subclasses.fake_tensor")


@pytest.mark.parametrize("is_disabled", [False, True])
def test_an_operation_that_fails(is_disabled: bool, caplog: pytest.LogCaptureFixture) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> str:
        try:
            with torch.autocast("cpu"):
                return str((x * w).shape)
        except RuntimeError as error:
            return str(error)

    compiled = armature.compile(f)
    shapes = [((2, 2), (3,)), ((2, 2), (3,)), ((2, 2), (2,))]
    handler = caplog.handler
    LOGGER.addHandler(handler)
    try:
        LOGGER.disabled = is_disabled
        for a, b in shapes:
            assert compiled(torch.ones(a), torch.ones(b)) == f(torch.ones(a), torch.ones(b))
        assert LOGGER.disabled is is_disabled
    finally:
        LOGGER.disabled = False
        LOGGER.removeHandler(handler)
    assert not [record for record in caplog.records if record.name == LOGGER.name]

"""Programs with what they cost: the operations that are captured, and the breaks between them."""

from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import check

X = torch.arange(1.0, 7.0).reshape(2, 3)


class Cases(list[Any]):
    """Filled by its decorator ``case``; the parameters fn, ops and breaks of a test."""

    def case(self, ops: int, breaks: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A program, the operations on tensors in its translations, and its breaks."""

        def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
            self.append(pytest.param(fn, ops, breaks, id=fn.__name__))
            return fn

        return decorate


def check_counts(fn: Callable[..., Any], ops: int, breaks: int) -> None:
    """The program does as plain Python, at the cost that is named."""
    check(fn, X, more=((X * 2,),))
    found = armature.explain(fn)(X)
    places = [(reason.function, reason.line) for reason in found.break_reasons]
    assert (found.op_count, found.graph_break_count) == (ops, breaks), places

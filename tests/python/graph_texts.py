"""The text of a graph, for comparing it with TorchDynamo's."""

import re
from collections.abc import Callable
from typing import Any

import torch


def graph_of(
    compiler: Callable[..., Any],
    function: Callable[..., Any],
    *args: Any,
    keeps_annotations: bool = False,
) -> str:
    """The text of the one graph of a call, without comments, and as a rule without annotations."""
    texts = []

    def backend(module, inputs):
        texts.append(module.print_readable(print_output=False))
        return module

    torch._dynamo.reset()
    compiler(function, backend=backend, fullgraph=True)(*args)
    (text,) = texts
    lines = (text if keeps_annotations else re.sub(r': "[^"]*"', "", text)).splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.strip().startswith("#"))

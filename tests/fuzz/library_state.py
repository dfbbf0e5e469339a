"""What a program can set in torch: read, compared and put back. Also a backend that keeps to itself
what its graphs set.
"""

from collections.abc import Callable
from typing import Any

import torch


def library_state() -> dict[str, Any]:
    nesting = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return {
        "gradients": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warns only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "autocast dtype": torch.get_autocast_dtype("cpu"),
        "autocast cache": torch.is_autocast_cache_enabled(),
        "autocast nesting": nesting,
    }


def set_library_state(state: dict[str, Any]) -> None:
    torch._C._set_grad_enabled(state["gradients"])
    torch.set_default_dtype(state["dtype"])
    torch.use_deterministic_algorithms(state["deterministic"], warn_only=state["warns only"])
    torch.autograd.set_detect_anomaly(state["anomaly"])
    torch.set_autocast_enabled("cpu", state["autocast"])
    torch.set_autocast_dtype("cpu", state["autocast dtype"])
    torch.set_autocast_cache_enabled(state["autocast cache"])
    now = library_state()["autocast nesting"]
    for _ in range(state["autocast nesting"], now):
        torch.autocast_decrement_nesting()
    for _ in range(now, state["autocast nesting"]):
        torch.autocast_increment_nesting()
    if now != state["autocast nesting"] == 0:
        torch.clear_autocast_cache()


SETTERS = ("_set_grad_enabled", "_set_default_dtype", "_set_deterministic_algorithms")


def contained(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    """As compilers of graphs do: of the modes that the graph sets, nothing is left behind it; but
    they are set once, while it compiles.
    """
    for node in module.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") in SETTERS:
            node.target(*node.args, **node.kwargs)

    def compiled(*arguments: Any) -> Any:
        state = library_state()
        try:
            return module(*arguments)
        finally:
            set_library_state(state)

    return compiled


BACKENDS: dict[str, Any] = {"eager": "eager", "contained": contained}

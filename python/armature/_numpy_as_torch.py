"""Graphs with operations of NumPy, as graphs of torch for torch's backends.

torch has NumPy's functions once more, on tensors (``torch._numpy``). A graph is translated whole or
not at all: each function, method and operator of NumPy becomes its equal there, arrays become
tensors in the same memory, and what torch finds out about the translation on tensors without data
must be what NumPy makes, node by node: dtype and shape. Nodes that are arrays of NumPy tell that by
``meta["numpy"]``: "f64[2, 3]", or "f64" for a scalar.
"""

from __future__ import annotations

import builtins
import functools
import importlib
from collections.abc import Callable
from typing import Any

from armature import _C

_MODULES = ("", ".linalg", ".fft")
# Those that make an array of torch's tensor, which is a tensor here.
_VIEWS = ("numpy", "__array__")
# Keywords that torch._numpy has by other names.
_RENAMED = {"a_min": "min", "a_max": "max"}
_DTYPES = {
    "b8": "bool",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}


class Untranslatable(Exception):
    """Some operation of the graph has no equal in torch."""


class Wrapped:
    """A function of ``torch._numpy`` on tensors."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self.__name__ = f"wrapped_{name}"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        result = self._function(
            *map(_to_array, arguments), **{name: _to_array(v) for name, v in keywords.items()}
        )
        return _to_tensor(result)

    def __repr__(self) -> str:
        return self.__name__


def compile(
    backend: Callable[[Any, list[Any]], Callable[..., Any]],
    graph: Any,
    examples: list[Any],
    plain: Callable[..., Any],
) -> Callable[..., Any] | None:
    """What the backend makes of the graph; takes and returns arrays where the graph does.

    graph: a torch.fx.Graph with functions of NumPy.
    plain: runs the graph in NumPy, for inputs that are no tensors.

    None if the graph cannot be translated. Raises what the backend raises.
    """
    import numpy as np

    try:
        translated = _translate(graph)
        tensors = [_as_tensor(example) for example in examples]
        _require_same_results(translated, tensors)
    except Untranslatable:
        return None
    compiled = backend(translated, tensors)
    (output,) = (node for node in graph.nodes if node.op == "output")
    kinds = [_described(result) for result in output.args[0]]

    def run(*inputs: Any) -> Any:
        # No tensor stands for an array that must not be written to: torch would write.
        if any(isinstance(each, np.ndarray) and not each.flags.writeable for each in inputs):
            return plain(*inputs)
        try:
            tensors = [_as_tensor(each) for each in inputs]
        except Untranslatable:
            return plain(*inputs)
        return tuple(map(_result, compiled(*tensors), kinds))

    return _C.DisabledFunction(run)


def _as_tensor(value: Any) -> Any:
    import numpy as np
    import torch

    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError) as error:  # a dtype or strides that tensors do not have
        raise Untranslatable from error


def _result(output: Any, kind: str | None) -> Any:
    if kind is None:
        return output
    array = output.numpy(force=True)
    return array if kind.endswith("]") else array[()]


def _described(value: Any) -> str | None:
    """What is said of an array of NumPy; None for all else."""
    meta = getattr(value, "meta", None)
    return None if meta is None else meta.get("numpy")


def _to_array(value: Any) -> Any:
    import torch
    from torch import _numpy

    if isinstance(value, torch.Tensor):
        return _numpy.ndarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_to_array, value))
    if isinstance(value, slice):
        return slice(*map(_to_array, (value.start, value.stop, value.step)))
    return value


def _to_tensor(value: Any) -> Any:
    from torch import _numpy

    if isinstance(value, _numpy.ndarray):
        return value.tensor
    if isinstance(value, (list, tuple)):
        return type(value)(map(_to_tensor, value))
    return value


@functools.cache
def _functions() -> dict[Any, Wrapped]:
    """NumPy's functions, each with its equal."""
    found: dict[Any, Wrapped] = {}
    for name in _MODULES:
        numpys = importlib.import_module(f"numpy{name}")
        torchs = importlib.import_module(f"torch._numpy{name}")
        for attribute, function in vars(torchs).items():
            own = vars(numpys).get(attribute)
            if callable(function) and callable(own) and not attribute.startswith("_"):
                found.setdefault(own, Wrapped(function, attribute))
    return found


def _is_operator(target: Any) -> bool:
    return getattr(target, "__module__", None) == "_operator"


def _constant(value: Any) -> Any:
    """A constant argument, as torch._numpy takes it: dtypes go by their names."""
    import numpy as np

    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__name__
    if isinstance(value, type) and value in (bool, int, float, complex):
        return np.dtype(value).name
    if isinstance(value, (list, tuple)):
        return type(value)(map(_constant, value))
    return value


def _translate(graph: Any) -> Any:
    import torch

    result = torch.fx.Graph()
    translated: dict[Any, Any] = {}
    for node in graph.nodes:
        if node.op == "get_attr":
            raise Untranslatable  # a body may hold operations of NumPy, too
        operation, target, arguments, keywords = _equal(node)
        new = result.create_node(
            operation,
            target,
            torch.fx.map_arg(arguments, translated.__getitem__),
            torch.fx.map_arg(keywords, translated.__getitem__),
            node.name,
        )
        new.meta.update(node.meta)
        new.stack_trace = node.stack_trace
        translated[node] = new
    return torch.fx.GraphModule({}, result)


def _equal(node: Any) -> tuple[str, Any, Any, Any]:
    """The operation, target, arguments and keywords of torch's equal."""
    import torch

    same = (node.op, node.target, node.args, node.kwargs)
    if node.op in ("placeholder", "output"):
        return same
    inputs = node.all_input_nodes
    arrays = [each for each in inputs if _described(each)]
    makes_array = _described(node) is not None
    # Tensors beside scalars: those are tensors without dimensions now.
    is_torchs = not makes_array and all("[" not in _described(each) for each in arrays)
    if node.op == "call_method":
        if node.target in _VIEWS and makes_array and not arrays:
            if len(node.args) > 1 or node.kwargs:
                raise Untranslatable
            return "call_method", "view_as", (node.args[0], node.args[0]), {}
        if node.args[0] in arrays:
            return _call(_method(node.target), node)
        return _unless_foreign(same, is_torchs)
    if node.target in (torch.from_numpy, torch.as_tensor, torch.asarray) and arrays:
        return "call_function", torch.as_tensor, node.args, node.kwargs
    own = _functions().get(node.target) if _is_hashable(node.target) else None
    if own is not None:
        if not makes_array and len(arrays) < len(inputs):
            raise Untranslatable  # It makes a tensor, by a rule of its own.
        return _call(own, node)
    if not arrays:
        is_item = _is_operator(node.target) and node.target.__name__ == "getitem"
        return _unless_foreign(same, is_item or not makes_array)
    if node.target is builtins.getattr:
        return _call(Wrapped(builtins.getattr, "getattr"), node)
    if not _is_operator(node.target) or is_torchs:
        return _unless_foreign(same, is_torchs)
    if len(arrays) < len(inputs):
        raise Untranslatable  # What a tensor beside an array gives depends on which is asked first.
    return _call(Wrapped(node.target, node.target.__name__), node)


def _unless_foreign(same: tuple[str, Any, Any, Any], is_torchs: bool) -> tuple[str, Any, Any, Any]:
    if not is_torchs:
        raise Untranslatable
    return same


def _call(function: Wrapped, node: Any) -> tuple[str, Any, Any, Any]:
    if "out" in node.kwargs:
        raise Untranslatable
    arguments = tuple(map(_constant, node.args))
    keywords = {_RENAMED.get(k, k): _constant(v) for k, v in node.kwargs.items()}
    return "call_function", function, arguments, keywords


def _method(name: str) -> Wrapped:
    from torch import _numpy

    if not hasattr(_numpy.ndarray, name):
        raise Untranslatable
    return Wrapped(lambda self, *rest, **named: getattr(self, name)(*rest, **named), name)


def _is_hashable(value: Any) -> bool:
    return type(value).__hash__ is not None


def _require_same_results(module: Any, tensors: list[Any]) -> None:
    """Raises Untranslatable where a node makes an array of another dtype or shape than NumPy."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Interpreter(torch.fx.Interpreter):
        def run_node(self, node: Any) -> Any:
            result = super().run_node(node)
            kind = _described(node)
            if kind is not None and not _is(result, kind):
                raise Untranslatable
            return result

    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(t) if isinstance(t, torch.Tensor) else t for t in tensors]
        try:
            Interpreter(module).run(*fakes)
        except Exception as error:
            raise Untranslatable from error


def _is(result: Any, kind: str) -> bool:
    import torch

    dtype, _, shape = kind.partition("[")
    sizes = [int(size) for size in shape.rstrip("]").split(",") if size]
    return (
        isinstance(result, torch.Tensor)
        and result.dtype == getattr(torch, _DTYPES.get(dtype, ""), None)
        and list(result.shape) == sizes
    )

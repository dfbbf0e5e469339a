"""Calls of torch's operations, and what Armature and torch say they return."""

import sys
import types
import unittest

import torch
from armature import _C

FIELDS = ("sizes", "strides", "dtype", "device", "storage_offset", "requires_grad", "is_leaf")


def operator_database():
    """torch's own samples of nearly all its operations, as OpInfo objects."""
    # torch needs expecttest only for test cases of its own.
    if "expecttest" not in sys.modules:
        module = types.ModuleType("expecttest")
        module.TestCase = unittest.TestCase
        sys.modules["expecttest"] = module
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    # Each sample looks through the whole stack for a unittest.TestCase: slow, and in vain.
    core.extract_test_fn = common_utils.extract_test_fn = lambda: None
    return op_db


def copy(value):
    """The same arguments again, with tensors of their own in the same memory layout."""
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            result = torch.empty_strided(
                value.size(), value.stride(), dtype=value.dtype, device=value.device
            )
            memory = result.untyped_storage().nbytes() // result.element_size()
            flat = value.detach().as_strided((memory,), (1,), value.storage_offset())
            result.as_strided((memory,), (1,), 0).copy_(flat)
        if value.requires_grad:
            result.requires_grad_()
        return result
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copy, value))
    if isinstance(value, list | tuple):
        return type(value)(map(copy, value))
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    return value


def describe(operation, target, arguments, keywords, grad_enabled=True):
    """The call as a graph of one node, for armature._C."""
    inputs = []

    def convert(value):
        if isinstance(value, torch.Tensor):
            for i, (_, known) in enumerate(inputs):
                if known is value:
                    return f"%{i}"
            inputs.append((f"x{len(inputs)}", value))
            return f"%{len(inputs) - 1}"
        if type(value) in (list, tuple):
            return type(value)(map(convert, value))
        if type(value) is dict:
            return {key: convert(item) for key, item in value.items()}
        if type(value) is slice:
            return slice(convert(value.start), convert(value.stop), convert(value.step))
        return value

    arguments = convert(tuple(arguments))
    keywords = convert(dict(keywords))
    node = (operation, target, arguments, keywords, {"grad_enabled": grad_enabled})
    return {"inputs": inputs, "nodes": [node]}


def structure(value):
    """A real result in the form in which armature._C gives structures."""
    if isinstance(value, torch.Tensor):
        return {
            "sizes": tuple(value.size()),
            "strides": tuple(value.stride()),
            "dtype": value.dtype,
            "device": value.device,
            "storage_offset": value.storage_offset(),
            "requires_grad": value.requires_grad,
            "is_leaf": value.is_leaf,
            "is_conj": value.is_conj(),
            "is_neg": value.is_neg(),
            "is_inference": value.is_inference(),
        }
    if isinstance(value, tuple | list):
        return (type(value), [structure(item) for item in value])
    return ("constant", value)


def differences(expected, found, path="result"):
    """Where two structures differ, as texts."""
    if isinstance(expected, dict) and isinstance(found, dict):
        result = []
        for field in expected:
            if field == "strides" and not same_strides(expected, found):
                result.append(f"{path}.strides: {expected['strides']}, not {found['strides']}")
            elif field != "strides" and expected[field] != found[field]:
                result.append(f"{path}.{field}: {expected[field]}, not {found[field]}")
        return result
    if type(expected) is tuple and type(found) is tuple and expected[0] == found[0]:
        if expected[0] == "constant":
            return [] if expected[1] == found[1] else [f"{path}: {expected[1]}, not {found[1]}"]
        if len(expected[1]) == len(found[1]):
            pairs = enumerate(zip(expected[1], found[1], strict=True))
            return [text for i, pair in pairs for text in differences(*pair, f"{path}[{i}]")]
    return [f"{path}: {expected}, not {found}"]


def same_strides(expected, found):
    return expected["strides"] == found["strides"]


def call(operation, target, arguments, keywords, grad_enabled=True):
    """The real result of a call, or the exception that it raised."""
    with torch.set_grad_enabled(grad_enabled):
        try:
            if operation == "call_method":
                return getattr(arguments[0], target)(*arguments[1:], **keywords)
            return target(*arguments, **keywords)
        except Exception as error:
            return error


def rule(description):
    """What the metadata rule says; None where there is no answer."""
    return _C.torch_rule(description, False)


def ask_torch(description):
    """What torch says when it is asked for the node's result."""
    return _C.torch_rule(description, True)

"""Armature: TorchDynamo's job, in C++.

``armature.compile(fn)`` captures what a Python function does with its arrays, guards what it
assumed, and replaces the function by compiled code.
"""

from armature._compile import compile, disable, is_compiling, reset
from armature.exc import Unsupported

__all__ = ["Unsupported", "compile", "disable", "is_compiling", "reset"]

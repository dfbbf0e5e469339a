"""Armature: TorchDynamo's job, in C++.

``armature.compile(fn)`` captures what a Python function does with its arrays, guards what it
assumed, and replaces the function by compiled code.
"""

import copy
import threading
import traceback
import weakref
from importlib.util import find_spec

from armature import _abi

if find_spec("armature._C") is None:
    raise ImportError(_abi.why_no_engine())

from armature import _C, _compile, _config, _explain, _frames, _stand_ins, backends, logging
from armature._C import graph_break, is_compiling, skip_frame
from armature._compile import compile, disable, guard_check, reset
from armature._config import config
from armature._error_on_graph_break import error_on_graph_break
from armature._explain import (
    BreakReason,
    Explanation,
    FrameLine,
    GraphBreakKind,
    Translation,
    explain,
    graph_break_kinds,
)
from armature._frames import FrameCounts, capture_frames
from armature.backends import list_backends
from armature.exc import InternalError, InvalidBackend, Unsupported
from armature.logging import set_logs

# What a program compiles, explains or sets inside of a compiled function, Python does; and so does
# showing tracebacks, which leads from frame to frame and to the files of their source.
_C.add_stand_ins(_stand_ins.STAND_INS)
_C.skip_always([_compile, _config, _explain, _frames, backends, logging, traceback])
# What these hold amid their work is new in each call: numbers of objects, threads, references.
_C.capture_whole([copy, threading, weakref])

__all__ = [
    "BreakReason",
    "Explanation",
    "FrameCounts",
    "FrameLine",
    "GraphBreakKind",
    "InternalError",
    "InvalidBackend",
    "Translation",
    "Unsupported",
    "backends",
    "capture_frames",
    "compile",
    "config",
    "disable",
    "error_on_graph_break",
    "explain",
    "graph_break",
    "graph_break_kinds",
    "guard_check",
    "is_compiling",
    "list_backends",
    "logging",
    "reset",
    "set_logs",
    "skip_frame",
]

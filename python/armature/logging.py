"""What the engine did, as text on stderr: ``ARMATURE_LOGS=recompiles,graph_breaks``.

Artifacts:
  graph_breaks    where and why a graph ended, and what to do about it; at the end of the program,
                  how often each was hit, and the time that Python took because of it
  recompiles      the guards that did not hold when a function was compiled once more
  graph_code      each graph, as torch.fx prints it
  guards          what each translation assumes
  guard_program   the instructions that check it
  bytecode        the generated code
  compiles        one line for each translation: sizes and times
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import types
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

from armature import _C
from armature._config import config
from armature.exc import InternalError, Unsupported, format_stack

ARTIFACTS = (
    "graph_breaks",
    "recompiles",
    "graph_code",
    "guards",
    "guard_program",
    "bytecode",
    "compiles",
)

_enabled: set[str] = set()
# The breaks that were logged.
_measured: list[tuple[_C.BreakReasonFields, _C.BreakStatistics]] = []
_logger = logging.getLogger("armature")
# Code whose internal errors were logged once.
_failed: weakref.WeakSet[types.CodeType] = weakref.WeakSet()


def set_logs(*artifacts: str, **switches: bool) -> None:
    """Logs these artifacts from now on, and no others.

    ``set_logs("guards", "bytecode")``, ``set_logs(guards=True)``, or ``set_logs("all")``; without
    arguments, nothing is logged. Raises ValueError for a name that is not in ``ARTIFACTS``.
    """
    chosen = {*artifacts, *(name for name, on in switches.items() if on)}
    if "all" in chosen:
        chosen = chosen - {"all"} | set(ARTIFACTS)
    for name in [*chosen, *switches]:
        if name not in ARTIFACTS and name != "all":
            raise ValueError(f"there is no log {name!r}; logs: {', '.join(ARTIFACTS)}, all")
    _enabled.clear()
    _enabled.update(chosen)
    _C.set_measures_breaks("graph_breaks" in _enabled)
    # Without logs the engine does not even describe what it made.
    _C.set_hooks(
        compiled=_on_compiled if _enabled else None,
        recompile_limit=_on_recompile_limit,
        unsupported=Unsupported,
        internal_error=_on_internal_error,
    )


def log(artifact: str, message: str) -> None:
    """Writes a message, if its artifact is logged."""
    if artifact in _enabled:
        print(f"[armature:{artifact}] {message}", file=sys.stderr)


def format_break(reason: dict[str, Any]) -> str:
    """The reason of a graph break, with its place: one line, one more for each hint, and, where it
    is in a function that was called, the frames as in a traceback."""
    context = f": {reason['context']}" if reason["context"] else ""
    hints = "".join(f"\n    Hint: {hint}" for hint in reason["hints"])
    calls = "".join(f"\n    {line}" for line in format_calls(reason["stack"]))
    return (
        f"{reason['filename']}:{reason['line']} in {reason['function']}: "
        f"{reason['gb_type']}{context}\n    {reason['explanation']}{hints}{calls}"
    )


def format_calls(stack: Sequence[tuple[str, int, str]]) -> list[str]:
    """The frames of a break as in a traceback, if there is more than one."""
    if len(stack) < 2:
        return []
    return ["Calls (most recent call last):", *format_stack(stack)]


def format_hits(hits: int, seconds: float) -> str:
    """How often a break was hit, and the time that Python took because of it."""
    return f"{hits} time{'' if hits == 1 else 's'}, {1e3 * seconds:.3f} ms in Python"


@atexit.register
def log_measured_breaks() -> None:
    """Logs how often each break was hit that was logged, the one that took longest first."""
    for reason, statistics in sorted(_measured, key=lambda entry: -entry[1].seconds):
        hits = format_hits(statistics.hits, statistics.seconds)
        where = f"{reason['filename']}:{reason['line']} in {reason['function']}"
        log("graph_breaks", f"{where}: {reason['gb_type']}: {hits}")


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.rstrip("\n").split("\n"))


def _on_compiled(entry: dict[str, Any]) -> None:
    where = f"{entry['name']} ({entry['filename']}:{entry['line']})"
    milliseconds = 1e3 * (entry["trace_seconds"] + entry["backend_seconds"])
    log(
        "compiles",
        f"{where}: {entry['operations']} operations, {entry['guard_count']} guards, "
        f"{entry['instructions']} instructions, {milliseconds:.3f} ms",
    )
    if entry["recompile_reason"]:
        log("recompiles", f"{where}: no translation fits:\n{_indent(entry['recompile_reason'])}")
    if entry["break_reason"]:
        log("graph_breaks", format_break(entry["break_reason"]))
        if "graph_breaks" in _enabled and entry["break_statistics"]:
            _measured.append((entry["break_reason"], entry["break_statistics"]))
    if entry["graph"]:
        log("graph_code", f"{where}\n{_indent(entry['graph'])}")
    for artifact in ("guards", "guard_program", "bytecode"):
        if entry[artifact]:
            log(artifact, f"{where}\n{_indent(entry[artifact])}")


def _on_recompile_limit(name: str, reason: str, filename: str, line: int, limit: int) -> None:
    reason = reason or "the objects that they were compiled for are no more"
    message = (
        f"{name} ({filename}:{line}) was compiled {limit} times, which is the limit, and runs as "
        f"plain Python where no translation fits. In this call they don't fit because:\n"
        f"{_indent(reason)}\n"
        f"Make these values constant, or raise armature.config.recompile_limit."
    )
    log("recompiles", message)
    _logger.warning("%s", message)


def _on_internal_error(code: types.CodeType, name: str, error: str, is_error: bool) -> None:
    message = (
        f"armature failed to compile {name} ({code.co_filename}:{code.co_firstlineno}), which runs "
        f"as plain Python: {error}"
    )
    if is_error and config.strict:
        raise InternalError(message)
    if code not in _failed:
        _failed.add(code)
        _logger.warning("%s", message)


def _set_from_environment() -> None:
    chosen = {name.strip() for name in os.environ.get("ARMATURE_LOGS", "").split(",")} - {""}
    unknown = chosen - {*ARTIFACTS, "all"}
    if unknown:
        warnings.warn(
            f"ARMATURE_LOGS names no such logs: {', '.join(sorted(unknown))}; "
            f"logs: {', '.join(ARTIFACTS)}, all",
            stacklevel=2,
        )
    set_logs(*(chosen - unknown))


_set_from_environment()

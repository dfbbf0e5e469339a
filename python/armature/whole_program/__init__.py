"""Whole programs, captured: ``python -m armature.whole_program SCRIPT`` or ``-m MODULE``.

Every Python frame that the program begins is captured with the eager backend, those of the
standard library too, unless a rule excludes it (``armature.capture_frames``).
"""

from __future__ import annotations

import json
import logging
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from armature._config import config
from armature._frames import FrameCounts, capture_frames

RECOMPILE_LIMIT = 64
TOP = 10


def run(program: str, is_module: bool, arguments: list[str], report: Path | None) -> None:
    """Runs the program as ``python`` would, and tells what became of its frames when it ends:
    on stderr, or as JSON in the file `report`."""
    # What there is to say is said at the end: the program may look at what is logged.
    logger = logging.getLogger("armature")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    # A program has many functions that are called with everything; each is worth its translations.
    config.recompile_limit = RECOMPILE_LIMIT
    frames = capture_frames(standard_library=True)
    process = os.getpid()
    sys.argv[:] = [program, *arguments]
    try:
        if is_module:
            sys.path[0] = os.getcwd()
            with frames:
                runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(program).resolve().parent)
            with frames:
                runpy.run_path(program, run_name="__main__")
    finally:
        if os.getpid() == process:  # and not a child that the program has forked
            _tell(frames.counts, report)


def _tell(counts: FrameCounts, report: Path | None) -> None:
    if report is None:
        print(format_counts(counts), file=sys.stderr)
    else:
        report.write_text(json.dumps(vars(counts)))


def format_counts(counts: FrameCounts) -> str:
    begun = counts.whole + counts.broken
    lines = [
        f"{begun} frames begun: {counts.whole} captured whole ({percent(counts.whole, begun)}), "
        f"{counts.broken} broken; {sum(counts.excluded.values())} skipped"
    ]
    lines += _ranked("broken by", counts.break_reasons)
    lines += _ranked("skipped as", counts.excluded)
    return "\n".join(lines)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _ranked(title: str, counts: dict[str, int]) -> list[str]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    return [f"  {title}: {number:7} {_one_line(text)}" for text, number in ranked]


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"


def add(total: dict[str, Any], counts: dict[str, Any]) -> None:
    """Adds counts, as dicts, to others."""
    for name, value in counts.items():
        if isinstance(value, dict):
            add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value

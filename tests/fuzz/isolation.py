"""Work in forked processes, so that a crash is a result."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO

import torch


def prepare() -> None:
    """To be called once before the first fork, when everything is imported.

    Keeps the collector from walking through the libraries again after each step.
    """
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()


class Child:
    """A forked process that runs ``work``, which is given a function that sends the parent a line.

    The program being forked must have no other threads that matter; torch runs on one.
    """

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run(work, writing)
        os.close(writing)
        self.file: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self._text = b""

    def lines(self, seconds: float) -> Iterator[str]:
        """Lines as they come, until the process ends; TimeoutError after ``seconds`` of silence."""
        deadline = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.file], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            lines = self.available()
            if lines is None:
                return
            for line in lines:
                deadline = time.monotonic() + seconds
                yield line

    def available(self) -> list[str] | None:
        """The whole lines that one read brings; None at the end."""
        read = os.read(self.file.fileno(), 1 << 16)
        if not read:
            return None
        *lines, self._text = (self._text + read).split(b"\n")
        return [line.decode() for line in lines]

    def end(self, *, kill: bool = False) -> str:
        """Waits for the process; what ended it, or "" for an ordinary end."""
        if kill:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.file.close()
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return signal.Signals(-code).name
        return f"exit {code}" if code else ""


def _run(work: Callable[[Callable[[str], None]], None], writing: int) -> None:
    """In the child; does not return."""
    code = 1
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 2)
        work(lambda line: _write_all(writing, line.encode() + b"\n"))
        code = 0
    finally:
        os._exit(code)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]

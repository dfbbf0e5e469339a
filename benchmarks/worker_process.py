"""A process in which one engine answers requests: JSON objects, one a line."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Worker:
    """Runs `script ENGINE`, of this folder. One that dies or hangs is replaced."""

    def __init__(self, script, engine, timeout, verbose):
        self.script = script
        self.engine = engine
        self.timeout = timeout
        self.verbose = verbose
        self.process = None

    def _start(self):
        self.process = subprocess.Popen(
            [sys.executable, HERE / self.script, self.engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if self.verbose else subprocess.DEVNULL,
            text=True,
        )

    def ask(self, request):
        """The answer; {"error": text} where there is none."""
        if self.process is None:
            self._start()
        process = self.process
        watchdog = threading.Timer(self.timeout, process.kill)
        start = time.monotonic()
        watchdog.start()
        try:
            print(json.dumps(request), file=process.stdin, flush=True)
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            watchdog.cancel()
        if answer:
            return json.loads(answer)
        self.process = None
        status = process.wait()
        if time.monotonic() - start > self.timeout:
            return {"error": f"took longer than {self.timeout:g} s"}
        cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return {"error": f"the process died: {cause}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()

"""Every method of every builtin type, every builtin function and every operator, with every kind of
value: see hostile_values.py. A sample; ARMATURE_HOSTILE=N runs N times as many."""

import json
import os
import subprocess
import sys
from pathlib import Path

import armature
import pytest

PROGRAM = Path(__file__).with_name("hostile_values.py")
FACTOR = int(os.environ.get("ARMATURE_HOSTILE", "1"))
BATCHES = 4
CASES = 1000 * FACTOR  # in each batch


@pytest.mark.parametrize("batch", range(BATCHES))
def test_hostile_operations(batch):
    environment = dict(os.environ, PYTHONHASHSEED="0")
    environment["PYTHONPATH"] = str(Path(armature.__file__).parent.parent)
    differing = []
    at, last = batch, ""
    while last != "end":
        done = subprocess.run(
            [sys.executable, str(PROGRAM), str(at), str(BATCHES), str(BATCHES * CASES)],
            capture_output=True,
            env=environment,
            text=True,
            timeout=600 * FACTOR,
        )
        for line in done.stdout.splitlines():
            if line.startswith("@"):
                last = line[1:]
            else:
                differing.append(json.loads(line))
        assert last, done.stderr
        if last != "end":  # The process has died of this case.
            differing.append(
                {"case": int(last), "died": done.returncode, "why": done.stderr[-500:]}
            )
            at = int(last) + BATCHES
    assert not differing, "\n".join(map(str, differing))

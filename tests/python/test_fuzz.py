"""Random programs in a changing world behave as in plain Python: ``tests/fuzz``."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from changing_world import open_differences

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "first, backend", [*((first, "eager") for first in range(0, 400, 100)), (400, "contained")]
)
def test_programs_in_a_changing_world(first, backend, tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT / "tests")]),
        "PYTHONHASHSEED": "0",
    }
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "fuzz", "--seed", str(first), "--programs", "100"]
    command += ["--shrink", "0", "--report", str(report), "--backend", backend]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert report.exists(), finished.stderr
    found = json.loads(report.read_text())
    assert found["programs"] == 100
    assert found["calls"] > 500
    left_out = open_differences()
    assert not {s: d for s, d in found["differences"].items() if f"seed: {s}" not in left_out}

"""Random programs in a changing world behave as in plain Python: ``tests/fuzz``."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Programs that are known to differ, by the reason; each reason is an open defect.
KNOWN_DIFFERENCES: dict[int, str] = {}


@pytest.mark.parametrize("first", range(0, 800, 200))
def test_programs_in_a_changing_world(first, tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests")]),
        "PYTHONHASHSEED": "0",
    }
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "fuzz", "--seed", str(first), "--programs", "200"]
    command += ["--shrink", "0", "--report", str(report)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert report.exists(), finished.stderr
    found = json.loads(report.read_text())
    assert found["programs"] == 200
    assert found["calls"] > 1000
    unexpected = {s: d for s, d in found["differences"].items() if int(s) not in KNOWN_DIFFERENCES}
    assert not unexpected

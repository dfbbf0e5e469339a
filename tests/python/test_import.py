"""The package is built, and lives beside torch."""

import subprocess
import sys


def test_extension_loads_beside_torch_in_either_order():
    for order in ("torch, armature._C", "armature._C, torch"):
        subprocess.run([sys.executable, "-c", f"import {order}"], check=True)

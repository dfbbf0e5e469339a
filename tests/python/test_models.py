"""A tenth of what `./dev models transformers` runs: results and gradients are plain PyTorch's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))


@pytest.mark.parametrize(
    ("mode", "fewest"), [(["--every=10"], 25), (["--every=20", "--train"], 12)]
)
def test_transformers(mode: list[str], fewest: int) -> None:
    import models

    results: list[tuple[str, dict[str, Any]]] = []
    options = models.parse(["transformers", "--limit=100", *mode])
    requests = models.requests_of(options)
    models.run_all(
        requests,
        [models.OURS],
        1,
        options.limit,
        False,
        lambda r, a: results.append((r["name"], a[models.OURS])),
    )
    ran = {name: a for name, a in results if a.get("failed") not in models.UNRUNNABLE}
    assert len(results) == len(requests) and len(ran) >= fewest
    assert {name: a for name, a in ran.items() if "failed" in a or a["different"]} == {}
    assert {name: a for name, a in ran.items() if a["recompiles"]} == {}
    assert sum(map(models.is_whole, ran.values())) >= 0.8 * len(ran)

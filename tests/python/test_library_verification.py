"""Where a fast way to look at a library does not verify, slower ways serve, or it is refused."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import warnings, sys
import armature, numpy as np, torch
from armature import _C
for way in sys.argv[1].split(","):
    _C.distrust(way)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x).relu()
        return y.view(x.shape[0], -1) if x.dim() > 1 else y.sum()

def arrays(a):
    return np.sin(a) + a.shape[0], a.dtype.name

def settings(x):
    with torch.no_grad():
        y = x * 2
    return y, torch.get_default_dtype(), torch.is_autocast_enabled("cpu"), torch.is_grad_enabled()

def count(compiled):
    return len(_C.entries(getattr(compiled, "__func__", compiled)))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = Model()
    forward = armature.compile(model.forward)
    for shape in [(2, 4), (3, 4), (4,), (2, 4)]:
        x = torch.randn(shape)
        assert torch.equal(forward(x), model.forward(x))
    assert count(forward) == 3, count(forward)

    captured = armature.compile(arrays)
    for array in [np.ones(3), np.ones(4), np.ones((2, 2), "f4"), np.ones(3)[::-1], np.ones(3)]:
        expected, found = arrays(array), captured(array)
        assert (expected[0] == found[0]).all() and expected[1] == found[1]
    captures = [e for e in _C.entries(captured) if "sin" in e["graph"]]
    assert bool(captures) == ("numpy.module" not in sys.argv[1])
    refusals = [w for w in caught if "armature" in str(w.message)]
    assert len(refusals) == ("numpy.module" in sys.argv[1]), refusals

asks = armature.compile(settings)
def check():
    x = torch.ones(2, requires_grad=True)
    a, b = asks(x), settings(x)
    assert torch.equal(a[0], b[0]) and a[0].requires_grad == b[0].requires_grad
    assert a[1:] == b[1:], (a, b)
check()
with torch.no_grad():
    check()
torch.set_default_dtype(torch.float64)
check()
torch.set_default_dtype(torch.float32)
with torch.autocast("cpu", torch.bfloat16):
    check()
with torch.device("meta"):
    asks(torch.ones(2))
torch.use_deterministic_algorithms(True)
check()
torch.set_float32_matmul_precision("medium")
check()
check()
"""

WAYS = [
    "nothing",
    "torch.layout",
    "torch.layout,torch.functions",
    "torch.symbols",
    "torch.thread_words",
    "numpy.layout",
    "numpy.module",
    "torch.layout,torch.functions,torch.symbols,torch.thread_words,numpy.layout",
]


@pytest.mark.parametrize("ways", WAYS)
def test_without(ways):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), ways], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr

"""In all tests, an error of Armature's own is an error of the test.

Programs that a test starts find what the test itself finds.
"""

import gc
import os
import pathlib

import pytest

os.environ["ARMATURE_STRICT"] = "1"
_PACKAGE = str(pathlib.Path(__file__).parents[2] / "python")
_PATHS = [_PACKAGE, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in _PATHS if path))


@pytest.fixture(autouse=True, scope="module")
def small_heap():
    """What was there before a file's tests, the libraries above all, is not walked by each of the
    many collections that they ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_translations():
    """What an earlier test compiled and let go of is not there for the next one."""
    import armature

    armature._C.forget_unused(True)

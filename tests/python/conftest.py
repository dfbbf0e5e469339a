"""In all tests, an error of Armature's own is an error of the test.

Programs that a test starts find what the test itself finds.
"""

import collections
import ctypes
import gc
import importlib.util
import os
import pathlib
import sys

import pytest

os.environ["ARMATURE_STRICT"] = "1"
_PACKAGE = str(pathlib.Path(importlib.util.find_spec("armature").origin).parents[1])
_PATHS = [_PACKAGE, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in _PATHS if path))


@pytest.fixture(autouse=True, scope="module")
def small_heap():
    """What was there before a file's tests, the libraries above all, is not walked by each of the
    many collections that they ask for."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption(
        "--verify",
        action="store_true",
        help="trace each call that a translation is found for once more: does the same come of it?",
    )


# Few tests that take minutes: no worker is to come to one when the others have done all the rest.
LONG = {"test_models", "test_fuzz", "test_cpython_suites", "test_bytecode_round_trip"}


def pytest_collection_modifyitems(items):
    count = collections.Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.stem not in LONG, -count[item.path]))


@pytest.fixture(autouse=True)
def own_translations(request):
    """What an earlier test compiled and let go of is not there for the next one."""
    import armature

    armature._C.forget_unused(True)
    armature._C.set_verifies_translations(request.config.getoption("verify"))


@pytest.fixture(autouse=True)
def own_global_state():
    """A test leaves the modes and settings of the libraries as it found them: what another file's
    tests find must not depend on which worker ran this one's."""
    import armature

    guards = armature._C.GuardManager([(None, "GLOBAL_STATE")], [], [])
    yield
    assert guards.check() == (), guards.check_verbose()
    if torch := sys.modules.get("torch"):
        autograd = torch._C._autograd
        refused = autograd._saved_tensors_hooks_get_disabled_error_message()
        autograd._saved_tensors_hooks_enable()
        assert refused is None


_python = ctypes.pythonapi
_python.PyInterpreterState_Get.restype = ctypes.c_void_p
_python._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
_python._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
_python._PyInterpreterState_SetEvalFrameFunc.restype = None
_python._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


@pytest.fixture(autouse=True)
def own_frame_evaluation():
    """TorchDynamo leaves its frame hook when it raises. With it, each call of a Python function
    takes of the C stack, which deep recursion then exhausts, and holds its arguments to its end."""
    interpreter = _python.PyInterpreterState_Get()
    before = _python._PyInterpreterState_GetEvalFrameFunc(interpreter)
    yield
    if _python._PyInterpreterState_GetEvalFrameFunc(interpreter) != before:
        _python._PyInterpreterState_SetEvalFrameFunc(interpreter, before)

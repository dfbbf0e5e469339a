"""The package is built, lives beside torch, and says why where it cannot work."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import armature
import pytest
from armature import _C

PACKAGE = Path(armature.__file__).parent


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_extension_loads_beside_torch_in_either_order():
    for order in ("torch, armature._C", "armature._C, torch"):
        subprocess.run([sys.executable, "-c", f"import {order}"], check=True)


def test_the_engines_file_name_carries_its_abi():
    assert Path(_C.__file__).name == "_C" + sysconfig.get_config_var("EXT_SUFFIX")
    assert [file.name for file in PACKAGE.glob("_C*.so")] == [Path(_C.__file__).name]


def copy_without_engine(folder: Path) -> Path:
    target = folder / "armature"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return target


def test_a_wrong_interpreter_is_told_both_versions(tmp_path: Path):
    package = copy_without_engine(tmp_path)
    (package / "_C.cpython-399-x86_64-linux-gnu.so").touch()
    done = run("import armature", PYTHONPATH=str(tmp_path))
    version = ".".join(map(str, sys.version_info[:3]))
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: armature was built for CPython 3.99 (cpython-399-"), last
    assert f"this interpreter is CPython {version} (" in last


def test_a_package_without_an_engine_says_how_to_get_it(tmp_path: Path):
    copy_without_engine(tmp_path)
    done = run("import armature", PYTHONPATH=str(tmp_path))
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: armature's engine is not built; ./dev build makes it")


def test_an_error_inside_the_package_is_not_taken_for_a_wrong_interpreter(tmp_path: Path):
    package = copy_without_engine(tmp_path)
    shutil.copy(_C.__file__, package)
    (package / "backends.py").write_text("import no_such_module\n")
    done = run("import armature", PYTHONPATH=str(tmp_path))
    assert "No module named 'no_such_module'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", _C.assumptions())
def test_each_assumption_that_does_not_hold_refuses_the_import(name: str):
    done = run("import armature", ARMATURE_FAIL_ASSUMPTION=name)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: armature cannot work in this interpreter"), last
    assert f'("{name}")' in last
    assert sys.version.split()[0] in last


def test_the_self_test_leaves_a_tracer_in_place():
    program = """
import sys
seen = []
def tracer(frame, event, argument):
    seen.append(frame.f_code.co_filename)
sys.settrace(tracer)
import armature._C
assert sys.gettrace() is tracer
sys.settrace(None)
assert "<string>" not in [name for name in seen if name != __file__], seen
"""
    done = run(f"__file__ = '<string>'\n{program}")
    assert done.returncode == 0, done.stderr


def test_a_debugger_that_hides_itself_is_no_reason_to_refuse():
    done = run("import sys; sys.gettrace = lambda: len; import armature._C")
    assert done.returncode == 0, done.stderr


def test_a_subinterpreter_is_refused():
    program = """
import _xxsubinterpreters as interpreters
import sys
other = interpreters.create()
try:
    interpreters.run_string(other, f"import sys; sys.path[:] = {sys.path!r}; import armature")
except interpreters.RunFailedError as error:
    print(error)
import armature
print(armature.compile(lambda x: x + 1)(1))
"""
    done = run(program)
    assert done.returncode == 0, done.stderr
    refusal, answer = done.stdout.splitlines()
    assert "ImportError" in refusal and "main interpreter only" in refusal
    assert answer == "2"

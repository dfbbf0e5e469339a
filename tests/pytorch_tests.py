"""Runs PyTorch's own tests plainly and captured: `./dev test --pytorch FOLDER [FILES]`.

FOLDER is `test/` of PyTorch's source (any version: what does not load under the installed one is
left out and said). Each test method runs twice, in processes of their own: as it is, and with the
method compiled under ARMATURE_STRICT=1, so that an error of ours is a failure. Ends with 1 if a
method has another outcome, or none.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import os
import queue
import re
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))
from cpython_suite_runner import compile_method, outcome

# Those of one machine, one process and the CPU; no compilers of PyTorch's, no C++ builds.
FILES = """
    test_autograd test_complex test_dlpack test_expanded_weights test_foreach test_functional_optim
    test_function_schema test_fx test_indexing test_linalg test_masked test_maskedtensor
    test_module_init test_modules test_namedtensor test_namedtuple_return_api test_native_functions
    test_native_mha test_nestedtensor test_nn test_numpy_interop test_openmp test_optim
    test_overrides test_package test_per_overload_api test_pruning_op test_python_dispatch
    test_pytree test_reductions test_scatter_gather_ops test_segment_reductions test_serialization
    test_shape_ops test_sort_and_select test_sparse test_spectral_ops test_stateless test_subclass
    test_tensor_creation_ops test_testing test_torch test_transformers test_type_info
    test_type_promotion test_unary_ufuncs test_utils test_view_ops test_vmap
    distributions/test_constraints distributions/test_distributions distributions/test_transforms
    nn/test_dropout nn/test_embedding nn/test_packed_sequence nn/test_pooling
""".split()
DID_NOT_LOAD = "did not load"


class Absent:
    """A decorator, a maker of decorators, or a list that later versions do not have any more."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1 and callable(arguments[0]) and not keywords:
            return arguments[0]
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __radd__(self, other: Any) -> Any:
        return other

    def __bool__(self) -> bool:
        return False


def provide_older_names() -> None:
    """What tests of older versions import, and later versions have elsewhere or no more."""
    import torch
    import torch.nn.utils.stateless

    sys.modules["torch.nn.utils._stateless"] = torch.nn.utils.stateless
    if not hasattr(torch._C, "has_mkldnn"):
        torch._C.has_mkldnn = torch.backends.mkldnn.is_available()  # type: ignore[attr-defined]
    six = sys.modules["torch._six"] = types.ModuleType("torch._six")
    vars(six).update(inf=math.inf, nan=math.nan, string_classes=(str, bytes))
    if importlib.util.find_spec("expecttest") is None:
        expecttest = sys.modules["expecttest"] = types.ModuleType("expecttest")
        vars(expecttest).update(TestCase=unittest.TestCase)


def load(path: Path) -> types.ModuleType:
    provide_older_names()
    from torch.testing._internal import common_dtype

    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification and specification.loader
    while True:
        module = sys.modules[path.stem] = importlib.util.module_from_spec(specification)
        try:
            specification.loader.exec_module(module)
            return module
        except ImportError as error:
            missing = re.match(r"cannot import name '(\w+)'", str(error))
            if not missing or not (error.name or "").startswith("torch.testing"):
                raise
            found = getattr(common_dtype, missing[1], Absent())
            setattr(sys.modules[error.name or ""], missing[1], found)


def tests_of(suite: Any) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def run_file(path: Path, mode: str, every: int, done: int) -> None:
    """One line of JSON for each method behind the first `done`; see cpython_suite_runner."""
    warnings.simplefilter("ignore")
    out, sys.stdout = sys.stdout, io.StringIO()
    folder = next(p for p in path.parents if p.name == "test")
    sys.path[:0] = [str(path.parent), str(folder)]
    sys.argv = [str(path)]
    try:
        module = load(path)
    except BaseException as error:
        text = f"{type(error).__name__}: {str(error)[:150]}"
        print(json.dumps([DID_NOT_LOAD, text]), file=out, flush=True)
        return
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    for test in list(tests_of(suite))[::every][done:]:
        name = ".".join(test.id().split(".")[-2:])
        print(json.dumps(["begin", name]), file=out, flush=True)
        if mode == "captured":
            compile_method(test)
        print(json.dumps([name, outcome(test)]), file=out, flush=True)


def outcomes(path: Path, mode: str, every: int, limit: float) -> list[tuple[str, str]]:
    """The outcomes of a file's methods in order. One that ends its process, or that says nothing
    for `limit` seconds, has an outcome, too; those behind it run in the next process."""
    found: list[tuple[str, str]] = []
    environment = os.environ | {"ARMATURE_STRICT": "1", "PYTHONHASHSEED": "0"}
    while True:
        begun = None
        command = [sys.executable, __file__, str(path), "--run", mode]
        command += ["--every", str(every), "--done", str(len(found))]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            assert process.stdout
            lines: queue.Queue[str] = queue.Queue()
            stream = process.stdout
            reader = threading.Thread(target=lambda s=stream, q=lines: [q.put(x) for x in s])
            reader.start()
            while True:
                deadline = time.monotonic() + limit
                while lines.empty() and reader.is_alive() and time.monotonic() < deadline:
                    time.sleep(0.01)
                if lines.empty() and not reader.is_alive():
                    ended = f"ended its process with status {process.wait()}"
                    break
                if lines.empty():
                    ended = f"took longer than {limit:.0f} s"
                    process.kill()
                    reader.join()
                    break
                name, text = json.loads(lines.get())
                if name == "begin":
                    begun = text
                else:
                    begun = None
                    found.append((name, text))
        if begun is None:
            if not found and "longer" in ended:
                found.append((DID_NOT_LOAD, ended))
            return found
        found.append((begun, ended))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev test --pytorch", description=__doc__)
    parser.add_argument("folder", type=Path, help="test/ of PyTorch's source")
    parser.add_argument("files", nargs="*", default=FILES, help="as test_torch, nn/test_init")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth method only")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a method")
    parser.add_argument("--run", choices=["plain", "captured"], help=argparse.SUPPRESS)
    parser.add_argument("--done", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_file(options.folder.resolve(), options.run, options.every, options.done)
        return 0
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder: give test/ of PyTorch's source")
    total = same = 0
    for file in options.files:
        path = options.folder / f"{file}.py"
        if not path.is_file():
            print(f"{file}: is not in {options.folder}", flush=True)
            continue
        plain = outcomes(path, "plain", options.every, options.limit)
        if plain and plain[0][0] == DID_NOT_LOAD:
            print(f"{file}: does not load: {plain[0][1]}", flush=True)
            continue
        captured = dict(outcomes(path, "captured", options.every, options.limit))
        differ = {name: text for name, text in plain if captured.get(name) != text}
        total += len(plain)
        same += len(plain) - len(differ)
        print(f"{file}: {len(plain)} methods, {len(differ)} with another outcome", flush=True)
        for name, text in differ.items():
            print(f"    {name}\n        plain    {text[:300]}")
            print(f"        captured {captured.get(name, 'did not run')[:300]}", flush=True)
    print(f"{total} methods, {same} with the same outcome")
    return 0 if total and same == total else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs TorchDynamo's own tests with Armature in its place:
`./dev test --torchdynamo FOLDER [FILES]`.

FOLDER is `test/` of PyTorch's source, of any version near the installed one. Each test runs twice,
in processes of their own: as it is, and with what it calls of TorchDynamo replaced by Armature
(torch.compile, torch._dynamo.optimize, disable, graph_break, reset, Unsupported, the recompile
limit). Of those that pass in TorchDynamo, it prints how many pass here, and which do not, with the
last line of the error. Many look at what is TorchDynamo's own (its counters, logs, symbolic sizes
and stances), so this is a list to read and no test that passes or fails.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import unittest
import warnings
from pathlib import Path
from typing import Any

from pytorch_tests import DID_NOT_LOAD, load, tests_of

FILES = """
    test_activation_checkpointing test_aot_autograd test_autograd_function test_backends
    test_backward_higher_order_ops test_base_output test_comptime test_ctx_manager test_decorators
    test_exc test_exceptions test_export_mutations test_frame_init test_functions test_global
    test_higher_order_ops test_hooks test_input_attr_tracking test_interop test_misc
    test_model_output test_modes test_modules test_nops test_optimizers test_python_autograd
    test_recompiles test_reconstruct test_repros test_resume test_sdpa test_skip_non_tensor
    test_sources test_subclasses test_subgraphs test_unspec test_verify_correctness test_view
""".split()


def backend_of(backend: Any) -> Any:
    """Tests that name no backend have no business with a compiler of C++."""
    return "eager" if backend in (None, "inductor") else backend


def replace_torchdynamo() -> None:
    import armature
    import torch
    import torch._dynamo.testing

    dynamo: Any = torch._dynamo
    armature.config.numpy_as_torch = True

    def compile(model: Any = None, *, fullgraph: bool = False, **options: Any) -> Any:
        def decorate(function: Any) -> Any:
            return armature.compile(
                function,
                fullgraph=fullgraph,
                backend=backend_of(options.get("backend")),
                disable=options.get("disable", False),
            )

        return decorate if model is None else decorate(model)

    def optimize(backend: Any = "eager", *, nopython: bool = False, **options: Any) -> Any:
        return compile(fullgraph=nopython, backend=backend, disable=options.get("disable", False))

    def optimize_assert(backend: Any, **options: Any) -> Any:
        return compile(fullgraph=True, backend=backend)

    original_disable, original_reset = dynamo.disable, dynamo.reset

    def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
        if not options.get("wrapping", True):  # torch disables functions of its own
            return original_disable(fn, recursive, **options)
        return armature.disable(fn, recursive=recursive)

    def reset() -> None:
        original_reset()
        armature.reset()

    torch.compile = torch.compiler.compile = compile  # type: ignore[assignment]
    for module in (dynamo, dynamo.eval_frame):
        module.optimize, module.optimize_assert = optimize, optimize_assert
    dynamo.testing.optimize_assert = optimize_assert
    dynamo.disable = torch.compiler.disable = disable
    dynamo.reset = torch.compiler.reset = reset
    dynamo.graph_break = armature.graph_break
    dynamo.skip_frame = armature.skip_frame
    dynamo.error_on_graph_break = armature.error_on_graph_break
    dynamo.exc.Unsupported = armature.Unsupported

    config_type = type(dynamo.config)
    set_attribute = config_type.__setattr__

    def set_option(self: Any, name: str, value: Any) -> None:
        set_attribute(self, name, value)
        if self is dynamo.config and name in ("recompile_limit", "cache_size_limit"):
            armature.config.recompile_limit = max(1, min(value, 2**31 - 1))

    config_type.__setattr__ = set_option
    logging.getLogger("armature").setLevel(logging.ERROR)


def name_backend() -> None:
    import torch

    original = torch.compile

    def compile(model: Any = None, **options: Any) -> Any:
        if backend_of(options.get("backend")) == "eager":
            options = {k: v for k, v in options.items() if k not in ("mode", "options")}
            options["backend"] = "eager"
        return original(model, **options)

    torch.compile = compile  # type: ignore[assignment]


def run_file(path: Path, engine: str, done: int) -> None:
    """One line of JSON for each test behind the first `done`: ["begin", name], and [name, error],
    "" for a test that has passed, null for one that was skipped."""
    warnings.simplefilter("ignore")
    out, sys.stdout = sys.stdout, io.StringIO()
    sys.path[:0] = [str(path.parent), str(path.parent.parent)]
    sys.argv = [str(path)]
    import torch._dynamo.test_case

    (replace_torchdynamo if engine == "armature" else name_backend)()
    try:
        module = load(path)
    except BaseException as error:
        print(json.dumps([DID_NOT_LOAD, repr(error)[:200]]), file=out, flush=True)
        return
    if case := getattr(module, "ReproTests", None):  # whose set-up is for guards of another version
        case.setUp = torch._dynamo.test_case.TestCase.setUp
        case.tearDown = torch._dynamo.test_case.TestCase.tearDown
    for test in list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))[done:]:
        name = ".".join(test.id().split(".")[-2:])
        print(json.dumps(["begin", name]), file=out, flush=True)
        if engine == "armature":
            import armature

            armature.reset()
            armature.config.recompile_limit = 8
        result = unittest.TestResult()
        try:
            test.run(result)
        except BaseException as error:
            result.errors.append((test, repr(error)))
        wrong = [text for _, text in result.errors + result.failures]
        error = wrong[-1] if wrong else None if result.skipped or result.expectedFailures else ""
        print(json.dumps([name, error]), file=out, flush=True)


def outcomes(path: Path, engine: str, limit: float) -> dict[str, str | None]:
    """By name, the error of each test. One that ends its process, or that says nothing for `limit`
    seconds, has one, too; those behind it run in the next process."""
    found: dict[str, str | None] = {}
    done = 0
    while True:
        begun, ended = None, ""
        command = [sys.executable, __file__, str(path), "--run", engine, "--done", str(done)]
        environment = os.environ | {"ARMATURE_STRICT": "1", "PYTHONHASHSEED": "0"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            assert process.stdout
            lines: queue.Queue[str | None] = queue.Queue()
            stream = process.stdout

            def read(stream: Any = stream, lines: queue.Queue[str | None] = lines) -> None:
                for line in stream:
                    lines.put(line)
                lines.put(None)

            threading.Thread(target=read, daemon=True).start()
            while True:
                try:
                    line = lines.get(timeout=limit if begun else 10 * limit)
                except queue.Empty:
                    process.kill()
                    ended = f"took longer than {limit:.0f} s"
                    break
                if line is None:
                    ended = f"ended its process with status {process.wait()}"
                    break
                name, text = json.loads(line)
                if name == "begin":
                    begun = text
                else:
                    begun, found[name] = None, text
                    done += 1
        if begun is None:
            return found
        found[begun] = ended
        done += 1


def last_line(error: str | None) -> str:
    if error is None:
        return "was skipped"
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    # Behind the error itself, PyTorch's test cases say how to run the test alone.
    telling = [line for line in lines if "Explanation: " in line or "Error: " in line]
    return (telling or lines or ["?"])[-1][:160]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev test --torchdynamo", description=__doc__)
    parser.add_argument("folder", type=Path, help="test/ of PyTorch's source")
    parser.add_argument(
        "files", nargs="*", default=FILES, help="of its folder dynamo, as test_misc"
    )
    parser.add_argument("--limit", type=float, default=40, help="seconds for a test")
    parser.add_argument("--run", choices=["torchdynamo", "armature"], help=argparse.SUPPRESS)
    parser.add_argument("--done", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_file(options.folder.resolve(), options.run, options.done)
        return 0
    if not (options.folder / "dynamo").is_dir():
        parser.error(f"{options.folder} has no folder dynamo: give test/ of PyTorch's source")
    total = passed = 0
    for file in options.files:
        path = options.folder / "dynamo" / f"{file}.py"
        if not path.is_file():
            print(f"{file}: is not in {path.parent}", flush=True)
            continue
        expected = outcomes(path, "torchdynamo", options.limit)
        if DID_NOT_LOAD in expected:
            print(f"{file}: does not load: {expected[DID_NOT_LOAD]}", flush=True)
            continue
        names = [name for name, error in expected.items() if error == ""]
        found = outcomes(path, "armature", options.limit)
        lost = [name for name in names if found.get(name, "did not run") != ""]
        total += len(names)
        passed += len(names) - len(lost)
        print(f"{file}: {len(names)} pass in TorchDynamo, {len(names) - len(lost)} here")
        for name in lost:
            print(f"    {name}: {last_line(found.get(name, 'did not run'))}", flush=True)
    print(f"{total} tests pass in TorchDynamo, {passed} of them here")
    return 0


if __name__ == "__main__":
    sys.exit(main())

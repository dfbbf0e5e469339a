"""A signal that arrives while torch or NumPy is looked at for the first time: no mode of torch is
left changed, the exception reaches the program, and the next call works."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import os, signal, sys, time, warnings
import numpy as np, torch
import armature
from armature import _C
# What a first evaluation imports: modules that are interrupted in their midst are not ours.
import sympy, torch._subclasses.fake_tensor, torch.utils._device

class Interrupt({base}):
    pass

came = False

def raise_interrupt(number, frame):
    global came
    came = True
    raise Interrupt

signal.signal(signal.SIGALRM, raise_interrupt)

def program(x, a):
    with torch.no_grad():
        y = torch.nn.functional.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False)
    if y.shape[2] == 2:
        y = torch.logcumsumexp(y, 0)
    return y.sum(), np.sin(a)

def modes():
    return (
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda"),
        torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack(),
        torch._C._get_torch_function_state(), torch.utils._device.CURRENT_DEVICE,
        torch._C._only_lift_cpu_tensors(), np.geterr(), list(warnings.filters),
    )

before = modes()
x, a = torch.ones(1, 1, 2, 2), np.ones(3)
expected = program(x, a)
assert modes() == before

def child(delay):
    compiled = armature.compile(program)
    interrupted = called = False
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        compiled(x, a)
        called = True
        while not came:
            pass
    except Interrupt:
        interrupted = True
    assert interrupted, "what the handler raised was lost"
    assert modes() == before, modes()
    found = compiled(x, a)
    assert torch.equal(found[0], expected[0]) and (found[1] == expected[1]).all()
    return not called

# How long the first call takes at all.
def timed():
    compiled = armature.compile(program)
    start = time.perf_counter()
    compiled(x, a)
    return time.perf_counter() - start

def fork(function):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, str(function()).encode())
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    _, status = os.waitpid(pid, 0)
    answer = os.read(reader, 100).decode()
    os.close(reader)
    assert status == 0
    return answer

whole = float(fork(timed))
count = int(sys.argv[1])
seen = [fork(lambda: child(max(whole * i / count, 1e-5))) for i in range(count)]
print(seen.count("True"))
"""


# What a handler raises reaches the program, whatever it is: a timeout is no KeyboardInterrupt.
@pytest.mark.parametrize("base", ["BaseException", "AttributeError"])
def test_signals_at_many_moments(base: str) -> None:
    program = textwrap.dedent(PROGRAM).replace("{base}", base)
    done = subprocess.run([sys.executable, "-c", program, "40"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10, done.stdout  # most of them came while translating


def test_an_interrupt_of_a_constant_operation_reaches_the_program():
    program = textwrap.dedent(
        """
        import signal, armature
        def slow(x):
            return x + (3 ** 3000000) % 7
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            while True:
                armature.compile(slow)(1)
        except KeyboardInterrupt:
            print("reached")
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "reached\n", done.stderr


@pytest.mark.parametrize("name", ["_heapq", "_random", "zlib", "cmath", "_struct", "unicodedata"])
def test_an_interrupted_import_of_the_first_trace_reaches_the_program(name: str) -> None:
    program = textwrap.dedent(
        f"""
        import sys, armature

        class Interrupting:
            def find_spec(self, name, path=None, target=None):
                if name == {name!r}:
                    sys.meta_path.remove(self)
                    raise KeyboardInterrupt

        finder = Interrupting()
        sys.modules.pop({name!r}, None)
        sys.meta_path.insert(0, finder)
        def f(numbers):
            import heapq
            heapq.heapify(numbers)
            return numbers[0] + 1
        compiled = armature.compile(f)
        try:
            compiled([3, 1, 2])
        except KeyboardInterrupt:
            print("reached", finder not in sys.meta_path)
        import heapq
        print(compiled([3, 1, 2]), len(armature.explain(f)([3, 1]).break_reasons))
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "reached True\n2 0\n", done.stdout + done.stderr


def test_an_interrupt_where_an_error_is_no_news_reaches_the_program():
    program = textwrap.dedent(
        """
        import sys, armature, numpy as np

        class Interrupting:
            def find_spec(self, name, path=None, target=None):
                if name == "numpy.fft":
                    sys.meta_path.remove(self)
                    raise SystemExit(3)

        assert "numpy.fft" not in sys.modules
        sys.meta_path.insert(0, Interrupting())
        compiled = armature.compile(lambda a: np.sin(a) + 1)
        try:
            compiled(np.zeros(2))
        except SystemExit as error:
            print("reached", error.code)
        print(compiled(np.zeros(2)))
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "reached 3\n[1. 1.]\n", done.stdout + done.stderr


def test_handlers_wait_for_nobody_but_a_translation() -> None:
    program = textwrap.dedent(
        """
        import signal, threading, torch, armature

        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(threading.current_thread().name))

        def backend(module, inputs):
            signal.raise_signal(signal.SIGALRM)
            for _ in range(10):
                pass
            seen.append("backend")
            return module.forward

        def program(x):
            return x + 1

        signal.raise_signal(signal.SIGALRM)
        armature.compile(program, backend=backend)(torch.ones(2))
        thread = threading.Thread(
            target=lambda: armature.compile(lambda x: x * 2)(torch.ones(2)), name="other")
        thread.start()
        signal.raise_signal(signal.SIGALRM)
        thread.join()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # only the main thread may
        print(seen)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "['MainThread', 'MainThread', 'backend', 'MainThread']\n", done.stderr


def test_a_long_trace_is_interrupted_at_once() -> None:
    program = textwrap.dedent(
        """
        import signal, armature

        class Timeout(Exception):
            pass

        def raise_timeout(*_):
            raise Timeout

        def program(numbers):
            total = 0
            for _ in range(50_000_000):
                total += len(numbers)
            return total

        signal.signal(signal.SIGALRM, raise_timeout)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            armature.compile(program)([1])
        except Timeout:
            print("reached")
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "reached\n", done.stderr

"""Forks, threads and the end of the process."""

import os
import subprocess
import sys
import threading

import armature
import pytest
import torch

X = torch.ones(3)


def run(program, *arguments):
    """Runs a program in a process of its own; what it printed."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORK = """
import os, threading, torch, armature
X = torch.ones(3)
inside, go_on = threading.Event(), threading.Event()
def backend(module, examples):
    inside.set()
    go_on.wait()
    return module.forward
def f(x): return x * 2 + 1
known = armature.compile(lambda x: x + 5)
known(X)
slow = armature.compile(f, backend=backend)
thread = threading.Thread(target=slow, args=(X,))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    # The thread that was translating is gone: what is new runs plainly, and nothing waits for it.
    right = torch.equal(slow(X), f(X)) and torch.equal(known(X), X + 5)
    right = right and torch.equal(armature.compile(f)(X), f(X))
    armature.reset()
    os._exit(0 if right else 1)
_, status = os.waitpid(child, 0)
go_on.set()
thread.join()
assert torch.equal(slow(X), f(X))
assert len(armature._C.entries(slow)) == 1
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(slow(X), f(X)) and torch.equal(armature.compile(f)(X), f(X)) else 1)
print(os.waitstatus_to_exitcode(status), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_fork_while_another_thread_compiles():
    assert run(FORK).split() == ["0", "0"]


def test_reset_while_another_thread_compiles():
    inside, go_on = threading.Event(), threading.Event()

    def backend(module, examples):
        inside.set()
        go_on.wait()
        return module.forward

    def f(x):
        y = x + 1
        print(end="")
        return y * 2

    compiled = armature.compile(f, backend=backend)
    results = []
    thread = threading.Thread(target=lambda: results.append(compiled(X)))
    thread.start()
    inside.wait()
    armature.reset()
    assert torch.equal(compiled(X), (X + 1) * 2)
    go_on.set()
    thread.join()
    assert torch.equal(results[0], (X + 1) * 2)
    assert torch.equal(compiled(X), (X + 1) * 2)


def beside_resets(work):
    """What three threads of work(number) find beside one that resets, and what any raises."""
    found, done = [], threading.Event()

    def reset():
        while not done.is_set():
            armature.reset()

    def gather(work, *arguments):
        try:
            found.extend(work(*arguments) or ())
        except Exception as error:
            found.append(error)

    resetter = threading.Thread(target=gather, args=(reset,))
    workers = [threading.Thread(target=gather, args=(work, number)) for number in range(3)]
    for thread in [resetter, *workers]:
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    resetter.join()
    return found


def test_resets_calls_and_compilations_in_many_threads():
    with armature.config.patch(recompile_limit=1000):
        compiled = armature.compile(lambda x, n: [x + n, n])

    def call(offset):
        for i in range(300):
            value, n = compiled(X, (i + offset) % 7)
            if not torch.equal(value, X + n):
                yield n

    assert not beside_resets(call)


def test_resets_while_functions_are_made_in_many_threads():
    kept = []

    def make(offset):
        for i in range(200):
            kept.append(armature.compile(lambda x: x + offset))
            if not torch.equal(kept[-1](X), X + offset):
                yield i

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert not beside_resets(make)
    finally:
        sys.setswitchinterval(interval)


def test_defaults_that_change_while_the_call_compiles():
    inside, go_on = threading.Event(), threading.Event()

    def backend(module, examples):
        inside.set()
        go_on.wait()
        return module.forward

    def f(x, factor=None, *, plus=None):
        return x * factor + plus

    # Nobody else holds them.
    f.__defaults__ = (torch.full((3,), 2.0),)
    f.__kwdefaults__ = {"plus": torch.full((3,), 5.0)}
    compiled = armature.compile(f, backend=backend)
    results = []
    thread = threading.Thread(target=lambda: results.append(compiled(X)))
    thread.start()
    inside.wait()
    f.__defaults__ = (torch.zeros(3),)
    f.__kwdefaults__ = {"plus": torch.zeros(3)}
    go_on.set()
    thread.join()
    assert torch.equal(results[0], X * 7)
    assert torch.equal(compiled(X), X * 0)


SHUTDOWN = """
import atexit, gc, sys, threading, torch, armature
X = torch.ones(3)
class Last:
    def __init__(self, compiled): self.compiled = compiled
    def __del__(self):
        try:
            result = self.compiled(X_)
        except BaseException as error:
            result = error
X_ = X
def f(x):
    y = x + 1
    print(end="")
    return y * 2
compiled = armature.compile(f)
compiled(X)
fresh = armature.compile(lambda x: x * 3)
last = [Last(compiled), Last(fresh), Last(armature.compile(torch.nn.Linear(3, 3)))]
sys.keep = last
armature.keep = Last(compiled)
import builtins
builtins.keep = Last(armature.compile(f))
atexit.register(lambda: fresh(X))
# (No tensors, and no collection that may free one: torch itself aborts when a daemon thread comes
# back from an operation, or from a tensor's destructor, too late.)
gc.disable()
numbers = armature.compile(lambda n: [n, n + 1])
thread = threading.Thread(target=lambda: [numbers(i & 7) for i in range(10**9)], daemon=True)
thread.start()
print("end")
"""


def test_the_end_of_the_process():
    for _ in range(3):
        assert run(SHUTDOWN) == "end\n"


IMPORTS = """
import builtins, sys, types, numpy, torch, armature
refuses, name, thing = sys.argv[1] == "refuses", *sys.argv[2:]
heard = []
armature.config.strict = False  # What cannot be imported is an error of ours.
real = builtins.__import__
def hear(module, *rest):
    heard.append(module)
    if refuses:
        raise ImportError(module)
    return real(module, *rest)
x = torch.ones(2)
layer = torch.nn.Linear(2, 2)
def scaled(x):
    with torch.no_grad():
        return x * 2
def array(a):
    return numpy.sqrt(a) + 1
def local():
    class Local:
        value = 1
    return Local.value
def imports():
    import textwrap
    return textwrap.dedent(" a")
results = []
for compile in (lambda function: function, armature.compile):
    compiled = [compile(each) for each in (scaled, array, local, imports, layer)]
    builtins.__import__ = hear
    if name:
        sys.modules[name] = {"none": None, "number": 5, "module": types.ModuleType(name)}[thing]
    heard.clear()
    try:
        outcome = [compiled[0](x).tolist(), compiled[1](numpy.ones(2)).tolist(), compiled[2]()]
        try:
            outcome.append(compiled[3]())
        except ImportError as error:
            outcome.append(repr(error))
        outcome.append(compiled[4](x).shape)
    finally:
        builtins.__import__ = real
    results.append(outcome)
    modules = [module for module in heard if module == "textwrap"]
    assert modules == ["textwrap"], heard
assert results[0] == results[1], results
print("same")
"""


@pytest.mark.parametrize(
    "name, thing",
    [
        ("", ""),
        ("typing", "none"),
        ("typing", "number"),
        ("warnings", "module"),
        ("copy", "number"),
    ],
)
@pytest.mark.parametrize("hook", ["refuses", "listens"])
def test_what_the_program_makes_of_imports_is_its_own(hook, name, thing):
    assert run(IMPORTS, hook, name, thing) == "same\n"


PAST_THE_MODULES = """
import sys, armature
calls = []
sys.addaudithook(armature.compile(lambda event, args, calls=calls: calls.append(event)))
print("end")
"""


def test_calls_when_there_are_no_modules_any_more():
    assert run(PAST_THE_MODULES) == "end\n"


DAEMONS = """
import gc, threading, time, armature
gc.disable()  # torch itself aborts when a collection in a daemon thread frees a tensor
class Slow:
    def __call__(self, n):
        time.sleep(0.001)
        return [n]
def body(n, slow):
    before = [n, Slow()]
    result = slow(n)
    print(end="")
    return before, result
compiled = armature.compile(body)
def backend(graph, examples):
    time.sleep(0.01)
    return graph
def running():
    while True:
        compiled(3, Slow())
def compiling():
    while True:
        armature.compile(lambda n, slow: (slow(n), n), backend=backend)(1, Slow())
for _ in range(20):
    threading.Thread(target=running, daemon=True).start()
    threading.Thread(target=compiling, daemon=True).start()
time.sleep(0.2)
print("end")
"""


def test_daemon_threads_that_end_inside_a_compiled_function():
    for _ in range(3):
        assert run(DAEMONS) == "end\n"


def test_logs_that_do_not_exist_are_warned_of():
    environment = os.environ | {"ARMATURE_LOGS": "recompile,guards, nonsense"}
    done = subprocess.run(
        [sys.executable, "-c", "import armature; print(armature.compile(lambda x: x + 1)(1))"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "2\n"
    assert "ARMATURE_LOGS names no such logs: nonsense, recompile;" in done.stderr
    assert "[armature:guards]" in done.stderr

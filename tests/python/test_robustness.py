"""Nothing that a program does may crash the interpreter, leak, or keep a model alive."""

import contextlib
import gc
import signal
import subprocess
import sys
import threading
import weakref

import armature
import pytest
import torch
from memory_in_use import memory_in_use
from torch import nn

X = torch.ones(3)


def test_entries_do_not_keep_a_model_alive():
    compiled = armature.compile(lambda model, x: model(x))
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    compiled(model, X)
    dead = weakref.ref(model)
    weight = weakref.ref(model[0].weight)
    del model
    gc.collect()
    assert dead() is None and weight() is None
    compiled(nn.Linear(3, 3), X)


def test_entries_die_with_their_function():
    def make(n):
        def f(x):
            print(n, end="")
            return x + n

        return f

    f = make(1)
    compiled = armature.compile(f)
    with contextlib.redirect_stdout(None):
        compiled(X)
    dead = weakref.ref(f)
    del f, compiled
    gc.collect()
    assert dead() is None


def test_compiling_and_resetting_does_not_leak():
    def f(x, items, table):
        items = [*items, x + 1]
        with contextlib.suppress(KeyError):
            print(table["k"], end="")
        return {"items": items, "sum": sum(i.sum() for i in items)}

    compiled = armature.compile(f)

    def rounds(count):
        with contextlib.redirect_stdout(None):
            for _ in range(count):
                compiled(X, [X], {"k": 1})
                armature.reset()
        gc.collect()
        return len(gc.get_objects()), memory_in_use()

    rounds(50)
    objects, memory = rounds(50)
    objects_after, memory_after = rounds(200)
    assert objects_after - objects < 100
    assert memory_after - memory < 20 << 20


def test_deep_recursion():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    compiled = armature.compile(lambda n: down(n))
    assert compiled(200) == 200
    with pytest.raises(RecursionError):
        compiled(100_000)
    assert compiled(100) == 100


def test_endless_recursion_through_special_methods():
    class Endless:
        def __eq__(self, other):
            return self == other

        __hash__ = None

    compiled = armature.compile(lambda a, b: a == b)
    with pytest.raises(RecursionError):
        compiled(Endless(), Endless())


def test_interrupting_an_endless_loop():
    def f(x):
        n = 0
        while True:
            n += 1

    compiled = armature.compile(f)

    def stop(signum, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(X)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert not armature.is_compiling()


FIRST_TRACES = """
import threading, torch, armature
def f(x, n):
    return x + n, n
compiled = armature.compile(f)
threads = [threading.Thread(target=compiled, args=(torch.ones(2), n)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert compiled(torch.ones(2), 1)[1] == 1
"""


def test_first_traces_in_several_threads():
    for _ in range(4):
        subprocess.run([sys.executable, "-c", FIRST_TRACES], check=True, timeout=120)


def test_threads():
    def f(x, n):
        y = x + n
        if n % 2:
            y = y * 2
        return y, n

    compiled = armature.compile(f)
    wrong = []

    def work():
        for i in range(300):
            value, n = compiled(X, i % 5)
            if n != i % 5 or not torch.equal(value, f(X, n)[0]):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_backend_that_raises_once():
    calls = []

    def backend(module, examples):
        calls.append(module)
        if len(calls) == 1:
            raise ZeroDivisionError("backend")
        return module.forward

    compiled = armature.compile(lambda x: x * 2, backend=backend)
    with pytest.raises(Exception, match="backend"):
        compiled(X)
    assert torch.equal(compiled(X), X * 2)


def test_compile_inside_a_compiled_function():
    def outer(x):
        inner = armature.compile(lambda y: y + 1)
        return inner(x) * 2

    compiled = armature.compile(outer)
    for _ in range(2):
        assert torch.equal(compiled(X), (X + 1) * 2)


def test_a_compiled_function_that_calls_itself():
    def f(x, n):
        if n == 0:
            return x
        return compiled(x + 1, n - 1) * 2

    compiled = armature.compile(f)
    for n in (0, 3, 5, 3):
        expected = X
        for _ in range(n):
            expected = expected + 1
        assert torch.equal(compiled(X, n), expected * 2**n)


def test_reset_while_running():
    def f(x):
        y = x + 1
        armature.reset()
        return y * 2

    compiled = armature.compile(f)
    for _ in range(3):
        assert torch.equal(compiled(X), (X + 1) * 2)


def test_collection_during_calls():
    gc.set_threshold(1)
    try:
        compiled = armature.compile(lambda x, d: ({k: v + x for k, v in d.items()}, [x, d]))
        for n in range(20):
            result, _ = compiled(X, {f"k{i}": X for i in range(n % 4)})
            assert all(torch.equal(v, X * 2) for v in result.values())
    finally:
        gc.set_threshold(700, 10, 10)

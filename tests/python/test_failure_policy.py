"""Nothing of Armature's own reaches the user: what fails runs as plain Python, and is told once."""

import contextlib
import gc
import logging
import signal
import time

import armature
import pytest
import torch
from armature import _C
from differential import check

X = torch.arange(3.0)


@pytest.fixture
def lenient():
    with armature.config.patch(strict=False):
        yield


class Broken(RuntimeError):
    """An error of a part of the engine, as far as a compilation can tell."""


def run(module, examples):
    return module.forward


def make(fn):
    """A compiled function, some of whose calls can be made to fail."""
    return armature.compile(fn, backend=run)


@contextlib.contextmanager
def broken(kind=Broken):
    """No graph can be handed to a backend."""

    def fail(*args, **kwargs):
        raise kind("broken on purpose")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.fx, "Graph", fail)
        yield


# --- The policy.


def fail_once(compiled, *args, kind=Broken):
    with broken(kind):
        return compiled(*args)


def test_an_internal_error_is_logged_once_and_counted(lenient, caplog):
    def f(x):
        return x + 1

    compiled = make(f)
    with caplog.at_level(logging.WARNING, "armature"):
        for _ in range(2):
            assert torch.equal(fail_once(compiled, X), X + 1)
    assert len(caplog.records) == 1
    assert "broken on purpose" in caplog.text and "plain Python" in caplog.text
    errors = _C.internal_errors(compiled)
    assert len(errors) == 2 and all("broken on purpose" in error for error in errors)
    assert torch.equal(compiled(X), X + 1)
    assert len(_C.entries(compiled)) == 1
    _C.reset(compiled)
    assert _C.internal_errors(compiled) == []


def test_explain_shows_internal_errors(lenient):
    with broken():
        found = armature.explain(lambda x: x + 1, backend=run)(X)
    assert torch.equal(found.result, X + 1)
    assert len(found.internal_errors) == 1
    assert "Internal Errors: 1\n" in str(found) and "broken on purpose" in str(found)
    assert armature.explain(lambda x: x + 1)(X).internal_errors == []


def test_strict_raises():
    compiled = make(lambda x: x + 1)
    assert armature.config.strict
    with pytest.raises(armature.InternalError, match="broken on purpose"):
        fail_once(compiled, X)
    assert torch.equal(compiled(X), X + 1)


def test_fullgraph_raises(lenient):
    compiled = armature.compile(lambda x: x + 1, backend=run, fullgraph=True)
    with pytest.raises(armature.Unsupported, match="broken on purpose"):
        fail_once(compiled, X)


def test_failures_count_towards_the_limit(lenient, caplog):
    with armature.config.patch(recompile_limit=3):
        compiled = make(lambda x: x + 1)
    for _ in range(3):
        fail_once(compiled, X)
    with caplog.at_level(logging.WARNING, "armature"):
        compiled(X)
    assert "which is the limit" in caplog.text
    assert _C.entries(compiled) == []


def test_the_limit_counts_compilations_not_what_is_alive(caplog):
    with armature.config.patch(recompile_limit=3):
        compiled = armature.compile(lambda thing: thing is None or thing.value)
    with caplog.at_level(logging.WARNING, "armature"):
        for i in range(5):
            thing = type("Thing", (), {"value": i})()
            assert compiled(thing) == i
            del thing
    assert "which is the limit" in caplog.text
    assert len(_C.entries(compiled)) <= 3


@pytest.mark.parametrize("kind", [MemoryError, KeyboardInterrupt, SystemExit])
def test_what_is_no_error_of_ours_reaches_the_user(lenient, kind):
    compiled = make(lambda x: x + 1)
    for _ in range(20):  # They do not count as compilations.
        with pytest.raises(kind):
            fail_once(compiled, X, kind=kind)
    assert torch.equal(compiled(X), X + 1)
    assert len(_C.entries(compiled)) == 1


def test_the_error_of_a_backend_reaches_the_user(lenient):
    def backend(module, examples):
        raise ZeroDivisionError("in the backend")

    compiled = armature.compile(lambda x: x + 1, backend=backend)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError, match="in the backend") as caught:
            compiled(X)
        assert "backend" in caught.value.__notes__[0]


class Arrived(Exception):
    """Raised by a signal's handler: an ordinary exception, but not the program's."""


@pytest.mark.parametrize("kind", [Arrived, KeyboardInterrupt])
def test_what_a_signal_raises_while_tracing_reaches_the_user(lenient, kind):
    def f(n):
        try:
            i = 0
            while i < n:
                i += 1
            return i
        except Exception:
            return "caught"

    def handler(signum, frame):
        raise kind

    compiled = armature.compile(f)
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        start = time.monotonic()
        with pytest.raises(kind):
            compiled(10**8)
        assert time.monotonic() - start < 20
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert _C.entries(compiled) == [] and _C.internal_errors(compiled) == []
    assert compiled(10) == 10


def test_a_log_that_fails_does_not_stop_the_program(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no log")

    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda event: seen.append(event.exc_type))
    monkeypatch.setattr("builtins.print", refuse)
    armature.set_logs("compiles")
    try:
        assert torch.equal(armature.compile(lambda x: x + 1)(X), X + 1)
    finally:
        armature.set_logs()
    assert seen == [OSError]


def test_config_of_strictness():
    assert "strict=True" in repr(armature.config)
    with pytest.raises(TypeError):
        armature.config.strict = 1
    with armature.config.patch(strict=False):
        assert not armature.config.strict
    assert armature.config.strict


def test_memory_that_constants_would_take(lenient):
    def f(n):
        try:
            return b"x" * n
        except MemoryError:
            return "too much"

    check(f, 1 << 55)


# --- A world that changes while a call is traced.

CHANGED = 0


def adds_what_changes(x):
    return x + CHANGED


def changing(times):
    """A compiled function whose backend changes, so many times, what the trace has read."""
    left = [times]

    def backend(module, examples):
        global CHANGED
        if left[0] != 0:
            left[0] -= 1
            CHANGED += 1
        return module.forward

    return armature.compile(adds_what_changes, backend=backend)


@pytest.mark.parametrize("times", [1, 2])
def test_what_has_changed_under_a_trace_is_read_again(times, monkeypatch):
    monkeypatch.setitem(globals(), "CHANGED", 0)
    compiled = changing(times)
    for _ in range(2):
        assert compiled(X).tolist() == [times, times + 1, times + 2]


def test_a_world_that_does_not_rest_is_left_to_python(monkeypatch, caplog):
    monkeypatch.setitem(globals(), "CHANGED", 0)
    compiled = changing(-1)
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            assert torch.equal(compiled(X), adds_what_changes(X))
    told = [record.getMessage() for record in caplog.records]
    assert len([text for text in told if "changes while it is traced" in text]) == 1
    assert CHANGED < 100


def test_a_callback_of_the_collector_changes_what_is_read(monkeypatch):
    monkeypatch.setitem(globals(), "CHANGED", 0)
    seen = []

    def callback(phase, info):
        global CHANGED
        CHANGED += 1

    def backend(module, examples):
        if len(seen) < 2:
            seen.append(gc.collect())
        return module.forward

    compiled = armature.compile(adds_what_changes, backend=backend)
    gc.callbacks.append(callback)
    try:
        with_changes = [torch.equal(compiled(X), adds_what_changes(X)) for _ in range(3)]
    finally:
        gc.callbacks.remove(callback)
    assert with_changes == [True] * 3

"""Debuggers, profilers and coverage tools see the program as it is written."""

import sys
import threading

import armature
import pytest
import torch
from armature import _C

X = torch.ones(2)


def f(x):
    y = x + 1
    print("here", end="")
    z = y * 2
    return z


LINES = [f.__code__.co_firstlineno + i for i in range(1, 5)]


def lines_seen(call, install):
    seen = []

    def trace(frame, event, argument):
        if frame.f_code is f.__code__ and event in ("line", "call", "return"):
            seen.append((event, frame.f_lineno))
        return trace

    before = sys.gettrace(), sys.getprofile()
    install(trace)
    try:
        call()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return seen


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile])
def test_watched_calls_run_plainly(install, warm, capsys):
    compiled = armature.compile(f)
    if warm:
        compiled(X)
    before = len(_C.entries(compiled))
    expected = lines_seen(lambda: f(X), install)
    assert lines_seen(lambda: compiled(X), install) == expected
    assert len(_C.entries(compiled)) == before
    if install is sys.settrace:
        assert [line for event, line in expected if event == "line"] == LINES
    compiled(X)
    assert len(_C.entries(compiled)) > 0


def test_modules_run_plainly():
    class Doubles(torch.nn.Module):
        def forward(self, x):
            return f(x) * 2

    compiled = armature.compile(Doubles())
    expected = lines_seen(lambda: f(X), sys.settrace)
    assert lines_seen(lambda: compiled(X), sys.settrace) == expected
    assert _C.entries(compiled) == []


def test_compile_while_tracing():
    compiled = armature.compile(lambda x: f(x) + 1)
    with armature.config.patch(compile_while_tracing=True):
        result = []
        assert lines_seen(lambda: result.append(compiled(X)), sys.settrace) == []
    assert torch.equal(result[0], (X + 1) * 2 + 1)
    assert len(_C.entries(compiled)) > 0


def test_a_tool_that_is_set_in_the_middle():
    def g(x):
        y = x + 1
        sys.setprofile(lambda *args: None)
        return resumed(y)

    def resumed(y):
        return y * 3

    compiled = armature.compile(g)
    try:
        assert torch.equal(compiled(X), X * 6)
    finally:
        sys.setprofile(None)


def test_the_other_threads_are_not_watched():
    compiled = armature.compile(lambda x: x + 1)
    seen = []

    def work():
        seen.append((compiled(X), len(_C.entries(compiled))))

    threading.settrace(lambda *args: None)
    try:
        watched = threading.Thread(target=work)
        watched.start()
        watched.join()
    finally:
        threading.settrace(None)
    free = threading.Thread(target=work)
    free.start()
    free.join()
    assert [count for _, count in seen] == [0, 1]

"""threading.local in traced code: each thread has its own attributes."""

import dataclasses
import threading

import armature
import pytest
import torch
from differential import break_reasons, check

X = torch.arange(3.0)


def in_thread(function, *args):
    found = []
    thread = threading.Thread(target=lambda: found.append(function(*args)))
    thread.start()
    thread.join()
    return found[0]


def test_attributes_are_read_and_change():
    settings = threading.local()
    settings.scale = 2

    def program(x):
        return x * settings.scale, hasattr(settings, "missing"), getattr(settings, "missing", 5)

    compiled = armature.compile(program, fullgraph=True)
    for scale in (2, 3):
        settings.scale = scale
        assert torch.equal(compiled(X)[0], X * scale)
    settings.missing = 1
    assert compiled(X)[1:] == program(X)[1:] == (True, 1)
    del settings.missing
    assert compiled(X)[1:] == (False, 5)


def test_each_thread_has_its_own():
    settings = threading.local()
    settings.scale = 2

    def program(x):
        return x * getattr(settings, "scale", 10)

    compiled = armature.compile(program, fullgraph=True)
    assert torch.equal(compiled(X), X * 2)
    assert torch.equal(in_thread(compiled, X), X * 10)
    assert torch.equal(compiled(X), X * 2)

    def other(x):
        settings.scale = 4
        return compiled(x)

    assert torch.equal(in_thread(other, X), X * 4)
    assert torch.equal(compiled(X), X * 2)


def test_attributes_are_assigned():
    def program(x, settings):
        settings.last = x + 1
        settings.count = getattr(settings, "count", 0) + 1
        return settings.last, settings.count

    compiled = armature.compile(program, fullgraph=True)
    settings = threading.local()
    for count in (1, 2, 3):
        last, found = compiled(X, settings)
        assert settings.last is last and torch.equal(last, X + 1)
        assert found == settings.count == count
    assert in_thread(compiled, X, settings)[1] == 1
    assert settings.count == 3


def test_aliases_and_dicts():
    def program(a, b):
        a.x = 1
        b.x = 2
        a.__dict__["y"] = 3
        return a.x, b.y if hasattr(b, "y") else None

    compiled = armature.compile(program, fullgraph=True)
    one, two = threading.local(), threading.local()
    assert compiled(one, two) == (1, None)
    assert compiled(one, one) == (2, 3)
    assert (one.x, one.y, two.x) == (2, 3, 2)


def test_errors():
    def missing(settings):
        try:
            return settings.missing
        except AttributeError as error:
            return str(error)

    settings = threading.local()
    assert armature.compile(missing, fullgraph=True)(settings) == missing(settings)

    def replaced(settings):
        settings.__dict__ = {}

    with pytest.raises(AttributeError, match="read-only"):
        armature.compile(replaced)(settings)


def test_a_subclass_is_left_to_python():
    class Settings(threading.local):
        def __init__(self):
            self.scale = 7

    settings = Settings()

    def program(x):
        return x * settings.scale

    compiled = armature.compile(program)
    assert torch.equal(in_thread(compiled, X), X * 7)
    assert break_reasons(compiled)


def test_the_number_of_the_thread():
    names = {threading.get_ident(): "main"}

    def program(x):
        return x + 1, threading.get_ident(), names.get(threading.get_ident(), "another")

    compiled = armature.compile(program, fullgraph=True)
    assert compiled(X)[1:] == (threading.get_ident(), "main")
    other = in_thread(compiled, X)
    assert other[1] != threading.get_ident() and other[2] == "another"
    assert compiled(X)[2] == "main"


def test_texts_of_dataclasses():
    @dataclasses.dataclass
    class Point:
        x: int
        parts: list

    def program(n):
        point = Point(n, [])
        point.parts.append(point)
        return repr(point), repr(Point(n, [1]))

    compiled = armature.compile(program, fullgraph=True)
    for n in range(4):
        assert compiled(n) == program(n)


def test_attributes_are_deleted():
    settings = threading.local()
    settings.kept = 1

    def program(x, name):
        settings.scale = x
        result = settings.scale + 1
        del settings.scale
        try:
            delattr(settings, name)
        except AttributeError as error:
            return result, str(error), settings.kept
        return result, hasattr(settings, "kept")

    def restore():
        settings.__dict__.clear()
        settings.kept = 1

    check(program, X, "missing", more=((X, "kept"),), watch=settings.__dict__, restore=restore)
    restore()
    assert break_reasons(check(program, X, "kept", restore=restore)) == []

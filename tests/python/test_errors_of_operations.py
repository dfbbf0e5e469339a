"""The errors that operations raise, and what classes over builtin exceptions make of their arguments."""

# What a linter would not write is what is tested.
# ruff: noqa: F401, B018, E501, F821

from __future__ import annotations

import contextlib
import copy
import pickle
import sys
import traceback
import weakref
from typing import Any

import armature
import numpy as np
import pytest
import torch
from differential import breaking_every
from exception_programs import Programs

programs = Programs()


class Obj:
    pass


class E1(OSError):
    def __init__(self, a, b):
        super().__init__(b, a)


class E2(ImportError):
    def __init__(self, *a, **k):
        super().__init__("msg", name="nm")


class E3(StopIteration):
    def __init__(self, v):
        self.v = v


class E4(SystemExit):
    pass


class E5(UnicodeDecodeError):
    pass


class E6(KeyError):
    def __str__(self):
        return "E6"


class E7(OSError):
    def __new__(cls, *a):
        self = OSError.__new__(cls, *a)
        self.z = 1
        return self


class E8(Exception):
    def __new__(cls, *a):
        return ValueError("other")


class E9(ValueError):
    args = (5,)


class E10(AttributeError):
    name = "cls"


class GA:
    def __getattr__(self, n):
        raise AttributeError("custom " + n)


class GB:
    def __getattr__(self, n):
        raise AttributeError("custom " + n, name="mine", obj=3)


@programs
def attribute_error(x: Any) -> Any:
    class_ = Obj()
    try:
        class_.foo
    except AttributeError as e:
        return str(e), e.name, e.obj is class_


@programs
def name_error(x: Any) -> Any:
    try:
        undefined_name
    except NameError as e:
        return str(e), e.name


@programs
def key_error(x: Any) -> Any:
    try:
        {}["a"]
    except KeyError as e:
        return repr(e), e.args


@programs
def import_error(x: Any) -> Any:
    try:
        from sys import nonexist
    except ImportError as e:
        return str(e), e.name, e.path


@programs
def user_builtin(x: Any) -> Any:
    out = []
    for f in (
        lambda: E1("a", 2),
        lambda: E2(),
        lambda: E3(4),
        lambda: E4(7),
        lambda: E5("utf8", b"a", 0, 1, "r"),
        lambda: E5("a"),
        lambda: E6(1),
        lambda: E7(2, "x"),
        lambda: E8(3),
        lambda: E9(3),
        lambda: E1(1),
        lambda: E10("a"),
        lambda: E4(a=1),
        lambda: E9(a=1),
    ):
        try:
            e = f()
            out.append(
                (
                    type(e).__name__,
                    repr(e),
                    str(e),
                    e.args,
                    e.__dict__,
                    getattr(e, "value", "-"),
                    getattr(e, "errno", "-"),
                    getattr(e, "code", "-"),
                    getattr(e, "name", "-"),
                )
            )
        except TypeError as q:
            out.append(("TE", str(q)))
    return out


@programs
def errors_of_attributes(x: Any) -> Any:
    out = []
    class_ = E6(1)
    for f in (
        lambda: class_.nope,
        lambda: class_.n2,
        lambda: (1).foo,
        lambda: x.nonexistent_attr,
        lambda: ValueError.foo,
        lambda: sys.foo,
        lambda: class_.meth(),
    ):
        try:
            f()
        except AttributeError as e:
            out.append((str(e), e.name, type(e.obj).__name__, e.args))
    return out


@programs
def attribute_error_of_getattr(x: Any) -> Any:
    out = []
    for o in (GA(), GB()):
        try:
            o.zzz
        except AttributeError as e:
            out.append((str(e), e.name, e.obj is o, e.obj if e.obj == 3 else 0))
        out.append(hasattr(o, "q"))
    return out


@programs
def errors_of_names(x: Any) -> Any:
    out = []

    def f():
        try:
            undef1
        except NameError as e:
            out.append((e.name, str(e)))
        try:
            y
        except UnboundLocalError as e:
            out.append((e.name, str(e)))
        y = 1
        del y

    f()

    def g():
        def h():
            return zz

        try:
            h()
        except NameError as e:
            out.append((e.name, str(e)))
        if 0:
            zz = 1

    g()
    return out


@programs
def oserror_tensor(x: Any) -> Any:
    try:
        e = OSError(x, "a")
        return e.errno is x, type(e).__name__
    except Exception as q:
        return repr(q)


@programs
def unicode_error_error(x: Any) -> Any:
    try:
        "\udc80".encode("utf8")
    except UnicodeEncodeError as e:
        r = [e.encoding, e.object, e.start, e.end, e.reason, str(e), repr(e)]
    try:
        b"\xff".decode("utf8")
    except UnicodeDecodeError as e:
        r += [e.encoding, e.object, e.start, e.end, e.reason, str(e)]
    return r


@programs
def number_error(x: Any) -> Any:
    out = []
    for f in (
        lambda: int("z"),
        lambda: [][1],
        lambda: {}[1],
        lambda: 1 / 0,
        lambda: "a" + 1,
        lambda: float("q"),
        lambda: (1,)[4],
        lambda: next(iter([])),
        lambda: [1].index(2),
        lambda: "a".index("b"),
    ):
        try:
            f()
        except Exception as e:
            out.append((type(e).__name__, str(e), e.args, repr(e)))
    return out


@programs
def missing_operators(x: Any) -> Any:
    e = ValueError(1)
    out = []
    for f in (
        lambda: len(e),
        lambda: e[0],
        lambda: iter(e),
        lambda: e + 1,
        lambda: e(),
        lambda: -e,
        lambda: 1 in e,
        lambda: e < e,
        lambda: next(e),
        lambda: e @ e,
    ):
        try:
            out.append(f())
        except TypeError as q:
            out.append(str(q))
    return out


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)


@pytest.mark.parametrize("every", [0, 1])
def test_causes_are_raised_where_the_program_handles(every):
    def program(array, value):
        try:
            1 % 0
        except ZeroDivisionError:
            array[0] = value

    def chain(error):
        if error is None:
            return None
        links = chain(error.__cause__), chain(error.__context__)
        return type(error), str(error), error.__suppress_context__, links

    def raised(function, value):
        with pytest.raises(ValueError) as caught:
            function(np.array([3.0]), value)
        return chain(caught.value)

    with breaking_every(every):
        compiled = armature.compile(program)
        for value in (np.array([3.0, 4.0]), np.array([[1.0, 2.0]])):
            assert raised(compiled, value) == raised(program, value)


@pytest.mark.parametrize(
    "operation",
    (
        lambda x, w: torch.stack(w),
        lambda x, w: x.view(w),
        lambda x, w: x.sum(w),
        lambda x, w: torch.nn.functional.layer_norm(x, w),
        lambda x, w: torch.nn.functional.one_hot(x, w),
        lambda x, w: torch.from_numpy(w),
    ),
)
def test_a_parameter_is_named(operation):
    def handled(x, w):
        try:
            return operation(x, w)
        except TypeError as error:
            return str(error)

    compiled = armature.compile(handled)
    x, w = torch.ones(3), torch.nn.Parameter(torch.ones(3))
    for other in (w, w.detach(), w):
        assert compiled(x, other) == handled(x, other)

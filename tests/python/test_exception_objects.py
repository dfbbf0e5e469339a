"""Exceptions as objects: how the builtin classes make them, their attributes and operators."""

# What a linter would not write is what is tested.
# ruff: noqa: F401, B018, UP031

from __future__ import annotations

import contextlib
import copy
import pickle
import sys
import traceback
import weakref
from typing import Any

import pytest
from exception_programs import Programs

programs = Programs()


class MyErr(Exception):
    def __init__(self, a, *, b=2):
        super().__init__(a, b)
        self.a = a
        self.b = b

    def __str__(self):
        return f"MyErr<{self.a},{self.b}>"


class NewErr(Exception):
    def __new__(cls, *args):
        self = super().__new__(cls, *args)
        self.tag = "tag"
        return self

    def __init__(self, *args):
        pass


class NoSuper(Exception):
    def __init__(self, a, b):
        self.a = a


class MyOS(OSError):
    def __init__(self, *a):
        super().__init__(*a)
        self.extra = 1


class MyOS2(OSError):
    pass


class S(Exception):
    def __str__(self):
        return super().__str__() + "!"

    def __repr__(self):
        return "<" + super().__repr__() + ">"


class S2(KeyError):
    def __str__(self):
        return super().__str__() + "!"


class S3(OSError):
    def __str__(self):
        return OSError.__str__(self) + "!"


class Op(Exception):
    def __eq__(self, o):
        return True

    def __hash__(self):
        return 3

    def __bool__(self):
        return False

    def __len__(self):
        return 4

    def __iter__(self):
        return iter([1, 2])

    def __getitem__(self, k):
        return ("item", k)

    def __call__(self, *a):
        return ("called", a)

    def __contains__(self, k):
        return k == 7

    def __add__(self, o):
        return ("add", o)

    def __radd__(self, o):
        return ("radd", o)

    def __enter__(self):
        return "entered"

    def __exit__(self, *a):
        return True

    def __getattr__(self, n):
        return ("ga", n)


class NoBool(Exception):
    def __len__(self):
        return 0


class Sl(Exception):
    __slots__ = ("a", "b")


class MetaCall(type):
    def __call__(cls, *a):
        return ("metacall", a)


class MC(Exception, metaclass=MetaCall):
    pass


@programs
def os_error(x: Any) -> Any:
    e = OSError(2, "x")
    f = OSError(2, "no", "fname")
    g = OSError(13, "a", "b", None, "c")
    return [
        type(e).__name__,
        e.errno,
        e.strerror,
        e.filename,
        str(e),
        e.args,
        str(f),
        f.filename,
        f.args,
        type(g).__name__,
        g.filename2,
        str(g),
        repr(g),
        isinstance(e, FileNotFoundError),
    ]


@programs
def unicode_error_arity(x: Any) -> Any:
    try:
        raise UnicodeDecodeError("a")
    except TypeError as e:
        return str(e)


@programs
def unicode_error(x: Any) -> Any:
    e = UnicodeDecodeError("utf8", b"abc", 1, 2, "reason")
    e2 = UnicodeEncodeError("utf8", "abc", 1, 2, "reason")
    return [e.encoding, e.object, e.start, e.end, e.reason, str(e), e.args, str(e2), repr(e2)]


@programs
def keywords(x: Any) -> Any:
    out = []
    for f in (
        lambda: ValueError(a=1),
        lambda: ImportError("m", name="n", path="p"),
        lambda: NameError("m", name="n"),
        lambda: AttributeError("m", name="n", obj=3),
        lambda: ImportError(bad=1),
    ):
        try:
            e = f()
            out.append(
                (
                    repr(e),
                    getattr(e, "name", None),
                    getattr(e, "path", None),
                    getattr(e, "obj", None),
                )
            )
        except TypeError as e:
            out.append(str(e))
    return out


@programs
def system_exit(x: Any) -> Any:
    return [SystemExit().code, SystemExit(3).code, SystemExit(1, 2).code]


@programs
def syntax_error(x: Any) -> Any:
    e = SyntaxError("m", ("f", 1, 2, "text"))
    e2 = SyntaxError("m")
    return [
        e.msg,
        e.filename,
        e.lineno,
        e.offset,
        e.text,
        str(e),
        e.args,
        e2.filename,
        str(e2),
        e.end_lineno,
    ]


@programs
def stop_iteration(x: Any) -> Any:
    return [
        StopIteration().value,
        StopIteration(4).value,
        StopIteration(4, 5).value,
        StopIteration(4, 5).args,
    ]


@programs
def key_error_text(x: Any) -> Any:
    return [str(KeyError("a")), str(KeyError()), str(KeyError(1, 2)), repr(KeyError("a"))]


@programs
def args_set(x: Any) -> Any:
    e = ValueError(1)
    e.args = [1, 2]
    e2 = ValueError()
    e2.args = (x,)
    return [e.args, str(e), repr(e), len(e2.args)]


@programs
def args_bad(x: Any) -> Any:
    e = ValueError(1)
    try:
        e.args = 3
    except TypeError as q:
        return str(q)


@programs
def args_name_deleted_after(x: Any) -> Any:
    e = ValueError(1)
    try:
        del e.args
    except TypeError as q:
        return str(q)


@programs
def add_note(x: Any) -> Any:
    e = ValueError(1)
    e.add_note("n1")
    e.add_note("n2")
    try:
        e.add_note(3)
    except TypeError as q:
        return e.__notes__, str(q), e.__dict__


@programs
def with_traceback(x: Any) -> Any:
    e = ValueError(1)
    f = e.with_traceback(None)
    try:
        e.with_traceback(3)
    except TypeError as q:
        return f is e, str(q), e.__traceback__


@programs
def cause_context(x: Any) -> Any:
    e = ValueError(1)
    c = KeyError(2)
    e.__cause__ = c
    a = [e.__suppress_context__, e.__cause__ is c]
    e.__suppress_context__ = False
    e.__context__ = c
    for n in ("__cause__", "__context__", "__suppress_context__"):
        try:
            delattr(e, n)
        except TypeError as q:
            a.append(str(q))
    for v in (3, "x"):
        try:
            e.__cause__ = v
        except TypeError as q:
            a.append(str(q))
        try:
            e.__context__ = v
        except TypeError as q:
            a.append(str(q))
    e.__cause__ = None
    e.__context__ = None
    a.append((e.__cause__, e.__context__))
    return a


@programs
def user_of_exceptions(x: Any) -> Any:
    e = MyErr(1, b=3)
    f = NoSuper(1, 2)
    return [str(e), repr(e), e.args, e.a, e.__dict__, f.args, repr(f), str(f), f.__dict__]


@programs
def user_new(x: Any) -> Any:
    e = NewErr(1, 2)
    return [e.args, e.tag, repr(e), e]


@programs
def user_os(x: Any) -> Any:
    e = MyOS(2, "x")
    f = MyOS2(2, "x", "fn")
    return [type(e).__name__, e.errno, e.args, str(e), str(f), f.filename, repr(f)]


@programs
def equality_hash(x: Any) -> Any:
    e = ValueError(1)
    f = ValueError(1)
    return [e == f, e == e, e != f, len({e, f, e}), e is e, bool(e)]


@programs
def copy_of_exceptions(x: Any) -> Any:
    e = ValueError(1, 2)
    e.q = 3
    f = copy.copy(e)
    return [f.args, f.q, f is e]


@programs
def pickle_of_exceptions(x: Any) -> Any:
    e = ValueError(1, 2)
    return repr(pickle.loads(pickle.dumps(e)))


@programs
def group_of_exceptions(x: Any) -> Any:
    g = ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3)])])
    m, r = g.split(ValueError)
    s = g.subgroup(lambda e: isinstance(e, KeyError))
    return [g.message, g.exceptions[0].args, str(g), repr(m), repr(r), repr(s)]


@programs
def group_rules(x: Any) -> Any:
    out = []
    for f in (
        lambda: ExceptionGroup("g", []),
        lambda: ExceptionGroup("g", [3]),
        lambda: ExceptionGroup(3, [ValueError()]),
        lambda: ExceptionGroup("g", [KeyboardInterrupt()]),
        lambda: BaseExceptionGroup("g", [ValueError()]),
        lambda: BaseExceptionGroup("g", [KeyboardInterrupt()]),
        lambda: ExceptionGroup("g"),
    ):
        try:
            out.append(repr(f()))
        except (TypeError, ValueError) as e:
            out.append(repr(e))
    return out


@programs
def isinstance_of_exceptions(x: Any) -> Any:
    e = KeyError(1)
    return [
        isinstance(e, LookupError),
        issubclass(KeyError, Exception),
        isinstance(e, (int, Exception)),
        type(e) is KeyError,
        e.__class__ is KeyError,
        KeyError.__mro__[1].__name__,
    ]


@programs
def setattr_of_exceptions(x: Any) -> Any:
    e = ValueError(1)
    e.foo = x
    e.bar = 3
    del e.bar
    return hasattr(e, "bar"), hasattr(e, "foo"), list(vars(e)), list(e.__dict__)


@programs
def text_hash(x: Any) -> Any:
    e = ValueError("a", "b")
    return [str(e), f"{e}", f"{e!r}", "%s" % e, format(e)]


@programs
def exception_dict_equality(x: Any) -> Any:
    e = ValueError(1)
    return e.__doc__[:10], e.__reduce__(), e.__class__


@programs
def exception_setstate(x: Any) -> Any:
    e = ValueError(1)
    e.__setstate__({"a": 1})
    return e.a


@programs
def members_set(x: Any) -> Any:
    e = OSError(2, "x")
    e.errno = 5
    e.filename = x
    del e.strerror
    s = StopIteration(1)
    s.value = (1, 2)
    t = SystemExit()
    t.code = "q"
    n = NameError("m")
    n.name = "z"
    return [
        e.errno,
        e.filename is x,
        e.strerror,
        str(OSError(1, "a")),
        s.value,
        s.args,
        t.code,
        n.name,
        type(e).__name__,
    ]


def use_members_escape(f: Any, x: Any) -> Any:
    r = f(x)
    return [
        (
            type(q).__name__,
            str(q) if not isinstance(q, StopIteration) else 0,
            q.args if not isinstance(q, StopIteration) else q.value is q.args[0],
            [
                getattr(q, n, "-")
                for n in (
                    "errno",
                    "filename",
                    "start",
                    "end",
                    "reason",
                    "object",
                    "encoding",
                    "lineno",
                    "text",
                    "end_lineno",
                    "name",
                    "path",
                    "code",
                    "msg",
                )
            ],
            q.__dict__,
        )
        for q in r
    ]


@programs.used_by(use_members_escape)
def members_escape(x: Any) -> Any:
    e = OSError(2, "x", "fn")
    e.q = 1
    u = UnicodeDecodeError("utf8", b"abc", 1, 2, "r")
    s = SyntaxError("m", ("f", 1, 2, "t", 3, 4))
    i = ImportError("a", name="b", path="c")
    se = SystemExit(4)
    st = StopIteration(x)
    k = KeyError("a")
    return [e, u, s, i, se, st, k]


def use_exception_cycle(f: Any, x: Any) -> Any:
    r = f(x)
    return r.args[0] is r, r.me is r


@programs.used_by(use_exception_cycle)
def exception_cycle(x: Any) -> Any:
    e = ValueError(1)
    e.args = (e,)
    e.me = e
    return e


def use_cause_cycle(f: Any, x: Any) -> Any:
    r = f(x)
    return r.__cause__.__cause__ is r


@programs.used_by(use_cause_cycle)
def cause_cycle(x: Any) -> Any:
    a = ValueError(1)
    b = KeyError(2)
    a.__cause__ = b
    b.__cause__ = a
    return a


@programs
def text_of_exceptions(x: Any) -> Any:
    return [
        str(S("a")),
        repr(S("a", 1)),
        str(S2("k")),
        str(S2(1, 2)),
        str(S3(2, "x")),
        f"{S('q')}",
        ValueError.__str__(ValueError(1)),
        BaseException.__repr__(S(1)),
    ]


@programs
def operators(x: Any) -> Any:
    e = Op(1)
    with e as w:
        raise ValueError
    return [
        e == 3,
        e != 3,
        hash(e),
        bool(e),
        len(e),
        list(e),
        e["k"],
        e(1),
        7 in e,
        8 in e,
        e + 1,
        1 + e,
        w,
        e.foo,
        e.args,
        bool(NoBool()),
        not NoBool(),
        {e: 1}[e] if False else 0,
    ]


@programs
def slots_of_exceptions(x: Any) -> Any:
    e = Sl(1)
    e.a = 3
    e.c = 4
    try:
        e.b
    except AttributeError as q:
        r = str(q)
    return e.a, e.__dict__, r


@programs
def metaclass_call(x: Any) -> Any:
    return MC(1)


@programs
def type_of_an_exception(x: Any) -> Any:
    e = KeyError(1)
    return (
        type(e),
        e.__class__,
        type(e).__name__,
        type(e).__mro__[1] is LookupError,
        isinstance(e, Exception),
    )


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)

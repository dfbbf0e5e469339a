"""Raising, handling and chaining exceptions in a trace."""

# What a linter would not write is what is tested.
# ruff: noqa: F401, B016, B018, B030, B904, F821, F841

from __future__ import annotations

import contextlib
import copy
import pickle
import sys
import traceback
import weakref
from typing import Any

import armature
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


class Meta(type):
    def __instancecheck__(cls, o):
        return True

    def __subclasscheck__(cls, o):
        return True


class Any_(Exception, metaclass=Meta):
    pass


class cm:
    def __init__(self, out):
        self.out = out

    def __enter__(self):
        self.out.append("enter")

    def __exit__(self, t, v, tb):
        self.out.append(("exit", t and t.__name__))


class BadInit(Exception):
    def __init__(self):
        raise TypeError("bad init")


class Obj:
    pass


def rec2(n):
    return rec2(n + 1)


class NotExc(Exception):
    def __new__(cls):
        return 3


ERR = ValueError("glob")


class S(Exception):
    def __str__(self):
        return super().__str__() + "!"

    def __repr__(self):
        return "<" + super().__repr__() + ">"


class MetaCall(type):
    def __call__(cls, *a):
        return ("metacall", a)


class MC(Exception, metaclass=MetaCall):
    pass


class InitRet(Exception):
    def __init__(self):
        return 3


def deep(n):
    try:
        return deep(n + 1)
    except RecursionError as e:
        return len(e.args)


class EX:
    def __enter__(self):
        return 1

    def __exit__(self, *a):
        raise KeyError("exit")


class EN:
    def __enter__(self):
        raise KeyError("enter")

    def __exit__(self, *a):
        return True


@programs
def os_error_catch(x: Any) -> Any:
    try:
        raise OSError(2, "x")
    except FileNotFoundError as e:
        return e


@programs
def system_exit_leaves(x: Any) -> Any:
    raise SystemExit(3)


@programs
def raise_handled_self(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except ValueError as e:
            raise e
    except ValueError as e2:
        return repr(e2.__context__), repr(e2.__cause__)


@programs
def from_none(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except ValueError as e:
            raise KeyError("k") from None
    except KeyError as e:
        return repr(e.__cause__), repr(e.__context__), e.__suppress_context__


@programs
def from_class(x: Any) -> Any:
    try:
        raise KeyError("k") from ValueError
    except KeyError as e:
        return repr(e.__cause__), e.__suppress_context__


@programs
def from_bad(x: Any) -> Any:
    try:
        raise KeyError("k") from 3
    except TypeError as e:
        return repr(e), repr(e.__context__)


@programs
def except_number(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except int:
            pass
    except TypeError as e:
        return repr(e), repr(e.__context__)


@programs
def except_nested_tuple(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except (KeyError, (ValueError,)):
            return "nested ok"
    except TypeError as e:
        return repr(e)


@programs
def except_tuple_bad(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except (ValueError, int):
            return "no"
    except TypeError as e:
        return repr(e)


@programs
def metaclass(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except Any_:
            return "caught"
    except ValueError:
        return "not asked"


@programs
def except_deletes(x: Any) -> Any:
    try:
        raise ValueError
    except ValueError as e:
        pass
    try:
        e
    except UnboundLocalError as q:
        return str(q)


@programs
def weakref_frame(x: Any) -> Any:
    def f():
        o = Obj()
        r.append(weakref.ref(o))
        raise ValueError(1)

    r = []
    try:
        f()
    except ValueError as e:
        alive = r[0]() is not None
    return alive, r[0]() is None


@programs
def weakref_exception(x: Any) -> Any:
    try:
        raise MyErr(1)
    except MyErr as e:
        r = weakref.ref(e)
    return r() is None


@programs
def loop(x: Any) -> Any:
    n = 0
    for i in range(1500):
        try:
            if i % 3 == 0:
                raise ValueError(i)
            n += 1
        except ValueError as e:
            n += e.args[0]
    return n


@programs
def recursion2(x: Any) -> Any:
    try:
        rec2(0)
    except RecursionError as e:
        return repr(e)


@programs
def assert_of_exceptions(x: Any) -> Any:
    try:
        assert 1 == 2, "msg"
    except AssertionError as e:
        return repr(e)


@programs
def raise_tuple(x: Any) -> Any:
    try:
        raise (ValueError,)
    except TypeError as e:
        return str(e)


@programs
def raise_number(x: Any) -> Any:
    try:
        raise 3
    except TypeError as e:
        return str(e)


@programs
def raise_no_exception(x: Any) -> Any:
    try:
        raise NotExc
    except TypeError as e:
        return str(e)


@programs
def manager_suppress(x: Any) -> Any:
    with contextlib.suppress(ValueError):
        raise ValueError
    return "ok"


@programs
def exitstack(x: Any) -> Any:
    log = []
    try:
        with contextlib.ExitStack() as s:
            s.callback(log.append, 1)
            s.enter_context(cm(log))
            raise ValueError(3)
    except ValueError as e:
        log.append(repr(e))
    return log


@programs
def return_exception(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except ValueError as e:
            raise KeyError("k") from e
    except KeyError as q:
        r = q
    return [r.__traceback__ is not None, r]


@programs
def raise_global(x: Any) -> Any:
    try:
        raise ERR
    except ValueError as e:
        return e is ERR, e.__traceback__ is not None


@programs
def raise_from_global(x: Any) -> Any:
    try:
        raise KeyError(1) from ERR
    except KeyError as e:
        return e.__cause__ is ERR


@programs
def raise_metaclass_call(x: Any) -> Any:
    try:
        raise MC
    except TypeError as e:
        return str(e)


@programs
def init_that_raises(x: Any) -> Any:
    out = []
    try:
        raise BadInit
    except KeyError as e:
        out.append((repr(e), repr(e.__context__)))
    try:
        raise ValueError from BadInit
    except KeyError as e:
        out.append((repr(e), repr(e.__cause__)))

    def g():
        yield

    it = g()
    next(it)
    try:
        it.throw(BadInit, 3)
    except KeyError as e:
        out.append(repr(e))
    return out


@programs
def init_that_returns(x: Any) -> Any:
    try:
        raise InitRet()
    except TypeError as e:
        return str(e)


@programs
def name_deleted_after_e(x: Any) -> Any:
    def f():
        try:
            raise S("q")
        except S as e:
            r = weakref.ref(e)
        return r

    return f()() is None


@programs
def loop_of_1500_turns(x: Any) -> Any:
    last = None
    for i in range(1500):
        try:
            try:
                raise ValueError(i)
            except ValueError:
                raise KeyError(i)
        except KeyError as e:
            last = e.__context__.args
    return last


@programs
def loop_same(x: Any) -> Any:
    e = ValueError("e")
    k = KeyError("k")
    for i in range(1500):
        try:
            try:
                raise e
            except ValueError:
                raise k
        except KeyError as q:
            pass
    return repr(k.__context__), repr(e.__context__)


@programs
def deep_recursion(x: Any) -> Any:
    return deep(0)


@programs
def exception_in_exit(x: Any) -> Any:
    class_ = EX()
    try:
        with class_:
            raise ValueError("b")
    except KeyError as e:
        return repr(e.__context__), repr(e.__cause__)


@programs
def exception_in_enter(x: Any) -> Any:
    try:
        with EN():
            pass
    except KeyError as e:
        return repr(e.__context__)


@programs
def no_exit(x: Any) -> Any:
    out = []
    for o in (ValueError(1), object(), EN):
        try:
            with o:
                pass
        except TypeError as e:
            out.append(str(e))
        except AttributeError as e:
            out.append("AE" + str(e))
    return out


@programs
def match_lazy(x: Any) -> Any:
    out = []

    def f():
        out.append("asked")
        return KeyError

    try:
        raise ValueError
    except f():
        pass
    except ValueError:
        out.append("v")
    return out


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)


def test_an_attribute_that_is_not_there_is_deleted():
    class Plain:
        pass

    class Error(Exception):
        pass

    def f(thing):
        try:
            del thing.x
        except AttributeError as error:
            return error.args

    for make in (Plain, Error, lambda: Error(1), ValueError, lambda: f):
        compiled = armature.compile(f)
        for _ in range(2):
            assert compiled(make()) == f(make())
        thing = make()
        thing.__dict__["y"] = 1
        assert compiled(thing) == f(thing)

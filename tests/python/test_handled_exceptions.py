"""What is handled where: re-raising, sys.exc_info(), implicit contexts, finally, and callers that handle something."""

# What a linter would not write is what is tested.
# ruff: noqa: F401, B012, B018, B904, E501, F841, UP034

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


def inner_reraise():
    raise


@contextlib.contextmanager
def mgr(log):
    try:
        log.append("in")
        yield 4
    except ValueError as e:
        log.append(repr(e))
        raise KeyError("from mgr")
    finally:
        log.append("fin")


@programs
def reraise_nested(x: Any) -> Any:
    log = []
    try:
        try:
            raise ValueError(1)
        except ValueError:
            try:
                raise KeyError(2)
            except KeyError:
                log.append("in")
            raise
    except Exception as e:
        log.append(repr(e))
        log.append(repr(e.__context__))
    return log


@programs
def reraise_in_callee(x: Any) -> Any:
    try:
        try:
            raise ValueError("a")
        except ValueError:
            inner_reraise()
    except ValueError as e:
        return repr(e)


@programs
def reraise_nothing(x: Any) -> Any:
    try:
        inner_reraise()
    except RuntimeError as e:
        return repr(e)


@programs
def exception_info(x: Any) -> Any:
    out = [sys.exc_info()]
    try:
        raise ValueError("q")
    except ValueError as e:
        i = sys.exc_info()
        out.append((i[0], i[1] is e))
        out.append(sys.exception() is e)
        try:
            raise KeyError
        except KeyError:
            out.append(sys.exc_info()[0])
        out.append(sys.exc_info()[0])
    out.append(sys.exception())
    return out


def use_entry_reraise(f: Any, x: Any) -> Any:
    try:
        try:
            raise OSError("caller")
        except OSError:
            f(x)
    except BaseException as e:
        r1 = repr(e)
    try:
        f(x)
    except BaseException as e:
        r2 = repr(e)
    return r1, r2


@programs.used_by(use_entry_reraise)
def entry_reraise(x: Any) -> Any:
    y = x + 1
    raise


def use_entry_context2(f: Any, x: Any) -> Any:
    try:
        raise OSError("caller")
    except OSError:
        r = f(x)
    return repr(r.__context__), repr(f(x).__context__)


@programs.used_by(use_entry_context2)
def entry_context2(x: Any) -> Any:
    e = ValueError("v")
    try:
        raise e
    except ValueError:
        pass
    return e


def use_entry_exception_info(f: Any, x: Any) -> Any:
    try:
        raise OSError("caller")
    except OSError:
        r = f(x)
    return r, f(x)


@programs.used_by(use_entry_exception_info)
def entry_exception_info(x: Any) -> Any:
    return repr(sys.exc_info()[1])


@programs
def context_twice(x: Any) -> Any:
    e = ValueError("e")
    try:
        try:
            raise KeyError("k1")
        except KeyError:
            raise e
    except ValueError:
        pass
    c1 = repr(e.__context__)
    try:
        try:
            raise KeyError("k2")
        except KeyError:
            raise e
    except ValueError:
        pass
    return c1, repr(e.__context__)


@programs
def context_cycle3(x: Any) -> Any:
    a = ValueError("a")
    b = KeyError("b")
    c = TypeError("c")
    try:
        try:
            try:
                try:
                    raise a
                except ValueError:
                    raise b
            except KeyError:
                raise c
        except TypeError:
            raise a
    except ValueError:
        pass
    return repr(a.__context__), repr(b.__context__), repr(c.__context__)


@programs
def finally_raise(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        finally:
            raise KeyError("k")
    except KeyError as e:
        return repr(e.__context__)


@programs
def finally_return(x: Any) -> Any:
    try:
        raise ValueError("v")
    finally:
        return "ok"


@programs
def finally_nested(x: Any) -> Any:
    out = []

    def f():
        try:
            try:
                raise ValueError("v")
            finally:
                out.append(repr(sys.exc_info()[1]))
                try:
                    raise TypeError("t")
                except TypeError as q:
                    out.append(repr(q.__context__))
                out.append(repr(sys.exc_info()[1]))
        except ValueError as e:
            out.append(repr(e.__context__))

    f()
    return out


@programs
def except_star(x: Any) -> Any:
    out = []
    try:
        raise ExceptionGroup(
            "g", [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3), TypeError(4)])]
        )
    except* ValueError as e:
        out.append(repr(e))
    except* KeyError as e:
        out.append(repr(e))
    except* TypeError as e:
        out.append(repr(e))
    return out


@programs
def except_star_naked(x: Any) -> Any:
    try:
        raise ValueError(1)
    except* ValueError as e:
        return_ = repr(e)
    return return_


@programs
def except_star_leaves(x: Any) -> Any:
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as e:
        pass


@programs
def except_star_raise(x: Any) -> Any:
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as e:
        raise TypeError(3)


@programs
def contextmanager(x: Any) -> Any:
    log = []
    try:
        with mgr(log) as v:
            raise ValueError(v)
    except KeyError as e:
        log.append((repr(e), repr(e.__context__), repr(e.__cause__)))
    return log


@programs
def context_function(x: Any) -> Any:
    def inner():
        try:
            raise KeyError("i")
        except KeyError as e:
            return e

    try:
        raise ValueError("o")
    except ValueError as v:
        e = inner()
        return e.__context__ is v, v.__context__


def use_context_c_raised(f: Any, x: Any) -> Any:
    try:
        raise OSError("outside")
    except OSError:
        a = f(x)
    return a, f(x)


@programs.used_by(use_context_c_raised)
def context_c_raised(x: Any) -> Any:
    try:
        try:
            raise ValueError("v")
        except ValueError:
            {}["k"]
    except KeyError as e:
        r = [repr(e.__context__)]
    try:
        try:
            raise ValueError("v")
        except ValueError:
            1 / 0
    except ZeroDivisionError as e:
        r.append(repr(e.__context__))
    try:
        try:
            raise ValueError("v")
        except ValueError:
            int("z")
    except ValueError as e:
        r.append((str(e), repr(e.__context__)))
    return r


def use_entry_mixed(f: Any, x: Any) -> Any:
    out = [f(x)]
    try:
        1 / 0
    except ZeroDivisionError as z:
        out.append(f(x))
        try:
            int("z")
        except ValueError:
            out.append(f(x))
    out.append(f(x))

    def g():
        try:
            1 / 0
        except ZeroDivisionError:
            yield f(x)
        yield f(x)

    out += list(g())
    return out


@programs.used_by(use_entry_mixed)
def entry_mixed(x: Any) -> Any:
    try:
        raise ValueError("v")
    except ValueError as e:
        try:
            raise KeyError("k")
        except KeyError as k:
            return repr(k.__context__), repr(e.__context__), repr(sys.exc_info()[1])


def use_entry_raise_leaves(f: Any, x: Any) -> Any:
    out = []
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            f(x)
    except ValueError as e:
        out.append((repr(e.__context__)))
    try:
        f(x)
    except ValueError as e:
        out.append((repr(e.__context__)))
    return out


@programs.used_by(use_entry_raise_leaves)
def entry_raise_leaves(x: Any) -> Any:
    y = x + 1
    raise ValueError("leaves")


@programs
def context_chain_len(x: Any) -> Any:
    e = None

    def f(n):
        try:
            raise ValueError(n)
        except ValueError:
            if n:
                return f(n - 1)
            raise

    try:
        f(10)
    except ValueError as q:
        e = q
    n = []
    while e is not None:
        n.append(e.args)
        e = e.__context__
    return n


@programs
def nested_finally_return(x: Any) -> Any:
    out = []

    def f():
        for i in range(3):
            try:
                if i == 1:
                    continue
                raise ValueError(i)
            except ValueError as e:
                out.append(repr(e))
                if i == 2:
                    return "r"
            finally:
                out.append(("fin", i, repr(sys.exc_info()[1])))

    out.append(f())
    out.append(sys.exc_info())
    return out


@programs
def finally_swallow(x: Any) -> Any:
    for i in range(2):
        try:
            raise ValueError(i)
        finally:
            continue
    while True:
        try:
            raise KeyError
        finally:
            break
    return sys.exc_info()


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)

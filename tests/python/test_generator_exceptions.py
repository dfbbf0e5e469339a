"""throw(), close() and what generators handle and pass on."""

# What a linter would not write is what is tested.
# ruff: noqa: F401, B012, B018, B904

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


class cm:
    def __init__(self, out):
        self.out = out

    def __enter__(self):
        self.out.append("enter")

    def __exit__(self, t, v, tb):
        self.out.append(("exit", t and t.__name__))


class It:
    def __init__(self, log):
        self.log = log
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return self.n

    def throw(self, *a):
        self.log.append(("throw", len(a), repr(a[0])))
        if self.n > 2:
            raise StopIteration("end")
        return "thrown"

    def close(self):
        self.log.append("close")


class SI:
    def __iter__(self):
        return self

    def __next__(self):
        raise E3b(6)


class E3b(StopIteration):
    pass


@programs
def generator_own_stack(x: Any) -> Any:
    def g():
        try:
            raise ValueError("in gen")
        except ValueError:
            yield 1
            yield 2
            try:
                raise
            except ValueError as e:
                yield repr(e)

    it = g()
    out = [next(it)]
    out.append(repr(sys.exc_info()[1]))
    try:
        raise KeyError("outer")
    except KeyError:
        out.append(next(it))
        out.append(repr(sys.exc_info()[1]))
        out.append(next(it))
        try:
            raise
        except KeyError as e:
            out.append(repr(e))
    return out


@programs
def generator_sees_caller(x: Any) -> Any:
    def g():
        yield repr(sys.exc_info()[1])
        try:
            raise
        except BaseException as e:
            yield repr(e)

    it = g()
    out = [next(it)]
    try:
        raise KeyError("outer")
    except KeyError:
        out.append(next(it))
    it = g()
    try:
        raise KeyError("outer")
    except KeyError:
        out.append(next(it))
    out.append(next(it))
    return out


@programs
def yield_from_value(x: Any) -> Any:
    def g():
        r = yield 1
        return ("ret", r)

    def h():
        v = yield from g()
        yield v
        return 9

    it = h()
    a = [next(it), it.send("s")]
    try:
        next(it)
    except StopIteration as e:
        a.append((e.value, e.args))
    try:
        next(it)
    except StopIteration as e:
        a.append((e.value, e.args))
    return a


@programs
def generator_throw(x: Any) -> Any:
    def g():
        try:
            yield 1
        except ValueError as e:
            yield repr(e)
        yield 3

    it = g()
    a = [next(it), it.throw(ValueError("t")), next(it)]
    try:
        it.throw(KeyError("k"))
    except KeyError as e:
        a.append(repr(e))
    return a


@programs
def generator_throw_from(x: Any) -> Any:
    def g():
        try:
            yield 1
        except ValueError as e:
            yield repr(e)

    def h():
        try:
            yield from g()
        except KeyError as e:
            yield "h" + repr(e)

    it = h()
    return [next(it), it.throw(ValueError("t")), it.throw(KeyError("k"))]


@programs
def generator_close(x: Any) -> Any:
    out = []

    def g():
        try:
            yield 1
        finally:
            out.append("fin")

    it = g()
    next(it)
    it.close()
    out.append("after")
    it.close()
    it2 = g()
    it2.close()
    try:
        next(it2)
    except StopIteration:
        out.append("stop")
    return out


@programs
def generator_close_ignored(x: Any) -> Any:
    def g():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    it = g()
    next(it)
    try:
        it.close()
    except RuntimeError as e:
        return repr(e)


@programs
def generator_close_from(x: Any) -> Any:
    out = []

    def g():
        try:
            yield 1
        finally:
            out.append("g")

    def h():
        try:
            yield from g()
        finally:
            out.append("h")

    it = h()
    next(it)
    it.close()
    return out


@programs
def generator_dropped(x: Any) -> Any:
    out = []

    def g():
        try:
            yield 1
        finally:
            out.append("fin")

    for v in g():
        out.append("body")
        break
    out.append("after")
    return out


@programs
def generator_dropped_local(x: Any) -> Any:
    out = []

    def g():
        try:
            yield 1
        finally:
            out.append("fin")

    it = g()
    next(it)
    it = None
    out.append("after")
    return out


@programs
def generator_dropped_function(x: Any) -> Any:
    out = []

    def g():
        with cm(out):
            yield 1

    def use():
        it = g()
        next(it)
        out.append("used")

    use()
    out.append("after")
    return out


@programs
def generator_stop_iteration(x: Any) -> Any:
    def g():
        yield 1
        raise StopIteration(5)

    it = g()
    next(it)
    try:
        next(it)
    except RuntimeError as e:
        return repr(e), repr(e.__cause__), repr(e.__context__), e.__suppress_context__


@programs
def generator_passes(x: Any) -> Any:
    def a():
        try:
            yield 1
        finally:
            log.append("a")

    def b():
        try:
            yield from a()
        finally:
            log.append("b")

    log = []

    def c():
        with cm(log):
            yield from b()

    it = c()
    next(it)
    try:
        it.throw(ValueError("z"))
    except ValueError as e:
        log.append(repr(e))
    return log


@programs
def generator_running(x: Any) -> Any:
    def g():
        yield next(it)

    it = g()
    try:
        next(it)
    except ValueError as e:
        return repr(e)


@programs
def generator_throw_unstarted(x: Any) -> Any:
    def g():
        yield 1

    it = g()
    try:
        it.throw(ValueError("q"))
    except ValueError as e:
        r = repr(e)
    return r, list(it)


@programs
def throw_bad(x: Any) -> Any:
    def g():
        yield 1

    out = []
    for a in (
        (3,),
        (ValueError, KeyError(1)),
        (ValueError("a"), 3),
        (ValueError,),
        (ValueError, "s"),
    ):
        try:
            g().throw(*a)
        except Exception as e:
            out.append(repr(e))
    return out


@programs
def generator_context_throw(x: Any) -> Any:
    def g():
        try:
            raise KeyError("k")
        except KeyError:
            try:
                yield
            except ValueError as e:
                yield repr(e.__context__)

    it = g()
    next(it)
    return it.throw(ValueError("q"))


@programs
def context_generator(x: Any) -> Any:
    def g():
        try:
            raise KeyError("k")
        except KeyError:
            yield 1
            raise TypeError("t")

    it = g()
    next(it)
    try:
        try:
            raise ValueError("v")
        except ValueError:
            next(it)
    except TypeError as e:
        return repr(e.__context__), repr(e.__context__.__context__)


@programs
def context_gen2(x: Any) -> Any:
    def g():
        yield 1
        raise TypeError("t")

    it = g()
    next(it)
    try:
        try:
            raise ValueError("v")
        except ValueError:
            next(it)
    except TypeError as e:
        return repr(e.__context__)


def use_traceback_generator(f: Any, x: Any) -> Any:
    return ["".join(traceback.format_exception(e)) for e in f(x)]


@programs.used_by(use_traceback_generator)
def traceback_generator(x: Any) -> Any:
    def g():
        yield 1
        raise KeyError("bottom")

    def h():
        yield from g()

    try:
        list(h())
    except KeyError as e:
        r = e
    it = h()
    next(it)
    try:
        it.throw(ValueError("thrown"))
    except ValueError as e:
        s = e
    return r, s


@programs
def generator_return_in_finally(x: Any) -> Any:
    out = []

    def g():
        try:
            yield 1
        finally:
            return 5

    it = g()
    next(it)
    try:
        it.throw(ValueError("z"))
    except StopIteration as e:
        out.append(e.value)
    it = g()
    next(it)
    out.append(it.close())
    return out


@programs
def generator_throw_class(x: Any) -> Any:
    def g():
        try:
            yield 1
        except ValueError as e:
            yield e.args

    out = []
    for a in (
        (ValueError,),
        (ValueError, 3),
        (ValueError, (1, 2)),
        (ValueError, ValueError(9)),
        (ValueError, None, None),
    ):
        it = g()
        next(it)
        out.append(it.throw(*a))
        it.close()
    return out


@programs
def delegate_obj(x: Any) -> Any:
    log = []

    def g():
        r = yield from It(log)
        log.append(("r", r))
        yield "after"

    it = g()
    out = [next(it), it.throw(ValueError("a")), next(it), next(it)]
    out.append(it.throw(KeyError, "k"))
    it2 = g()
    next(it2)
    it2.close()
    return out, log


@programs
def delegate_list(x: Any) -> Any:
    def g():
        try:
            yield from [1, 2, 3]
        except ValueError as e:
            yield repr(e)

    it = g()
    out = [next(it), it.throw(ValueError("q"))]
    it.close()
    it = g()
    next(it)
    it.close()
    return out, list(it)


@programs
def throw_finished(x: Any) -> Any:
    def g():
        yield 1

    it = g()
    list(it)
    out = []
    try:
        it.throw(ValueError("f"))
    except ValueError as e:
        out.append(repr(e))
    it.close()
    return out


@programs
def throw_running(x: Any) -> Any:
    def g():
        try:
            it.throw(ValueError)
        except ValueError as e:
            yield repr(e)
        try:
            it.close()
        except ValueError as e:
            yield repr(e)

    it = g()
    return list(it)


@programs
def close_raises(x: Any) -> Any:
    def g():
        try:
            yield 1
        finally:
            raise KeyError("fin")

    it = g()
    next(it)
    try:
        it.close()
    except KeyError as e:
        return repr(e), repr(e.__context__)


@programs
def close_swallow(x: Any) -> Any:
    def g():
        try:
            yield 1
        except GeneratorExit:
            pass

    it = g()
    next(it)
    it.close()
    return list(it)


@programs
def close_delegate_raises(x: Any) -> Any:
    def g():
        try:
            yield 1
        finally:
            raise KeyError("fin")

    def h():
        try:
            yield from g()
        except KeyError as e:
            out.append(repr(e))
            yield 7

    out = []
    it = h()
    next(it)
    try:
        it.close()
    except RuntimeError as e:
        out.append(repr(e))
    return out


@programs
def contextmanager_throw(x: Any) -> Any:
    @contextlib.contextmanager
    def m():
        try:
            yield
        except ValueError as e:
            out.append(repr(e))

    out = []
    with m():
        raise ValueError("s")
    try:
        with m():
            raise KeyError("k")
    except KeyError as e:
        out.append((repr(e), e.__context__))
    try:
        with m():
            raise StopIteration("k")
    except StopIteration as e:
        out.append((repr(e), e.__context__))
    return out


@programs
def stop_user(x: Any) -> Any:
    def g():
        return (yield from SI())

    out = []

    def h():
        out.append((yield from g()))

    list(h())
    out.append(list(SI()))
    return out


def use_entry_generator(f: Any, x: Any) -> Any:
    try:
        1 / 0
    except ZeroDivisionError:
        a = f(x)
    return a, f(x)


@programs.used_by(use_entry_generator)
def entry_generator(x: Any) -> Any:
    def g():
        try:
            raise KeyError("k")
        except KeyError as e:
            yield repr(e.__context__)

    return list(g())


@pytest.mark.parametrize("name", list(programs))
def test_program(name: str) -> None:
    programs.compare(name)

"""Frames that go on after a graph break: by a jump, anywhere in the code, as the program's frames.

Every program here runs with a graph break before every instruction, before every second one, and
so on, in all frames that the trace has inlined, and must do what plain Python does: results,
effects, exceptions with their tracebacks, what callees see of the frames that run.
"""

from __future__ import annotations

import contextlib
import gc
import linecache
import sys
import traceback
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from armature import _C
from differential import breaking_every

LOG: list[Any] = []


@armature.disable
def say(*what: Any) -> int:
    """Breaks the graph."""
    LOG.append(what)
    return len(LOG)


@armature.disable
def fail(error: Any) -> None:
    raise error


@armature.disable
def handled() -> Any:
    error = sys.exc_info()[1]
    LOG.append(("handled", type(error), str(error)))
    return error


@armature.disable
def callers() -> None:
    """The frames of this module that run: name, line, and the file's text there."""
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name != "observe":
            name = frame.f_code.co_name
            frames.append((name, frame.f_lineno, frame.f_globals is globals()))
            if name.startswith("program_"):
                break
        frame = frame.f_back
    LOG.append(frames)


class Watched:
    def __init__(self, name: Any = None) -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(("died", self.name))


class Manager:
    def __init__(self, name: str, suppresses: bool = False) -> None:
        self.name = name
        self.suppresses = suppresses

    def __enter__(self) -> str:
        say("enter", self.name)
        return self.name

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        say("exit", self.name, kind, str(error))
        return self.suppresses


# --- The programs. Each takes a number and is called with several.


def program_loop(n: int) -> Any:
    total = 0
    for i in range(n):
        total += i
        say(total)
    else:
        say("end")
    return total


def program_nested_loops(n: int) -> Any:
    found = []
    for i in range(n):
        for j, letter in enumerate("abc"):
            if j > i:
                break
            if letter == "b":
                say("skipped")
                continue
            say(i, letter)
            found.append((i, letter))
        else:
            say("whole", i)
    while n > 0:
        n -= 1
        say(n)
    return found


def program_try(n: int) -> Any:
    result = []
    try:
        result.append("before")
        say("in try")
        if n == 1:
            raise ValueError(n)
        if n == 2:
            fail(KeyError("k"))
        if n == 3:
            return result
        say("end of try")
    except ValueError as error:
        say("caught", str(error))
        result.append(error.args)
        handled()
    except KeyError:
        result.append(str(handled()))
    else:
        say("else")
        result.append("else")
    finally:
        say("finally")
        result.append("finally")
    return result


def program_finally_returns(n: int) -> Any:
    for i in range(3):
        try:
            say(i)
            if n == 1:
                fail(ValueError(i))
            if n == 2:
                break
            if n == 3:
                return i
        finally:
            say("finally", i)
            if i == 1:
                continue  # noqa: B012
    return "end"


def program_nested_handlers(n: int) -> Any:
    try:
        try:
            fail(ValueError("first"))
        except ValueError:
            handled()
            try:
                fail(KeyError("second"))
            except KeyError as error:
                handled()
                say(type(error.__context__))
                if n == 1:
                    raise
                if n == 2:
                    raise RuntimeError("third") from error
            handled()
            if n == 3:
                raise
    except Exception as error:
        handled()
        chain = []
        while error is not None:
            chain.append((type(error).__name__, str(error)))
            error = error.__context__
        return chain
    handled()
    return None


def inner(n: int) -> int:
    say("inner", n)
    if n == 2:
        fail(ValueError("inner"))
    callers()
    return n + 1


def middle(n: int) -> int:
    try:
        return inner(n) * 2
    finally:
        say("left middle")
        callers()


def program_frames(n: int) -> Any:
    callers()
    try:
        a = middle(n)
        b = [inner(n), *[inner(i) for i in range(2)]]
    except ValueError as error:
        callers()
        handled()
        return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)][1:]
    return a, b


def raises_in_handler(n: int) -> None:
    try:
        fail(KeyError(n))
    except KeyError:
        middle(2)


def program_uncaught(n: int) -> Any:
    say("before")
    if n == 1:
        raise ValueError("own")
    if n == 2:
        middle(2)
    if n == 3:
        raises_in_handler(n)
    return None


def program_with(n: int) -> Any:
    with Manager("outer", suppresses=n == 2) as outer:
        say("in", outer)
        with Manager("a") as a, Manager("b", suppresses=n == 1) as b:
            say("in", a, b)
            if n in (1, 2, 3):
                fail(ValueError(n))
            if n == 4:
                return "returned"
        say("after")
    return "end"


def program_grad_modes(n: int) -> Any:
    x = torch.ones(2, requires_grad=True)
    modes = [torch.is_grad_enabled()]
    with torch.no_grad():
        say("no grad", torch.is_grad_enabled())
        y = x * 2
        with torch.enable_grad():
            say("grad", torch.is_grad_enabled())
            z = x * 3
            modes.append(torch.is_grad_enabled())
        say("no grad", torch.is_grad_enabled())
        modes.append(torch.is_grad_enabled())
        if n == 1:
            return y.requires_grad, z.requires_grad, modes
    modes.append(torch.is_grad_enabled())
    say("after", torch.is_grad_enabled())
    return y.requires_grad, z.requires_grad, modes


@contextlib.contextmanager
def recorded(name: str) -> Iterator[str]:
    LOG.append(("begin", name))
    try:
        yield name
    finally:
        LOG.append(("end", name))


def program_contextmanager(n: int) -> Any:
    with recorded("r") as name:
        say(name)
        if n == 1:
            fail(ValueError(n))
    return name


def program_lifetimes(n: int) -> Any:
    first: Any = Watched("first")
    say("made", first is None)
    first = None
    say("dropped", first)
    second = Watched("second")
    third = second
    del second
    say("held")
    third = n
    say("let go")
    Watched("temporary")
    say("temporary")
    kept = [Watched(i) for i in range(2)]
    say("kept")
    kept.pop(0)
    say("popped")
    return third


def program_expressions(n: int) -> Any:
    pairs = {i: (say(i), i * i) for i in range(n)}
    text = f"{say('f')}{n:>4}" + "x" * ((n and say("and")) or 2)
    a, *rest = (say("first"), *pairs, say("last"))
    first, (second, third) = n, (say("s"), say("t"))
    items = [say("x") if i % 2 else -i for i in range(4)][1:3]
    return pairs, text, a, rest, first < say("c") < 100, second, third, items, n not in pairs


class Thing:
    made = 0

    def __init__(self, n: int) -> None:
        say("init")
        self.n = n
        Thing.made += 1

    @property
    def twice(self) -> int:
        say("property")
        return self.n * 2

    def __add__(self, other: int) -> int:
        say("add")
        return self.n + other

    def __getitem__(self, key: int) -> int:
        if key > self.n:
            raise IndexError(key)
        return key

    def method(self, *args: int, **kwargs: int) -> Any:
        say("method")
        return self.n, args, kwargs


class Derived(Thing):
    def __init__(self, n: int) -> None:
        super().__init__(n)
        say("derived")


def program_objects(n: int) -> Any:
    thing = Derived(n)
    items = [i for i in thing]
    return thing.twice, thing + 1, items, thing.method(1, *items, k=n), thing.n


def program_closures(n: int) -> Any:
    count = 0

    def add(by: int) -> int:
        nonlocal count
        say("add", count)
        count += by
        return count

    values = [add(i) for i in range(n)]
    say(count)
    adders = [lambda: (i, n) for i in range(2)]
    return values, count, [f() for f in adders], sorted([3, 1, 2], key=lambda v: -v)


def counted(n: int) -> Iterator[int]:
    for i in range(n):
        got = yield i
        LOG.append(("sent", got))
    return n


def delegating(n: int) -> Iterator[int]:
    got = yield from counted(n)
    yield got


def program_generators(n: int) -> Any:
    items = []
    for item in delegating(n):
        say(item)
        items.append(item)
    one, two, ended = counted(n + 2), closing(n), counted(0)
    next(one)
    items.append(next(two))
    say(list(ended))
    items += [one.send("x"), next(ended, "ended")]
    say("still alive", items)
    del two
    say("closed")
    return items, sum(x * x for x in range(n)), list(counted(n)), one, ended


def closing(n: int) -> Iterator[int]:
    try:
        yield n
        yield n + 1
    finally:
        LOG.append("closing")


def program_match(n: int) -> Any:
    match [n, {"k": say("m")}]:
        case [0, _]:
            return "zero"
        case [1, {"k": value}] if value:
            return "one"
        case [int() as number, *rest]:
            return number, len(rest)
    return None


def program_globals(n: int) -> Any:
    global COUNTER
    COUNTER = n
    COUNTER += 1
    say(COUNTER)
    import math

    return COUNTER, math.floor(n + 0.5), len(globals()) > 5


def program_asserts(n: int) -> Any:
    assert n != 1, say("message")
    try:
        assert n != 2
    except AssertionError as error:
        return repr(error)
    return n


def program_star(n: int) -> Any:
    try:
        fail(ExceptionGroup("group", [ValueError(n), KeyError(n)]))
    except* ValueError as group:
        say("values", len(group.exceptions))
    except* KeyError:
        say("keys")
    return "end"


PROGRAMS = [value for name, value in list(globals().items()) if name.startswith("program_")]
# What CPython's own frames of a context manager's class show.
LIBRARY = contextlib.__file__


def plain_data(value: Any) -> Any:
    """Generators by what is left of them."""
    if isinstance(value, tuple):
        return tuple(map(plain_data, value))
    return list(value) if hasattr(value, "gi_frame") else value


def observe(call: Callable[[int], Any], n: int) -> Any:
    LOG.clear()
    linecache.checkcache(__file__)
    try:
        result = ("returned", plain_data(call(n)))
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)[1:]
        frames = [(e.name, e.filename, e.lineno) for e in entries if e.filename != LIBRARY]
        result = ("raised", type(error), str(error), frames, type(error.__context__))
    assert sys.exc_info() == (None, None, None)
    return result, list(LOG)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    _C.clear_fault()
    LOG.clear()


@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_breaks_anywhere(program: Callable[[int], Any], every: int) -> None:
    with armature.config.patch(recompile_limit=64):
        compiled = armature.compile(program)
    for n in (0, 1, 2, 3, 4, 2, 0):
        expected = observe(program, n)
        with breaking_every(every):
            found = observe(compiled, n)
        assert found == expected


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_breaks_where_the_program_has_them(program: Callable[[int], Any]) -> None:
    compiled = armature.compile(program)
    for n in (0, 1, 2, 3, 4, 2, 0):
        assert observe(compiled, n) == observe(program, n)


def test_a_broken_loop_needs_the_stack_of_one_turn() -> None:
    def loop(n: int) -> int:
        total = 0
        for _ in range(n):
            total += depth()
        return total

    @armature.disable
    def depth() -> int:
        count, frame = 0, sys._getframe()
        while frame is not None:
            count, frame = count + 1, frame.f_back
        return count

    compiled = armature.compile(loop)
    assert compiled(3) == 3 * compiled(1)
    assert compiled(5000) == 5000 * compiled(1)


def test_a_broken_loop_needs_the_memory_of_one_turn() -> None:
    @armature.disable
    def touch(value: Any) -> Any:
        return value

    def loop(n: int) -> int:
        last = None
        for _ in range(n):
            last = touch([last is None])
        return len(last)

    compiled = armature.compile(loop)
    compiled(100)
    tracemalloc.start()
    try:
        compiled(100)
        before = tracemalloc.get_traced_memory()[0]
        compiled(20000)
        assert tracemalloc.get_traced_memory()[0] - before < 20000
    finally:
        tracemalloc.stop()


def test_what_is_dropped_after_a_break_dies_there() -> None:
    alive = []

    @armature.disable
    def look(*references: Any) -> None:
        alive.append([reference() is not None for reference in references])

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        reference = weakref.ref(y)
        look(reference)
        z = y + 1
        look(reference)
        y = None
        look(reference)
        return z

    for call in (f, armature.compile(f), armature.compile(f)):
        alive.clear()
        call(torch.ones(2))
        assert alive == [[True], [True], [False]]


def warns(text: str) -> None:
    warnings.warn(text, stacklevel=2)


def warns_from_two_frames_up() -> None:
    warnings.warn("far", stacklevel=3)


def calls_what_warns() -> None:
    warns_from_two_frames_up()


def issues_warnings() -> None:
    warns("near")
    calls_what_warns()
    warns("again")


def test_warnings_have_the_lines_of_the_program() -> None:
    def lines(call: Callable[[], None]) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        return [(str(w.message), w.filename, w.lineno) for w in caught]

    compiled = armature.compile(issues_warnings)
    expected = lines(issues_warnings)
    for _ in range(3):
        assert lines(compiled) == expected


def test_handled_exceptions_of_the_caller_stay_handled() -> None:
    def f() -> Any:
        try:
            fail(KeyError("inside"))
        except KeyError:
            say(type(sys.exc_info()[1]))
        say("x")
        return None

    compiled = armature.compile(f)
    for _ in range(3):
        try:
            raise ValueError("outside")
        except ValueError as error:
            compiled()
            assert sys.exc_info()[1] is error


def test_reset_in_the_middle_of_a_broken_loop() -> None:
    @armature.disable
    def reset(i: int) -> None:
        if i % 3 == 1:
            armature.reset()
            gc.collect()

    def loop(n: int) -> int:
        total = 0
        for i in range(n):
            reset(i)
            total += i
        return total

    compiled = armature.compile(loop)
    for n in (5, 10, 50):
        assert compiled(n) == loop(n)


def test_a_resume_function_refuses_wrong_arguments() -> None:
    def f(n: int) -> int:
        say(n)
        return n

    compiled = armature.compile(f)
    compiled(1)
    resume = [
        constant
        for referred in gc.get_objects()
        if type(referred).__name__ == "ResumeFunction"
        for constant in [referred]
    ]
    assert resume
    for function in resume:
        with pytest.raises(TypeError, match="positional arguments"):
            function(*range(40))
        with pytest.raises(TypeError, match="positional arguments"):
            function(keyword=1)
        assert "resume function of" in repr(function)
    with pytest.raises(TypeError, match="cannot create"):
        type(resume[0])()


def test_managers_that_are_entered_by_hand() -> None:
    def f(x: torch.Tensor) -> Any:
        seen = []
        with contextlib.ExitStack() as stack:
            manager = torch.no_grad()
            seen.append((type(manager).__name__, isinstance(manager, torch.no_grad)))
            stack.enter_context(manager)
            stack.callback(say, "leaving")
            seen.append((x * 2).requires_grad)
            say(torch.is_grad_enabled())
            with contextlib.suppress(KeyError):
                raise KeyError(say("suppressed"))
        return seen, torch.is_grad_enabled()

    x = torch.ones(2, requires_grad=True)
    compiled = armature.compile(f)
    for _ in range(3):
        assert compiled(x) == f(x)


def test_a_local_keeps_what_its_container_lets_go() -> None:
    def cleared(items: list[Any]) -> None:
        thing = items[0]  # noqa: F841
        items.clear()
        say("behind")

    def cleared_elsewhere(items: list[Any]) -> None:
        thing = items[0]  # noqa: F841
        forget(items)
        say("behind")

    @armature.disable
    def forget(items: list[Any]) -> None:
        items.clear()

    for f in (cleared, cleared_elsewhere):
        for call in (f, armature.compile(f)):
            LOG.clear()
            call([Watched("in a list")])
            assert LOG == [("behind",), ("died", "in a list")]


def test_an_iterator_from_an_item_that_a_list_is_yet_to_get() -> None:
    def program():
        backwards = reversed([*LOG, 1])
        return list(backwards)

    LOG.clear()
    for number in range(1, 12):
        compiled = armature.compile(program)
        with breaking_every(number):
            assert compiled() == [1]

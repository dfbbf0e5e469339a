"""Generators that are dropped where they stand inside `try` or `with`: they are closed there and
then, in the trace where it knows when."""

# What a linter would not write is what is tested.
# ruff: noqa: F841

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every

PROGRAMS: list[Callable[..., Any]] = []
CAPTURED: list[Callable[..., Any]] = []
LOG: list[Any] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(function)
    return function


def captured(function: Callable[..., Any]) -> Callable[..., Any]:
    CAPTURED.append(function)
    return program(function)


def items(log: list[Any], name: Any, n: int = 5) -> Iterator[int]:
    try:
        for i in range(n):
            yield i
    finally:
        log.append(("closed", name))


def holds(log: list[Any], name: Any) -> Iterator[int]:
    with noted(log, name):
        yield 1
        yield 2


@contextlib.contextmanager
def noted(log: list[Any], name: Any) -> Iterator[None]:
    log.append(("in", name))
    try:
        yield
    finally:
        log.append(("out", name))


def prints(name: Any) -> Iterator[int]:
    try:
        yield 1
    finally:
        print("printed", name)


class Held:
    g: Any = None


@captured
def loop_that_is_left(x: torch.Tensor) -> Any:
    log: list[Any] = []
    for i in items(log, "a"):
        x = x + i
        if i == 2:
            break
    log.append("after")
    return x * 2, log


@captured
def loop_in_a_callee(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def first(found: Iterator[int]) -> int:
        for i in found:
            return i
        return -1

    x = x + first(items(log, "a"))
    log.append("after")
    return x * 2, log


@captured
def stored_over(x: torch.Tensor) -> Any:
    log: list[Any] = []
    for i in range(3):
        g = items(log, i)
        x = x + next(g)
        log.append(i)
    g = None
    log.append("after")
    return x, log


@captured
def deleted(x: torch.Tensor) -> Any:
    log: list[Any] = []
    g = items(log, "a")
    next(g)
    h = g
    del g
    log.append("first")
    del h
    log.append("second")
    return x + 1, log


@captured
def end_of_a_frame(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def begin() -> int:
        g = items(log, "a")
        log.append("begun")
        return next(g) + 5

    log.append(begin())
    return x + 1, log


@captured
def inside_a_list(x: torch.Tensor) -> Any:
    log: list[Any] = []
    a = [items(log, 0), items(log, 1)]
    for g in a:
        next(g)
    del g
    a[0] = 3
    log.append("one")
    a.pop()
    log.append("two")
    return x + 1, log, a


@captured
def attribute_of_an_object(x: torch.Tensor) -> Any:
    log: list[Any] = []
    box = Held()
    box.g = items(log, "a")
    next(box.g)
    log.append("held")
    box.g = None
    log.append("dropped")
    box.g = holds(log, "b")
    next(box.g)
    del box
    log.append("end")
    return x + 1, log


@captured
def one_inside_the_other(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def outer() -> Iterator[int]:
        try:
            yield from items(log, "inner")
        finally:
            log.append("outer")

    for i in outer():
        x = x + i
        if i:
            break
    log.append("after")
    return x, log


@captured
def manager_left_open(x: torch.Tensor) -> Any:
    log: list[Any] = []
    m = noted(log, "m")
    m.__enter__()
    log.append("open")
    m = None
    log.append("after")
    return x + 1, log


@captured
def clean_up_computes(x: torch.Tensor) -> Any:
    found = []

    def values() -> Iterator[torch.Tensor]:
        try:
            yield x + 1
            yield x + 2
        finally:
            found.append(x * 3)

    for v in values():
        found.append(v)
        break
    return found[0] + found[1], len(found)


@captured
def handlers_of_exit(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def values() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit as e:
            log.append((repr(e), repr(e.__context__)))
            raise
        finally:
            log.append(repr(sys.exc_info()[1]))

    try:
        raise ValueError(1)
    except ValueError:
        for i in values():
            break
        log.append(repr(sys.exc_info()[1]))
    return x + 1, log


@program
def prints_at_its_end(x: torch.Tensor) -> Any:
    for i in prints("a"):
        x = x + i
        break
    print("after")
    g = prints("b")
    next(g)
    g = 3
    print("after")
    g = prints("c")
    next(g)
    del g
    print("after")
    return x + 1


@program
def prints_at_the_end_of_a_frame(x: torch.Tensor) -> Any:
    def begin() -> int:
        g = prints("a")
        return next(g)

    x = x + begin()
    print("after")
    g = prints("b")
    next(g)
    return x


@program
def raises_at_its_end(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def values() -> Iterator[int]:
        try:
            yield 1
        finally:
            log.append("raises")
            raise KeyError(1)

    for i in values():
        break
    log.append("after")
    return x + 1, log


@program
def ignores_exit(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def values() -> Iterator[int]:
        try:
            yield 1
        finally:
            log.append("ignores")
            yield 2

    for i in values():
        break
    log.append("after")
    return x + 1, log


@program
def two_at_once(x: torch.Tensor) -> Any:
    log: list[Any] = []
    for i, j in zip(items(log, "a"), items(log, "b")):
        x = x + i + j
        if i == 1:
            break
    log.append("after")

    def begin() -> None:
        g = items(log, "c")
        h = items(log, "d")
        next(g), next(h)

    begin()
    log.append("after")
    return x, log


@program
def in_a_cycle(x: torch.Tensor) -> Any:
    log: list[Any] = []
    a: list[Any] = [items(log, "a")]
    a.append(a)
    next(a[0])
    log.append("made")
    del a
    log.append("dropped")
    gc.collect()
    log.append("collected")
    return x + 1, log


@program
def operand_of_a_call(x: torch.Tensor) -> Any:
    log: list[Any] = []
    log.append(next(items(log, "a")))
    a, *b = [next(items(log, i)) for i in range(2)]
    log.append((a, b))
    log.append(max(map(lambda i: next(items(log, i)), range(2))))
    return x + 1, log


@program
def kept_by_a_traceback(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def fails() -> None:
        g = items(log, "a")
        next(g)
        for i in items(log, "b"):
            raise ValueError(i)

    try:
        fails()
    except ValueError as e:
        log.append("caught")
    log.append("after")
    return x + 1, log


@program
def raised_in_the_loop(x: torch.Tensor) -> Any:
    log: list[Any] = []
    try:
        for i in items(log, "a"):
            raise ValueError(i)
    except ValueError:
        log.append("caught")
    return x + 1, log


@program
def in_a_body_of_another(x: torch.Tensor) -> Any:
    log: list[Any] = []

    def outer() -> Iterator[int]:
        for k in range(2):
            for i in items(log, k):
                if i == 1:
                    break
                yield i
            log.append("next")

    return x + sum(outer()), log, list(outer())


@program
def returned(x: torch.Tensor) -> Any:
    log: list[Any] = []
    g, h = items(log, "g"), items(log, "h")
    next(g), next(h)
    keep = {"g": g}
    del g
    log.append("kept")
    return x, log, keep, next(keep["g"])


@program
def kept_where_nothing_reads_it(x: torch.Tensor) -> Any:
    log: list[Any] = []
    keep = [items(log, "g")]
    next(keep[0])
    print("break")
    log.append("still")
    keep = None
    print("break")
    log.append("not any more")
    return x, log


@program
def stored_in_an_existing_object(x: torch.Tensor) -> Any:
    log: list[Any] = []
    Held.g = items(log, "g")
    next(Held.g)
    log.append("stored")
    Held.g = None
    log.append("dropped")
    LOG.append(items(LOG, "global"))
    next(LOG[-1])
    LOG.append("stored")
    LOG[-2] = None
    LOG.append("dropped")
    return x + 1, log


def observed(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
) -> Any:
    LOG.clear()
    unraisable: list[str] = []
    patch.setattr(sys, "unraisablehook", lambda hook: unraisable.append(repr(hook.exc_value)))
    result = function(torch.arange(3.0))
    gc.collect()
    text = re.sub("0x[0-9a-f]+", "…", repr(result))
    return text, list(LOG), unraisable, capsys.readouterr().out


@pytest.mark.parametrize("every", [0, 1, 2, 3])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_dropped(
    function: Callable[..., Any],
    every: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = observed(function, capsys, monkeypatch)
    compiled = armature.compile(function)
    for _ in range(3):
        with breaking_every(every):
            found = observed(compiled, capsys, monkeypatch)
        assert found == expected


@pytest.mark.parametrize("function", CAPTURED, ids=lambda function: function.__name__)
def test_is_captured(function: Callable[..., Any]) -> None:
    explanation = armature.explain(function)(torch.arange(3.0))
    assert explanation.graph_count == 1 and explanation.graph_break_count == 0


@pytest.mark.parametrize(
    "function",
    [prints_at_its_end, prints_at_the_end_of_a_frame, two_at_once, in_a_cycle, raises_at_its_end],
    ids=lambda function: function.__name__,
)
def test_costs_only_an_instruction(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: None)
    explanation = armature.explain(function)(torch.arange(3.0))
    assert explanation.graph_count >= 1 and explanation.op_count >= 1


class Slots:
    __slots__ = ("g",)


class Entries(dict):  # type: ignore[type-arg]
    pass


Pair = collections.namedtuple("Pair", "g n")


def closure(g: Any) -> Any:
    def inner() -> Any:
        return g

    return inner


def default(g: Any) -> Any:
    def inner(g: Any = g) -> Any:
        return g

    return inner


def keyword_default(g: Any) -> Any:
    def inner(*, g: Any = g) -> Any:
        return g

    return inner


def attribute(g: Any) -> Any:
    def inner() -> None: ...

    inner.g = g  # type: ignore[attr-defined]
    return inner


def slot(g: Any) -> Any:
    box = Slots()
    box.g = g
    return box


def in_dict_of_instance(g: Any) -> Any:
    box = Held()
    box.g = g
    return box.__dict__


def context(g: Any) -> Any:
    error = ValueError()
    error.__context__ = KeyError(g)
    return error


def default_dict(g: Any) -> Any:
    found = collections.defaultdict(closure(g))
    found[1] = 2
    return found


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda g: [g],
    "tuple": lambda g: (1, (g,)),
    "named_tuple": lambda g: Pair(g, 1),
    "dict": lambda g: {"g": [g]},
    "dict_values": lambda g: {"g": g}.values(),
    "dict_items_iterator": lambda g: iter({"g": g}.items()),
    "key": lambda g: {g: 1},
    "set": lambda g: {g},
    "slice": lambda g: slice(g, None),
    "zip": lambda g: zip(g, [1, 2, 3]),
    "map": lambda g: map(lambda i: i, g),
    "filter": lambda g: filter(None, g),
    "enumerate": lambda g: enumerate(g),
    "chain": lambda g: itertools.chain([1], g),
    "islice": lambda g: itertools.islice(g, 3),
    "list_iterator": lambda g: iter([g]),
    "tuple_iterator": lambda g: iter((g, g)),
    "call_iterator": lambda g: iter(g.__next__, None),
    "method": lambda g: g.__next__,
    "partial": lambda g: functools.partial(next, g),
    "partial_keyword": lambda g: functools.partial(dict, g=g),
    "generator": lambda g: (i for i in g),
    "closure": closure,
    "default": default,
    "keyword_default": keyword_default,
    "attribute": attribute,
    "slot": slot,
    "instance_dict": in_dict_of_instance,
    "exception": lambda g: ValueError(g),
    "group": lambda g: ExceptionGroup("g", [ValueError(g)]),
    "context": context,
    "stop_iteration": lambda g: StopIteration(g),
    "ordered_dict": lambda g: collections.OrderedDict(g=g),
    "dict_subclass": lambda g: Entries(g=g),
    "default_dict": default_dict,
    "deque": lambda g: collections.deque([g]),
    "manager": lambda g: contextlib.closing(g),
    "exit_stack": lambda g: contextlib.ExitStack().push(lambda *_: g),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_held(name: str) -> None:
    hold = HOLDERS[name]

    def function(x: torch.Tensor) -> Any:
        log: list[Any] = []
        g = items(log, name)
        next(g)
        kept = hold(g)
        del g
        log.append("held")
        x = x + 1
        kept = kept
        log.append("still")
        del kept
        log.append("dropped")
        return x, log

    expected = function(torch.arange(3.0))[1]
    compiled = armature.compile(function)
    assert compiled(torch.arange(3.0))[1] == expected
    assert compiled(torch.arange(3.0))[1] == expected


class Closes:
    """An iterator that is told when what delegates to it ends."""

    def __init__(self, log: list[Any], error: type[Exception] | None = None) -> None:
        self.log, self.error = log, error

    def __iter__(self) -> Closes:
        return self

    def __next__(self) -> int:
        return 1

    def close(self) -> None:
        self.log.append("close")
        if self.error:
            raise self.error("close")


def delegates(iterator: Any) -> Iterator[Any]:
    yield from iterator


def delegates_twice(iterator: Any) -> Iterator[Any]:
    yield from delegates(iterator)


def plain(n: int) -> Iterator[int]:
    yield from range(n)


@pytest.mark.parametrize("outer", [delegates, delegates_twice])
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("drop", ["none", "del", "leave", "any"])
@pytest.mark.parametrize("delegate", ["closes", "generator", "guarded", "list", "chain"])
def test_what_a_dropped_generator_delegates_to_is_closed(
    outer: Callable[..., Any], breaks: bool, drop: str, delegate: str
) -> None:
    def dropped(x: torch.Tensor, log: list[Any], inner: Any) -> Any:
        g: Any = outer(inner)
        log.append(next(g))
        if breaks:
            armature.graph_break()
        if drop == "none":
            g = None
        elif drop == "del":
            del g
        elif drop == "any":
            log.append(any(q == 1 for q in g))
            g = None
        log.append("behind")
        return x + 1

    def entry(x: torch.Tensor, log: list[Any]) -> Any:
        if delegate == "closes":
            inner: Any = Closes(log)
        elif delegate == "generator":
            inner = plain(4)
        elif delegate == "guarded":
            inner = items(log, "inner")
        elif delegate == "list":
            inner = iter([1, 2, 3])
        else:
            inner = itertools.chain([1], [2, 3])
        result = dropped(x, log, inner)
        log.append("left")
        if delegate != "closes":
            log.append(list(inner))
        return result

    compiled = armature.compile(entry)
    for _ in range(3):
        expected: list[Any] = []
        actual: list[Any] = []
        entry(torch.ones(2), expected)
        compiled(torch.ones(2), actual)
        assert actual == expected


def test_a_delegate_whose_close_raises(capsys: Any, monkeypatch: Any) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: said.append(str(info.exc_value)))

    def entry(x: torch.Tensor, log: list[Any]) -> torch.Tensor:
        g: Any = delegates(Closes(log, LookupError))
        next(g)
        g = None
        log.append("behind")
        return x + 1

    compiled = armature.compile(entry)
    for _ in range(3):
        logs: list[list[Any]] = [[], []]
        for function, log in zip((entry, compiled), logs, strict=True):
            said.clear()
            function(torch.ones(2), log)
            log.extend(said)
        assert logs[0] == logs[1] == ["close", "behind", "close"]


def moving_average(module: torch.nn.Module, average: torch.nn.Module) -> None:
    with torch.no_grad():
        for own, other in zip(module.parameters(), average.parameters(), strict=False):
            other.lerp_(own, 0.1)


def through_a_local() -> Iterator[int]:
    inner = iter(range(3))
    given = (each + 1 for each in inner)
    yield from given


def drops_one(x: torch.Tensor, held: list[Any]) -> torch.Tensor:
    for each in through_a_local():
        x = x + each
        break
    return x


def test_a_delegate_that_dies_too_is_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    modules = [torch.nn.Linear(2, 2) for _ in range(4)]
    for module in modules[2:]:
        module.load_state_dict(modules[module is modules[3]].state_dict())
    expected, actual = modules[1], modules[3]
    moving_average(modules[0], expected)
    armature.compile(moving_average)(modules[2], actual)
    for own, other in zip(expected.parameters(), actual.parameters(), strict=True):
        assert torch.equal(own, other)
    assert torch.equal(armature.compile(drops_one)(torch.ones(2), []), torch.full((2,), 2.0))
    assert "failed to compile" not in caplog.text


def closes_what_lives_on(log: list[Any]) -> list[int]:
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    def delegating() -> Iterator[int]:
        yield from inner

    inner = numbers()
    next(inner)
    outer = delegating()
    next(outer)
    del outer
    return list(inner)


def test_a_delegate_that_lives_on_is_closed() -> None:
    assert armature.compile(closes_what_lives_on)([]) == closes_what_lives_on([]) == []

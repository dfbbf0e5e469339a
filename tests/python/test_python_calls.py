"""What Python runs inside a compiled call calls what is compiled: from the bodies of generators and
coroutines, behind the recompile limit, at the instruction that broke the graph."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from armature import _C
from differential import check, compilations

CAPTURED: list[Any] = []


def note(what: Any) -> None:
    CAPTURED.append((what, armature.is_compiling()))


def double(x: torch.Tensor, times: int = 2, *rest: int, by: int = 0, **more: int) -> torch.Tensor:
    note("double")
    return x * times + by + sum(rest) + sum(more.values())


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        note("forward")
        return x * self.weight


class Scale:
    def __init__(self, factor: float, *, shift: float = 0) -> None:
        note("init")
        self.factor = torch.full((2,), factor) + 0
        self.shift = shift

    def __call__(self, x: torch.Tensor, *more: Any) -> Any:
        note("call")
        return x * self.factor + self.shift, more

    def method(self, x: torch.Tensor, **keywords: Any) -> Any:
        note("method")
        return x - self.factor, keywords

    @classmethod
    def made(cls, factor: float) -> Scale:
        note("classmethod")
        return cls(factor)

    @staticmethod
    def free(x: torch.Tensor) -> torch.Tensor:
        note("static")
        return x + 5


LAYER = Layer()


def every_kind_of_call(x: torch.Tensor) -> Iterator[Any]:
    yield double(x)
    yield double(x, 3, 4, 5, by=1, other=2)
    yield double(*(x, 2), **{"by": 7})
    scale = Scale(2.0, shift=1)
    yield scale(x, 1, "two")
    yield scale.method(x, k=[3])
    yield Scale.made(4.0).factor
    yield scale.free(x), Scale.free(x)
    yield LAYER(x)
    yield (lambda v: v + 1)(x)
    yield sorted([3, 1, 2], key=lambda v: -v), max(1, 2), ",".join(["a", "b"]), isinstance(x, int)
    yield functools.partial(double, times=4)(x)


def test_the_body_of_a_generator_calls_captured_functions() -> None:
    check(lambda: list(every_kind_of_call(torch.ones(2))))
    compiled = armature.compile(every_kind_of_call)
    assert inspect.isgeneratorfunction(compiled)
    for _ in range(3):
        CAPTURED.clear()
        expected = list(every_kind_of_call(torch.ones(2)))
        assert not any(captured for _, captured in CAPTURED)
        names = [name for name, _ in CAPTURED]
        CAPTURED.clear()
        found = list(compiled(torch.ones(2)))
        assert repr(found) == repr(expected)
        assert [name for name, _ in CAPTURED] == names
        by_name = dict(CAPTURED)
        for name in ("double", "init", "call", "method", "static", "forward"):
            assert by_name[name], name


def test_a_coroutine_calls_captured_functions() -> None:
    async def steps(x: torch.Tensor) -> torch.Tensor:
        x = double(x)
        await asyncio.sleep(0)
        async with asyncio.Lock():
            return double(x, by=1)

    CAPTURED.clear()
    compiled = armature.compile(steps)
    assert inspect.iscoroutinefunction(compiled)
    assert asyncio.run(compiled(torch.ones(2))).tolist() == [5, 5]
    assert CAPTURED == [("double", True), ("double", True)]


def doubled(x: torch.Tensor, count: int) -> Iterator[torch.Tensor]:
    for i in range(count):
        yield double(x, by=i)


async def doubled_later(x: torch.Tensor) -> torch.Tensor:
    await asyncio.sleep(0)
    return double(x)


class Pause:
    async def __aenter__(self) -> Pause:
        armature.graph_break()
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *error: Any) -> bool:
        note("exit" if error[0] is None else error[0].__name__)
        return error[0] is ValueError


class Countdown:
    def __init__(self, x: torch.Tensor, count: int) -> None:
        self.x, self.count = x, count

    def __aiter__(self) -> Countdown:
        return self

    async def __anext__(self) -> torch.Tensor:
        armature.graph_break()
        if self.count == 0:
            raise StopAsyncIteration
        self.count -= 1
        return self.x * self.count


def plainly_over_a_generator(x: torch.Tensor) -> Any:
    names = len(locals())
    armature.graph_break()
    return [item + names for item in doubled(x, 3)]


def plainly_in_comprehensions(x: torch.Tensor) -> Any:
    names = len(locals())
    armature.graph_break()
    by_name = {str(i): double(x, by=i) for i in range(names)}
    return [double(item) for item in by_name.values()], list(double(x) for _ in by_name)


def plainly_through_a_delegation(x: torch.Tensor) -> Any:
    def outer() -> Iterator[torch.Tensor]:
        yield from doubled(x, 2)
        yield double(x)

    names = len(locals())
    armature.graph_break()
    return [item + names for item in outer()]


async def awaits_another(x: torch.Tensor) -> Any:
    return await doubled_later(await doubled_later(x)) + x


async def gathers_others(x: torch.Tensor) -> Any:
    return await asyncio.gather(*[doubled_later(x * i) for i in range(3)])


async def breaks_in_async_with(x: torch.Tensor) -> Any:
    async with Pause():
        armature.graph_break()
        x = double(x)
        raise ValueError
    return double(x)


async def breaks_in_async_for(x: torch.Tensor) -> Any:
    found = [double(item) async for item in Countdown(x, 2)]
    async for item in Countdown(x, 2):
        armature.graph_break()
        found.append(double(item))
    return found


@pytest.mark.parametrize(
    "program",
    [
        plainly_over_a_generator,
        plainly_in_comprehensions,
        plainly_through_a_delegation,
        awaits_another,
        gathers_others,
        breaks_in_async_with,
        breaks_in_async_for,
    ],
)
def test_what_python_runs_calls_generators_and_coroutines(program: Callable[..., Any]) -> None:
    def run(function: Callable[..., Any]) -> Any:
        result = function(torch.ones(2))
        return asyncio.run(result) if inspect.iscoroutine(result) else result

    CAPTURED.clear()
    expected = repr(run(program))
    noted = [name for name, _ in CAPTURED]
    compiled = armature.compile(program)
    for _ in range(3):
        CAPTURED.clear()
        assert repr(run(compiled)) == expected
        assert [name for name, _ in CAPTURED] == noted
        assert all(captured for name, captured in CAPTURED if name == "double")


def test_a_generator_is_called_as_its_function_is() -> None:
    def make(name: str) -> Any:
        def items() -> Iterator[int]:
            yield len(name)

        items.__name__, items.__qualname__ = name, f"outer.{name}"
        return items

    def program(x: torch.Tensor) -> Any:
        armature.graph_break()
        generator = make(f"g{len(locals())}")()
        return generator.__name__, generator.__qualname__, next(generator), x + 1

    check(program, torch.ones(2))


def test_behind_the_recompile_limit() -> None:
    def f(x: torch.Tensor, key: str) -> Any:
        return {"a": 1}.get(key, key), double(x)

    with armature.config.patch(recompile_limit=2):
        compiled = armature.compile(f)
        for i in range(6):
            CAPTURED.clear()
            assert repr(compiled(torch.ones(2), str(i))) == repr((str(i), torch.full((2,), 2.0)))
            assert CAPTURED[-1] == ("double", True)


def test_behind_a_region_that_was_not_captured() -> None:
    def f(x: torch.Tensor) -> Any:
        y = x + 1
        names = dir()  # looks at the frame
        return names, double(y), LAYER(y)

    check(f, torch.ones(2))
    CAPTURED.clear()
    armature.compile(f)(torch.ones(2))
    assert CAPTURED == [] or all(captured for _, captured in CAPTURED)


def fails(x: torch.Tensor) -> None:
    double(x)
    raise ValueError("from within")


def generator_that_fails(x: torch.Tensor) -> Iterator[Any]:
    yield double(x)
    try:
        fails(x)
    except ValueError as error:
        yield str(error), error.__traceback__.tb_lineno
    fails(x)


def test_errors_and_tracebacks_are_plain() -> None:
    def lines(function: Callable[..., Any]) -> Any:
        items = []
        try:
            for item in function(torch.ones(2)):
                items.append(repr(item))
        except ValueError as error:
            entries = traceback.extract_tb(error.__traceback__)[1:]
            return items, str(error), [(e.name, e.lineno, e.line) for e in entries]
        raise AssertionError("no error")

    compiled = armature.compile(generator_that_fails)
    for _ in range(3):
        assert lines(compiled) == lines(generator_that_fails)


class NoInit:
    pass


class ReturnsSomething:
    def __init__(self) -> None:
        return 3


class NewMakesAnother:
    def __new__(cls, n: int) -> Any:
        return n

    def __init__(self, n: int) -> None:
        raise AssertionError("never")


class Meta(type):
    def __call__(cls, *arguments: Any) -> Any:
        return ("meta", type.__call__(cls, *arguments))


class WithMeta(metaclass=Meta):
    def __init__(self, n: int = 0) -> None:
        self.n = n


def wrong_calls(n: int) -> Iterator[Any]:
    attempts: list[Callable[[], Any]] = [
        lambda: double(),
        lambda: double(1, times=2, **{"times": 3}),
        lambda: Scale(),
        lambda: Scale(1.0, wrong=2),
        lambda: ReturnsSomething(),
        lambda: NoInit(1),
        lambda: type(NoInit()).__name__,
        lambda: NewMakesAnother(n),
        lambda: WithMeta(3)[1].n,
        lambda: n(),
        lambda: None(1),
        lambda: "text".missing(),
        lambda: super(Scale, Scale(1.0)).__class__,
        lambda: locals().keys() == set(),
        lambda: sys._getframe().f_code.co_name,
    ]
    for attempt in attempts:
        try:
            yield attempt()
        except Exception as error:
            yield type(error), str(error)


def test_wrong_calls_fail_as_in_python() -> None:
    compiled = armature.compile(wrong_calls)
    for _ in range(2):
        assert repr(list(compiled(5))) == repr(list(wrong_calls(5)))


def counts(n: int) -> int:
    return 1 if n == 0 else 1 + counts(n - 1)


def recursive(n: int) -> Iterator[int]:
    yield counts(n)


def test_recursion_ends_where_python_ends_it() -> None:
    compiled = armature.compile(recursive)
    assert list(compiled(50)) == [51]
    with pytest.raises(RecursionError):
        list(compiled(10**5))
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(10**6)
        with pytest.raises(RecursionError):
            list(compiled(10**6))
    finally:
        sys.setrecursionlimit(limit)


def test_functions_may_change_between_two_calls() -> None:
    def helper(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def run(x: torch.Tensor) -> Iterator[torch.Tensor]:
        yield helper(x)

    compiled = armature.compile(run)
    x = torch.zeros(1)
    assert next(compiled(x)).item() == 1
    helper.__code__ = (lambda x: x + 2).__code__
    assert next(compiled(x)).item() == 2
    helper.__code__ = (lambda x, y=5: x + y).__code__
    helper.__defaults__ = (7,)
    assert next(compiled(x)).item() == 7
    helper.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        next(compiled(x))


def test_functions_that_carry_one_code_share_its_translations() -> None:
    def make(n: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return x + n

        return inner

    def run(x: torch.Tensor) -> Iterator[Any]:
        for _ in range(5):
            yield make(1)(x)

    compiled = armature.compile(run)
    assert [r.item() for r in compiled(torch.zeros(1))] == [1] * 5
    entries = [e for e in armature._C.entries(compiled) if "inner" in e["name"]]
    assert len(entries) == 1


def test_nothing_outlives_the_compiled_function() -> None:
    class Held:
        pass

    def run(x: torch.Tensor, held: Any) -> Iterator[Any]:
        yield (lambda h: (x + 1, h))(held)

    compiled = armature.compile(run)
    held = Held()
    reference = weakref.ref(held)
    list(compiled(torch.ones(1), held))
    del held
    gc.collect()
    assert reference() is None
    reference = weakref.ref(run)
    del run, compiled
    gc.collect()
    assert reference() is None


def test_disabled_and_watched_code_runs_plainly() -> None:
    def run(x: torch.Tensor) -> Iterator[Any]:
        yield double(x)

    compiled = armature.compile(run)
    CAPTURED.clear()
    list(armature.disable(lambda: list(compiled(torch.ones(1))))())
    sys.setprofile(lambda *event: None)
    try:
        list(compiled(torch.ones(1)))
    finally:
        sys.setprofile(None)
    assert CAPTURED == [("double", False)] * 2


def test_nested_functions_compiled_anew_share_the_callers_translation() -> None:
    def make(n: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return x * n

        return armature.compile(inner)

    def other(x: torch.Tensor) -> torch.Tensor:
        return x - 1

    def run(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return function(x) + 1

    compiled, x = armature.compile(run), torch.ones(2)
    for _ in range(3):
        assert compiled(make(2), x).tolist() == [3, 3]
    assert len(_C.entries(compiled)) == 1
    # What differs is what the function is made of, and that it may be another one, or none.
    assert compiled(make(3), x).tolist() == [4, 4]
    assert compiled(armature.compile(other), x).tolist() == [1, 1]
    assert compiled(other, x).tolist() == [1, 1]
    assert compiled(armature.disable(other), x).tolist() == [1, 1]
    function = make(2)
    assert compiled(function, x).tolist() == [3, 3]
    function.__code__ = (lambda n: lambda x: x + n)(0).__code__
    assert compiled(function, x).tolist() == run(function, x).tolist() == [4, 4]


def test_functions_compiled_inside_of_a_compiled_function() -> None:
    def outer(x: torch.Tensor) -> torch.Tensor:
        inner = armature.compile(lambda y: y * 2)
        return inner(x) + 1

    compiled = armature.compile(outer)
    compiled(torch.ones(2))
    count = len(_C.entries(compiled))
    for _ in range(4):
        assert compiled(torch.ones(2)).tolist() == [3, 3]
    assert len(_C.entries(compiled)) == count


def consume(x: torch.Tensor, seen: list[bool]) -> torch.Tensor:
    end = weakref.ref(x)
    x = x * 2
    armature.graph_break()
    seen.append(end() is None)
    return x


def test_a_called_function_has_its_arguments_to_itself() -> None:
    """What the caller has only on its stack dies when the function lets go of it."""

    @armature.disable
    def make(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def call(x: torch.Tensor, seen: list[bool]) -> torch.Tensor:
        held = make(x)
        return consume(make(x), seen) + consume(held, seen) + consume(x=make(x), seen=seen)

    compiled = armature.compile(call)
    x, expected, seen = torch.ones(2), [], []
    result = call(x, expected)
    assert expected == [True, False, True]
    for _ in range(3):
        assert compiled(x, seen).equal(result)
        assert seen == expected
        seen.clear()
    end = weakref.ref(call)
    del compiled, call
    armature.reset()
    gc.collect()
    assert end() is None


def test_arguments_that_c_code_passes_are_its_own() -> None:
    def drop(x: torch.Tensor, seen: list[bool]) -> torch.Tensor:
        end = weakref.ref(x)
        x = None
        seen.append(end() is None)

    def call(x: torch.Tensor, seen: list[bool]) -> None:
        armature.graph_break()
        functools.partial(drop, x + 1)(seen)
        list(map(drop, [x + 1], [seen]))
        drop(x + 1, seen)

    compiled = armature.compile(call)
    x, expected = torch.ones(2), []
    call(x, expected)
    for _ in range(3):
        seen: list[bool] = []
        compiled(x, seen)
        assert seen == expected


@armature.disable(recursive=False)
def ask(made: Callable[[], int]) -> int:
    return made()


def test_code_that_is_made_anew_is_the_same_code() -> None:
    def call(x: torch.Tensor, made: Callable[[], int]) -> torch.Tensor:
        return x + functools.partial(made)() + ask(made)

    def anew(number: int) -> Callable[[], int]:
        names: dict[str, Any] = {"number": number}
        exec(f"def outer(number):\n    return lambda: number + {number % 2}", globals(), names)
        return names["outer"](number)

    check(call, torch.ones(2), anew(2), more=((torch.ones(2), anew(3)), (torch.ones(2), anew(4))))
    armature.reset()
    compiled = armature.compile(call)
    for number in range(8):
        compiled(torch.ones(2), anew(number))
    with compilations() as done:
        for number in range(8, 30):
            assert compiled(torch.ones(2), anew(number)).equal(call(torch.ones(2), anew(number)))
    assert not done

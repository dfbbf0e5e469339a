"""Calls f(*arguments, **keywords) that Python makes inside a compiled call: they call what is
compiled, and fail as Python's do."""

from __future__ import annotations

import functools
import itertools
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every, check

CAPTURED: list[bool] = []


def scaled(x: torch.Tensor, times: int = 2, *rest: int, by: int = 0, **more: int) -> torch.Tensor:
    CAPTURED.append(armature.is_compiling())
    return x * times + by + sum(rest) + sum(more.values())


class Scale:
    def __init__(self, *factors: int, **more: int) -> None:
        CAPTURED.append(armature.is_compiling())
        self.factor = torch.full((2,), sum(factors) + sum(more.values()))

    def __call__(self, x: torch.Tensor, **more: int) -> torch.Tensor:
        CAPTURED.append(armature.is_compiling())
        return x * self.factor + len(more)


@armature.disable(recursive=False)
def forwards(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    return function(*arguments, **keywords)


def skips_itself(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    armature.skip_frame()
    return function(*arguments, **keywords)


def makes_them(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Iterator[Any]:
    yield function(*arguments, **keywords)


class Wrapped(torch.nn.Module):
    @armature.disable(recursive=False)
    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        return scaled(*arguments, **keywords)


CALLS: list[Callable[[Any, torch.Tensor], Any]] = [
    lambda forward, x: forward(scaled, x),
    lambda forward, x: forward(scaled, x, 3, 4, 5, by=1, other=2),
    lambda forward, x: forward(scaled, *[x, 3], **{"by": 5}),
    lambda forward, x: forward(Scale, 2, 3, other=4)(x),
    lambda forward, x: forward(Scale(2), x, a=1, b=2),
    lambda forward, x: forward(functools.partial(scaled, times=4), x, by=2),
    lambda forward, x: forward(forward, scaled, x, by=2),
]


@pytest.mark.parametrize(
    "forward", [forwards, skips_itself, lambda *a, **k: next(makes_them(*a, **k))]
)
@pytest.mark.parametrize("call", CALLS)
def test_they_call_captured_functions(forward: Any, call: Callable[..., Any]) -> None:
    def program(x: torch.Tensor) -> Any:
        return call(forward, x)

    check(program, torch.ones(2))
    compiled = armature.compile(program)
    for _ in range(3):
        CAPTURED.clear()
        compiled(torch.ones(2))
        assert CAPTURED and all(CAPTURED)


def test_inside_a_module() -> None:
    module = Wrapped()

    def program(x: torch.Tensor) -> Any:
        return module(x, 3, by=1)

    check(program, torch.ones(2))
    CAPTURED.clear()
    armature.compile(program)(torch.ones(2))
    assert CAPTURED == [True]


@pytest.mark.parametrize("method", [False, True])
def test_a_function_that_runs_as_python_itself_can_be_compiled(method: bool) -> None:
    if method:
        compiled = armature.compile(Wrapped())
    else:
        compiled = armature.compile(armature.disable(scaled_twice, recursive=False))
    CAPTURED.clear()
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert CAPTURED == [True]


def scaled_twice(x: torch.Tensor) -> torch.Tensor:
    return scaled(x)


class Keys:
    """A mapping whose keys are what a test says."""

    def __init__(self, *names: Any) -> None:
        self.names = names

    def keys(self) -> Any:
        return self.names

    def __getitem__(self, name: Any) -> int:
        return 1


class Raises:
    def __iter__(self) -> Iterator[int]:
        yield 1
        raise ValueError("from the arguments")


class ByIndex:
    def __getitem__(self, index: int) -> int:
        if index > 1:
            raise IndexError
        return index


def wrong_calls(x: torch.Tensor) -> Iterator[Any]:
    attempts: list[Callable[[], Any]] = [
        lambda: scaled(*5),
        lambda: Scale(*None),
        lambda: Scale(1)(*x.shape, *3),
        lambda: scaled(**5),
        lambda: scaled(x, **{"times": 1}, **{"times": 2}),
        lambda: scaled(x, *[3], times=2),
        lambda: scaled(*[x], **Keys("by", 4)),
        lambda: scaled(*[x], **{"by": 1, 4: 5}),
        lambda: scaled(*[x], **Keys("by", "other")).tolist(),
        lambda: max(*[3, 4], **{"key": 3, "wrong": 4}),
        lambda: max(*[3, 4], **{"wrong": 4}),
        lambda: len(*[]),
        lambda: scaled(*Raises()),
        lambda: max(*ByIndex()),
        lambda: scaled(*[]),
        lambda: x.ndim(*[x]),
        lambda: Scale(*[1], **{"": 3}).factor.tolist(),
        lambda: sorted(*[[3, 1]], **{"reverse": True}),
        lambda: type(*["Made", (Scale,), {}], **{})(*[2]).factor.tolist(),
    ]
    for attempt in attempts:
        try:
            yield attempt()
        except Exception as error:
            entries = traceback.extract_tb(error.__traceback__)[1:]
            yield type(error), str(error), [(e.name, e.lineno) for e in entries]


def test_wrong_calls_fail_as_in_python() -> None:
    compiled = armature.compile(wrong_calls)
    for _ in range(2):
        for found, expected in zip(
            compiled(torch.ones(2)), wrong_calls(torch.ones(2)), strict=True
        ):
            assert repr(found) == repr(expected)


def test_arguments_live_no_longer_than_in_python() -> None:
    class Thing:
        pass

    seen: list[Any] = []

    @armature.disable(recursive=False)
    def drops(function: Callable[..., Any]) -> torch.Tensor:
        thing = Thing()
        seen.append(weakref.ref(thing))
        result = function(*[thing], **{"other": thing})
        del thing
        seen.append(seen[0]() is None)
        return result

    def ignores(thing: Any, other: Any) -> torch.Tensor:
        return torch.ones(2) + 1

    armature.compile(lambda: drops(ignores))()
    assert seen[1] is True


def test_functions_may_change_between_two_calls() -> None:
    def helper(x: torch.Tensor, y: int = 1) -> torch.Tensor:
        return x + y

    compiled = armature.compile(lambda x: forwards(helper, x))
    x = torch.zeros(1)
    assert compiled(x).item() == 1
    helper.__defaults__ = (7,)
    assert compiled(x).item() == 7
    helper.__code__ = (lambda x, y: x - y).__code__
    assert compiled(x).item() == -7


def test_c_code_is_given_the_tuple_itself() -> None:
    def program(x: torch.Tensor) -> Any:
        armature.skip_frame()
        arguments = (x, 2)
        made = ValueError(*arguments)
        return made.args is arguments, KeyError(*arguments, **{}).args is arguments

    check(program, torch.ones(2))


class KeptByNew(Exception):
    def __init__(self, *arguments: Any) -> None:
        self.given = arguments


class KeptByInit(Exception):
    def __init__(self, *arguments: Any) -> None:
        self.given = arguments
        super().__init__(*arguments)


class MadeByNew(Exception):
    def __new__(cls, *arguments: Any) -> MadeByNew:
        return super().__new__(cls, *arguments)


class CallsException:
    __call__ = KeyError


def initialized(arguments: tuple[Any, ...]) -> BaseException:
    made = ValueError(3)
    made.__init__(*arguments)  # type: ignore[misc]
    return made


KEEPERS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "new": lambda t: KeptByNew(*t),
    "init": lambda t: KeptByInit(*t),
    "init of the instance": initialized,
    "init of another": lambda t: ValueError.__init__(MadeByNew(), *t),
    "new in Python": lambda t: MadeByNew(*t),
    "__call__": lambda t: CallsException()(*t),
    "partial": lambda t: functools.partial(ValueError)(*t),
    "partial with all": lambda t: functools.partial(ValueError, *t)(),
    "partial with one": lambda t: functools.partial(ValueError, t[0])(*t[1:]),
    "starmap": lambda t: next(itertools.starmap(ValueError, [t])),
    "OSError": lambda t: OSError(*t),
    "KeyError": lambda t: KeyError(*t, **{}),
    "group": lambda t: ExceptionGroup(*("text", [ValueError(*t)])),
}


@pytest.mark.parametrize("from_outside", [False, True])
@pytest.mark.parametrize("name", KEEPERS)
def test_exceptions_keep_the_tuple_that_they_are_given(name: str, from_outside: bool) -> None:
    make = KEEPERS[name]
    given = (1, [2])

    def program(x: torch.Tensor) -> Any:
        arguments = given if from_outside else (int(x.ndim), [2])
        made = make(arguments)
        if made is None:
            return None
        kept = getattr(made, "given", None)
        return made.args is arguments, made.args is kept, made.args == arguments, kept, x + 1

    check(program, torch.ones(2))
    for every in (1, 3):
        with breaking_every(every):
            check(program, torch.ones(2))


@pytest.mark.parametrize("every", range(1, 8))
def test_past_the_recompile_limit_from_any_instruction_on(every: int) -> None:
    def first(one: int = 0, *rest: int, by: int = 0) -> int:
        return one + by

    def program(numbers: list[int], keywords: dict[str, int]) -> Any:
        found = []
        for more in (1, 2):
            found.append(abs(first(*numbers)) - first(*[3, more], **keywords))
            numbers[0] += more
        numbers.append(len(numbers) * 7)
        found.append(max(*numbers, *found))
        return found

    with armature.config.patch(recompile_limit=2):
        compiled = armature.compile(program)
        numbers, expected = [1], [1]
        with breaking_every(every):
            for i in range(5):
                found = compiled(numbers, {"by": i})
                assert found == program(expected, {"by": i})
                assert numbers == expected

"""Frames in tracebacks have the code objects, positions and variables of the program."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every


class Unhashable:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    __hash__ = None  # type: ignore[assignment]


class Compared:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __hash__(self) -> int:
        raise AssertionError("hashed")


UNHASHABLE = Unhashable()
COMPARED = Compared()


def negative(x: Any, n: int) -> Any:
    if n < 0:
        raise ValueError("negative")
    return x[n:]


def called(n: int) -> Any:
    print(end="")
    return negative([1, 2, 3], n)


def uses_objects(n: int) -> Any:
    print(end="")
    kept = [UNHASHABLE, COMPARED, slice(n), {}]
    print(end="")
    return int("q"), kept


def loops(n: int) -> Any:
    total = 0
    for i in range(5):
        print(end="")
        total += i
        if i == 3:
            [1][total]
    return total


def reraises(n: int) -> Any:
    try:
        print(end="")
        int("q")
    except ValueError as error:
        kept = error
        print(end="")
        raise
    return kept


def raises_another(n: int) -> Any:
    try:
        called(n)
    except ValueError as error:
        print(end="")
        raise KeyError(n) from error


def in_finally(n: int) -> Any:
    try:
        called(n)
    finally:
        print(end="")
        n += 1


def with_cells(n: int) -> Any:
    total = n * 2

    def inner() -> Any:
        print(end="")
        nonlocal total
        total += n
        return [][total]

    return inner()


def with_array(n: int) -> Any:
    x = torch.ones(2) + n
    y = x * 2
    print(end="")
    z = (x + y).sum()
    return z + int("q")


def recursive(n: int) -> Any:
    if n > 3:
        return int("q")
    print(end="")
    return recursive(n + 1 if n >= 0 else 1)


def below_python(n: int) -> Any:
    print(end="")
    return sorted([3, 1], key=lambda each: negative([], n))


class Manager:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        print(end="")


def below_a_manager(n: int) -> Any:
    with Manager():
        print(end="")
        return called(n)


FUNCTIONS = [
    called,
    uses_objects,
    loops,
    reraises,
    raises_another,
    in_finally,
    with_cells,
    with_array,
    recursive,
    below_python,
    below_a_manager,
]


def chain(error: BaseException | None) -> list[BaseException]:
    errors = []
    while error is not None:
        errors.append(error)
        error = error.__cause__ or error.__context__
    return errors


def told(function: Callable[[int], Any], codes: set[Any]) -> list[Any]:
    """Of each entry of the tracebacks: its code, whether that is known, and where it stands."""
    try:
        function(-1)
    except Exception as caught:
        error = caught
    entries = []
    for each in chain(error):
        entries.append(type(each))
        assert each.__traceback__ is not None
        entry = each.__traceback__.tb_next
        while entry is not None:
            code = entry.tb_frame.f_code
            entries.append(
                (
                    code.co_qualname,
                    code in codes,
                    any(code is known for known in codes),
                    entry.tb_lineno,
                    list(code.co_positions())[entry.tb_lasti // 2],
                    code.co_varnames,
                )
            )
            entry = entry.tb_next
    return [entries, "".join(traceback.format_exception(error)).replace(__file__, "")]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_code_and_places(function: Callable[[int], Any]) -> None:
    codes = {each.__code__ for each in [*FUNCTIONS, negative]}
    plain = told(function, codes)
    compiled = armature.compile(function)
    for _ in range(3):
        assert told(compiled, codes) == plain


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_with_every_frame_captured(function: Callable[[int], Any]) -> None:
    codes = {each.__code__ for each in [*FUNCTIONS, negative]}
    plain = told(function, codes)
    for _ in range(3):
        with armature.capture_frames():
            seen = told(function, codes)
        assert seen == plain


def test_variables_have_their_names() -> None:
    """Those that the frame still needs; and no names of ours."""

    def function(x: Any, n: int) -> Any:
        y = x + n
        z = [n]

        def get() -> Any:
            return z

        n += 1
        int("q")
        return y, z, n, get

    def variables(f: Callable[..., Any]) -> dict[str, Any]:
        try:
            f(torch.ones(1), 3)
        except ValueError as error:
            entry = error.__traceback__
            while entry is not None and entry.tb_next is not None:
                entry = entry.tb_next
        assert entry is not None
        found = dict(entry.tb_frame.f_locals)
        found.pop("get")
        return found

    expected = variables(function)
    compiled = armature.compile(function)
    for _ in range(3):
        assert variables(compiled) == expected


def test_the_code_of_a_running_frame_can_be_looked_up() -> None:
    """It is another code object, but one that has a hash and can be compared."""
    found = []

    def look() -> None:
        frame = sys._getframe(1)
        found.append(frame.f_code in {look.__code__, negative.__code__})
        found.append(frame.f_code.co_name)

    def function(x: Any) -> Any:
        kept = [UNHASHABLE, COMPARED, slice(2), {}, torch.ones(1)]
        look()
        return kept, UNHASHABLE, COMPARED

    function(1)
    plain, found[:] = list(found), []
    compiled = armature.compile(function)
    compiled(1)
    compiled(1)
    assert found == plain * 2


FOUND: list[BaseException] = []


def raises_in_handlers(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        try:
            x[index]
        except IndexError:
            raise ValueError(2)  # noqa: B904
    except ValueError:
        raise KeyError(1)  # noqa: B904


def raises_from_one_before(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        x[index]
    except IndexError:
        pass
    try:
        [][len(x)]
    except IndexError as error:
        raise KeyError(1) from error


def keeps_one_and_raises_another(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        x[index]
    except IndexError as error:
        FOUND.append(error)
    int("q")


def keeps_two_and_raises_another(x: torch.Tensor, index: torch.Tensor) -> Any:
    for i in range(2):
        try:
            x[index + i]
            print(end="")
        except IndexError as error:
            FOUND.append(error)
    raise KeyError(1)


def has_it_in_a_variable(x: torch.Tensor, index: torch.Tensor) -> Any:
    found = None
    try:
        x[index]
    except IndexError as error:
        found = error
    print(end="")
    try:
        raise ValueError(1) from found
    finally:
        x[index]


def calls_what_fails(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        keeps_one_and_raises_another(x, index)
    except ValueError:
        print(end="")
        raises_in_handlers(x, index)


@pytest.mark.parametrize(
    "function",
    [
        raises_in_handlers,
        raises_from_one_before,
        keeps_one_and_raises_another,
        keeps_two_and_raises_another,
        has_it_in_a_variable,
        calls_what_fails,
    ],
)
@pytest.mark.parametrize("breaks", [False, True])
def test_places_of_exceptions_that_were_handled(function: Callable[..., Any], breaks: bool) -> None:
    def outcome(call: Callable[..., Any]) -> list[list[Any]]:
        FOUND.clear()
        try:
            call(torch.ones(3), torch.tensor([4]))
        except Exception as error:
            FOUND.append(error)
        for found in FOUND:
            causes = (found.__context__, found.__cause__)
            FOUND.extend(c for c in causes if c is not None and c not in FOUND)
        return [
            [
                (entry.f_code.co_name, line)
                for entry, line in traceback.walk_tb(found.__traceback__)
                if entry.f_code.co_filename == __file__ and entry.f_code.co_name != "outcome"
            ]
            for found in FOUND
        ]

    compiled = armature.compile(function)
    with breaking_every(1) if breaks else contextlib.nullcontext():
        for _ in range(3):
            assert outcome(compiled) == outcome(function)

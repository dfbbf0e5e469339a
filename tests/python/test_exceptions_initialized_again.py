"""What exceptions hold that are made, and initialized again, in all the ways there are."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from differential import breaking_every, check

FIELDS = """args errno strerror filename filename2 value code msg name path encoding object start
    end reason lineno offset text message exceptions""".split()


def twice(base: type[BaseException]) -> type[BaseException]:
    class Twice(base):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any) -> None:
            base.__init__(self, *arguments)
            self.first = self.args
            super().__init__(*self.args)

    return Twice


def shortened(base: type[BaseException]) -> type[BaseException]:
    class Shortened(base):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            super().__init__(*arguments[:1])

    return Shortened


def failing(base: type[BaseException]) -> type[BaseException]:
    class Failing(base):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            for more in ((*arguments, 1, 2, 3, 4, 5, 6), ("m", (1, 2)), ("m", 5)):
                with contextlib.suppress(TypeError, ValueError):
                    super().__init__(*more)
                self.given = more, self.args is more
            with contextlib.suppress(TypeError):
                super().__init__(*arguments, unknown=3)

    return Failing


ARGUMENTS: list[tuple[type[BaseException], tuple[Any, ...]]] = [
    (OSError, (2, "no", "f")),
    (OSError, (2, "no", "f", None, "g")),
    (BlockingIOError, (11, "b", 3)),
    (FileNotFoundError, (2, ["no"])),
    (SyntaxError, ("m", ("f", 1, 2, "t"))),
    (SyntaxError, ("m",)),
    (StopIteration, ([1], 2)),
    (SystemExit, ([1], 2)),
    (SystemExit, (3,)),
    (ImportError, ([1],)),
    (AttributeError, ("no", [1])),
    (UnicodeDecodeError, ("ascii", b"xy", 0, 1, "why")),
    (UnicodeEncodeError, ("ascii", "xy", 0, 1, "why")),
    (KeyError, ([1],)),
]
KINDS = {kind.__name__: kind for kind in (twice, shortened, failing)}


def seen(made: BaseException, given: tuple[Any, ...]) -> list[Any]:
    fields = [(name, getattr(made, name, "none")) for name in FIELDS]
    return [
        fields,
        str(made),
        vars(made),
        made.args is given,
        [a is b for a, b in zip(made.args, given)],
    ]


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base, arguments", ARGUMENTS)
def test_what_was_set_stays(
    base: type[BaseException], arguments: tuple[Any, ...], kind: str, every: int
) -> None:
    made_by = KINDS[kind](base)

    def program(x: torch.Tensor) -> Any:
        made = made_by(*arguments)
        found = seen(made, arguments)
        with contextlib.suppress(TypeError):
            made.__init__(*arguments[::-1])  # type: ignore[misc]
        return found, seen(made, arguments), x + 1

    with breaking_every(every) if every else contextlib.nullcontext():
        check(program, torch.ones(2))


WAYS: dict[str, Callable[[Any, tuple[Any, ...]], BaseException]] = {
    "call": lambda made_by, t: made_by(*t),
    "partial": lambda made_by, t: functools.partial(made_by)(*t),
    "partial with all": lambda made_by, t: functools.partial(made_by, *t)(),
    "partial with one": lambda made_by, t: functools.partial(made_by, *t[:1])(*t[1:]),
    "starmap": lambda made_by, t: next(itertools.starmap(made_by, [t])),
    "function": lambda made_by, t: (lambda *a: made_by(*a))(*t),
}


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [SystemExit, BlockingIOError, ValueError, "in Python"])
def test_the_tuple_that_is_kept(name: Any, way: str, every: int) -> None:
    class InPython(ValueError):
        def __init__(self, *arguments: Any) -> None:
            self.count = len(arguments)

    made_by = InPython if name == "in Python" else name
    make = WAYS[way]

    def program(x: torch.Tensor) -> Any:
        given = (int(x.ndim), ["b"], 3)
        return seen(make(made_by, given), given), x + 1

    with breaking_every(every) if every else contextlib.nullcontext():
        check(program, torch.ones(2))

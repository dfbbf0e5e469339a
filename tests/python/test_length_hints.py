"""Who asks an iterable for its length before iterating, and what becomes of the answer."""

# What a linter would not write is what is tested.

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from differential import breaking_every

LOG: list[str] = []


class Steps:
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Steps:
        LOG.append("iter of iterator")
        return self

    def __next__(self) -> int:
        LOG.append("next")
        self.n -= 1
        if self.n < 0:
            raise StopIteration
        return self.n

    def __length_hint__(self) -> int:
        LOG.append("hint of iterator")
        return 5


class Sized:
    answer: Any = 3

    def __iter__(self) -> Steps:
        LOG.append("iter")
        return Steps(3)

    def __len__(self) -> Any:
        LOG.append("len")
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Hinted:
    answer: Any = 3

    def __iter__(self) -> Steps:
        LOG.append("iter")
        return Steps(3)

    def __length_hint__(self) -> Any:
        LOG.append("hint")
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Both(Hinted):
    def __len__(self) -> int:
        LOG.append("len")
        raise TypeError("no length")


class Unsized(Hinted):
    __len__ = None  # type: ignore[assignment]


class Plain:
    def __iter__(self) -> Iterator[int]:
        LOG.append("iter")
        return iter((1, 2, 3))


class ByIndex:
    """What iter() and reversed() make of it asks it for its length."""

    answer: Any = 3

    def __getitem__(self, index: int) -> str:
        LOG.append(f"item {index}")
        return "abc"[index]

    def __len__(self) -> Any:
        LOG.append("len")
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Items(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        LOG.append("len")
        return super().__len__()


def extend(o: Any) -> Any:
    found = [0]
    try:
        found.extend(o)
    except Exception as error:
        found.append(repr(error))  # type: ignore[arg-type]
    return found


def extend_in_place(o: Any) -> Any:
    found = [0]
    found += o
    return found


def assign_slice(o: Any) -> Any:
    found = [0, 1, 2]
    found[1:2] = o
    return found


def assign_extended_slice(o: Any) -> Any:
    found = [0, 1, 2]
    found[::1] = o
    return found


def unpack_with_star(o: Any) -> Any:
    a, *b = o
    return a, b


def unpack_with_star_between(o: Any) -> Any:
    a, *b, c = o
    return a, b, c


def unpack_too_little(o: Any) -> Any:
    a, b, c, d, *e = o
    return a


def take(*args: Any) -> Any:
    return args


USES: dict[str, Callable[[Any], Any]] = {
    "list": lambda o: list(o),
    "tuple": lambda o: tuple(o),
    "sorted": lambda o: sorted(o),
    "set": lambda o: set(o),
    "join": lambda o: "".join(o),
    "list_of_iterator": lambda o: list(iter(o)),
    "tuple_of_iterator": lambda o: tuple(iter(o)),
    "list_of_reversed": lambda o: list(reversed(o)),
    "sorted_of_reversed": lambda o: sorted(reversed(o)),
    "reversed_display": lambda o: [*reversed(o)],
    "max": lambda o: max(o),
    "fromkeys": lambda o: dict.fromkeys(o),
    "enumerate": lambda o: list(enumerate(o)),
    "zip": lambda o: list(zip(o, o)),
    "call": lambda o: take(*o),
    "call_with_more": lambda o: take(1, *o),
    "list_display": lambda o: [1, *o],
    "tuple_display": lambda o: (*o, 1),
    "set_display": lambda o: {*o},
    "comprehension": lambda o: [i for i in o],
    "extend": extend,
    "extend_in_place": extend_in_place,
    "assign_slice": assign_slice,
    "assign_extended_slice": assign_extended_slice,
    "unpack_with_star": unpack_with_star,
    "unpack_with_star_between": unpack_with_star_between,
    "unpack_too_little": unpack_too_little,
}

ANSWERS = [3, 0, -1, 2.5, None, NotImplemented, True, TypeError("t"), KeyError("k"), 1 << 80]


def outcome(function: Callable[..., Any], use: Callable[[Any], Any], o: Any) -> Any:
    LOG.clear()
    try:
        return repr(function(torch.arange(2.0), use, o)), list(LOG)
    except Exception as error:
        return repr(error), list(LOG)


def program(x: torch.Tensor, use: Callable[[Any], Any], o: Any) -> Any:
    x = x + 1
    found = use(o)
    return found, x * 2


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("kind", [Sized, Hinted, Both, Unsized, Plain, ByIndex, Items])
def test_asks_as_python_does(name: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    use = USES[name]
    with armature.config.patch(recompile_limit=64):
        compiled = armature.compile(program)
    answers = ANSWERS if hasattr(kind, "answer") else [None]
    for answer in answers:
        if hasattr(kind, "answer"):
            monkeypatch.setattr(kind, "answer", answer)
        expected = outcome(program, use, kind())
        assert outcome(compiled, use, kind()) == expected
    with breaking_every(2):
        assert outcome(armature.compile(program), use, kind()) == expected


@pytest.mark.parametrize("name", [name for name in USES if name != "unpack_too_little"])
def test_is_captured(name: str) -> None:
    use = USES[name]
    o = ByIndex() if name == "join" or "reversed" in name else Sized()
    explanation = armature.explain(program)(torch.arange(2.0), use, o)
    assert explanation.graph_break_count == 0

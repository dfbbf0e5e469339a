"""Objects known as long as they live."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

T = TypeVar("T")


class LivingObjects(Generic[T]):
    """Holds its objects weakly, by which they are, whatever their classes say of equality.

    Any thread may add one, ask for all, or let go of one at any time: each step on the dict is one
    of CPython's own, with which no other thread interferes (a WeakSet is walked by Python's code).
    """

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[T]] = {}

    def add(self, living: T) -> None:
        number, references = id(living), self._references
        # The number is nobody else's before the callback has run.
        references[number] = weakref.ref(living, lambda _: references.pop(number, None))

    def all(self) -> list[T]:
        found = (reference() for reference in list(self._references.values()))
        return [living for living in found if living is not None]

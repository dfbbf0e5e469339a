"""What a trace does in the place of functions that are written in C, or best left alone.

Each does what the function does that it stands for: the same results and exceptions, the same calls
of the program's functions in the same order. Names of builtins are this module's own, as a program
may replace those. They make nothing of which a program could tell that it is another function's.
"""

from __future__ import annotations

import _bisect
import logging
from collections.abc import Callable, MutableSequence, Sequence
from operator import index as _index
from typing import Any

from armature import _C

_KeyError = KeyError
_ValueError = ValueError
_len = len
_list = list
_str = str
_type = type
_PlaceHolder = logging.PlaceHolder
_graph_break = _C.graph_break


# --- _bisectmodule.c


def _limits(a: Sequence[Any], lo: Any, hi: Any) -> tuple[int, int]:
    low = _index(lo)
    high = -1 if hi is None else _index(hi)
    if low < 0:
        raise _ValueError("lo must be non-negative")
    return low, _len(a) if high == -1 else high


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> int:
    low, high = _limits(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        item = a[middle]
        if key is not None:
            item = key(item)
        if item < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> int:
    low, high = _limits(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        item = a[middle]
        if key is not None:
            item = key(item)
        if x < item:
            high = middle
        else:
            low = middle + 1
    return low


def _insert(a: MutableSequence[Any], place: int, x: Any) -> None:
    if _type(a) is _list:
        _list.insert(a, place, x)
    else:
        a.insert(place, x)


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    searched = x if key is None else key(x)
    _insert(a, bisect_left(a, searched, lo, hi, key=key), x)


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    searched = x if key is None else key(x)
    _insert(a, bisect_right(a, searched, lo, hi, key=key), x)


# --- logging/__init__.py: what it finds out, it keeps in a cache, under a lock.


def is_enabled_for(self: logging.Logger, level: int) -> bool:
    if self.disabled:
        return False
    try:
        return self._cache[level]  # type: ignore[attr-defined,no-any-return]
    except _KeyError:
        if self.manager.disable >= level:
            return False
        return level >= self.getEffectiveLevel()


def get_logger(self: logging.Manager, name: str) -> logging.Logger:
    found = self.loggerDict.get(name) if _type(name) is _str else None
    if found is None or _type(found) is _PlaceHolder:
        _graph_break()  # The real function makes it.
    return found  # type: ignore[return-value]


STAND_INS: dict[Callable[..., Any], Any] = {
    _bisect.bisect_left: bisect_left,
    _bisect.bisect_right: bisect_right,
    _bisect.insort_left: insort_left,
    _bisect.insort_right: insort_right,
    logging.Logger.isEnabledFor: is_enabled_for,
    logging.Manager.getLogger: get_logger,
}

"""What a trace does in the place of functions that are written in C, or best left alone.

Each does what the function does that it stands for: the same results and exceptions, the same calls
of the program's functions in the same order. Names of builtins are this module's own, as a program
may replace those. They make nothing of which a program could tell that it is another function's.
"""

from __future__ import annotations

import _bisect
import _json
import logging
from collections.abc import Callable, MutableSequence, Sequence
from operator import index as _index
from typing import Any

from armature import _C

_KeyError = KeyError
_TypeError = TypeError
_ValueError = ValueError
_bool = bool
_dict = dict
_float = float
_int = int
_issubclass = issubclass
_len = len
_list = list
_str = str
_tuple = tuple
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


# --- _json.c: encoder_call.

# Deeper than this it is left to the real encoder, which has Python's limit for recursion, and its
# markers to find that something contains itself. So they are not needed here.
_DEEPEST_JSON = 40


def encode_json(
    default: Callable[[Any], Any],
    encoder: Callable[[str], str],
    key_separator: str,
    item_separator: str,
    sort_keys: bool,
    skip_keys: bool,
    allow_nan: bool,
    o: Any,
) -> list[str]:
    chunks: list[str] = []

    def encode_string(text: str) -> None:
        encoded = encoder(text)
        if not _issubclass(_type(encoded), _str):
            raise _TypeError(f"encoder() must return a string, not {_type(encoded).__name__:.80}")
        chunks.append(encoded)

    def of_float(number: float) -> str:
        digits = _float.__repr__(number)
        if digits != "nan" and digits != "inf" and digits != "-inf":
            return digits
        if not allow_nan:
            raise _ValueError("Out of range float values are not JSON compliant")
        if digits == "nan":
            return "NaN"
        return "Infinity" if digits == "inf" else "-Infinity"

    def encode_list(o: Any, depth: int) -> None:
        kind = _type(o)
        items = o if kind is _list or kind is _tuple else _list(o)
        if _len(items) == 0:
            chunks.append("[]")
            return
        separator = "["
        for item in items:
            chunks.append(separator)
            encode(item, depth)
            separator = item_separator
        chunks.append("]")

    def encode_dict(o: Any, depth: int) -> None:
        if _dict.__len__(o) == 0:
            chunks.append("{}")
            return
        chunks.append("{")
        items = _list(_dict.items(o) if _type(o) is _dict else o.items())
        if sort_keys:
            items.sort()
        is_first = True
        for item in items:
            if not _issubclass(_type(item), _tuple) or _tuple.__len__(item) != 2:
                raise _ValueError("items must return 2-tuples")
            key, value = _tuple.__iter__(item)
            kind = _type(key)
            if _issubclass(kind, _str):
                text = key
            elif _issubclass(kind, _float):
                text = of_float(key)
            elif key is None:
                text = "null"
            elif kind is _bool:
                text = "true" if key else "false"
            elif _issubclass(kind, _int):
                text = _int.__repr__(key)
            elif skip_keys:
                continue
            else:
                raise _TypeError(
                    f"keys must be str, int, float, bool or None, not {kind.__name__:.100}"
                )
            if not is_first:
                chunks.append(item_separator)
            is_first = False
            encode_string(text)
            chunks.append(key_separator)
            encode(value, depth)
        chunks.append("}")

    def encode(o: Any, depth: int) -> None:
        kind = _type(o)
        if o is None:
            chunks.append("null")
        elif kind is _bool:
            chunks.append("true" if o else "false")
        elif _issubclass(kind, _str):
            encode_string(o)
        elif _issubclass(kind, _int):
            chunks.append(_int.__repr__(o))
        elif _issubclass(kind, _float):
            chunks.append(of_float(o))
        else:
            if depth == _DEEPEST_JSON:
                _graph_break()
            if _issubclass(kind, _list) or _issubclass(kind, _tuple):
                encode_list(o, depth + 1)
            elif _issubclass(kind, _dict):
                encode_dict(o, depth + 1)
            else:
                encode(default(o), depth + 1)

    encode(o, 0)
    return ["".join(chunks)]


STAND_INS: dict[Callable[..., Any], Any] = {
    _bisect.bisect_left: bisect_left,
    _bisect.bisect_right: bisect_right,
    _bisect.insort_left: insort_left,
    _bisect.insort_right: insort_right,
    _json.make_encoder.__call__: encode_json,
    logging.Logger.isEnabledFor: is_enabled_for,
    logging.Manager.getLogger: get_logger,
}

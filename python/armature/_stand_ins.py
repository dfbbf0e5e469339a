"""What a trace does in the place of functions that are written in C, or best left alone.

Each does what the function does that it stands for: the same results and exceptions, the same calls
of the program's functions in the same order. Names of builtins are this module's own, as a program
may replace those. They make nothing of which a program could tell that it is another function's.
"""

from __future__ import annotations

import _bisect
import _json
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Callable, MutableSequence
from operator import index as _index
from types import MappingProxyType
from typing import Any

from armature import _C

_KeyError = KeyError
_OverflowError = OverflowError
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


_LARGEST = 2**63 - 1


# What C calls a type that has the length and the items of a mapping, and not those of a sequence.
def _mapping_name(kind: type) -> str | None:
    if kind is _dict:
        return "dict"
    if kind is OrderedDict:
        return "collections.OrderedDict"
    if kind is defaultdict:
        return "collections.defaultdict"
    return "mappingproxy" if kind is MappingProxyType else None


def _defines(kind: type, name: str) -> bool:
    for base in kind.__mro__:
        if name in base.__dict__:
            return True
    return False


def _limits(lo: Any, hi: Any) -> tuple[int, int]:
    low = _index(lo)
    if not -_LARGEST - 1 <= low <= _LARGEST:
        raise _OverflowError("Python int too large to convert to C ssize_t")
    if hi is None:
        return low, -1
    kind = _type(hi)
    if kind is not _int and not _defines(kind, "__index__"):
        raise _TypeError(f"argument should be integer or None, not '{kind.__name__:.200}'")
    high = _index(hi)
    if not -_LARGEST - 1 <= high <= _LARGEST:
        raise _OverflowError(f"cannot fit '{kind.__name__:.200}' into an index-sized integer")
    return low, high


def _range(a: Any, low: int, high: int) -> tuple[int, int]:
    kind = _type(a)
    if low < 0:
        raise _ValueError("lo must be non-negative")
    mapping = _mapping_name(kind)
    if mapping is not None and (high == -1 or low < high):
        raise _TypeError(f"{mapping} is not a sequence")
    if high == -1:
        high = _len(a)
    if low < high and kind is not _list and not _defines(kind, "__getitem__"):
        raise _TypeError(f"'{kind.__name__:.200}' object does not support indexing")
    return low, high


def _find_left(a: Any, x: Any, low: int, high: int, key: Any) -> int:
    low, high = _range(a, low, high)
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


def _find_right(a: Any, x: Any, low: int, high: int, key: Any) -> int:
    low, high = _range(a, low, high)
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


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> int:
    low, high = _limits(lo, hi)
    return _find_left(a, x, low, high, key)


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> int:
    low, high = _limits(lo, hi)
    return _find_right(a, x, low, high, key)


def _insert(a: MutableSequence[Any], place: int, x: Any) -> None:
    if _type(a) is _list:
        _list.insert(a, place, x)
    else:
        a.insert(place, x)


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    low, high = _limits(lo, hi)
    searched = x if key is None else key(x)
    _insert(a, _find_left(a, searched, low, high, key), x)


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    low, high = _limits(lo, hi)
    searched = x if key is None else key(x)
    _insert(a, _find_right(a, searched, low, high, key), x)


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

"""Numbers and texts that are others in each call, and looked at: Python runs what looks at them,
instead of all, and the rest stays compiled."""

import collections
import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import armature
import pytest
import torch
from armature import _C
from changing_world import check_world, quick_collections
from differential import break_reasons, translations

PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


@contextlib.contextmanager
def given_up() -> Iterator[list[Any]]:
    """Collects the entry points that reach the recompile limit."""
    reached: list[Any] = []
    _C.set_hooks(
        compiled=None,
        recompile_limit=lambda *arguments: reached.append(arguments),
        unsupported=armature.exc.Unsupported,
        internal_error=armature.logging._on_internal_error,
    )
    try:
        yield reached
    finally:
        armature.logging.set_logs()


@program
def key_of_a_dict(x, n):
    found = {}
    for i in range(n):
        x = x + 1
        found[i] = i * 2
        armature.graph_break()
    return x, found


@program
def item_of_a_list(x, n):
    items = [None] * n
    for i in range(n):
        x = x + 1
        items[i] = x
        armature.graph_break()
    return x, items


@program
def lookups(x, n):
    numbers = {f"k{i}": i for i in range(n)}
    arrays = [torch.ones(3) * i for i in range(n)]
    for i in range(n):
        x = x + arrays[i] * numbers[f"k{i}"]
        armature.graph_break()
    return x


@program
def texts(x, n):
    lines = []
    for i in range(n):
        x = x + i
        lines.append(f"turn {i}: {i * 2:>5}")
        armature.graph_break()
    return x, lines


@program
def products(x, n):
    for a, b in zip(range(n), range(n, 2 * n), strict=True):
        x = x + a * b
        armature.graph_break()
    return x


@program
def counts(x, n):
    counter = collections.Counter()
    for i in range(n):
        x = x + 1
        counter[i % 20] += 1
        armature.graph_break()
    return x, counter


@program
def windows(x, n):
    y = torch.arange(3.0 * n)
    for i in range(n):
        x = x + y[3 * i : 3 * i + 3]
        armature.graph_break()
    return x


@program
def attributes(x, n):
    module = torch.nn.Module()
    for i in range(n):
        setattr(module, f"p{i}", i)
    for i in range(n):
        x = x + getattr(module, f"p{i}")
        armature.graph_break()
    return x


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_stay_compiled(name):
    function = PROGRAMS[name]
    with given_up() as reached:
        compiled = armature.compile(function)
        for n in (40, 3, 41):
            assert repr(compiled(torch.ones(3), n)) == repr(function(torch.ones(3), n))
    assert not reached


def test_calls_stay_compiled():
    table = {i: float(i) for i in range(100)}

    def look_up(x, key):
        return x.relu() * table[key] + x.sum()

    with given_up() as reached:
        compiled = armature.compile(look_up)
        for turn in range(200):
            key = turn * 7 % 100
            table[key] += 0.5
            x = torch.randn(3)
            assert torch.equal(compiled(x, key), look_up(x, key))
        with pytest.raises(KeyError, match="100"):
            compiled(torch.ones(3), 100)
    assert not reached
    # The last but one is for all keys; two go on behind it.
    assert translations(compiled) == armature.config.recompile_limit - 1 + 2
    assert any("Value that varies" in str(reason) for reason in break_reasons(compiled))


def test_few_values_are_constants():
    def scaled(x, power):
        return sum([x] * power)

    compiled = armature.compile(scaled)
    for power in (1, 2, 3, 4, 5, 1, 2, 3):
        assert torch.equal(compiled(torch.ones(3), power), torch.full((3,), float(power)))
    assert translations(compiled) == 5
    assert not break_reasons(compiled)


def test_a_break_that_is_an_error_is_none():
    """The limit is reached as ever."""

    def look_up(x, key):
        return x + [10, 20, 30, 40, 50, 60, 70, 80, 90, 100][key]

    for options in ({"fullgraph": True}, {}):
        compiled = armature.compile(look_up, **options)
        with armature.error_on_graph_break(True), given_up() as reached:
            for key in range(10):
                assert torch.equal(compiled(torch.ones(1), key), look_up(torch.ones(1), key))
        assert reached
        assert not break_reasons(compiled)


COMPUTED_ANEW = """
class Level:
    def __init__(self, path):
        self.parts = {"path": path}

    def path(self):
        return "{}{}".format("root", self.parts["path"])


def entry(level, seen):
    path = level.path()
    known = id(path) in seen
    seen = seen | frozenset({id(path)})
    return path, known, id(path) in seen, path is path, level.path() is path
"""


def test_what_is_computed_is_no_object_of_the_callers():
    """Its identity cannot be guarded: a guard that computes it again has another object."""
    with quick_collections():
        paths = [f"[{number}]" for number in range(6)]
        check_world(COMPUTED_ANEW, *(f"entry(Level({path!r}), frozenset())" for path in paths))


class _Text(str):
    pass


class _Whole(int):
    pass


_OF_ONE = [
    lambda part: ",".join(part),
    lambda part: "".join(tuple(part)),
    lambda part: "".join(["", part[0], ""]),
    lambda part: "%s" % part[0],  # noqa: UP031
    lambda part: "%s%s" % ("", part[0]),  # noqa: UP031
    lambda part: f"{part[0]}",
    lambda part: "{0}{1}".format(part[0], ""),  # noqa: UP030
    lambda part: str(part[0]),
    lambda part: part[0] + "",
    lambda part: "" + part[0],
    lambda part: +part[0],
    lambda part: part[0] * 1,
    lambda part: part[0] | 0,
    lambda part: part[0] ** 1,
    lambda part: -(-part[0]),  # noqa: B002
    lambda part: int(part[0]),
    lambda part: float(part[0]),
    lambda part: abs(part[0]),
    lambda part: max(part[0], part[0]),
    lambda part: sum(part),
    lambda part: part[0] or 1,
    lambda part: part[0].strip(),
    lambda part: part[0].real,
    lambda part: type(part[0]),
]


@pytest.mark.parametrize("of_one", _OF_ONE)
@pytest.mark.parametrize("seed", range(3))
def test_types_of_what_has_varied(of_one, seed):
    def outcome(function, part):
        try:
            result = function(part)
        except Exception as error:
            return type(error), str(error)
        return type(result), repr(result)

    parts = ["a", "b", "c", "d", 5, 6, 7, 1.5, 2.5, 3.5, _Text("q"), True, _Whole(3), None, b"x"]
    if seed:
        random.Random(seed).shuffle(parts)
    compiled = armature.compile(of_one)
    with armature.config.patch(recompile_limit=64):
        for part in parts:
            assert outcome(compiled, [part]) == outcome(of_one, [part])

"""id() of objects that are the same ones in each call, and of others."""

from __future__ import annotations

import copy
import inspect
import re
from typing import Any

import armature
import pytest
import torch
from changing_world import Cases, check_world
from differential import check


class Thing:
    def __init__(self, value: Any) -> None:
        self.value = value


THING = Thing(1)
LINEAR = torch.nn.Linear(2, 2)


def entries(compiled: Any) -> int:
    return len(armature._C.entries(compiled))


def test_addresses_of_what_stays() -> None:
    def f(x: torch.Tensor) -> Any:
        seen = {id(THING): "thing", id(LINEAR): "module", id(LINEAR.weight): "weight"}
        seen |= {id(f): "function", id(Thing): "class", id(len): "builtin", id(None): "none"}
        return x + 1, id(THING) == id(THING), seen[id(LINEAR.weight)], len(seen), id(THING)

    check(f, torch.ones(2))
    compiled = armature.compile(f, fullgraph=True)
    for _ in range(4):
        assert compiled(torch.ones(2))[1:] == (True, "weight", 7, id(THING))
    assert entries(compiled) == 1


def test_another_object_in_its_place() -> None:
    holder = Thing(Thing(0))

    def f(x: torch.Tensor) -> Any:
        return x + 1, id(holder.value)

    compiled = armature.compile(f)
    for _ in range(3):
        assert compiled(torch.ones(1))[1] == id(holder.value)
        holder.value = Thing(1)
        assert compiled(torch.ones(1))[1] == id(holder.value)


def test_addresses_of_what_a_call_makes() -> None:
    def f(n: int, text: str) -> Any:
        made = [n]
        return id(made) == id(made), id(text) == id(text), id(n) == id(n), id(made) is not None

    check(f, 1000, "a text")


def test_memos_by_address() -> None:
    def wrapped(x: int) -> int:
        return x

    def f(x: torch.Tensor) -> Any:
        copied = copy.deepcopy({"a": [1, (2, 3)], "b": "text", "c": None})
        return x + 1, copied, str(inspect.signature(wrapped)), inspect.unwrap(wrapped) is wrapped

    check(f, torch.ones(2))


def first() -> int:
    return 1


def second() -> int:
    return 2


def test_functions_in_existing_sets() -> None:
    known = frozenset([list, first, None])

    def f(function: Any) -> Any:
        return function in known, list in known, first in known, dict in known

    compiled = armature.compile(f, fullgraph=True)
    for function in (first, second, first, list, lambda: 1):
        assert compiled(function) == f(function)


def test_texts_of_functions() -> None:
    def f(function: Any) -> Any:
        return str(function), f"{function}", [function]

    def program(function: Any) -> Any:
        text, same, functions = f(function)
        return text, same, repr(functions)

    compiled = armature.compile(program, fullgraph=True)
    for function in (first, second, first):
        assert compiled(function) == program(function)
    name = first.__qualname__
    try:
        first.__qualname__ = "renamed"
        assert compiled(first) == program(first)
        assert "renamed" in compiled(first)[0]
    finally:
        first.__qualname__ = name


def test_the_text_of_a_function_that_the_trace_makes() -> None:
    def program() -> Any:
        return str(lambda: 1).split(" at ")[0]

    assert armature.compile(program)() == program()


CASES = Cases("addresses")

CASES.add(
    "two arguments",
    """
    def entry(a, b):
        return id(a) == id(b), id(a) != id(b), id(a) == id(a), id(a) in [id(b)], a is b
    """,
    "L, T = [1], ([1], 2)",
    "entry([1], [1])",
    "entry(L, L)",
    "entry(L, T)",
    "entry(T, T)",
    "entry([1], [2])",
)
CASES.add(
    "keys of what the call makes",
    """
    def entry(a, b):
        seen, names = set(), {}
        for each in (a, b):
            seen.add(id(each))
            names[id(each)] = each
        names.pop(id(b))
        return len(seen), len(names), id(a) in seen, id(b) in names, names.get(id(a)) is a
    """,
    "L, T = [1], ([1], 2)",
    "entry([1], [1])",
    "entry(L, L)",
    "entry(T, T)",
    "entry(T, ([1], 2))",
    "entry({}, [])",
)
CASES.add(
    "pairs of addresses",
    """
    def entry(a, b):
        pairs = {(id(a), id(b)): "there"}
        return pairs.get((id(b), id(a))), pairs[id(a), id(b)], (id(a), 0) in pairs
    """,
    "L, M = [1], [1]",
    "entry(L, M)",
    "entry(L, L)",
    "entry(M, L)",
)
CASES.add(
    "hashes by address",
    """
    class Thing:
        def __hash__(self):
            return id(self)
        def __eq__(self, other):
            return id(self) == id(other)
    def entry(a, b):
        return {a: 1}.get(b), hash(a) == id(a), len({a, b}), a == b
    """,
    "A, B = Thing(), Thing()",
    "entry(A, A)",
    "entry(A, B)",
    "entry(B, B)",
)
CASES.add(
    "addresses behind a break",
    """
    import armature
    def entry(a, b):
        first, seen = id(a), {id(a): a}
        armature.graph_break()
        return first == id(a), first == id(b), id(a) in seen, id(b) in seen, seen.get(first) is a
    """,
    "L, M = [1], [1]",
    "entry(L, M)",
    "entry(L, L)",
    "entry(M, L)",
)
CASES.add(
    "addresses in effects",
    """
    class Holder: pass
    HOLDER, LOG = Holder(), []
    def entry(a):
        HOLDER.last = id(a)
        LOG.append(id(a))
        HOLDER.value = a
        same = id(HOLDER.value) == HOLDER.last, LOG[-1] == id(a), id(a) == HOLDER.last
        HOLDER.last = 0
        return same, LOG.pop() == id(HOLDER.value)
    """,
    "L, M = [1], [1]",
    "entry(L)",
    "entry(M)",
    "entry(L)",
)
CASES.add(
    "copies of one object twice",
    """
    import copy
    def entry(value):
        made = copy.deepcopy(value)
        return made, made[0] is made[1], made[0] is value[0]
    """,
    "L, T = [1], ([1], 2)",
    "entry([[1], [1]])",
    "entry([L, L])",
    "entry([T, T])",
    "entry([T, ([1], 2)])",
    "entry([L, T])",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_world(source: str, steps: tuple[str, ...]) -> None:
    check_world(source, *steps)


def test_copies_of_what_is_new_in_each_call() -> None:
    def copies(value: Any) -> Any:
        return copy.deepcopy(value)

    compiled = armature.compile(copies, fullgraph=True)
    for n in range(8):
        value = {"numbers": [1000 + n, (2, [3])], "things": [Thing(0), {}]}
        made, plain = compiled(value), copies(value)
        assert made["numbers"] == plain["numbers"]
        assert made["things"][0] is not value["things"][0]
    assert entries(compiled) == 2  # the number is an input from the second on


def test_addresses_are_of_this_call() -> None:
    def address(value: Any) -> Any:
        return id(value)

    compiled = armature.compile(address, fullgraph=True)
    for value in ([], [], torch.ones(1), torch.ones(1), Thing(1), Thing(2), {}, {}):
        assert compiled(value) == id(value)
    assert entries(compiled) == 4


def test_displays_keyed_by_what_is_new_in_each_call() -> None:
    def f(a: Any, b: Any) -> Any:
        literal = {id(a): "a", id(b): "b"}
        made = {id(each): each for each in (a, b)}
        seen = {id(a), id(b)}
        seen.discard(id(a))
        seen.discard(id(b))
        both = {id(each) for each in (a, b)} | set(map(id, (a, b)))
        return literal[id(b)], made[id(a)] is a, len(seen), len(both), id(b) in both

    compiled = armature.compile(f, fullgraph=True)
    kept = [(make(), make()) for make in (list, dict, lambda: torch.ones(1)) for _ in range(3)]
    for a, b in kept:
        assert compiled(a, b) == ("b", True, 0, 2, True) == f(a, b)
    assert entries(compiled) == 3
    assert compiled(kept[0][0], kept[0][0]) == f(kept[0][0], kept[0][0])


def test_addresses_among_numbers() -> None:
    def f(a: Any, n: Any) -> Any:
        return (
            ({n: 1}.get(id(a)), {id(a): 1}.get(n), n in {id(a): 0}, id(a) in {n}),
            (id(a) == n, n in [id(a)], hash(id(a)) == hash(n), str(id(a)) == str(n), id(a) < n),
            id(a) % 4096,
        )

    compiled = armature.compile(f)
    one, other = [1], [1]
    for a, n in ((one, id(one)), (one, 0), (one, float(id(one))), (other, id(one)), (one, None)):
        for _ in range(2):
            try:
                expected = f(a, n)
            except TypeError as error:
                with pytest.raises(TypeError, match=re.escape(str(error))):
                    compiled(a, n)
            else:
                assert compiled(a, n) == expected


def test_keys_of_a_dict_and_a_set_from_before() -> None:
    known: dict[int, Any] = {}
    seen: set[int] = set()

    def f(a: Any) -> Any:
        there = id(a) in known, id(a) in seen
        known[id(a)] = a
        seen.add(id(a))
        return there, len(known), len(seen), known[id(a)] is a

    compiled = armature.compile(f)
    one, other = [1], [1]
    assert compiled(one) == ((False, False), 1, 1, True)
    assert compiled(other) == ((False, False), 2, 2, True)
    assert compiled(one) == ((True, True), 2, 2, True)
    known.clear()
    assert compiled(other) == ((False, True), 1, 2, True)
    assert known == {id(other): other}


def test_addresses_of_tuples_that_live():
    """A tuple of constants that each call makes lives as long as the program holds it."""

    def f():
        pairs = list(zip("abc", "def", strict=True))
        return list(map(id, pairs)), pairs

    with armature.config.patch(strict=False):
        compiled = armature.compile(f)
        for _ in range(2):
            addresses, pairs = compiled()
            assert addresses == list(map(id, pairs))


def test_addresses_of_numbers_of_a_list_behind_a_break(caplog: pytest.LogCaptureFixture) -> None:
    class Key:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __hash__(self) -> int:
            return hash((Key, id(self.value)))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and id(self.value) == id(other.value)

    def f(items: list[Any], x: torch.Tensor) -> Any:
        found = {id(item): item for item in items}
        keys = {Key(item) for item in items}
        armature.graph_break()
        in_order = [key == id(item) for key, item in zip(found, items, strict=False)]
        return x + 1, in_order, [id(item) in found for item in items], len(found), len(keys)

    compiled = armature.compile(f)
    long = [int(f"{n}000") for n in range(5)]
    for items in [
        long,
        long[:3],
        [long[0], *long],
        [1, 2, 3, 1],
        [f"a{n}" for n in long],
        [1.5, 2.5],
    ]:
        for _ in range(2):
            assert compiled(items, torch.ones(2))[1:] == f(items, torch.ones(2))[1:]
    assert "failed to compile" not in caplog.text


def test_hashes_and_indices_that_are_addresses(caplog: pytest.LogCaptureFixture) -> None:
    class Named:
        def __hash__(self) -> int:
            return id(self)

        def __index__(self) -> int:
            return id(self)

    def f(x: torch.Tensor) -> Any:
        one, two = Named(), Named()
        return x + 1, len({one, two, one}), hash(one) == id(one), range(10)[: one.__index__()]

    compiled = armature.compile(f)
    for _ in range(2):
        assert compiled(torch.ones(2))[1:] == f(torch.ones(2))[1:]
    assert "failed to compile" not in caplog.text

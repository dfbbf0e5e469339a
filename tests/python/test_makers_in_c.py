"""Classes and functions of C that make values: struct sequences, fromkeys, interned strings."""

import collections
import operator
import sys

import armature
import torch
from differential import check


def test_struct_sequences():
    def program(x, y):
        made = torch.return_types.max((x, y))
        pair = torch.return_types.qr([x, None])
        return made, made.values + 1, pair.R, isinstance(made, tuple), len(pair)

    check(program, torch.ones(2), torch.zeros(3), breaks=0)

    def wrong(items):
        try:
            return torch.return_types.max(items)
        except TypeError as error:
            return str(error)

    for items in ((), (1,), (1, 2, 3), [1, 2], 5, "ab"):
        check(wrong, items)


class Recorded(dict):
    def __init__(self):
        super().__init__()
        self.stored = []

    def __setitem__(self, key, value):
        self.stored.append(key)
        super().__setitem__(key, value)


class Ordered(collections.OrderedDict):
    pass


class Refusing(dict):
    def __setitem__(self, key, value):
        raise ValueError(key)


def test_fromkeys_of_subclasses():
    def program(keys):
        made = Recorded.fromkeys(keys, 1)
        ordered = Ordered.fromkeys(keys)
        default = collections.defaultdict.fromkeys(keys, 2)
        default.setdefault("z", 3)
        return made, made.stored, ordered, default, type(default), default.default_factory

    def refused(keys):
        try:
            return Refusing.fromkeys(keys)
        except ValueError as error:
            return str(error)

    def wrong():
        try:
            return Recorded.fromkeys(5)
        except TypeError as error:
            return str(error)

    check(program, "abca", breaks=0)
    check(program, ["x", 1, "x"])
    check(refused, "ab")
    check(refused, "")
    check(wrong)


def test_interned_strings():
    def program(text):
        kept = sys.intern(text)
        return kept, kept is sys.intern(text), len(kept)

    compiled = armature.compile(program, fullgraph=True)
    for n in range(3):
        text = "".join(["in", "terned", str(n)])
        kept, same, length = compiled(text)
        assert kept is sys.intern("".join(["in", "terned", str(n)])) and same
        assert length == len(text)

    def wrong(value):
        try:
            return sys.intern(value)
        except TypeError as error:
            return str(error)

    check(wrong, 1)


class Hinting:
    def __length_hint__(self):
        return 7


def test_length_hints():
    def program(items):
        return operator.length_hint(items), operator.length_hint(items, 3)

    for items in ([1, 2], (), "abc", {1: 2}, {1, 2}, range(5), Hinting(), object(), iter([1, 2])):
        check(program, items)

    def of_tuples():
        return tuple(map(operator.length_hint, [tuple(range(-10, i)) for i in range(10)]))

    check(of_tuples, breaks=0)

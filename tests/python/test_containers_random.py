"""Random programs over containers, with and without graph breaks in the middle of them."""

import collections
import random

import pytest
from differential import check

KEYS = ["'a'", "'b'", "'c'", "1", "2", "1.0", "True", "None", "(1, 2)", "(1, 'x')", "'zz'"]
ITEMS = [*KEYS, "[1]", "[2, 3]", "{'k': 1}", "xs", "d", "0.5", "-7", "'long text'"]


class Writer:
    """Writes a function of a list, a dict, a set and an OrderedDict, statement by statement."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *alternatives):
        return self.random.choice(alternatives)

    def key(self):
        return self.pick(*KEYS)

    def item(self):
        return self.pick(*ITEMS)

    def items(self):
        return "[" + ", ".join(self.item() for _ in range(self.random.randrange(4))) + "]"

    def keys(self):
        return "[" + ", ".join(self.key() for _ in range(self.random.randrange(4))) + "]"

    def index(self):
        return self.pick("0", "1", "-1", "2", "-2", "5", "'a'", "None")

    def bounds(self):
        part = ["", "0", "1", "2", "-1", "-2", "7"]
        return f"{self.pick(*part)}:{self.pick(*part)}:{self.pick('', '', '1', '2', '-1', '-2')}"

    def mapping(self):
        return "{" + ", ".join(f"{self.key()}: {self.item()}" for _ in range(2)) + "}"

    def statement(self):
        x, y, k = self.item(), self.item(), self.key()
        i, s = self.index(), self.bounds()
        return self.pick(
            # Lists.
            f"xs.append({x})",
            f"xs.extend({self.items()})",
            f"xs.insert({i}, {x})",
            f"out.append(xs.pop({i}))",
            f"xs.remove({x})",
            f"out.append(xs.index({x}))",
            f"out.append(xs.count({x}))",
            f"xs[{i}] = {x}",
            f"del xs[{i}]",
            f"xs[{s}] = {self.items()}",
            f"del xs[{s}]",
            f"out.append(xs[{s}])",
            f"xs += {self.items()}",
            "xs *= 2",
            "xs.reverse()",
            "xs.clear()",
            "xs.sort(key=str)",
            f"xs.sort(key=lambda v: v == {x}, reverse=True)",
            f"out.append({x} in xs)",
            f"out.append(xs == {self.items()})",
            "out.append(list(xs))",
            "out.append([(n, v) for n, v in enumerate(xs)])",
            "first, *rest = xs; out.append(rest)",
            "out.append(list(reversed(xs)))",
            f"out.append(sorted({self.keys()}, key=repr))",
            # Dicts and OrderedDicts.
            *[
                text.replace("DICT", name)
                for name in ("d", "d", "o")
                for text in (
                    f"DICT[{k}] = {x}",
                    f"del DICT[{k}]",
                    f"out.append(DICT.get({k}, {y}))",
                    f"out.append(DICT.pop({k}))",
                    f"out.append(DICT.pop({k}, {y}))",
                    f"out.append(DICT.setdefault({k}, {x}))",
                    "out.append(DICT.popitem())",
                    f"DICT.update({self.mapping()})",
                    f"DICT.update([({k}, {x})])",
                    f"DICT |= {self.mapping()}",
                    f"out.append(DICT | {self.mapping()})",
                    f"out.append({k} in DICT)",
                    f"out.append(DICT[{k}])",
                    "out.append(list(DICT))",
                    "out.append(list(DICT.items()))",
                    "out.append(list(reversed(DICT.values())))",
                    f"out.append(DICT == {self.mapping()})",
                    "out.append(DICT.copy())",
                    "DICT.clear()",
                    "out.append({v_k: 1 for v_k in DICT})",
                    "out.append(len(DICT))",
                    f"for each in DICT:\n        DICT[each] = {x}",
                    f"for each in DICT:\n        DICT[{k}] = each",
                    f"for each in list(DICT):\n        if each == {k}: del DICT[each]",
                    f"out.append(DICT.keys() & {self.keys()})",
                    f"out.append(({k}, {x}) in DICT.items())",
                )
            ],
            f"o.move_to_end({k})",
            f"o.move_to_end({k}, last=False)",
            "out.append(o.popitem(last=False))",
            # Sets.
            f"s.add({k})",
            f"s.discard({k})",
            f"s.remove({k})",
            f"out.append({k} in s)",
            f"s.update({self.keys()})",
            f"s |= set({self.keys()})",
            f"s &= set({self.keys()})",
            f"s -= set({self.keys()})",
            f"s ^= set({self.keys()})",
            f"out.append(s | set({self.keys()}))",
            f"out.append(s <= set({self.keys()}))",
            f"out.append(sorted(set({self.keys()}), key=repr))",
            f"s.add({x})",
            "s.clear()",
            "out.append(len(s))",
            # Breaks.
            "print(len(out))",
            "print(len(xs), len(d))",
        )

    def program(self, length):
        lines = ["def f(xs, d, s, o):", "    out = []"]
        for _ in range(length):
            lines += [
                "    try:",
                "        " + self.statement().replace("\n", "\n    "),
                "    except Exception as error:",
                "        out.append((type(error).__name__, str(error)))",
            ]
        lines.append("    return out, xs, len(s)")
        return "\n".join(lines)


def argument(seed):
    r = random.Random(seed)
    pool = [1, 2, "a", "b", None, (1, 2), 0.5]
    keys = ["a", "b", "c", 1, None, (1, 2)]
    chosen = r.sample(keys, r.randrange(len(keys)))
    return (
        [r.choice([*pool, [1], {"k": 1}]) for _ in range(r.randrange(5))],
        {key: r.choice([*pool, [1]]) for key in chosen},
        set(r.sample(keys, r.randrange(len(keys)))),
        collections.OrderedDict((key, r.choice(pool)) for key in r.sample(keys, 3)),
    )


@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed):
    source = Writer(seed).program(12)
    scope = {}
    exec(source, scope)
    try:
        check(
            scope["f"],
            *argument(seed),
            more=(argument(seed + 1000), argument(seed + 2000)),
            calls=2,
        )
    except AssertionError as error:
        raise AssertionError(f"{source}\n{argument(seed)}\n{error}") from None

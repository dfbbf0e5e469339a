"""Instances of subclasses of OrderedDict, made by the trace and found by it."""

import collections
import dataclasses
import types

import armature
import pytest
import torch
from differential import check, entries


class Plain(collections.OrderedDict):
    def total(self):
        return sum(self.values())


class Instantiating(collections.OrderedDict):
    def __getitem__(self, key):
        made, options = super().__getitem__(key)
        return made(**options)


class Loud(collections.OrderedDict):
    log: list = []

    def __getitem__(self, key):
        self.log.append(("get", key))
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self.log.append(("set", key))
        super().__setitem__(key, value)

    def __delitem__(self, key):
        self.log.append(("del", key))
        super().__delitem__(key)

    def __contains__(self, key):
        self.log.append(("in", key))
        return super().__contains__(key)

    def keys(self):
        self.log.append("keys")
        return super().keys()

    def __missing__(self, key):
        return key


@dataclasses.dataclass
class Output(collections.OrderedDict):
    last: torch.Tensor | None = None
    hidden: torch.Tensor | None = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


def make_plain():
    items = Plain(a=1, b=2, c=3)
    items.note = "n"
    items.move_to_end("a")
    return items


def reads(items):
    return (
        items["b"],
        items.get("z"),
        items.total(),
        items.note,
        list(items),
        list(reversed(items)),
        list(items.items()),
        "a" in items,
        len(items),
        items == Plain(b=2, c=3, a=1),
        items == Plain(a=1, b=2, c=3),
        items == {"a": 1, "b": 2, "c": 3},
        dict(items),
        collections.OrderedDict(items),
    )


def writes(items):
    items["n"] = items.pop("b") + 10
    items.note += "!"
    items.move_to_end("c")
    items.move_to_end("n", last=False)
    items.setdefault("s", []).append(1)
    del items["a"]
    items.update({"u": 1}, v=2)
    return items.popitem(), items


def loud(items):
    items.log.clear()
    items.update([("y", 2)], w=3)
    items.update({"z": 1})
    items.setdefault("q", 1)
    items.setdefault("q", 2)
    items.pop("y")
    items.move_to_end("a")
    del items["z"]
    found = items["w"], items["absent"], items.get("a"), list(items.values()), "a" in items
    return found, list(items.log), list(collections.OrderedDict.items(items))


def test_existing():
    check(reads, make_plain(), breaks=0)
    check(writes, make_plain(), breaks=0)
    check(reads, make_plain(), more=((Plain(a=1, b=2, c=3, note=4),), (make_plain(),)))


def test_new():
    def new(x):
        items = Plain(a=x, b=2)
        items.note = "n"
        items["c"] = 3
        return reads(items), writes(items), items, items.note

    check(new, 1, breaks=0)
    check(lambda: (Plain(), Plain([("a", 1)]), Plain({"a": 1}, b=2)), breaks=0)


@pytest.mark.parametrize("wrong", [lambda: Plain(1, 2), lambda: Plain(1), lambda: Plain([1])])
def test_wrong_arguments(wrong):
    def attempt():
        try:
            return wrong()
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    check(attempt)


def test_methods_that_a_subclass_overrides():
    def new():
        Loud.log.clear()
        items = Loud(a=1, b=2)
        made = list(Loud.log)
        return made, loud(items)

    check(new, breaks=0)
    check(loud, Loud(a=1, b=2), breaks=0)
    check(lambda items: ({**items}, (lambda **given: given)(**items)), Loud(a=1, b=2))


def test_registry():
    registry = Instantiating(
        relu=(torch.nn.ReLU, {}), leaky=(torch.nn.LeakyReLU, {"inplace": False})
    )
    x = torch.tensor([-1.0, 1.0])
    compiled = check(lambda x: registry["relu"](x), x)
    registry["relu"] = (torch.nn.LeakyReLU, {"negative_slope": 0.5})
    assert torch.equal(compiled(x), torch.tensor([-0.5, 1.0]))


def test_outputs():
    def look(output):
        return output.last + 1, output["last"], output[0], list(output), output.to_tuple()

    def change(output, x):
        output.hidden = x
        output.last = x * 2
        return output[0], len(output), output

    first, second = Output(last=torch.ones(2)), Output(torch.ones(2), torch.zeros(1))
    check(look, first, more=((second,),), breaks=0)
    check(change, second, torch.ones(1), breaks=0)
    check(change, first, torch.ones(1), more=((second, torch.ones(1)),))
    check(lambda x: Output(last=x, hidden=x + 1), torch.ones(2), breaks=0)


def test_order_is_part_of_what_was_read():
    items = make_plain()
    compiled = armature.compile(lambda items: list(items))
    assert compiled(items) == list(items)
    items.move_to_end("b")
    assert compiled(items) == list(items) == ["c", "a", "b"]
    only = armature.compile(lambda items: items["b"])
    assert only(items) == 2
    items.move_to_end("a")
    assert only(items) == 2


class Key:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


def use(ordered, key):
    value = ordered[key]
    ordered.move_to_end(key)
    return value


def read(ordered, key):
    kinds = list(ordered), list(reversed(ordered)), {**ordered}, list(ordered.copy())
    return kinds, next(iter(ordered)), key in ordered


def take(ordered, key):
    return ordered.popitem(), ordered.popitem(last=False), ordered.pop(key, None)


def write(ordered, key):
    for each in ordered:
        ordered[each] = ordered[each] * 2
    ordered[next(iter(ordered))] = 0


class Ordered(collections.OrderedDict):
    pass


@pytest.mark.parametrize("kind", [collections.OrderedDict, Ordered])
@pytest.mark.parametrize("function", [use, read, take, write])
@pytest.mark.parametrize(
    "keys",
    [
        [(1, "x"), (2, "y"), (3, "z")],
        [Key("one"), Key("two"), Key("three")],
        [frozenset("a"), frozenset("b"), frozenset("c")],
        ["one", "two", "three"],
    ],
    ids=["tuples", "objects", "sets", "texts"],
)
def test_an_order_that_the_program_has_changed(keys, function, kind):
    compiled = armature.compile(function)
    for moved in (0, 1, 2, 0, None):
        results = []
        for called in (function, compiled):
            ordered = kind(zip(keys, "pqr", strict=True))
            if moved is not None:
                ordered.move_to_end(keys[moved])
            results.append((repr(called(ordered, keys[1])), repr(list(ordered.items()))))
        assert results[0] == results[1]


def test_keys_that_the_order_lacks():
    """dict.__setitem__ puts them in beside it: as many keys, and others."""

    def fn(table):
        try:
            table.move_to_end("a", last=False)
        except KeyError as error:
            return str(error), len(table)
        return list(table), len(table)

    compiled = armature.compile(fn)
    for kind in (collections.OrderedDict, type("Own", (collections.OrderedDict,), {})):
        outcomes = []
        for run in (fn, compiled):
            table = kind(a=1, b=2, c=3)
            found = [run(table), run(table)]
            del table["a"]
            found.append(run(table))
            dict.__setitem__(table, "hidden", 1)
            outcomes.append([*found, run(table), list(table)])
        assert outcomes[0] == outcomes[1]


class LeastRecent:
    def __init__(self, size):
        self.size = size
        self.items = collections.OrderedDict()

    def get(self, key):
        if key in self.items:
            self.items.move_to_end(key)
            return self.items[key]
        if len(self.items) == self.size:
            self.items.popitem(last=False)
        self.items[key] = [key]
        return self.items[key]


def test_large_orders_cost_what_they_cost_in_python():
    """Whatever is moved is the same translation, which does not look at the others."""
    caches = LeastRecent(1000), LeastRecent(1000)
    compiled = armature.compile(LeastRecent.get)
    for key in range(1000):
        caches[0].get(key)
        caches[1].get(key)
    for key in [3, 998]:
        assert compiled(caches[0], key) == caches[1].get(key)
        assert compiled(caches[0], 2000 + key) == caches[1].get(2000 + key)
    for key in [5, 5000, 999, 6000, 7, 0, 5]:
        assert compiled(caches[0], key) == caches[1].get(key)
        assert list(caches[0].items) == list(caches[1].items)
    guards = [guard for each in entries(compiled) for guard in each["guards"]]
    assert guards and not any("DICT_KEYS_MATCH" in str(guard) for guard in guards)


class Holder:
    pass


class Itself(collections.OrderedDict):
    def __init__(self, *items):
        super().__init__(*items)
        self.__dict__ = self


def add(holder, x):
    holder.w = x
    return x + 1


def replace(holder, x):
    holder.y = 2
    return x + holder.y


def delete(holder, x):
    del holder.y
    return x + 1


def add_twice(holder, x):
    holder.w = 1
    del holder.w
    holder.w = 2
    return x + holder.w


@pytest.mark.parametrize("function", [add, replace, delete, add_twice])
@pytest.mark.parametrize("kind", [collections.OrderedDict, Plain, Itself])
def test_attributes_that_lie_in_one(kind, function):
    def outcome(call):
        holder = Holder()
        holder.__dict__ = kind([("x", 5), ("y", 6)])
        result = call(holder, torch.ones(1))
        try:
            items = list(holder.__dict__.items())
        except KeyError as error:
            items = str(error)
        return result, items, len(holder.__dict__), list(dict.items(holder.__dict__))

    compiled = armature.compile(function)
    for _ in range(2):
        assert outcome(compiled) == outcome(function)


def test_one_that_holds_its_own_attributes_made_in_a_trace():
    def program(x):
        made = Itself([("x", 5)])
        made.y = x
        return list(made), list(made.__dict__.values()), len(made), made.x

    assert armature.compile(program)(torch.ones(1)) == program(torch.ones(1))


@pytest.mark.parametrize("statement", ["q = 1", "p = 1", "del p", "q = 1; del q"])
def test_globals_that_lie_in_one(statement):
    source = f"def function(x):\n    global p, q\n    {statement}\n    return x + 1\n"

    def outcome(compiled):
        namespace = collections.OrderedDict(__builtins__=__builtins__, p=0)
        defined = {}
        exec(source, defined)
        function = types.FunctionType(defined["function"].__code__, namespace, "function")
        (armature.compile(function) if compiled else function)(torch.ones(1))
        try:
            items = list(namespace)
        except KeyError as error:
            items = str(error)
        return items, len(namespace), list(dict.keys(namespace))

    assert outcome(True) == outcome(False)

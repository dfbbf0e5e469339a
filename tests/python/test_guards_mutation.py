"""Guards over a world of objects that changes at random, against a plain-Python evaluator.

After every change, ``check`` must answer as the evaluator does, must hand out the objects that are
there now, and ``check_verbose`` must agree.
"""

import gc
import types

import torch
from armature import _C
from guards_reference import (
    EVERYTHING,
    RELATIONS,
    Expectations,
    Missing,
    attribute,
    load,
    local,
    may_be_compared,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NAMES = ["alpha", "beta", "gamma", "delta"]


class World:
    """Objects that refer to each other, and ways to change them."""

    def __init__(self, random):
        self.random = random

        class Base:
            shared = 1

        class First(Base):
            def method(self):
                return self

        class Second(Base):
            shared = 2

        class Slotted:
            __slots__ = ("left", "right")

        self.classes = [Base, First, Second]
        self.slotted = Slotted
        self.containers = []
        self.graveyard = []  # what identity guards know must not die
        self.locals = [self.value(3) for _ in range(4)]

    def constant(self):
        r = self.random
        return r.choice(
            [
                lambda: r.randrange(4),
                lambda: 10**20 + r.randrange(2),
                lambda: r.choice([0.0, -0.0, 1.0, float("nan")]),
                lambda: r.choice(["word", "wo" + "rd2", "".join(["w", "ord"])]),
                lambda: r.choice([None, True, False, ...]),
                lambda: (r.randrange(2), r.choice([1, 1.0, True]), ("deep", None)),
                lambda: frozenset([r.randrange(3)]),
                lambda: r.choice([b"x", slice(0, r.randrange(2)), range(r.randrange(3)), 1j]),
            ]
        )()

    def tensor(self):
        r = self.random
        dtype = r.choice([torch.float32, torch.float64])
        tensor = torch.zeros([r.randrange(1, 3) for _ in range(r.randrange(0, 3))], dtype=dtype)
        return torch.nn.Parameter(tensor) if r.random() < 0.3 else tensor

    def key(self):
        return self.random.choice([*NAMES, 0, 1, 2, (1, "k"), First])

    def value(self, depth):
        r = self.random
        kind = r.randrange(10) if depth > 0 else r.randrange(3)
        if kind == 0:
            made = self.tensor()
        elif kind <= 2:
            return self.constant()
        elif kind <= 4:
            made = {self.key(): self.value(depth - 1) for _ in range(r.randrange(4))}
        elif kind == 5:
            made = [self.value(depth - 1) for _ in range(r.randrange(4))]
        elif kind == 6:
            made = tuple(self.value(depth - 1) for _ in range(r.randrange(4)))
        elif kind <= 8:
            made = r.choice(self.classes)()
            for name in r.sample(NAMES, r.randrange(4)):
                setattr(made, name, self.value(depth - 1))
            if r.random() < 0.3:
                made.__dict__  # noqa: B018 (creates the dict)
        else:
            made = self.slotted()
            made.left = self.value(depth - 1)
            if r.random() < 0.3:
                made = self.closure(self.value(depth - 1))
        self.containers.append(made)
        return made

    def closure(self, content):
        def function(argument=None):
            return content

        function.__defaults__ = (self.constant(),)
        return function

    # --- Paths and guards

    def steps(self, source, value):
        """(source, value) pairs one step away."""
        if isinstance(value, dict):
            yield from ((("DictItem", source, key), each) for key, each in value.items())
            yield from ((("DictKey", source, i), each) for i, each in enumerate(value))
        elif isinstance(value, list):
            yield from ((("ListItem", source, i), each) for i, each in enumerate(value))
        elif isinstance(value, tuple):
            yield from ((("TupleItem", source, i), each) for i, each in enumerate(value))
        elif isinstance(value, types.FunctionType):
            yield ("FunctionDefaults", source), value.__defaults__
            yield ("FunctionClosure", source), value.__closure__
        elif isinstance(value, types.CellType):
            yield ("CellContents", source), value.cell_contents
        elif isinstance(value, self.slotted):
            for name in self.slotted.__slots__:
                descriptor = self.slotted.__dict__[name]
                if hasattr(value, name):
                    kind = self.random.choice(["Slot", "Slot", "Descriptor"])
                    yield (kind, source, descriptor), getattr(value, name)
        elif isinstance(value, self.classes[0]):
            for name, each in value.__dict__.items():
                yield attribute(source, name), each
            yield ("InstanceDict", source), value.__dict__
            yield ("TypeAttribute", ("Type", source), "shared"), type(value).shared

    def walk(self):
        """Everything within reach, as (source, value)."""
        found = [(local(i), value) for i, value in enumerate(self.locals)]
        for source, value in found:
            if len(found) > 60:
                break
            found.extend(self.steps(source, value))
        return found

    def guard(self, source, value):
        r = self.random
        choices = [(source, "TYPE_MATCH", type(value))]
        if isinstance(value, torch.Tensor):
            choices += [
                (source, "TENSOR_MATCH", value, r.choice([1, 3, 17, 33, 64, EVERYTHING]))
            ] * 3
        elif isinstance(value, dict):
            key = self.key()
            contains = "DICT_CONTAINS" if key in value else "DICT_NOT_CONTAINS"
            choices += [
                (source, contains, key),
                (source, "DICT_KEYS_MATCH", list(value)),
                (source, "SEQUENCE_LENGTH", None, len(value)),
            ]
        elif isinstance(value, (list, tuple)):
            choices += [(source, "SEQUENCE_LENGTH", None, len(value))]
        elif isinstance(value, types.FunctionType):
            choices += [(source, "CLOSURE_MATCH", value.__code__)]
        elif value is None:
            choices += [(source, "NONE_MATCH")]
        elif isinstance(value, (self.classes[0], self.slotted)):
            name = r.choice([*NAMES, "left", "shared"])
            self.graveyard.append(value)
            choices += [
                (source, "HASATTR", name, int(hasattr(value, name))),
                (source, "ID_MATCH", value),
                (source, "NOT_NONE_MATCH"),
            ]
        elif isinstance(value, (bool, int, float, str, bytes, complex, slice, range, frozenset)):
            choices += [(source, "EQUALS_MATCH", value)] * 3
        if isinstance(value, self.slotted):
            slots = (self.slotted.__dict__[name] for name in self.slotted.__slots__)
            choices += [
                (source, "SLOT_IS_SET", slot, int(hasattr(value, slot.__name__))) for slot in slots
            ]
        elif isinstance(value, types.CellType):
            choices += [(source, "CELL_IS_SET", None, int(hasattr(value, "cell_contents")))]
        if isinstance(value, type):
            self.graveyard.append(value)
        return r.choice(choices)

    def guards(self):
        reachable = self.walk()
        chosen = self.random.sample(reachable, min(len(reachable), self.random.randrange(1, 12)))
        guards = [self.guard(*each) for each in chosen]
        # Mostly as a translator would ask: the type of everything on the way.
        if self.random.random() < 0.7:
            guards += [(source, "TYPE_MATCH", type(value)) for source, value in reachable]
        (a, x), (b, y) = self.random.choices(reachable, k=2)
        guards.append((a, "DUPLICATE_INPUT", None, int(x is y), b))
        guards += self.comparisons(reachable) + self.distinct(reachable)
        self.graveyard += [guard[2] for guard in guards if len(guard) > 2]
        captures = [source for source, _ in self.random.sample(chosen, len(chosen) // 2)]
        return guards, captures

    def comparisons(self, reachable):
        """Of values that may vary, with constants and with each other."""
        r = self.random
        plain = [each for each in reachable if type(each[1]) in (int, float, str)]
        guards = []
        for source, value in r.sample(plain, min(len(plain), r.randrange(4))):
            other, right = r.choice([each for each in plain if may_be_compared(value, each[1])])
            relation = r.randrange(6)
            number = 2 * relation + RELATIONS[relation](value, right)
            constant = r.random() < 0.5
            detail = (right, number) if constant else (None, number, other)
            guards.append((source, "VALUE_COMPARISON", *detail))
        return guards

    def distinct(self, reachable):
        r = self.random
        objects = {}
        for source, value in reachable:
            if isinstance(value, (list, dict, set, self.slotted, *self.classes)):
                objects[id(value)] = source
                if isinstance(value, self.classes[0]):
                    objects[id(value.__dict__)] = ("InstanceDict", source)
        sources = list(objects.values())
        if len(sources) < 2:
            return []
        r.shuffle(sources)
        count = r.randrange(1, len(sources))
        return [(None, "DUPLICATE_INPUT", sources[:count], sources[r.randrange(count + 1) :])]

    # --- Changes

    def change(self):
        r = self.random
        target = r.choice([self.locals, self.locals, *self.containers, *self.classes])
        if isinstance(target, dict):
            self.change_dict(target)
        elif isinstance(target, list):
            if not target or (r.random() < 0.2 and target is not self.locals):
                target.append(self.value(1))
            elif r.random() < 0.1 and target is not self.locals:
                target.pop()
            else:
                target[r.randrange(len(target))] = self.value(2)
        elif isinstance(target, torch.Tensor):
            self.change_tensor(target)
        elif isinstance(target, types.FunctionType):
            if r.random() < 0.5:
                target.__defaults__ = (self.constant(),)
            else:
                target.__closure__[0].cell_contents = self.value(1)
        elif isinstance(target, type):
            if r.random() < 0.5 and "shared" in target.__dict__ and target is not self.classes[0]:
                del target.shared
            else:
                target.shared = self.constant()
        elif isinstance(target, self.slotted):
            target.left = self.value(1)
            if r.random() < 0.3:
                del target.left
        elif isinstance(target, self.classes[0]):
            self.change_object(target)

    def change_dict(self, target):
        r = self.random
        kind = r.randrange(6)
        if kind == 0 and target:
            del target[r.choice(list(target))]
        elif kind == 1 and target:
            key = r.choice(list(target))
            target[key] = target.pop(key)  # to the end
        elif kind == 2:
            target.clear()
        elif kind == 3:
            target.update({key: target[key] for key in target})  # nothing, really
        else:
            target[self.key()] = self.value(1)

    def change_object(self, target):
        r = self.random
        kind = r.randrange(6)
        if kind == 0:
            target.__dict__ = dict(target.__dict__)
        elif kind == 1:
            target.__class__ = r.choice(self.classes)
        elif kind == 2 and target.__dict__:
            delattr(target, r.choice(list(target.__dict__)))
        elif kind == 3:
            target.__dict__ = {r.choice(NAMES): self.value(1)}
        else:
            name, value = r.choice(NAMES), self.value(1)
            for _ in range(r.choice([1, 20])):  # until the instruction is specialized
                target.alpha = value
            setattr(target, name, value)

    def change_tensor(self, target):
        r = self.random
        with torch.no_grad():
            kind = r.randrange(5)
            if kind == 0:
                target.unsqueeze_(0)
            elif kind == 1 and target.dim() >= 2:
                target.transpose_(0, 1)
            elif kind == 2 and target.is_leaf:
                target.requires_grad_(not target.requires_grad)
            elif kind == 3:
                target.data = self.tensor().detach()
            elif kind == 4:
                target.squeeze_()


class First:
    """A key that is not a constant."""


def agree(manager, guards, captures, world):
    found = manager.check(*world.locals)
    passed, text, actual = manager.check_verbose(*world.locals)
    holds = guards.hold(world.locals)  # last, since it makes instance dicts
    assert manager.valid
    assert (found is not None) == holds, (text, actual, str(manager), manager.program)
    assert passed == holds
    assert bool(text) != passed
    if found is not None:
        for source, value in zip(captures, found, strict=True):
            try:
                expected = load(source, world.locals)
            except Missing:
                raise AssertionError(source) from None
            assert value is expected or source[0] == "Descriptor"


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 25))
def test_changing_world(random, changes):
    world = World(random)
    requests, captures = world.guards()
    guards = Expectations(requests)
    manager = _C.GuardManager(requests, captures, world.locals)
    agree(manager, guards, captures, world)
    known = list(world.locals)
    for _ in range(changes):
        if random.random() < 0.15:
            world.locals[:] = known
        else:
            world.change()
        agree(manager, guards, captures, world)
        if random.random() < 0.2:
            agree(manager, guards, captures, world)


def test_nothing_leaks():
    import random
    import sys

    def run():
        world = World(random.Random(5))
        requests, captures = world.guards()
        manager = _C.GuardManager(requests, captures, world.locals)
        for _ in range(50):
            manager.check(*world.locals)
            manager.check_verbose(*world.locals)
            world.change()

    for _ in range(3):
        run()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(20):
        run()
    gc.collect()
    assert sys.getallocatedblocks() - before < 50

"""What a traced function lets go of dies when plain Python lets it die, and its end is heard then.

Each program removes the last reference to an object and then looks at what the end has changed.
"""

import gc
import weakref

import armature
import pytest
from differential import translations

LOG = []
REFERENCES = []
KEPT = None


class Watched:
    pass


class Noisy:
    def __del__(self):
        LOG.append("del")


class Slots:
    __slots__ = ("kept",)


class Holder:
    pass


def watched():
    thing = Watched()
    REFERENCES.append(weakref.ref(thing, lambda reference: LOG.append("callback")))
    return thing


def in_a_tree():
    holder = Holder()
    holder.items = [(Noisy(),)]
    return holder


def twice_in_a_list():
    thing = Noisy()
    return [thing, thing]


def of_a_closure():
    thing = Noisy()
    return lambda: thing


def silent():
    return [Watched(), {"a": 1}]


MAKERS = [watched, Noisy, in_a_tree, twice_in_a_list, of_a_closure, silent]


def popped(box):
    thing = box.dict.pop("k")
    LOG.append(1)
    del thing
    LOG.append(len(LOG))


def popped_and_dropped(box):
    box.dict.pop("k")
    LOG.append(len(LOG))


def item_deleted(box):
    del box.dict["k"]
    LOG.append(len(LOG))


def item_overwritten(box):
    box.dict["k"] = None
    LOG.append(len(LOG))


def dict_cleared(box):
    box.dict.clear()
    LOG.append(len(LOG))


def attribute_overwritten(box):
    box.attribute = None
    LOG.append(len(LOG))


def attribute_deleted(box):
    del box.attribute
    LOG.append(len(LOG))


def slot_overwritten(box):
    box.slots.kept = 1
    LOG.append(len(LOG))


def slot_deleted(box):
    del box.slots.kept
    LOG.append(len(LOG))


def list_popped(box):
    box.list.pop()
    LOG.append(len(LOG))


def list_item_overwritten(box):
    box.list[0] = 1
    LOG.append(len(LOG))


def list_rearranged(box):
    thing = box.list.pop()
    box.list.append(5)
    thing = None  # noqa: F841
    LOG.append(len(LOG))


def list_cleared(box):
    box.list.clear()
    LOG.append(len(LOG))


def list_replaced(box):
    box.list[:] = [1, 2]
    LOG.append(len(LOG))


def set_cleared(box):
    box.set.clear()
    LOG.append(len(LOG))


def argument_of_an_inlined_function(box):
    def inner(thing):
        LOG.append(3)

    inner(box.list.pop())
    LOG.append(len(LOG))


def in_a_new_list(box):
    new = [box.list.pop()]
    LOG.append(9)
    new = None  # noqa: F841
    LOG.append(len(LOG))


def global_overwritten(box):
    global KEPT
    KEPT = None
    LOG.append(len(LOG))


def cell_overwritten(box):
    box.function()
    LOG.append(len(LOG))


def in_a_loop(box):
    for key in list(box.dict):
        thing = box.dict.pop(key)
        LOG.append(key)
        thing = [thing]
    LOG.append(len(LOG))


def kept_by_the_caller(box):
    thing = box.dict.pop("k")
    LOG.append(1)
    return thing


def put_back_in_a_dict(box):
    thing = box.dict["k"]
    box.dict["k"] = 5
    LOG.append(box.dict["k"])
    box.dict["k"] = thing
    LOG.append(len(LOG))


def put_back_as_an_attribute(box):
    thing, box.attribute = box.attribute, [1]
    LOG.append(box.attribute)
    box.attribute = thing
    del thing
    LOG.append(len(LOG))


def put_back_in_a_slot(box):
    thing, box.slots.kept = box.slots.kept, 5
    LOG.append(box.slots.kept)
    box.slots.kept = thing


def put_back_in_a_list(box):
    box.list.append(box.list.pop())
    box.list[0], thing = None, box.list[0]
    LOG.append(len(LOG))
    box.list[0] = thing


def put_back_and_dropped_after(box):
    thing = box.dict.pop("k")
    box.dict["k"] = thing
    LOG.append(1)
    del thing, box.dict["k"]
    LOG.append(len(LOG))


def put_back_by_a_weak_reference(box):
    box.dict["k"] = 5
    LOG.append(len(LOG))
    for reference in REFERENCES:
        box.dict["k"] = reference()
    LOG.append(box.dict["k"] is None)


PLACES = {
    popped: "dict",
    popped_and_dropped: "dict",
    item_deleted: "dict",
    item_overwritten: "dict",
    dict_cleared: "dict",
    attribute_overwritten: "attribute",
    attribute_deleted: "attribute",
    slot_overwritten: "slots",
    slot_deleted: "slots",
    list_popped: "list",
    list_item_overwritten: "list",
    list_rearranged: "list",
    list_cleared: "list",
    list_replaced: "list",
    set_cleared: "set",
    argument_of_an_inlined_function: "list",
    in_a_new_list: "list",
    global_overwritten: "global",
    cell_overwritten: "function",
    in_a_loop: "dict",
    kept_by_the_caller: "dict",
    put_back_in_a_dict: "dict",
    put_back_as_an_attribute: "attribute",
    put_back_in_a_slot: "slots",
    put_back_in_a_list: "list",
    put_back_and_dropped_after: "dict",
    put_back_by_a_weak_reference: "dict",
}
WHOLE = [put_back_in_a_dict, put_back_as_an_attribute, put_back_in_a_slot, put_back_in_a_list]


def box_of(make, place):
    """A box in which the object's only reference is at the place."""
    global KEPT
    box = Holder()
    if place == "dict":
        box.dict = {"k": make(), "l": 1}
    elif place == "attribute":
        box.attribute = make()
    elif place == "slots":
        box.slots = Slots()
        box.slots.kept = make()
    elif place == "list":
        box.list = [make()]
    elif place == "set":
        box.set = {Holder()}
        next(iter(box.set)).kept = make()
    elif place == "global":
        KEPT = make()
    else:
        thing = make()

        def function():
            nonlocal thing
            thing = None

        box.function = function
    return box


def outcome(function, make, place):
    LOG.clear()
    REFERENCES.clear()
    function(box_of(make, place))
    return LOG[:]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("program", PLACES, ids=lambda program: program.__name__)
def test_ends_are_heard_as_in_plain_python(program, make):
    gc.disable()
    try:
        expected = outcome(program, make, PLACES[program])
        compiled = armature.compile(program)
        for _ in range(3):
            assert outcome(compiled, make, PLACES[program]) == expected
    finally:
        gc.enable()


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_what_is_put_back_has_not_ended(program):
    compiled = armature.compile(program, fullgraph=True)
    for make in (silent, watched, Noisy, silent, in_a_tree):
        expected = outcome(program, make, PLACES[program])
        assert outcome(compiled, make, PLACES[program]) == expected
    assert translations(compiled) == 1


@pytest.mark.parametrize("program", PLACES, ids=lambda program: program.__name__)
def test_ends_that_are_heard_in_a_later_call_only(program):
    gc.disable()
    try:
        compiled = armature.compile(program)
        for make in (silent, watched, silent, Noisy, in_a_tree, silent):
            expected = outcome(program, make, PLACES[program])
            assert outcome(compiled, make, PLACES[program]) == expected
    finally:
        gc.enable()


def test_what_ends_silently_breaks_nothing():
    import torch

    class Cell(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.register_buffer("state", torch.zeros(2))
            self.last, self.seen = None, [1, 2]

        def forward(self, x):
            self.state = self.linear(x + self.state)
            self.last, self.seen = {"x": x}, [x, self.last]
            return self.state.sum()

    cell = Cell()
    compiled = armature.compile(cell, fullgraph=True)
    for _ in range(3):
        compiled(torch.ones(2))
    assert len(cell.seen) == 2

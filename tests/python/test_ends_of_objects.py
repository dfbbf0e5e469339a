"""Objects die when plain Python lets them: across graph breaks too, and when something raises.

``alive()`` says which of the watched objects live. It is called in the function, where it breaks
the graph, and after it.
"""

# Assignments and expressions of which nothing comes are what is tested.
# ruff: noqa: B018, F841

import collections
import contextvars
import gc
import operator
import random
import sys
import types
import weakref

import armature
import numpy
import pytest
import torch
from differential import breaking_every, check, compilations

WATCHED = []
LOG = []
KEPT = None


class Thing:
    def __init__(self, name="thing", *held):
        self.name = name
        self.held = held

    def method(self):
        return self.name


class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        LOG.append(f"del {self.name}")


@armature.disable
def alive():
    return [reference() is not None for reference in WATCHED]


@armature.disable
def make(name):
    return watch(Thing(name))


@armature.disable
def same(thing):
    return thing


@armature.disable
def fail():
    raise ValueError("as it should")


def watch(thing):
    WATCHED.append(weakref.ref(thing))
    return thing


def watched_temporary():
    watch(Thing())
    return alive()


def deleted_local():
    thing = watch(Thing())
    before = alive()
    del thing
    return before, alive()


def local_that_is_not_read_again():
    thing = watch(Thing())
    other = watch(Thing())
    before = alive()
    LOG.append(len(before))
    other = None
    return before, alive(), other


def overwritten_local():
    thing = watch(Thing(1))
    first = alive()
    thing = watch(Thing(2))
    second = alive()
    thing = thing.name
    return first, second, alive(), thing


def loop():
    seen = []
    for i in range(3):
        thing = watch(Thing(i))
        seen.append(alive())
    return seen, thing.name


def results_of_python():
    thing = make(1)
    make(2)
    seen = [alive()]
    thing = same(thing)
    seen.append(alive())
    same(make(3)).name
    seen.append(alive())
    thing = same(None)
    seen.append(alive())
    return seen


def argument_of_an_inlined_function():
    def inner(thing):
        watch(thing)
        LOG.append(alive())
        thing = None
        return alive()

    return inner(Thing()), alive()


def local_of_an_inlined_function():
    def inner():
        thing = watch(Thing())
        return alive()

    first = inner()
    return first, alive()


def two_levels():
    def inner(thing):
        other = watch(Thing())
        LOG.append(alive())
        return thing

    def middle(thing):
        result = inner(watch(thing))
        LOG.append(alive())
        thing = None
        return result

    result = middle(Thing())
    LOG.append(alive())
    del result
    return alive()


def held_by_another():
    outer = Thing("outer", watch(Thing("inner")))
    seen = [alive()]
    outer.held = ()
    seen.append(alive())
    return seen, outer.name


def held_by_a_global():
    global KEPT
    KEPT = watch(Thing())
    seen = [alive()]
    KEPT = None
    seen.append(alive())
    return seen


def closure():
    thing = watch(Thing())

    def read():
        return thing

    seen = [alive(), read() is thing]
    watch(read)
    thing = None
    seen.append(alive())
    del read
    seen.append(alive())
    return seen


def operands_on_the_stack():
    return [watch(Thing()).name, alive(), (watch(Thing()), alive())[1], alive()]


def unpacked():
    first, *rest = same((watch(Thing(1)), watch(Thing(2)), watch(Thing(3))))
    seen = [alive()]
    rest.pop()
    seen.append(alive())
    first = rest = None
    seen.append(alive())
    return seen, first, rest


def finalizers():
    noisy = Noisy(1)
    LOG.append("made")
    same(1)
    noisy = None
    same(1)
    LOG.append("dropped")
    Noisy("temporary")
    LOG.append("after")
    other = Noisy(2)
    same(1)
    LOG.append("before the end")
    return noisy


def finalizer_that_a_loop_runs():
    for i in range(3):
        noisy = Noisy(i)
        LOG.append(f"turn {i}")
        same(1)
    return noisy.name


def raises():
    watch(Thing())
    fail()


def raises_in_an_inlined_function():
    def inner(thing):
        watch(Thing())
        thing = None
        fail()

    inner(watch(Thing()))


def raises_with_a_local():
    thing = watch(Thing())
    watch(Thing())
    LOG.append(thing.name)
    fail()


def raises_a_type_error():
    watch(Thing())
    1 + "a"


def caught():
    watch(Thing())
    try:
        fail()
    except ValueError as error:
        seen = alive()
        error = None
    return seen, alive()


def drops(argument):
    argument = None
    return LOG[:], alive()


def drops_in_steps(argument, other=None):
    seen = [alive()]
    other = None
    seen.append((LOG[:], alive()))
    argument = None
    return seen, LOG[:], alive()


def deletes(argument):
    del argument
    return LOG[:], alive()


def drops_all(*arguments, **keywords):
    arguments = None
    seen = LOG[:], alive()
    keywords = None
    return seen, LOG[:], alive()


def loops_over_its_argument(argument):
    seen = []
    for argument in (1, 2):
        seen.append((LOG[:], alive()))
    return seen


def passes_on(argument):
    seen = drops(argument)
    argument = None
    return seen, LOG[:], alive()


def raises_without_its_argument(argument):
    argument = None
    LOG.append(alive())
    fail()


class Droppable(Noisy):
    def drop(self):
        self = None
        return LOG[:], alive()


def arguments_that_called_functions_drop():
    seen = [
        function(watch(Noisy(function.__name__)))
        for function in (drops, drops_in_steps, deletes, drops_all, passes_on)
    ]
    seen.append(drops_in_steps(watch(Noisy("first")), watch(Noisy("second"))))
    seen.append(drops_in_steps(other=watch(Noisy("third")), argument=watch(Noisy("fourth"))))
    seen.append(drops_all(watch(Noisy("in a tuple")), key=watch(Noisy("in a dict"))))
    seen.append(loops_over_its_argument(watch(Noisy("loop"))))
    seen.append(watch(Droppable("self")).drop())
    return seen, LOG[:], alive()


def arguments_that_others_hold_are_not_dropped():
    thing = watch(Noisy("thing"))
    seen = [drops(thing), deletes(argument=thing), drops_all(thing, thing, key=thing)]
    seen.append(drops(*[watch(Noisy("starred"))]))
    seen.append(drops([watch(Noisy("item")), thing]))
    thing = None
    return seen, LOG[:], alive()


def dropped_before_an_exception():
    try:
        raises_without_its_argument(watch(Noisy("argument")))
    except ValueError:
        return LOG[:], alive()


PROGRAMS = [
    watched_temporary,
    deleted_local,
    local_that_is_not_read_again,
    overwritten_local,
    loop,
    results_of_python,
    argument_of_an_inlined_function,
    local_of_an_inlined_function,
    two_levels,
    held_by_another,
    held_by_a_global,
    closure,
    operands_on_the_stack,
    unpacked,
    finalizers,
    finalizer_that_a_loop_runs,
    raises,
    raises_in_an_inlined_function,
    raises_with_a_local,
    raises_a_type_error,
    caught,
    arguments_that_called_functions_drop,
    arguments_that_others_hold_are_not_dropped,
    dropped_before_an_exception,
]


def outcome(function):
    """What it returns or raises, what was alive with the exception and after it, and the log."""
    WATCHED.clear()
    LOG.clear()
    try:
        seen = [function()]
    except (ValueError, TypeError) as error:
        seen = [str(error), alive()]
        del error
    return seen, alive(), LOG[:]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_objects_die_as_in_plain_python(program):
    gc.disable()
    try:
        expected = outcome(program)
        compiled = armature.compile(program)
        for _ in range(3):
            assert outcome(compiled) == expected
    finally:
        gc.enable()


def test_inputs_of_a_graph_that_fails_behind_a_break():
    """The list in which they came is whole as long as the call may begin again."""
    import torch

    def f(x, index):
        y = same(x)
        for _ in range(2):
            z = y * 2
            y = z[index]
            LOG.append("after")
            y = same(y)
        return y

    def run(function, index):
        LOG.clear()
        try:
            return function(torch.ones(3, 3), torch.tensor(index)).tolist(), LOG[:]
        except IndexError as error:
            return str(error), LOG[:]

    compiled = armature.compile(f)
    for index in ([0, 1], [2], [7], [0], [9], [1, 1]):
        assert run(compiled, index) == run(f, index)


def test_a_resume_function_in_plain_python():
    """A trace function sees the program run as it is, from where the break was."""
    seen = []

    def f(n):
        thing = watch(Thing())
        same(n)
        sys.settrace(lambda *args: None)
        try:
            thing = None
            seen.append(alive())
        finally:
            sys.settrace(None)
        return seen.pop()

    WATCHED.clear()
    expected = f(1)
    WATCHED.clear()
    assert armature.compile(f)(1) == expected


def over_a_break_while_held(x):
    class Held:
        pass

    held, log = Held(), []
    reference = weakref.ref(held, lambda _: log.append("ended"))
    armature.graph_break()
    y = x + 1
    armature.graph_break()
    y = y * 2
    log.append("before")
    held = None
    log.append("after")
    armature.graph_break()
    return y - 1, log, reference() is None


def given_to_a_call(x):
    class Held:
        pass

    log = []

    def take(held):
        y = x + 1
        armature.graph_break()
        log.append("taken")
        held = None
        log.append("dropped")
        armature.graph_break()
        return y * 2

    def make():
        made = Held()
        weakref.finalize(made, log.append, "ended")
        return made

    return take(make()) - 1, log


def in_a_loop(x):
    class Held:
        def __init__(self, number):
            self.number = number

        def __del__(self):
            log.append(self.number)

    log = []
    for held in [Held(i) for i in range(4)]:
        armature.graph_break()
        x = x + held.number
        log.append("turn")
    del held
    log.append("end")
    return x, log


@pytest.mark.parametrize("program", [over_a_break_while_held, given_to_a_call, in_a_loop])
def test_what_frames_hold_at_a_break_has_not_ended(program):
    check(program, torch.ones(2), more=((torch.zeros(2),),))


def held_by_two(noisy):
    return [noisy], [noisy]


def held_by_two_below_a_list(noisy):
    below = [noisy]
    return [below], {1: below}


def held_by_a_list_and_a_slice(noisy):
    every = [noisy, None, 2]
    return every, tuple(every[:2])


def held_by_a_list_and_a_part_of_it(noisy):
    below = [noisy]
    return [below], below


def held_by_nobody_else(noisy):
    return [Thing()], [Thing()]


def drops_both(one, two):
    alive()
    one = None
    LOG.append("one")
    two = None
    LOG.append("two")


def drops_both_at_once(one, two):
    alive()
    one = two = None
    LOG.append("both")


def drops_one_and_empties_one(one, two):
    alive()
    if isinstance(one, list):
        one.clear()
    LOG.append("one")
    two = None
    LOG.append("two")


@pytest.mark.parametrize("drop", [drops_both, drops_both_at_once, drops_one_and_empties_one])
@pytest.mark.parametrize(
    "hold",
    [
        held_by_two,
        held_by_two_below_a_list,
        held_by_a_list_and_a_slice,
        held_by_a_list_and_a_part_of_it,
    ],
)
def test_what_several_hold_ends_with_the_last(hold, drop):
    def program(hold):
        one, two = hold(Noisy("shared"))
        drop(one, two)
        one = two = None
        LOG.append("dropped")
        return LOG[:]

    def body(hold):
        one, two = hold(Noisy("shared"))
        alive()
        one = None
        LOG.append("one")
        two = None
        LOG.append("two")
        return LOG[:]

    for function in (program, body):
        compiled = armature.compile(function)
        # The holders that are there first may be of the same types and share nothing.
        for first in [hold, held_by_nobody_else]:
            for kind in [first, hold, hold]:
                LOG.clear()
                expected = function(kind)
                LOG.clear()
                assert compiled(kind) == expected
            armature.reset()
        compiled(hold)
        compiled(hold)
        with compilations() as made:
            compiled(hold)
        assert not made


def test_loops_over_much_that_nothing_else_holds():
    def program(x):
        for number in [i for i in range(1500)]:
            armature.graph_break()
            x = x + number
        return x * 2

    check(program, torch.ones(2))
    assert armature.explain(program)(torch.ones(2)).op_count >= 2


def test_what_a_frame_holds_costs_no_capture():
    found = armature.explain(over_a_break_while_held)(torch.ones(2))
    assert found.op_count == 1  # not the part that lets go of it


class Held:
    def __init__(self):
        self.items = [Thing()]
        self.queue = collections.deque()
        self.bounded = collections.deque(maxlen=3)
        self.group = set()
        self.table = {}
        self.context = contextvars.ContextVar("context")


# What guards look at through a descriptor makes them take references to all that they find.
MOVES = {
    "deque": "held.queue.append(item); held.queue.popleft()",
    "deque in place": "held.queue.append(item); held.queue[0] = None",
    "bounded deque": "held.bounded.appendleft(item); held.bounded.pop()",
    "set": "held.group.add(item); held.group.remove(item)",
    "items of a dict": "held.table[item] = item; del held.table[item]",
    "context variable": "held.context.get(None); held.context.set(item); held.context.set(None)",
    "random number": "random.random(); held.last = item; held.last = None",
    "method": "method = item.method; method(); method = None",
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_what_the_guards_hold_is_let_go_of_before_the_call(move):
    names = {"random": random, "alive": alive}
    exec(
        f"def f(held):\n    item = held.items.pop()\n    {move}\n    item = None\n"
        "    return alive(), len(held.queue), len(held.group)",
        names,
    )
    compiled = armature.compile(names["f"])
    for function in names["f"], compiled, compiled:
        WATCHED.clear()
        held = Held()
        watch(held.items[0])
        assert function(held) == ([False], len(held.queue), 0)


def handled_with_a_local():
    kept = Noisy("kept")
    try:
        raise ValueError
    except ValueError as error:
        armature.graph_break()
    print("behind")


def handled_with_an_argument():
    def failing(argument):
        raise ValueError

    try:
        failing(Noisy("argument"))
    except ValueError as error:
        print("handled")
    print("behind")


class NoisyError(Exception):
    def __del__(self):
        LOG.append("end")


def handled_and_replaced_by_a_result():
    def replacing():
        try:
            raise NoisyError
        finally:
            armature.graph_break()
            return 1  # noqa: B012

    return replacing(), list(LOG)


@pytest.mark.parametrize(
    "function",
    [handled_with_a_local, handled_with_an_argument, handled_and_replaced_by_a_result],
)
def test_the_end_of_a_handled_exception_is_foreseen_as_it_is_checked(function, capsys):
    """What is handled is an input, too: it holds the exception that the handler lets go of."""
    LOG.clear()
    expected = function(), capsys.readouterr().out, list(LOG)
    compiled = armature.compile(function)
    for turn in range(3):
        LOG.clear()
        with compilations() as made:
            assert (compiled(), capsys.readouterr().out, list(LOG)) == expected
        assert turn == 0 or not made


TABLES = {
    "empty dict": {},
    "dict": {1: 2, (1,): 2},
    "set": {1, 2},
    "large set": set(range(3000)),
}
KEYS = {
    "object": lambda thing: thing,
    "tuple": lambda thing: (thing, 1),
    "tuple in a tuple": lambda thing: (0, (1, (thing, thing))),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("key_of", KEYS.values(), ids=KEYS)
def test_what_was_looked_for_is_not_kept(table, key_of):
    def f(table, key):
        return key in table, table.get(key, 0) if isinstance(table, dict) else None

    compiled = armature.compile(f)
    for _ in range(3):
        thing = Thing()
        end = weakref.ref(thing)
        assert compiled(table, key_of(thing)) == f(table, key_of(thing))
        if isinstance(table, dict):
            table[key_of(thing)] = 1
        else:
            table.add(key_of(thing))
        assert compiled(table, key_of(thing)) == f(table, key_of(thing))
        assert compiled(table, key_of(Thing())) == f(table, key_of(Thing()))
        if isinstance(table, dict):
            del table[key_of(thing)]
        else:
            table.remove(key_of(thing))
        del thing
        gc.collect()
        assert end() is None
        assert all(entry["guards"] for entry in armature._C.entries(compiled))


def emptied_list(made):
    return [made], lambda holder: holder.clear()


def assigned_list(made):
    return [made], lambda holder: operator.setitem(holder, slice(None), [])


def emptied_dict(made):
    return {"made": made}, lambda holder: holder.clear()


def emptied_set(made):
    return {made}, lambda holder: holder.clear()


def emptied_deque(made):
    return collections.deque([made]), lambda holder: holder.clear()


def emptied_ordered_dict(made):
    return collections.OrderedDict(made=made), lambda holder: holder.clear()


def emptied_default_dict(made):
    return collections.defaultdict(list, made=made), lambda holder: holder.clear()


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        emptied_list,
        assigned_list,
        emptied_dict,
        emptied_set,
        emptied_deque,
        emptied_ordered_dict,
        emptied_default_dict,
    ],
)
def test_a_container_emptied_behind_the_last_other_reference(make, below):
    log, references = [], []

    class Heard:
        pass

    def function(x):
        made = Heard()
        references.append(weakref.ref(made, lambda _: log.append("dead")))
        if below:
            made = (made,)
        holder, empty = make(made)
        armature.graph_break()
        del made
        empty(holder)
        log.append("after")
        return x + 1

    compiled = armature.compile(function)
    for call in (function, compiled, compiled, compiled):
        log.clear()
        call(torch.ones(1))
        assert log == ["dead", "after"]


class HearsOfItsEnd:
    def __del__(self):
        LOG.append("dead")


def held_twice():
    held = [HearsOfItsEnd()]
    return [held, held]


def raises(thing):
    raise ValueError


def raises_below(thing):
    raises(thing)


def caught_exception():
    try:
        raises_below(HearsOfItsEnd())
    except ValueError as error:
        return error


def held_by_a_group():
    return ExceptionGroup("g", [ValueError(HearsOfItsEnd())])


def held_by_a_module():
    module = types.ModuleType("m")
    module.thing = HearsOfItsEnd()
    return module


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("make", [held_twice, caught_exception, held_by_a_group, held_by_a_module])
def test_what_only_the_dying_refer_to_dies_with_them(make, breaks):
    def function(x, box):
        value = box.pop()
        LOG.append("popped")
        if breaks:
            armature.graph_break()
        value = None
        LOG.append("after")
        return x + 1

    def heard(call):
        LOG.clear()
        call(torch.ones(1), [make()])
        return list(LOG)

    expected = heard(function)
    assert expected == ["popped", "dead", "after"]
    compiled = armature.compile(function)
    assert [heard(compiled) for _ in range(3)] == [expected] * 3


def test_locals_end_in_order_where_an_exception_leaves():
    @armature.disable
    def fails(thing):
        raise ValueError

    def function(x):
        a, b, c = Noisy("a"), Noisy("b"), Noisy("c")
        y = x + 1
        fails(a)
        return y

    def heard(call):
        LOG.clear()
        with pytest.raises(ValueError):
            call(torch.ones(1))
        return list(LOG)

    expected = heard(function)
    compiled = armature.compile(function)
    assert [heard(compiled) for _ in range(3)] == [expected] * 3


@pytest.mark.parametrize("every", [3, 5, 9])
def test_a_module_with_a_hook(every):
    """torch makes a function in each call of it, which breaks may show to a trace as an object."""

    class Hooked(torch.nn.Module):
        def forward(self, x):
            return x + 1

    def program(module, x):
        return module(x)

    module = Hooked()
    module.register_forward_hook(lambda module, inputs, result: None)
    compiled = armature.compile(program)
    with breaking_every(every):
        for _ in range(2):
            compiled(module, torch.ones(2))
    reference = weakref.ref(module)
    del module, compiled
    armature.reset()
    gc.collect()
    assert reference() is None


@armature.disable
def array_of_objects():
    return numpy.array([[Noisy("element"), None]], dtype=object)


@armature.disable
def part_of_an_array():
    whole = numpy.ones((3, 4))
    weakref.finalize(whole, LOG.append, "whole")
    return whole[1:].T[::2]


@armature.disable
def array_of_other_memory():
    class Buffer(bytearray):
        def __del__(self):
            LOG.append("buffer")

    return numpy.frombuffer(Buffer(b"abcd"), dtype="u1").reshape(2, 2)


@armature.disable
def array_of_a_class():
    class Named(numpy.ndarray):
        pass

    named = numpy.ones(3).view(Named)
    named.owner = Noisy("owner")
    return named[1:]


@pytest.mark.parametrize(
    "make", [array_of_objects, part_of_an_array, array_of_other_memory, array_of_a_class]
)
def test_what_an_array_holds_ends_with_it(make):
    def program(make):
        array = make()
        LOG.append("made")
        array = None
        LOG.append("dropped")
        arrays = [make(), make()]
        other = arrays[:1]
        alive()
        arrays = None
        LOG.append("one")
        other = None
        LOG.append("both")

    logs = []
    for call in (program, *[armature.compile(program)] * 3):
        LOG.clear()
        call(make)
        logs.append(LOG[:])
    assert logs[0] == logs[1] == logs[2] == logs[3] and len(logs[0]) == 7


CURRENT = None
POOL = []
REGISTRY = {}


class Config:
    session = None


def takes_a_global():
    global CURRENT
    old = CURRENT
    CURRENT = Noisy("new")
    LOG.append("swapped")
    old = None
    LOG.append("end")


def takes_from_a_pool():
    taken = POOL[0]
    POOL.clear()
    LOG.append("cleared")
    return 5


def takes_from_a_class():
    session = Config.session
    Config.session = None
    LOG.append(session.name)
    session = None
    LOG.append("end")


def takes_from_a_registry():
    value = REGISTRY["key"]
    del REGISTRY["key"]
    alive()
    LOG.append("gone")
    value = None
    LOG.append("end")


def takes_and_asks():
    global CURRENT
    old = CURRENT
    reference = weakref.ref(old)
    CURRENT = None
    LOG.append(reference() is None)


def takes_from_a_module():
    value = KEEPING.value
    alive()
    KEEPING.value = None
    LOG.append("end")


KEEPING = types.ModuleType("keeping")


@pytest.mark.parametrize(
    "program",
    [
        takes_a_global,
        takes_from_a_pool,
        takes_from_a_class,
        takes_from_a_registry,
        takes_and_asks,
        takes_from_a_module,
    ],
)
def test_a_local_keeps_what_the_function_takes_out(program):
    global CURRENT
    logs = []
    for call in (program, *[armature.compile(program)] * 3):
        CURRENT = Config.session = REGISTRY["key"] = KEEPING.value = None
        POOL[:] = []
        CURRENT = Noisy("current")
        Config.session = Noisy("session")
        REGISTRY["key"] = Noisy("registered")
        KEEPING.value = Noisy("kept")
        POOL[:] = [Noisy("pooled")]
        LOG.clear()
        call()
        logs.append(LOG[:])
    CURRENT = Config.session = KEEPING.value = None
    REGISTRY.clear()
    POOL.clear()
    assert logs[0] == logs[1] == logs[2] == logs[3] and len(logs[0]) > 1


class Job:
    handle = None


def of_an_object(content):
    job = Job()
    job.handle = content
    return job


def of_a_function(content):
    def function():
        pass

    function.handle = content
    return function


def of_a_cell(content):
    return lambda: content


def closes(job):
    handle = job.handle
    alive()
    job.handle = None
    LOG.append("detached")
    handle = None
    LOG.append("end")


def deletes_it(job):
    handle = job.handle
    del job.handle
    LOG.append("deleted")


def empties(get):
    handle = get()
    get.__closure__[0].cell_contents = 0
    LOG.append("emptied")


@pytest.mark.parametrize(
    "program, hold",
    [
        (closes, of_an_object),
        (closes, of_a_function),
        (deletes_it, of_an_object),
        (deletes_it, of_a_function),
        (empties, of_a_cell),
    ],
)
@pytest.mark.parametrize("first", [lambda: None, lambda: 1.5, lambda: [1], Thing])
def test_what_comes_first_may_be_plain(program, hold, first):
    compiled = armature.compile(program)
    for content in [first, lambda: Noisy("held"), lambda: [Noisy("held")], first]:
        logs = []
        for call in (program, compiled):
            LOG.clear()
            call(hold(content()))
            logs.append(LOG[:])
        assert logs[0] == logs[1]

"""Effects are operations, done again in program order at the cost of what was changed."""

import collections
import traceback
import weakref

import armature
import pytest
import torch
from differential import Cases, break_reasons, check, entries, report, translations

cases = Cases()
X = torch.arange(1.0, 4.0)


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_case(fn, args, options):
    check(fn, *args, **options)


# --- Order and aliasing.


@cases.add([1], {"k": 1}, {3}, X, breaks=0)
def interleaved(xs, d, s, x):
    xs.append(x)
    d["a"] = xs
    s.add(4)
    xs.append(d)
    del d["k"]
    s.discard(3)
    xs.insert(0, s)
    d["k"] = x + 1
    xs[1] = "one"
    s.update([5, 6])
    del xs[2]
    d.pop("a")
    xs.pop()
    xs.extend([d, d])
    return xs[-1] is d


@cases.add([1, 2, 3], breaks=0)
def one_new_object_in_many_places(xs):
    new = []
    xs.append(new)
    xs[0] = new
    xs.insert(1, (new, new))
    new.append(xs)
    return new


@cases.add({"a": 1, "b": 2, "c": 3}, breaks=0)
def order_of_keys(d):
    d["z"] = 0
    del d["a"]
    d["a"] = 1
    d["b"] = 20
    d["z"] = 1
    del d["z"]
    d["y"] = 2
    d["z"] = 3
    d.pop("y")
    d["y"] = 4


@cases.add({"a": 1, "b": 2}, breaks=0)
def cleared_between(d):
    d["c"] = 1
    d.clear()
    d["b"] = 2
    d.clear()
    d["c"] = 3
    d["a"] = 4


@cases.add(collections.defaultdict(list, a=[1]), breaks=0)
def default_dicts(d):
    d["b"].append(1)
    d["a"].append(2)
    new = collections.defaultdict(list)
    new["x"].append(new)
    return new


@cases.add([3, 1, 2], breaks=0)
def rewritten(xs):
    xs.append(0)
    xs.sort()
    xs.append(9)
    xs[1:2] = ["a", "b"]
    xs.pop(0)


@cases.add([1, 2, 3], [4], breaks=0)
def list_slots(xs, ys):
    xs += ys
    xs += xs
    xs *= 2
    xs[-1] = ys
    del xs[1]
    del xs[1:3]
    xs.remove(2)
    ys.clear()
    ys.append(xs)


@cases.add({1, 2, 3}, {3, 4}, breaks=0)
def sets(a, b):
    a |= b
    a -= {1}
    b ^= {4, 5}
    a.add("x")
    a.remove("x")
    b.clear()
    b.add(7)


class Slotted:
    __slots__ = ("a", "b")


def slotted():
    new = Slotted()
    new.a = 1
    return new


@cases.add(slotted(), X, breaks=0)
def slots(s, x):
    s.b = x
    s.a = s.a + 1
    s.b = [s]
    s.a += 1


def test_unhashable_and_missing_keys_leave_what_came_before():
    def f(d, xs):
        xs.append(1)
        d["k"] = 2
        try:
            d[[]] = 3
        except TypeError as error:
            xs.append(str(error))
        try:
            del d["none"]
        except KeyError:
            xs.append("KeyError")
        return len(d)

    check(f, {"a": 1}, [])


def test_exception_after_effects_leaves_them_done():
    def f(xs, d):
        xs.append(1)
        d["a"] = xs
        raise ValueError("late")

    check(f, [], {})


# --- Lists are not read before they are looked at.


def test_append_is_one_translation_for_every_length():
    log = []

    @armature.compile
    def f(x):
        log.append(x)
        log.extend([x, 1])
        return x + 1

    for _ in range(20):
        f(X)
    assert len(log) == 60 and translations(f) == 1
    assert not any("len(" in entry["guards"] for entry in entries(f))


def test_augmented_assignment_is_one_translation_for_every_length():
    @armature.compile
    def f(xs, x):
        xs += [x, x]
        xs.append(0)

    for length in range(12):
        xs = list(range(length))
        f(xs, X)
        assert xs[:length] == list(range(length)) and xs[length] is X and xs[length + 2] == 0
    assert translations(f) == 1


def test_length_is_guarded_where_it_is_asked():
    @armature.compile
    def f(xs):
        xs.append(1)
        return len(xs)

    assert [f([0] * n) for n in (0, 3, 0, 3)] == [1, 4, 1, 4]
    assert translations(f) == 2


def test_one_item_is_wrapped_alone():
    @armature.compile
    def f(xs, x):
        return x + xs[700] + xs[-1]

    xs = [torch.ones(3) for _ in range(1000)]
    assert torch.equal(f(xs, X), X + 2)
    xs[3] = "not looked at"
    assert torch.equal(f(xs, X), X + 2)
    assert translations(f) == 1
    xs[700] = torch.zeros(3)
    assert torch.equal(f(xs, X), X + 1)


@cases.add([X, 2, "x"], breaks=0, more=(([X, 2],), ([1, 2, 3, 4],)))
def items_before_and_after_appends(xs):
    first = xs[0]
    xs.append(first)
    second = xs[0]
    xs[0] = 5
    return first is second, xs[-1] is first, xs[0], list(xs)


@cases.add([1, 2], breaks=0, more=(([],), ([1],)))
def popped_behind_an_append(xs):
    xs.append("a")
    xs.append("b")
    last = xs.pop()
    xs.append("c")
    return last


# --- The cost is that of the changes.


def instruction_count(compiled):
    return max(len(entry["bytecode"].splitlines()) for entry in entries(compiled))


LOOPS = 1500


def loop_appends_and_pops(xs):
    for i in range(LOOPS):
        xs.append(i)
        xs.pop()


def loop_sets_items(xs):
    for i in range(LOOPS):
        xs[0] = i
        xs[1] = xs[0]


def loop_rotates(xs):
    for _ in range(LOOPS):
        xs.append(xs.pop(0))


def loop_inserts_and_deletes(xs):
    for i in range(LOOPS):
        xs.insert(0, i)
        del xs[1]


@pytest.mark.parametrize(
    "fn", [loop_appends_and_pops, loop_sets_items, loop_rotates, loop_inserts_and_deletes]
)
def test_loops_over_lists_leave_short_code(fn):
    compiled = check(fn, [1, 2, 3], breaks=0)
    assert instruction_count(compiled) < 200


def loop_counts(d):
    for i in range(LOOPS):
        d["n"] = i
        d["m"] = d["n"] + 1


def loop_deletes_and_sets(d):
    for i in range(LOOPS):
        d["t"] = i
        del d["t"]
        d["n"] = d.pop("n") + 1


def loop_clears(d):
    for i in range(LOOPS):
        d.clear()
        d["n"] = i


@pytest.mark.parametrize("fn", [loop_counts, loop_deletes_and_sets, loop_clears])
def test_loops_over_dicts_leave_short_code(fn):
    compiled = check(fn, {"n": 0, "o": 1}, breaks=0)
    assert instruction_count(compiled) < 60


def loop_of_attributes(o):
    for i in range(LOOPS):
        o.n = i
        o.m = o.n + 1


def test_loops_over_attributes_sets_and_cells_leave_short_code():
    class Box:
        pass

    compiled = check(loop_of_attributes, Box(), breaks=0)
    assert instruction_count(compiled) < 60
    count = 0

    def cell(s):
        nonlocal count
        for i in range(LOOPS):
            count += 1
            s.add(i % 3)
            s.discard(i % 3)

    compiled = armature.compile(cell)
    s = {7}
    compiled(s)
    assert (count, s) == (LOOPS, {7})
    assert instruction_count(compiled) < 80, report(compiled)


def test_big_dict_costs_what_was_changed():
    d = {i: i for i in range(200_000)}

    @armature.compile
    def f(i):
        d[i] = -1
        for k in range(50):
            d[k] = d[k] + 1
        return d[3]

    assert f(199_999) == 4 and d[199_999] == -1 and d[49] == 50
    assert instruction_count(f) < 400


# --- Instance dicts are dicts.


class Property:
    @property
    def x(self):
        return 1

    def __setattr__(self, name, value):
        raise AssertionError("only the dict is written")


def test_instance_dict_is_written_as_a_dict():
    def f(o, value):
        o.__dict__["x"] = value
        o.__dict__["y z"] = value
        vars(o)[3] = value
        object.__setattr__(o, "w", value)
        return o.x

    def g(value):
        new = Property()
        new.__dict__["x"] = value
        new.__dict__[3] = 4
        return new, new.__dict__

    check(f, Property(), 1)
    check(g, 1)
    new, attributes = armature.compile(g)(1)
    assert vars(new) is attributes and attributes == {"x": 1, 3: 4}


def test_a_property_added_later_is_not_called():
    class Late:
        pass

    calls = []

    @armature.compile
    def f(o):
        o.__dict__["x"] = 1
        new = Late()
        new.__dict__["x"] = 2
        return new

    f(Late())
    Late.x = property(lambda self: calls.append("get"), lambda self, v: calls.append("set"))
    o = Late()
    new = f(o)
    assert vars(o) == {"x": 1} and vars(new) == {"x": 2} and calls == []


class Loud(dict):
    calls = []

    def __setitem__(self, key, value):
        self.calls.append("set")
        dict.__setitem__(self, key, value)

    def __delitem__(self, key):
        self.calls.append("del")
        dict.__delitem__(self, key)

    def clear(self):
        self.calls.append("clear")
        dict.clear(self)

    def keys(self):
        self.calls.append("keys")
        return dict.keys(self)


def overrides(d):
    d["b"] = 1
    del d["a"]
    dict.__setitem__(d, "c", 3)
    dict.keys(d)
    d.clear()
    d["e"] = 1


def test_overrides_run_once():
    compiled = armature.compile(overrides)
    observed = []
    for fn in (overrides, compiled, compiled):
        d = Loud(a=1)
        Loud.calls.clear()
        fn(d)
        observed.append((list(dict.items(d)), list(Loud.calls)))
    assert observed[0] == ([("e", 1)], ["set", "del", "clear", "set"])
    assert observed[1] == observed[2] == observed[0]
    assert not break_reasons(compiled)


# --- Finalizers and lifetimes.


def test_objects_with_finalizers_are_made_by_python():
    events = []

    class Final:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            events.append(self.name)

    def f(x):
        kept = Final("kept")
        Final("dropped")
        events.append(kept.name)
        return x + 1

    compiled = armature.compile(f)
    compiled(X)
    assert sorted(events) == ["dropped", "kept", "kept"]
    reason = break_reasons(compiled)[0]
    assert reason["gb_type"] == "Object with a finalizer" and "Final" in reason["context"]


def test_dropped_items_die():
    class Thing:
        pass

    @armature.compile
    def f(xs, d):
        xs.pop()
        xs[0] = None
        d["a"] = None
        d.pop("b")

    for _ in range(2):
        things = [Thing() for _ in range(4)]
        references = [weakref.ref(thing) for thing in things]
        xs, d = things[:2], {"a": things[2], "b": things[3]}
        del things
        f(xs, d)
        assert [reference() for reference in references] == [None] * 4


# --- Deep and cyclic results.


def test_deep_results():
    def deep(x, n):
        value = x
        for i in range(n):
            value = [value] if i % 2 else (i, value)
        return value

    value = armature.compile(deep)(X + 1, 20_000)
    for _ in range(20_000):
        value = value[-1]
    assert torch.equal(value, X + 1)


@cases.add(X, breaks=0)
def cycles(x):
    first = []
    pair = (first, x + 1)
    first.append(pair)
    second = {}
    second["self"] = [second, (second,)]
    third = set()

    def function(argument=pair):
        return function, third

    function.own = function
    return pair, second, function, third


class Node:
    def __init__(self, other=None):
        self.other = other
        self.items = [self]

    def __repr__(self):
        return "Node"


@cases.add()
def cycles_of_objects():
    a = Node()
    a.other = Node(a)
    a.pair = (a, a.items, slice(a, None))
    a.members = {a}
    error = ValueError([a])
    error.__cause__ = KeyError(a)
    a.error = error
    return a


@cases.add([1, 2, 3], breaks=None)
def iterators_of_what_changes(xs):
    it = iter(xs)
    next(it)
    xs.append(4)
    new = [it, 5]
    other = iter(new)
    next(other)
    new.append(6)
    return it, other


def test_one_tuple_given_twice_stays_one():
    def f(x):
        pair = (x, x + 1)
        return [pair, pair], {"a": pair}

    (a, b), d = armature.compile(f)(X)
    assert a is b is d["a"]


# --- Where the graph raises.

STATE = {"n": 0}
LOG = []


def fails_on_data(index, weight, note):
    LOG.append("before")
    STATE["n"] += 1
    note.text = "looked up"
    out = torch.nn.functional.embedding(index, weight) * 2  # raises here
    LOG.append("after")
    return out


@pytest.mark.parametrize("backend", ["eager"])
def test_effects_before_a_failing_operation_happen(backend):
    class Note:
        pass

    weight = torch.ones(4, 2)
    compiled = armature.compile(fails_on_data, backend=backend)
    STATE["n"] = 0
    for n in range(3):
        LOG.clear()
        note = Note()
        STATE["n"] = 0
        compiled(torch.tensor([1, 2]), weight, note)
        assert LOG == ["before", "after"]
        LOG.clear()
        STATE["n"] = 0
        note = Note()
        with pytest.raises(IndexError) as caught:
            compiled(torch.tensor([1, 9]), weight, note)
        assert LOG == ["before"] and STATE["n"] == 1 and vars(note) == {"text": "looked up"}, n
        assert caught.value.__context__ is None and caught.value.__cause__ is None
        frames = traceback.extract_tb(caught.value.__traceback__)
        lines = [frame.line for frame in frames if frame.name == "fails_on_data"]
        assert len(lines) == 1 and lines[0].endswith("# raises here")


def reads_its_frame(x, index):
    if x is None:
        return locals()
    x.mul_(2)
    LOG.append("before")
    y = x[index]
    LOG.append("after")
    return y


def inlined_reader(x, index):
    LOG.append("outside")
    y = reads_its_frame(x + 1, index)
    reads_its_frame(x, index)
    return y


class Looked:
    def __init__(self, x):
        self.x = x

    def __divmod__(self, index):
        self.x.mul_(2)
        LOG.append("before")
        return self.x[index]


def run_from_c(x, index):
    LOG.append("outside")
    y = divmod(Looked(x), index)
    LOG.append("after")
    return y


def random_in_a_reader(x, index):
    if x is None:
        return locals()
    y = torch.rand(3)
    LOG.append("before")
    return x[index] + y, torch.rand(3)


@pytest.mark.parametrize("f", [reads_its_frame, inlined_reader, run_from_c, random_in_a_reader])
def test_effects_before_a_failing_operation_where_no_code_can_be_resumed(f):
    compiled = armature.compile(f)
    for number in (1, 7, 2, 7):
        outcomes = []
        for call in (f, compiled):
            LOG.clear()
            torch.manual_seed(1)
            x, index = torch.arange(3.0), torch.tensor([number])
            try:
                result = call(x, index)
            except IndexError as error:
                lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
                result = str(error), lines[1:]
            outcomes.append(repr((result, x, LOG, torch.rand(1))))
        assert outcomes[0] == outcomes[1]


LEAF = torch.nn.Parameter(torch.ones(2))


def changes_a_leaf(x, index):
    y = x + 1
    if x is None:
        return locals()
    LEAF.mul_(2)
    return y


def a_called_one_changes_a_leaf(x, index):
    y = x + 1
    changes_a_leaf(y, index)
    return y


def changes_before(x, index):
    if x is None:
        return locals()
    x.mul_(2)
    y = x[index]
    return y[index + 3]


@pytest.mark.parametrize("f", [changes_a_leaf, a_called_one_changes_a_leaf, changes_before])
def test_a_failure_leaves_frames_in_which_no_code_can_be_resumed(f):
    compiled = armature.compile(f)
    for _ in range(3):
        outcomes = []
        for call in (f, compiled):
            x = torch.arange(3.0)
            with pytest.raises((RuntimeError, IndexError)) as raised:
                call(x, torch.tensor([2]))
            entries = traceback.extract_tb(raised.value.__traceback__)[1:]
            places = [(entry.name, entry.lineno, entry.colno) for entry in entries]
            outcomes.append(repr((raised.value, places, x)))
        assert outcomes[0] == outcomes[1]


def test_what_python_never_reaches_need_not_end():
    """That the operation raises is only known when somebody asks for its result."""

    def f(x, items):
        y = x + torch.ones(3)
        for item in items:
            items.append(item)
        return y

    compiled = armature.compile(f)
    for _ in range(2):
        items = [1]
        with pytest.raises(RuntimeError, match="must match"):
            compiled(torch.ones(2), items)
        assert items == [1]


def test_grad_mode_survives_a_failing_graph():
    @armature.compile
    def f(index, weight):
        with torch.no_grad():
            return torch.nn.functional.embedding(index, weight) + 1

    weight = torch.ones(4, 2)
    f(torch.tensor([1]), weight)
    with pytest.raises(IndexError):
        f(torch.tensor([7]), weight)
    assert torch.is_grad_enabled()
    try:
        raise KeyError("outer")
    except KeyError as outer:
        with pytest.raises(IndexError) as caught:
            f(torch.tensor([7]), weight)
        assert caught.value.__context__ is outer


def test_a_failing_graph_behind_a_break():
    def f(index, weight, log):
        log.append(1)
        print("break")
        log.append(2)
        out = torch.nn.functional.embedding(index, weight)
        log.append(3)
        return out

    compiled = armature.compile(f)
    weight = torch.ones(4, 2)
    log = []
    compiled(torch.tensor([1]), weight, log)
    assert log == [1, 2, 3]
    log.clear()
    with pytest.raises(IndexError):
        compiled(torch.tensor([7]), weight, log)
    assert log == [1, 2]


def test_interrupts_pass_through_a_graph():
    def interrupt(x):
        raise KeyboardInterrupt

    compiled = armature.compile(lambda x: x + 1, backend=lambda gm, inputs: interrupt)
    with pytest.raises(KeyboardInterrupt):
        compiled(X)


def test_a_failing_graph_restores_the_mode_it_found():
    @armature.compile
    def f(index, weight):
        with torch.enable_grad():
            return torch.nn.functional.embedding(index, weight) + 1

    weight = torch.ones(4, 2)
    with torch.no_grad():
        f(torch.tensor([1]), weight)
        with pytest.raises(IndexError):
            f(torch.tensor([7]), weight)
        assert not torch.is_grad_enabled()


# --- Where the graph has changed something before it raises.


def run_failing(function, *arguments):
    """What a call that may raise leaves behind: its result or exception."""
    try:
        return function(*arguments)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [frame.line for frame in frames if frame.filename == __file__]
        return type(error), str(error), places[-1], error.__context__


def in_place_before(index, weight, total, log):
    log.append("before")
    total.add_(1)
    log.append(total)
    out = torch.nn.functional.embedding(index, weight)
    log.append("after")
    return out + total


def in_place_between(index, weight, total, log):
    log.append("before")
    out = torch.nn.functional.embedding(index, weight)
    total.add_(out.sum())
    log.append("between")
    doubled = out * 2
    result = torch.nn.functional.embedding(index - 1, weight)
    return result + doubled


def an_operand_made_for_the_operation(index, weight, total, log):
    total.mul_(2)
    scaled = weight * total
    log.append(len(log))
    return torch.nn.functional.embedding(index + 0, scaled * 1).sum()


def in_a_called_function(index, weight, total, log):
    def step(n):
        total.add_(n)
        log.append(n)
        return torch.nn.functional.embedding(index, weight).sum() * n

    log.append("start")
    result = 0
    for n in range(3):
        result = result + step(n)
        log.append("done")
    return result


def modes_before(index, weight, total, log):
    total.add_(1)
    torch.set_grad_enabled(False)
    log.append(torch.is_grad_enabled())
    out = torch.nn.functional.embedding(index, weight)
    torch.set_grad_enabled(True)
    return out


def a_mode_around(index, weight, total, log):
    total.add_(1)
    log.append("before")
    with torch.no_grad():
        return torch.nn.functional.embedding(index, weight)


def an_attribute_and_an_item(index, weight, total, log):
    log.count = log.count + 1
    total[0] = log.count
    log.extend([total.sum(), {"seen": index}])
    out = torch.nn.functional.embedding(index, weight)
    log.count = 100
    return out


class Log(list):
    count = 0


@pytest.mark.parametrize(
    "function",
    [
        in_place_before,
        in_place_between,
        an_operand_made_for_the_operation,
        in_a_called_function,
        modes_before,
        a_mode_around,
        an_attribute_and_an_item,
    ],
    ids=lambda function: function.__name__,
)
def test_a_graph_that_fails_after_it_has_changed_something(function):
    compiled = armature.compile(function)
    weight = torch.arange(8.0).reshape(4, 2)
    for index in ([1, 2], [1, 9], [0, 1], [9, 1], [2, 2]):
        index = torch.tensor(index)
        outcomes = []
        for run in (function, compiled):
            total, log = torch.zeros(1), Log()
            torch.set_grad_enabled(True)
            result = run_failing(run, index, weight, total, log)
            mode = torch.is_grad_enabled()
            torch.set_grad_enabled(True)
            outcomes.append((result, total, log, log.count, mode))
        assert repr(outcomes[0]) == repr(outcomes[1])


def test_random_numbers_before_a_failing_operation():
    def f(index, weight, log):
        x = torch.rand(2, 2)
        log.append(x)
        out = torch.nn.functional.embedding(index, weight)
        return out + x

    compiled = armature.compile(f)
    weight = torch.ones(4, 2)
    for index in ([1, 2], [1, 9], [0, 1]):
        logs = []
        for run in (f, compiled):
            log = []
            torch.manual_seed(0)
            run_failing(run, torch.tensor(index), weight, log)
            logs.append((log, torch.rand(1)))
        assert repr(logs[0]) == repr(logs[1])


def test_values_die_where_they_do_in_python():
    """A graph that keeps its operands for a failure keeps nothing else."""
    alive = []

    class Probe(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            out = function(*arguments, **(keywords or {}))
            references.append(weakref.ref(out))
            alive.append(sum(reference() is not None for reference in references))
            return out

    def f(x, total):
        total.add_(1)
        x = x + 1
        x = x * 2
        x = x - 3
        x = x / 4
        return x.sum()

    compiled = armature.compile(f)
    compiled(torch.ones(3), torch.zeros(1))
    counts = []
    for run in (f, compiled):
        references, alive = [], []
        inputs = torch.ones(3), torch.zeros(1)
        with Probe():
            run(*inputs)
        counts.append(alive)
    assert counts[0] == counts[1]


UNUSED = {
    "index": lambda x: x[torch.tensor([7])],
    "gather": lambda x: torch.gather(x, 0, torch.tensor([7])),
    "division": lambda x: torch.ones(2, dtype=torch.int) // torch.zeros(2, dtype=torch.int),
    "remainder": lambda x: torch.ones(2, dtype=torch.int).remainder(0),
    "cholesky": lambda x: torch.linalg.cholesky(-torch.eye(2)),
    "embedding": lambda x: torch.nn.functional.embedding(torch.tensor([9]), torch.ones(2, 2)),
    "one_hot": lambda x: torch.nn.functional.one_hot(torch.tensor([9]), 3),
}


@pytest.mark.parametrize("operation", UNUSED.values(), ids=UNUSED)
def test_an_operation_whose_result_nobody_uses_raises_all_the_same(operation):
    def f(x, log):
        log.append(1)
        x.shape[0]
        operation(x)
        log.append(2)
        return x * 2

    def caught(x, log):
        try:
            operation(x)
            log.append("fine")
        except (IndexError, RuntimeError) as error:
            log.append(type(error))
        return x * 2

    for function in (f, caught):
        outcomes = []
        for run in (function, armature.compile(function)):
            log = []
            outcomes.append((run_failing(run, X, log), log))
        assert repr(outcomes[0]) == repr(outcomes[1])
        assert outcomes[0][1] != [1, 2] and outcomes[0][1] != ["fine"]


def test_operations_stay_in_the_graph_inside_try():
    def f(x, index):
        try:
            x = torch.nn.functional.group_norm(x.reshape(1, 3), 1).relu() @ x
            return x + torch.nn.functional.embedding(index, torch.ones(2, 1))
        except (RuntimeError, IndexError) as error:
            return str(error)

    index = torch.tensor([1])
    compiled = armature.compile(f, fullgraph=True)
    assert torch.equal(compiled(X, index), f(X, index))
    assert compiled(X, index + 5) == f(X, index + 5)


def attention(q, **arguments):
    return torch.nn.functional.scaled_dot_product_attention(q, q, q, **arguments)


@pytest.mark.parametrize(
    "operation",
    [
        attention,
        lambda q: attention(q, dropout_p=0.0, is_causal=True),
        lambda q: attention(q, attn_mask=None, dropout_p=0.5),
        lambda q: torch.nn.functional.dropout(q, 0.5, False),
        lambda q: torch.nn.functional.dropout(q, 0.5),
    ],
)
def test_what_an_operation_has_drawn_is_drawn_once(operation):
    def f(q, index):
        try:
            q = operation(q)
            return q.sum() + torch.nn.functional.embedding(index, torch.ones(2, 1)).sum()
        except IndexError:
            return torch.rand(1)

    compiled = armature.compile(f)
    for n in (1, 5, 0, 5):
        outcomes = []
        for run in (f, compiled):
            torch.manual_seed(0)
            outcomes.append((run(torch.ones(1, 2, 3, 4), torch.tensor([n])).item(), torch.rand(1)))
        assert outcomes[0] == outcomes[1]
    assert break_reasons(compiled) == []


def test_a_failure_is_caught_after_the_graph_has_changed_something():
    def f(x, index):
        x.add_(1)
        try:
            x = x * 2
            return x + torch.nn.functional.embedding(index, torch.ones(2, 1))
        except IndexError:
            return x

    def inside(x, index):
        try:
            x.add_(1)
            return x + torch.nn.functional.embedding(index, torch.ones(2, 1))
        except IndexError:
            return x
        finally:
            x.mul_(3)

    for function in (f, inside):
        compiled = armature.compile(function)
        for n in (1, 5, 0):
            index, a, b = torch.tensor([n]), X.clone(), X.clone()
            assert torch.equal(compiled(a, index), function(b, index))
            assert torch.equal(a, b)

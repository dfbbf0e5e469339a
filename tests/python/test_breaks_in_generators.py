"""A graph break in the body of a generator costs the instruction that breaks.

The rest of the turn, the other turns and what the loop around does are captured. Behind the break
the generator is a real one; where it stands is read, and it goes on being traced.
"""

import contextlib
import gc
import sys
import weakref

import armature
import pytest
import torch
from counted_breaks import Cases, X, check_counts
from differential import check

CASES = Cases()
case = CASES.case


@pytest.mark.parametrize(("fn", "ops", "breaks"), CASES)
def test_all_but_the_instruction_is_captured(fn, ops, breaks):
    check_counts(fn, ops, breaks)


def steps(x, count, breaks_at):
    """Computes something before and after a break."""
    for i in range(count):
        x = x + 1
        if i == breaks_at:
            print("turn", i)
        x = x * 2
        yield x


@case(ops=10)
def loop(x):
    y = x - 1
    for step in steps(x, 3, 1):
        y = y + step
    return y


@case(ops=9)
def items_one_by_one(x):
    generator = steps(x, 3, 1)
    first = next(generator) - 1
    return first, next(generator) - 2, next(generator, None) - 3, next(generator, None)


@case(ops=9)
def default_at_the_end(x):
    generator = steps(x, 3, 2)
    return [next(generator, None) - 1 for _ in range(3)], next(generator, 5), next(generator, 6)


@case(ops=12)
def generator_in_a_generator(x):
    def outer():
        for step in steps(x, 3, 1):
            yield step - 1

    return [step - 2 for step in outer()]


@case(ops=3)
def what_is_sent(x):
    def running(total):
        item = yield total
        total = total + item
        print("item")
        yield total
        return total

    generator = running(x - 1)
    found = [next(generator), generator.send(x)]
    try:
        generator.send(5)
    except StopIteration as stop:
        found.append(stop.value * 2)
    return found


@case(ops=4)
def what_is_thrown(x):
    def catching(y):
        try:
            yield y + 1
        except KeyError as error:
            y = y + 2
            print(error, repr(sys.exc_info()[1]))
            yield y + 3

    generator = catching(x)
    return next(generator), generator.throw(KeyError("k")) + 4


@case(ops=5)
def closure(x):
    total = x - 1

    def adding():
        nonlocal total
        for i in range(2):
            total = total + i
            if i == 0:
                print("turn")
            yield lambda: total

    seen = [read() * 2 for read in adding()]
    return seen


class Base:
    def walk(self, x):
        x = x + 1
        print("base")
        yield x + 2


class Derived(Base):
    def walk(self, x):
        for step in super().walk(x):
            yield step * 2


@case(ops=4)
def method(x):
    return [step - 1 for step in Derived().walk(x)]


@case(ops=10)
def stored_before_the_break(x):
    generators = {"a": steps(x, 2, None), "b": steps(x, 2, None)}
    first = next(generators["a"])
    print("break")
    return first - 1, next(generators["a"]) - 2, [*generators["b"]]


@case(ops=11, breaks=0)
def given(x, generator=None):
    y = x - 1
    for step in generator or steps(x, 3, None):
        y = y + step
    return y - 1


# --- yield from.


def delegating(x, count, breaks_at):
    result = yield from steps(x, count, breaks_at)
    return result


@case(ops=9)
def delegated(x):
    return [step - 1 for step in delegating(x, 3, 1)]


@case(ops=9)
def delegated_twice(x):
    def outermost():
        yield from delegating(x, 3, 1)

    return [step - 1 for step in outermost()]


@case(ops=5)
def returned_by_the_delegate(x):
    def inner():
        item = yield x + 1
        print("inner", item)
        return x * item

    def outer():
        result = yield from inner()
        yield result - 1

    generator = outer()
    return next(generator) - 2, generator.send(4) - 3


@case(ops=5, breaks=2)
def thrown_into_the_delegate(x):
    def inner():
        try:
            yield x + 1
        except KeyError as error:
            y = x + 2
            print(error)
            yield y * 3

    def outer():
        yield from inner()

    generator = outer()
    return next(generator) - 1, generator.throw(KeyError("k")) - 4


@case(ops=3, breaks=2)
def thrown_through_the_delegate(x):
    def inner():
        try:
            yield x + 1
        finally:
            print("inner")

    def outer():
        try:
            yield from inner()
        except KeyError:
            yield x - 3

    generator = outer()
    return next(generator), generator.throw(KeyError("k")) * 4


class Stepper:
    """An iterator of the program's with all that `yield from` may ask."""

    def __init__(self, x):
        self.x = x
        self.calls = 0

    def __iter__(self):
        return self

    def step(self, name):
        self.calls += 1
        self.x = self.x + 1
        print(name)
        if self.calls == 3:
            raise StopIteration(self.x * 2)
        return self.x

    def __next__(self):
        return self.step("next")

    def send(self, item):
        return self.step(f"send {item}")

    def throw(self, error):
        return self.step(f"throw {error!r}")


@case(ops=6, breaks=4)
def delegate_of_the_programs(x):
    def outer():
        result = yield from Stepper(x)
        yield result - 1

    generator = outer()
    return next(generator), generator.send(5), generator.throw(KeyError("k")) - 2


@case(ops=4)
def function_of_a_delegate(x):
    def step(item):
        y = x + item
        if item == 2:
            print(item)
        return y

    def outer():
        yield from map(step, [1, 2])

    return [y - 1 for y in outer()]


@case(ops=11, breaks=2)
def delegates_in_turn(x):
    def outer():
        for count in (2, 2):
            yield from steps(x, count, 1)

    return [step - 1 for step in outer()]


@case(ops=10)
def stored_in_a_delegation(x):
    generator = delegating(x, 3, None)
    first = next(generator)
    print("break")
    return first - 1, [step - 1 for step in generator], x - 4


# --- Ends of generators that existed before the trace.


@contextlib.contextmanager
def noted(name, log):
    log.append(("in", name))
    try:
        yield len(log)
    finally:
        log.append(("out", name))


@case(ops=3)
def context_manager_of_a_generator(x):
    log = []
    with noted("a", log) as count:
        y = x + count
        print("break")
        y = y * 2
    return y - 1, log


@case(ops=4, breaks=2)
def context_managers_in_each_other(x):
    log = []
    with noted("a", log):
        y = x + 1
        print("break")
        with noted("b", log):
            y = y * 2
            print("break")
            y = y - 1
        log.append("between")
    return y - 1, log


def cleaning(x, log, name="a"):
    try:
        for i in range(5):
            yield x + i
    finally:
        log.append(name)


@case(ops=6)
def loop_that_is_left(x):
    log = []
    y = x - 1
    for item in cleaning(x, log):
        y = y + item
        if log:
            break
        print("break")
        log.append("turn")
    log.append("after")
    return y * 2, log


@case(ops=3)
def dropped_by_a_variable(x):
    log = []
    generator = cleaning(x, log)
    y = next(generator)
    print("break")
    y = y * 2
    generator = None
    log.append("after")
    return y - 1, log, generator


def kept_by_a_list(x):
    log, kept = [], []
    generator = cleaning(x, log)
    y = next(generator)
    print("break")
    kept.append(generator)
    generator = None
    log.append("after")
    y = y + next(kept.pop())
    log.append("popped")
    return y - 1, log, generator


def delegation_that_is_left(x):
    log = []

    def outer():
        try:
            yield from cleaning(x, log, "inner")
        finally:
            log.append("outer")

    for item in outer():
        print("break")
        x = x + item
        if len(log) == 1:
            break
        log.append("turn")
    log.append("after")
    return x, log


def closed_in_a_handler(x):
    log = []
    generator = cleaning(x, log)
    next(generator)
    try:
        print("break")
        raise KeyError(1)
    except KeyError:
        generator = None
        log.append(repr(sys.exc_info()[1]))
    return x + 1, log


def watched(x):
    log = []
    generator = cleaning(x, log)
    next(generator)
    reference = weakref.ref(generator)
    called = weakref.ref(generator, lambda _: log.append("callback"))
    print("break")
    log.append(reference() is generator)
    generator = None
    log.append((reference() is None, called() is None))
    return x + 1, log


def frame_outlives_it(x):
    log = []
    generator = cleaning(x, log)
    next(generator)
    frame = generator.gi_frame
    print("break")
    generator = None
    log.append(sorted(frame.f_locals))
    return x + 1, log


def dropped_by_a_special_method(x):
    class Dropping:
        def __setattr__(self, name, log):
            def loud():
                try:
                    yield
                finally:
                    print("end")
                    log.append("end")

            generator = loud()
            next(generator)
            return generator

    log = []
    Dropping().attribute = log
    log.append("after")
    return x + 1, log


def raised_past_a_loop(x):
    log = []

    def fails():
        for item in cleaning(x, log):
            print("break")
            raise KeyError(int(item.sum()))

    try:
        fails()
    except KeyError as error:
        log.append((error.args, len(log)))
    return x + 1, log


def test_generator_that_existed_before_the_trace_is_traced():
    def total(x, generator):
        for step in generator:
            x = x + step
        return x

    explained = armature.explain(total)(X, steps(X, 3, None))
    assert (explained.op_count, explained.graph_break_count) == (9, 0)
    check(total, X, [X, X + 1], more=((X, []),))
    compiled = armature.compile(total)
    for begun in range(4):
        plain, traced = steps(X, 3, None), steps(X, 3, None)
        for _ in range(begun):
            next(plain), next(traced)
        assert torch.equal(total(X, plain), compiled(X, traced))
        assert next(traced, None) is None


def test_generator_goes_on_after_the_trace():
    def take(generator, count):
        return [next(generator) + i for i in range(count)]

    compiled = armature.compile(take)
    plain, traced = steps(X, 6, None), steps(X, 6, None)
    for count in (1, 2, 1, 1):
        assert all(map(torch.equal, take(plain, count), compiled(traced, count)))
        frame = traced.gi_frame
        assert frame.f_locals["i"] == plain.gi_frame.f_locals["i"]
        assert frame.f_lineno == plain.gi_frame.f_lineno
        assert not traced.gi_running
    assert torch.equal(next(plain), next(traced))
    assert list(traced) == list(plain) == []


def test_one_generator_as_two_arguments():
    def both(a, b):
        return [next(a) + 1, next(b) + 2, next(a) + 3]

    compiled = armature.compile(both)
    for _ in range(2):
        a, b, c = (steps(X, 3, None) for _ in range(3))
        expected = [next(a) + 1, next(b) + 2, next(a) + 3]
        assert all(map(torch.equal, expected, compiled(c, steps(X, 3, None))))
        plain, one = steps(X, 3, None), steps(X, 3, None)
        assert all(map(torch.equal, both(plain, plain), compiled(one, one)))


def test_positions_are_guarded():
    def two(x):
        yield x + 1
        y = x * 2
        yield y

    def step(generator):
        return next(generator, "end")

    compiled = armature.compile(step)
    generators = [two(X) for _ in range(3)]
    for _ in range(3):
        for generator, expected in zip(generators, (X + 1, X + 1, X + 1), strict=True):
            found = compiled(generator)
            assert torch.equal(found, expected)
        for generator in generators:
            assert torch.equal(compiled(generator), X * 2)
        for generator in generators:
            assert compiled(generator) == "end"
        generators = [two(X) for _ in range(3)]


def test_generators_of_one_code_with_other_globals():
    def make(scale):
        names = {"scale": scale}
        exec("def f(x):\n  yield x * scale\n  yield x + scale", names)
        return names["f"](X)

    def step(generator):
        return next(generator), next(generator)

    compiled = armature.compile(step)
    for scale in (2, 3, 2):
        first, second = compiled(make(scale))
        assert torch.equal(first, X * scale) and torch.equal(second, X + scale)


def exceptions(x):
    def risky(y):
        for i in range(3):
            try:
                y = y + i
                if i == 1:
                    raise KeyError(i)
                print("fine", i)
            except KeyError as error:
                print("caught", error)
                y = y * 5
            yield y

    return [y - 1 for y in risky(x)]


def handled_outside(x):
    def looking(y):
        print(repr(sys.exc_info()[1]))
        yield y, repr(sys.exc_info()[1])
        try:
            raise KeyError(1)
        except KeyError:
            print(repr(sys.exc_info()[1]))
            yield y + 1, repr(sys.exc_info()[1].__context__)
        yield repr(sys.exc_info()[1])

    found = []
    try:
        raise ValueError("v")
    except ValueError:
        for item in looking(x):
            found.append((item, repr(sys.exc_info()[1])))
    return found, repr(sys.exc_info()[1])


def already_executing(x):
    def own():
        yield x + 1
        try:
            print(next(generator))
        except ValueError as error:
            yield str(error)
        print(generator.gi_running)
        yield x + 2

    generator = own()
    return [*generator], generator.gi_running


def values_on_the_stack(x):
    def pair(*values):
        return values

    def calling():
        result = pair(x + 1, (yield x), print("argument"), (yield x * 2))
        print("called")
        yield result

    return [item for item in calling()]


def stop_iteration_in_the_body(x):
    def stopping():
        yield x + 1
        print("stop")
        raise StopIteration(3)

    found = []
    try:
        for item in stopping():
            found.append(item)
    except RuntimeError as error:
        found.append((str(error), repr(error.__cause__), repr(error.__context__)))
    return found


def driven_by_c(x):
    def turns(y, count):
        for i in range(count):
            y = y + i
            print(i)
            yield y

    return (
        list(turns(x, 2)),
        tuple(turns(x, 2)),
        any(y is None for y in turns(x, 2)),
        sum(turns(x, 3)),
        dict(enumerate(turns(x, 2))),
        [*zip(turns(x, 2), turns(x + 1, 2), strict=True)],
    )


def delegation(x):
    def inner(y):
        item = yield y
        print("inner", item)
        yield y + 1
        return y * 3

    def outer():
        result = yield from inner(x)
        print("outer")
        yield from [result, result + 1]
        return result

    generator = outer()
    found = []
    try:
        found += [next(generator), generator.send(4), next(generator), next(generator)]
        next(generator)
    except StopIteration as stop:
        found.append(stop.value)
    return found


def dropped_in_a_try(x):
    seen = []

    def cleaning():
        try:
            for i in range(5):
                print(i)
                yield x + i
        finally:
            seen.append(x * 2)

    for item in cleaning():
        seen.append(item)
        break
    seen.append("after")
    generator = cleaning()
    next(generator)
    del generator
    seen.append("end")
    return seen


def looks_at_its_variables(x):
    def looking():
        y = x + 1
        print(sorted(locals()))
        yield y
        print("then")
        yield y + 1

    return [*looking()]


def in_a_cycle(x):
    cell = []

    def holding():
        own = cell
        yield x + 1
        print(len(own))
        yield x + 2

    cell.append(holding())
    found = [next(cell[0])]
    print("break")
    return found + [next(cell[0])]


def interleaved(x):
    first, second = steps(x, 3, 1), steps(x, 4, 2)
    found = []
    for a in first:
        found.append((a, next(second) - 1))
    return found, [*second]


def recursion(x):
    def walk(tree, y):
        if isinstance(tree, int):
            print("leaf", tree)
            yield y + tree
        else:
            for branch in tree:
                yield from walk(branch, y + 1)

    return [y * 2 for y in walk([1, [2, [3]], 4], x)]


def endless_recursion(x):
    def deeper(depth):
        for item in deeper(depth + 1):
            yield item

    try:
        next(deeper(0))
    except RecursionError as error:
        return x + 1, type(error)


@pytest.mark.parametrize(
    "fn",
    [
        delegation_that_is_left,
        closed_in_a_handler,
        watched,
        frame_outlives_it,
        dropped_by_a_special_method,
        kept_by_a_list,
        raised_past_a_loop,
        exceptions,
        handled_outside,
        already_executing,
        values_on_the_stack,
        stop_iteration_in_the_body,
        driven_by_c,
        delegation,
        dropped_in_a_try,
        looks_at_its_variables,
        in_a_cycle,
        interleaved,
        recursion,
        endless_recursion,
    ],
)
@pytest.mark.parametrize("limit", [8, 1])
def test_as_plain_python(fn, limit):
    before = armature.config.recompile_limit
    armature.config.recompile_limit = limit
    try:
        check(fn, X, more=((X * 2,),))
    finally:
        armature.config.recompile_limit = before


def test_who_else_holds_a_generator_is_looked_at_in_each_call():
    kept = []

    def run(x, keeps, log):
        generator = cleaning(x, log)
        next(generator)
        if keeps:
            kept.append(generator)
        armature.graph_break()
        x = x + 1
        generator = None
        log.append("after")
        return x, generator

    compiled = armature.compile(run)
    for keeps in (False, True, False, True, False):
        expected, found = [], []
        assert torch.equal(run(X, keeps, expected)[0], compiled(X, keeps, found)[0])
        assert expected == found
        for log in (expected, found):
            log.append("kept")
        kept.clear()
        assert expected == found


def test_generators_beside_an_owned_one_are_looked_at_in_each_call():
    class Holder:
        pass

    def run(x, also, log):
        holder = Holder()
        holder.generator = cleaning(x, log)
        next(holder.generator)
        if also:
            holder.others = [cleaning(x, log, "b")]
            next(holder.others[0])
        armature.graph_break()
        x = x + 1
        holder = None
        log.append("after")
        return x, holder

    compiled = armature.compile(run)
    for also in (False, True, False, True, False):
        expected, found = [], []
        assert torch.equal(run(X, also, expected)[0], compiled(X, also, found)[0])
        assert expected == found


def test_many_turns_are_compiled_once():
    def endless(x):
        while True:
            x = x + 1
            len(str(sys.getrefcount(x)))
            yield x

    def run(x, count):
        for y in endless(x):
            if int(y[0, 0]) >= count:
                return y

    explained = armature.explain(run)(X, 40)
    assert len(explained.break_reasons) < 12
    assert torch.equal(armature.compile(run)(X, 3000), run(X, 3000))


def test_traceback_shows_the_frames_of_generators():
    def inner(x):
        yield x
        print("break")
        raise KeyError("k")

    def outer(x):
        for item in inner(x):
            yield item + 1

    def run(x):
        return [item for item in outer(x)]

    def names(fn):
        try:
            fn(X)
        except KeyError as error:
            found, entry = [], error.__traceback__.tb_next
            while entry:
                found.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
                entry = entry.tb_next
            return found

    expected = names(run)
    compiled = armature.compile(run)
    for _ in range(2):
        assert names(compiled)[-len(expected) :] == expected


def test_what_a_generator_lets_go_of_is_freed():
    class Thing:
        pass

    def letting_go(x, log):
        thing = Thing()
        log.append(weakref.ref(thing))
        print("made")
        yield x + 1
        del thing
        print("freed", log[0]() is None)
        yield x + 2

    def run(x):
        log = []
        return [(item, log[0]() is None) for item in letting_go(x, log)]

    gc.collect()
    check(run, X)


class Held:
    pass


HELD = []


def holder(n):
    held = Held()
    HELD.append(weakref.ref(held))
    for i in range(n):
        yield i


def refuses(x):
    raise ValueError(x)


def yields_in_a_handler(items):
    for item in items:
        try:
            yield refuses(item)
        except ValueError as error:
            armature.graph_break()
            yield error.args[0]


def returns_amid():
    for item in yields_in_a_handler(holder(3)):
        return item


def raises_amid():
    for item in yields_in_a_handler(holder(3)):
        {}[item]


def raises_in_another():
    return list({}[item] for item in yields_in_a_handler(holder(3)))


@pytest.mark.parametrize("fn", [returns_amid, raises_amid, raises_in_another])
def test_generators_that_end_at_a_yield_in_a_handler_hold_nothing(fn):
    compiled = armature.compile(fn)
    gc.collect()
    gc.disable()
    try:
        for call in (fn, compiled, compiled):
            HELD.clear()
            with contextlib.suppress(KeyError):
                call()
            assert [reference() for reference in HELD] == [None]
    finally:
        gc.enable()


def test_running_generator_is_asked_what_it_yields_from():
    """gi_yieldfrom of one whose frame goes on elsewhere."""

    def inner(box):
        yield box[0].gi_yieldfrom
        armature.graph_break()
        yield box[0].gi_yieldfrom

    def outer(box):
        yield box[0].gi_yieldfrom
        armature.graph_break()
        yield box[0].gi_yieldfrom
        yield from inner(box)

    def f():
        box = []
        box.append(outer(box))
        generator = box[0]
        seen = []
        for item in generator:
            seen.append((item, type(generator.gi_yieldfrom).__name__))
        return seen

    compiled = armature.compile(f)
    for _ in range(3):
        assert compiled() == f()


def test_generators_are_named_after_their_functions():
    def numbers():
        yield 1
        armature.graph_break()
        yield 2

    def f(function):
        generator = function()
        return next(generator), generator.__name__, generator.__qualname__, list(generator)

    compiled = armature.compile(f)
    assert compiled(numbers) == f(numbers)
    for name in ("other", "third", "numbers"):
        numbers.__name__ = name
        assert compiled(numbers) == f(numbers)
        numbers.__qualname__ = f"{name}.here"
        assert compiled(numbers) == f(numbers)


def handles(breaks):
    try:
        raise ValueError(breaks)
    except ValueError as error:
        if breaks:
            armature.graph_break()
        yield error
        yield breaks


def left_in_a_handler(breaks):
    generator = handles(breaks)
    next(generator)
    return generator, None


def left_behind_its_handler(breaks):
    generator = handles(breaks)
    error = next(generator)
    armature.graph_break()
    return generator, error.__traceback__.tb_frame is generator.gi_frame


def left_with_its_error(breaks):
    generator = handles(breaks)
    return generator, next(generator)


def left_at_its_end(breaks):
    generator = handles(breaks)
    error = next(generator)
    return generator, [type(error), list(generator)]


@pytest.mark.parametrize(
    ("fn", "breaks"),
    [
        (left_in_a_handler, False),
        (left_in_a_handler, True),
        (left_behind_its_handler, False),
        (left_with_its_error, False),
        (left_at_its_end, False),
        (left_at_its_end, True),
    ],
)
def test_tracebacks_show_the_frames_of_generators(fn, breaks):
    """So a generator that is left in a handler is no part of a cycle."""

    def look(run):
        generator, found = run(breaks)
        if isinstance(found, ValueError):
            entry = found.__traceback__
            frame = entry.tb_frame
            is_its = frame is generator.gi_frame
            found = is_its, entry.tb_lineno, entry.tb_next, sorted(frame.f_locals)
            del entry, frame
        reference = weakref.ref(generator)
        del generator
        alive = reference() is not None
        gc.collect()
        return found, alive, reference() is not None

    compiled = armature.compile(fn)
    gc.collect()
    gc.disable()
    try:
        assert [look(run) for run in (compiled, compiled)] == [look(fn)] * 2
    finally:
        gc.enable()

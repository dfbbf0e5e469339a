"""capture_frames: every Python function that a thread calls is captured, whoever calls it."""

import contextlib
import functools
import gc
import subprocess
import sys
import textwrap
import threading
import traceback
import weakref

import armature
import pytest
import torch
from armature import _C
from differential import compilations


def add(a, b=2, *rest, c=3, **others):
    return a, b, rest, c, sorted(others.items())


def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found


def says(text):
    print(text, end="")
    return total([1, 2]), text


def outcome(call):
    try:
        return "returned", call()
    except Exception as error:
        lines = [
            (frame.name, frame.lineno)
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.name not in ("outcome", "<lambda>")
        ]
        return type(error), str(error), lines, error.__context__, error.__cause__


def both(call):
    """Plainly, and twice captured: the outcomes."""
    plain = outcome(call)
    with armature.capture_frames() as frames:
        first, second = outcome(call), outcome(call)
    return plain, first, second, frames.counts


def raises(number):
    if number > 2:
        raise ValueError(number)
    return raises(number + 1)


def raises_from(number):
    try:
        return raises(number)
    except ValueError as error:
        raise KeyError("outer") from error


def counter(step):
    count = 0

    def advance():
        nonlocal count
        count += step
        return count

    return advance(), advance()


def by_keys(words):
    return sorted(words, key=lambda word: (len(word), word))


def generated(count):
    def squares():
        for i in range(count):
            yield total([i, i])

    return list(squares())


def made_in_a_class(value):
    class Holder:
        doubled = value * 2

        def __init__(self):
            self.own = value

        @property
        def both(self):
            return self.own, self.doubled

    return Holder().both


CALLS = {
    "arguments": lambda: add(1, 4, 5, 6, c=7, d=8, e=total([9])),
    "defaults": lambda: add(1),
    "too few": lambda: add(),
    "closure": lambda: counter(3),
    "recursion that raises": lambda: raises(0),
    "chained": lambda: raises_from(0),
    "sort key": lambda: by_keys(["ccc", "a", "bb", "aa"]),
    "reduce": lambda: functools.reduce(lambda a, b: a * 2 + b, [1, 2, 3, 4]),
    "generator": lambda: generated(4),
    "class": lambda: made_in_a_class(5),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_same_outcome(name):
    plain, first, second, counts = both(CALLS[name])
    assert repr(first) == repr(plain)
    assert repr(second) == repr(plain)
    if name != "too few":
        assert counts.whole + counts.broken > 0


def test_output_and_breaks(capsys):
    plain, first, second, counts = both(lambda: says("x"))
    assert plain == first == second == ("returned", (3, "x"))
    assert capsys.readouterr().out == "xxx"
    assert counts.broken == 2
    assert any("print" in reason for reason in counts.break_reasons)


def test_callbacks_of_c_are_captured():
    asked = []

    def key(number):
        asked.append(armature.is_compiling())
        return -number

    with armature.capture_frames() as frames:
        found = sorted([3, 1, 2], key=key)
    assert found == [3, 2, 1]
    assert frames.counts.whole == 3
    # It was captured in the first call; what is captured says so.
    assert asked == [True, True, True]


def test_functions_share_their_translations():
    def f(x):
        return x * 2 + 1

    compiled = armature.compile(f)
    compiled(3)
    before = len(_C.entries(compiled))
    with armature.capture_frames() as frames:
        assert f(3) == 7
    assert before == 1 and len(_C.entries(compiled)) == 1
    assert frames.counts.whole == 1


def test_outside_nothing_is_captured():
    def f():
        return armature.is_compiling()

    with armature.capture_frames():
        assert f()
    assert not f()


def test_the_backend_gets_the_graphs():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    def f(x):
        return x.relu() + 1

    with armature.capture_frames(backend=backend) as frames:
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0))
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0))
    assert len(graphs) == 1 and frames.counts.whole == 2


def test_an_exception_ends_it():
    with pytest.raises(ValueError):
        with armature.capture_frames():
            raises(0)
    assert not (lambda: armature.is_compiling())()
    with pytest.raises(ValueError, match=r"backend|mode"):
        armature.capture_frames(backend="eager", mode="max-autotune")


def test_nested_and_out_of_order():
    outer, inner = armature.capture_frames(), armature.capture_frames()
    with outer, inner:
        assert total([1, 2]) == 3
        with pytest.raises(RuntimeError, match="last"):
            outer.__exit__(None, None, None)
        with pytest.raises(RuntimeError, match="started already"):
            inner.__enter__()
    assert inner.counts.whole > 0 and outer.counts.whole == 0
    with pytest.raises(RuntimeError, match="last"):
        inner.__exit__(None, None, None)
    with inner:
        total([1])


def test_excluded_frames_have_their_reasons():
    def reads():
        here = 1
        return locals()

    def suspends():
        yield 1

    @armature.disable
    def disabled():
        return armature.is_compiling()

    @armature.disable(recursive=False)
    def disabled_itself():
        return armature.is_compiling(), (lambda: armature.is_compiling())()

    with armature.capture_frames() as frames:
        assert reads() == {"here": 1}
        assert list(suspends()) == [1]
        exec("x = 1", {})
        assert not disabled()
        assert disabled_itself() == (False, True)
    excluded = frames.counts.excluded
    assert {reason.split(" ")[0] for reason in excluded} >= {"reads", "the", "kept"}
    assert excluded["the body of a generator or coroutine"] == 1
    assert excluded["the body of a module or class"] == 1
    assert excluded["kept out of graphs by the program"] == 1


def test_skipped_modules_run_plainly():
    def f():
        return armature.is_compiling()

    with armature.config.patch(skip_modules=[__name__]):
        with armature.capture_frames() as frames:
            assert not f()
    assert frames.counts.whole == 0


def test_the_standard_library_is_captured_on_demand():
    import textwrap as library

    with armature.capture_frames() as frames:
        library.dedent(" a\n b")
    assert frames.counts.whole + frames.counts.broken == 0
    with armature.capture_frames(standard_library=True) as frames:
        assert library.dedent(" a\n b") == "a\nb"
    assert frames.counts.whole + frames.counts.broken > 0


def test_traced_frames_run_plainly():
    lines = []

    def trace(frame, event, argument):
        if frame.f_code is total.__code__ and event == "line":
            lines.append(frame.f_lineno - total.__code__.co_firstlineno)
        return trace

    before = sys.gettrace()
    with armature.capture_frames() as frames:
        sys.settrace(trace)
        try:
            total([1])
        finally:
            sys.settrace(before)
    assert lines == [1, 2, 3, 2, 4]
    assert frames.counts.excluded["a trace or profile function is set"] > 0


def test_threads_have_hooks_of_their_own():
    found = {}
    entered, done = threading.Event(), threading.Event()

    def is_captured():
        return armature.is_compiling()

    def captured():
        with armature.capture_frames():
            entered.set()
            done.wait(20)
            found["captured"] = is_captured()

    def plain():
        entered.wait(20)
        found["plain"] = is_captured()
        done.set()

    threads = [threading.Thread(target=captured), threading.Thread(target=plain)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"captured": True, "plain": False}


def depth_reached():
    def down(depth):
        try:
            return down(depth + 1)
        except RecursionError:
            return depth

    return down(0)


def test_recursion_ends_as_in_python():
    def endless(n):
        return endless(n + 1) + 1

    with armature.capture_frames():
        for _ in range(3):
            with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
                endless(0)
        assert depth_reached() > 100
        assert total([1, 2]) == 3


def test_references_are_given_back():
    class Thing:
        pass

    def keep(thing, *things, **named):
        if things:
            raise ValueError
        return [thing]

    def round(captured):
        thing = Thing()
        watched = weakref.ref(thing)
        with armature.capture_frames() if captured else contextlib.nullcontext():
            keep(thing)
            with pytest.raises(ValueError):
                keep(thing, thing, a=thing)
        count = sys.getrefcount(thing)
        del thing
        return watched, count

    (plain, expected), (first, _), (second, count) = round(False), round(True), round(True)
    assert count == expected
    assert plain() is first() is second() is None


def test_functions_and_namespaces_die():
    program = textwrap.dedent("""
        def f(x):
            return x + OFFSET

        class Thing: pass
        OFFSET = 1
        THING = Thing()
    """)
    with armature.capture_frames():
        namespace = {"__name__": "nowhere"}
        exec(program, namespace)
        assert namespace["f"](1) == 2
        thing = weakref.ref(namespace["THING"])
        del namespace
        gc.collect()
        assert thing() is None
    assert total([1]) == 1


def test_reset_forgets():
    def f(x):
        return x + 1

    armature.compile(f)
    with armature.capture_frames() as frames:
        f(1)
        armature.reset()
        assert f(2) == 3
    assert frames.counts.whole == 2


def test_a_frame_that_enters_it_is_left_to_python():
    def f(x):
        return x + 1

    def within(x):
        with armature.capture_frames() as frames:
            x = f(f(x))
        return frames.counts.whole, x

    def on_a_stack(x):
        with contextlib.ExitStack() as stack:
            frames = stack.enter_context(armature.capture_frames())
            x = f(f(x))
        return frames.counts.whole, x

    for function in within, on_a_stack:
        for _ in range(3):
            with armature.capture_frames() as outer:
                assert function(1) == (2, 3)
                before = outer.counts.whole
                assert f(1) == 2
            assert outer.counts.whole == before + 1


PROGRAMS = {
    "inside of TorchDynamo's": """
        def before(x):
            return x + 1

        compiled = torch.compile(before, backend="eager")
        assert compiled(x).sum() == 4
        with armature.capture_frames() as frames:
            assert f(x).sum() == 6
            assert compiled(x).sum() == 4
            torch._dynamo.reset()
            assert compiled(x).sum() == 4
            assert g(x).sum() == 6
        assert frames.counts.whole >= 2
        assert frames.counts.excluded["another frame hook is in force"] > 0
        assert compiled(x).sum() == 4
        with armature.capture_frames() as frames:
            assert g(x).sum() == 6
        assert frames.counts.whole == 1, frames.counts
    """,
    "entered while TorchDynamo runs": """
        @torch._dynamo.disable
        def inside(x):
            with armature.capture_frames() as frames:
                result = f(x)
            assert frames.counts.whole == 1, frames.counts
            return result

        @torch.compile(backend="eager")
        def around(x):
            return inside(x + 1) + 1

        for _ in range(3):
            assert around(x).sum() == 10
            with armature.capture_frames() as frames:
                assert f(x).sum() == 6 and around(x).sum() == 10
            assert f(x).sum() == 6
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_beside_another_hook(name):
    program = textwrap.dedent("""
        import armature, torch

        x = torch.ones(2)

        def f(x):
            return g(x) * 1

        def g(x):
            return x + 2 if x.dim() else x
    """) + textwrap.dedent(PROGRAMS[name])
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr


def test_the_next_object_finds_what_the_last_one_compiled():
    def step(numbers):
        with armature.capture_frames():
            return total(numbers), add(1, numbers[0])

    step([1, 2])
    with compilations() as made:
        for _ in range(3):
            assert step([1, 2]) == (3, (1, 1, (), 3, []))
    assert not made

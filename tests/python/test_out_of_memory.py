"""Where memory runs out, a call raises MemoryError or does what plain Python does; never less.

CPython's own allocators are made to refuse, from an allocation on, or once: while the call is
bound, traced, compiled and run.
"""

import contextlib
import io
import itertools
import os
import subprocess
import sys

import armature
import fault_injection
import pytest
from differential import compare, observe

_testcapi = pytest.importorskip("_testcapi")

# Whether torch and NumPy themselves survive is not for us to say. CPython 3.11 does not, where
# there is no memory for a cell that a function starts with (closures, generators).
NAMES = {"global_effects", "containers", "raises", "formatting", "classes", "cycles", "sorting"}
PROGRAMS = [p for p in fault_injection.PROGRAMS if p.function.__name__ in NAMES]
# The call has ended before, where nothing comes of so many allocations, one after the other.
ENOUGH = 60


def call_without_memory(fn, args, start, stop):
    """The error of a call during which the allocations from `start` to `stop` fail."""
    with contextlib.redirect_stdout(io.StringIO()):
        _testcapi.set_nomemory(start, stop)
        try:
            fn(*args)
        except Exception as error:
            return error
        finally:
            _testcapi.remove_mem_hooks()


def allocations(make, program, once):
    """Calls `make()`'s result again and again, in which one allocation after the other fails."""
    last = 0
    for start in itertools.count():
        fn = make()
        error = call_without_memory(fn, program.make(), start, start + 1 if once else 0)
        fault_injection.reset_globals()
        yield fn, error
        if error and not isinstance(error, ValueError):
            last = start
        if start > last + ENOUGH:
            return


def try_all(program, once):
    fn = program.function
    # In plain Python, it is not only MemoryError: a traceback needs memory, too.
    allowed = {type(error) for _, error in allocations(lambda: fn, program, once)}
    allowed |= {MemoryError}
    plain = observe(fn, program.make(), {}, None)
    met = 0
    for compiled, error in allocations(lambda: fault_injection.compile_afresh(fn), program, once):
        met += isinstance(error, MemoryError)
        if type(error) not in allowed:
            raise AssertionError(f"{type(error)} is none of {allowed}") from error
        # Nothing is left half done.
        compare(plain, observe(compiled, program.make(), {}, None))
        compare(plain, observe(compiled, program.make(), {}, None))
    assert met > 10, "memory did not run out"


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_memory_runs_out(program, once):
    with fault_injection.lenient():
        fault_injection.count_sites(program, "error")  # What is made once is there.
        assert fault_injection.in_child(lambda: try_all(program, once)) == ""


ADDRESS_SPACE = """
import resource, sys, armature
items = [[i] for i in range(100_000)]
def total(n):
    result = 0
    for item in items:
        result += item[0]
    return result
def lists(n):
    return len([[i] for i in range(n)])
def keys(n):
    return len({str(i): i for i in range(n)})
function, size, left = sys.argv[1:]
compiled = armature.compile(globals()[function])
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(left) * 2**20,) * 2)
try:
    print(compiled(int(size)) == int(size))
except MemoryError:
    print(None)
"""


@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="AddressSanitizer takes more address space than any limit leaves",
)
@pytest.mark.parametrize(
    "function, size", [("total", 4999950000), ("lists", 10**7), ("keys", 10**5)]
)
def test_there_is_no_more_to_be_had(function, size):
    """Of the system: what a trace allocates itself is not CPython's to refuse."""
    found = set()
    for left in (1, 3, 7, 16, 24, 31, 60):
        done = subprocess.run(
            [sys.executable, "-c", ADDRESS_SPACE, function, str(size), str(left)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (left, done.returncode, done.stderr)
        found.add(done.stdout)
    assert "None\n" in found and found <= {"None\n", "True\n"}


def test_names_without_utf8():
    """Lone surrogates have no UTF-8, for which CPython's functions return nothing."""
    fn = lambda kind: "{\ud800}".format(**{"\ud800": kind})  # noqa: E731
    compiled = armature.compile(fn)
    compare(observe(fn, (int,), {}, None), observe(compiled, (int,), {}, None))


@pytest.mark.parametrize("width", [3, -3, 0, 10**30, True, "3"])
@pytest.mark.parametrize("text", ["%*d", "%.*f", "%-*s"])
def test_widths_as_arguments(text, width):
    def fn(items):
        return text % (width, len(items))

    compiled = armature.compile(fn)
    compare(observe(fn, ([1],), {}, None), observe(compiled, ([1],), {}, None))


def test_names_without_utf8_on_arrays():
    np = pytest.importorskip("numpy")

    def fn(array):
        return getattr(array, "\ud800", 1), (array + 1).sum()

    compiled = armature.compile(fn)
    compare(observe(fn, (np.ones(2),), {}, None), observe(compiled, (np.ones(2),), {}, None))

"""Operations over every kind of value: those that once differed, and a sample of all of them by
hostile_values.py, which is also the command for more."""

import os
import subprocess
import sys
from pathlib import Path

import armature
import hostile_values
import pytest

SAMPLES = int(os.environ.get("ARMATURE_HOSTILE_SAMPLES", "150"))
STEP = 7919

# (what is done, the names of the values a and b)
OPERATIONS = [
    # Methods of an object of a builtin type into which the trace does not look.
    ("a.__reversed__()", "dict view", "2"),
    ("a.__reversed__()", "items view", "2"),
    ("reversed(a)", "cyclic view", "2"),
    ("a.__length_hint__()", "list iterator", "2"),
    # Special methods by name ask the operand's slot alone, and sequences raise by themselves.
    ("a.__mul__(b)", "()", "Plain"),
    ("a.__rmul__(b)", "()", "Plain"),
    ("a.__imul__(b)", "[]", "Plain"),
    ("a.__add__(b)", "()", "Plain"),
    ("a.__add__(b)", "()", "builtin method"),
    ("a.__eq__(b)", "frozenset", "Plain class"),
    ("a.__ne__(b)", "()", "len"),
    ("a.__ne__(b)", "{1, 2}", "{1: 2}"),
    ("a.__or__(b)", "{}", "OrderedDict"),
    # A class method makes an instance of the class by which it is called.
    ("collections.defaultdict.fromkeys(b, a)", "defaultdict", "range"),
    ("a.fromkeys([1])", "OddDict", "2"),
    # A module has data descriptors, and builtin functions attributes that can be set.
    ("setattr(a, '__class__', b)", "module", "Plain"),
    ("setattr(a, '__dict__', b)", "module", "{}"),
    ("setattr(a, '__module__', b), a.__module__, setattr(a, '__module__', 'builtins')", "len", "2"),
    # str() tells of __str__ where __repr__ stands in for it.
    ("str(a)", "__repr__ 1", "2"),
    ("str(ValueError(a))", "__repr__ 1", "2"),
    ("repr(a)", "__repr__ 1", "2"),
    ("f'{a}'", "__str__ 1", "2"),
    # What came in is what goes out, in the next call too.
    ("slice(a, b)", "slice", "range"),
    ("(a, b)", "(1, 2)", "frozenset"),
    ("a[:b]", "cyclic tuple", "2**70"),
    ("a + ()", "cyclic tuple", "2"),
    ("() + a", "cyclic tuple", "2"),
    ("a * 1", "cyclic tuple", "2"),
    # Iterators of existing and new containers.
    ("reversed([a, b])", "2", "2"),
    ("iter({a: b})", "2", "2"),
    ("iter(frozenset([a]))", "2", "2"),
    ("[b].index(a, 1)", "OddList", "2"),
    ("a.index(b, b)", "[1, 2]", "OddList"),
    ("a.release()", "memoryview", "2"),
    ("set([True, (1, 2)])", "2", "2"),
    ("'%*d' % (a, 3)", "2**70", "2"),
    ("'{x}'.format(**{a: 1})", "surrogate", "2"),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation[0])
def test_operation(operation):
    text, *names = operation
    missing = [name for name in names if name not in hostile_values.VALUES]
    assert not missing
    assert not hostile_values.difference((hostile_values.program(text), tuple(names)))


@pytest.mark.parametrize("start", [1, 2, 3, 4])
def test_sample(start):
    program = Path(__file__).with_name("hostile_values.py")
    end = start + SAMPLES * STEP
    done = subprocess.run(
        [sys.executable, program, str(start), str(STEP), str(end)],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(Path(armature.__file__).parent.parent)),
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("@")] == []
    assert lines and lines[-1] == "@end", f"after {lines[-1:]}: {done.stderr[-2000:]}"

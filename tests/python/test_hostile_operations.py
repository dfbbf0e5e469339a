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


# The same, with the exception caught: one that leaves may come from Python's own call.
CAUGHT_OPERATIONS = [
    # Texts of errors name what was given, and show it as it shows itself.
    ("int(a)", "Text.A", "2"),
    ("float(a)", "Text.A", "2"),
    ("a + b", "range", "[1, 2]"),
    ("a + b", "b'ab'", "[1, 2]"),
    ("divmod(b, a)", "OddInt", "slice"),
    ("list(itertools.combinations(b, a))", "2**70", "[1, 2]"),
    ("list(itertools.product(b, repeat=a))", "2**70", "[1, 2]"),
    ("a.__getitem__(b)", "deque", "'abc'"),
    ("a.__setitem__(b, b)", "deque", "'abc'"),
    ("a.__delitem__(b)", "OddDeque", "'abc'"),
    ("a[b]", "OddDeque", "'abc'"),
    ("[a.__setitem__(0, b), a[b:]]", "OddDeque", "'abc'"),
    ("a + b", "torch.Size", "UserDict"),
    ("[1, 2][b::a]", "0", "'abc'"),
    ("a.groupdict(b, b)", "match", "2"),
    ("re.match('(?P<n>a)?', 'b').groupdict(b)", "2", "(1, 2)"),
    ("a * b", "range", "{1, 2}"),
    ("a + b", "OddBytes", "[1, 2]"),
    ("a.__add__(b)", "OddBytes", "[1, 2]"),
    ("a * b", "OddStr", "[1, 2]"),
    ("a < (int, b)", "torch.Size", "2"),
    ("(int, b) < a", "torch.Size", "2"),
    ("a.__eq__(((int, b), b))", "torch.Size", "[1, 2]"),
    ("'abc'[b::a]", "0", "'abc'"),
    ("'%(a)s' % a", "OddDeque", "2"),
    ("a.from_iterable(b, b)", "chain", "2"),
    ("delattr(a, 'absent')", "module", "2"),
    ("a.__iter__(b, b)", "OddStr", "2"),
    ("a.__repr__(b)", "partial", "2"),
    ("a.__setattr__(b)", "OddFloat", "2"),
    ("a.__setattr__(b=b)", "OddFloat", "2"),
    ("a.__new__(b, b)", "()", "itemgetter"),
    ("itertools.cycle(a, b)", "2", "2"),
    ("itertools.pairwise()", "2", "2"),
    ("itertools.compress(a, b, a)", "2", "2"),
    ("functools.cmp_to_key(a, b)", "2", "2"),
    ("os.fspath(a)", "date", "2"),
    ("os.fspath(a)", "__fspath__ 1", "2"),
    ("a.from_iterable()", "chain", "2"),
    # Texts and bytes that the trace does not look into.
    ("a + b", "b'ab'", "array"),
    ("','.join([a, a])", "np.str_", "2"),
    ("a in 'xaby'", "np.str_", "2"),
    ("','.join(a)", "np.array", "2"),
    # What is left of an iterator, and what it walks over.
    ("a.intersection(b)", "frozenset", "chain"),
    ("a.intersection(b), next(b)", "frozenset", "generator"),
    ("list(a.from_iterable([[1], [b]]))", "chain", "2"),
    ("iter(a)", "OddStr", "2"),
    ("zip(a, b)", "OddBytes", "torch.Size"),
    ("[iter(a), enumerate(b)]", "torch.Size", "Text.A"),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation[0])
def test_operation(operation):
    text, *names = operation
    assert not hostile_values.difference((hostile_values.program(text), tuple(names)))


@pytest.mark.parametrize("operation", CAUGHT_OPERATIONS, ids=lambda operation: operation[0])
def test_caught_operation(operation):
    text, *names = operation
    program = hostile_values.caught(hostile_values.program(text))
    assert not hostile_values.difference((program, tuple(names)))


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

"""Lifted and lowered code is what it was, in all of the standard library, and runs as it did."""

import importlib.util
import json
import subprocess
import sys
import sysconfig
import types
import warnings
from pathlib import Path

import pytest
from armature import _C

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
RUNNER = Path(__file__).with_name("round_trip_runner.py")


def sources(root):
    for path in sorted(root.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield path


def compiled(path):
    """The file's code object, or None: some files of the tests are wrong on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None


def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def plain_constants(code):
    return [c for c in code.co_consts if not isinstance(c, types.CodeType)]


# The tables and the code to the byte: instructions, EXTENDED_ARG, positions, exception regions.
EQUAL_ATTRIBUTES = """
    co_argcount co_cellvars co_code co_exceptiontable co_filename co_firstlineno co_flags
    co_freevars co_kwonlyargcount co_linetable co_name co_names co_nlocals co_posonlyargcount
    co_qualname co_varnames
""".split()


def assert_same(original, result):
    for name in EQUAL_ATTRIBUTES:
        assert getattr(result, name) == getattr(original, name), name
    assert all(
        a is b for a, b in zip(plain_constants(result), plain_constants(original), strict=True)
    )


def test_standard_library():
    """Every code object, CPython's own tests among them where they are installed."""
    count = larger = smaller = 0
    for path in sources(STANDARD_LIBRARY):
        module = compiled(path)
        if module is None:
            continue
        results = code_objects(_C.round_trip(module))
        for original, result in zip(code_objects(module), results, strict=True):
            try:
                assert_same(original, result)
            except AssertionError as error:
                error.add_note(f"in {original.co_qualname}, {path}:{original.co_firstlineno}")
                raise
            count += 1
            larger += result.co_stacksize > original.co_stacksize
            smaller += result.co_stacksize < original.co_stacksize
    assert count > 10_000
    # CPython's compiler counts the handlers of `try` blocks that cannot raise; we needn't.
    assert larger == 0
    assert smaller < count / 1000


def test_stretched_code_round_trips():
    """Code with other offsets than the compiler's is lifted as it was lowered."""
    for path in list(sources(STANDARD_LIBRARY))[::20]:
        module = compiled(path)
        if module is None:
            continue
        stretched = _C.round_trip(module, stretch=True)
        again = _C.round_trip(stretched)
        for one, other in zip(code_objects(stretched), code_objects(again), strict=True):
            assert one.co_code == other.co_code
            assert one.co_linetable == other.co_linetable
            assert one.co_exceptiontable == other.co_exceptiontable


def test_code_that_already_ran():
    """Specialization leaves no trace."""

    def work(things):
        total = 0
        for index, thing in enumerate(things):
            total += thing.real * 2 + len(str(index))
            {"a": total}["a"], [total][0], f"{thing:>5}"
        return total

    before = _C.disassemble(work.__code__.replace())
    for _ in range(50):
        work([1, 2, 3])
    work.__code__ = _C.round_trip(work.__code__)
    assert work([1, 2, 3]) == 15
    assert _C.disassemble(work.__code__) == before


def test_wrong_arguments():
    with pytest.raises(TypeError):
        _C.round_trip(1)
    with pytest.raises(TypeError, match="not int"):
        _C.disassemble(1)
    with pytest.raises(ValueError):
        _C.round_trip((lambda: 1).__code__.replace(co_code=b"\xff\x00"))


# Tests of what bytecode does, and of library modules that use much of it.
CPYTHON_TESTS = """
    test_asyncgen test_asyncio.test_futures test_asyncio.test_locks test_asyncio.test_pep492
    test_asyncio.test_queues test_asyncio.test_timeouts test_augassign test_binop test_class
    test_collections test_compare test_contextlib test_contextlib_async test_coroutines
    test_dataclasses test_decorators test_descr test_dictcomps test_dynamicclassattribute
    test_enum test_except_star test_exception_variations test_exceptions test_extcall test_frame
    test_fstring test_funcattrs test_functools test_generators test_genexps test_global
    test_grammar test_heapq test_iter test_json test_keywordonlyarg test_listcomps
    test_metaclass test_named_expressions test_patma test_pdb test_positional_only_arg
    test_pprint test_property test_raise test_re test_scope test_setcomps test_string_literals
    test_super test_sys_setprofile test_sys_settrace test_textwrap test_traceback test_typing
    test_unary test_unpack test_unpack_ex test_with test_yield_from
""".split()


@pytest.mark.parametrize("mode", ["round_trip", "stretch"])
def test_cpythons_tests_pass(mode):
    if importlib.util.find_spec("test.test_grammar") is None:
        pytest.skip(
            "CPython's own tests are not installed: nothing RAN on round-tripped code. "
            "On Debian: apt-get install libpython3.11-testsuite"
        )
    command = [sys.executable, "-I", "-S", "-X", "frozen_modules=off", RUNNER, _C.__file__, mode]
    done = subprocess.run(command + CPYTHON_TESTS, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert sorted(outcome) == sorted(CPYTHON_TESTS)
    failed = {test: failures for test, (_, failures) in outcome.items() if failures}
    assert not failed, done.stderr[-5000:]
    assert sum(number for number, _ in outcome.values()) > 3000

"""CPython's own tests of what unwinds: each method has the same outcome when it is compiled,
and when it is compiled with a graph break before every instruction."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
from changing_world import open_differences

RUNNER = pathlib.Path(__file__).with_name("cpython_suite_runner.py")

SUITES = [
    "test_baseexception",
    "test_contextlib",
    "test_coroutines",
    "test_except_star",
    "test_exception_group",
    "test_exceptions",
    "test_generator_stop",
    "test_generators",
    "test_raise",
    "test_traceback",
    "test_with",
    "test_yield_from",
]

# Of the language and of the types that programs are made of.
LANGUAGE = [
    "test_abc",
    "test_argparse",
    "test_augassign",
    "test_binop",
    "test_bool",
    "test_builtin",
    "test_bytes",
    "test_call",
    "test_class",
    "test_collections",
    "test_compare",
    "test_complex",
    "test_contains",
    "test_copy",
    "test_dataclasses",
    "test_decorators",
    "test_defaultdict",
    "test_deque",
    "test_descr",
    "test_dict",
    "test_dictcomps",
    "test_difflib",
    "test_dynamic",
    "test_dynamicclassattribute",
    "test_enum",
    "test_enumerate",
    "test_exception_hierarchy",
    "test_exception_variations",
    "test_float",
    "test_format",
    "test_fractions",
    "test_fstring",
    "test_funcattrs",
    "test_functools",
    "test_genericalias",
    "test_global",
    "test_grammar",
    "test_hash",
    "test_heapq",
    "test_index",
    "test_int",
    "test_isinstance",
    "test_iter",
    "test_itertools",
    "test_json",
    "test_keywordonlyarg",
    "test_list",
    "test_math",
    "test_named_expressions",
    "test_numeric_tower",
    "test_operator",
    "test_ordered_dict",
    "test_patma",
    "test_positional_only_arg",
    "test_pow",
    "test_pprint",
    "test_property",
    "test_random",
    "test_range",
    "test_re",
    "test_reprlib",
    "test_richcmp",
    "test_scope",
    "test_set",
    "test_shlex",
    "test_slice",
    "test_sort",
    "test_statistics",
    "test_string",
    "test_subclassinit",
    "test_super",
    "test_textwrap",
    "test_tuple",
    "test_typechecks",
    "test_types",
    "test_typing",
    "test_unary",
    "test_unicode",
    "test_userdict",
    "test_userlist",
    "test_weakref",
    "test_weakset",
]

# Tests of the interpreter itself, which a compiled function is not: the method, and why.
ABOUT_THE_INTERPRETER = {
    "test_dict.DictTest.test_splittable_popitem": "the size of a dict in memory",
    "test_descr.ClassPropertiesAndMethods.test_restored_object_new": "CPython fails it, we do not",
    "test_raise.TestTracebackType.test_attrs": "the frame that runs, by identity",
    "test_coroutines.CoroutineTest.test_for_2": "counts references",
    "test_enumerate.TestReversed.test_bug1229429": "counts references",
    "test_traceback.PyExcReportingTests.test_KeyboardInterrupt_at_first_line_of_frame": "the "
    "first instruction of the frame that runs",
    "test_re.ReTests.test_search_anchor_at_beginning": "a tenth of a second by the clock",
}


def outcomes(suite: str, mode: str) -> dict[str, str]:
    try:
        run = subprocess.run(
            [sys.executable, RUNNER, f"test.{suite}", mode],
            capture_output=True,
            text=True,
            timeout=400,
        )
        lines, end = run.stdout.splitlines(), f"ended the process with {run.returncode}"
    except subprocess.TimeoutExpired as expired:
        lines, end = (expired.stdout or b"").decode().splitlines(), "took too long"
    found: dict[str, str] = {}
    for line in lines:
        first, second = json.loads(line)
        found[second if first == "begin" else first] = end if first == "begin" else second
    return found


@pytest.mark.parametrize(
    "suite, mode",
    [(suite, mode) for suite in SUITES for mode in ("captured", "broken")]
    + [(suite, "captured") for suite in LANGUAGE],
)
def test_outcomes_are_the_same(suite: str, mode: str) -> None:
    plain, captured = outcomes(suite, "plain"), outcomes(suite, mode)
    assert plain and all(not text.startswith("ended") for text in plain.values())
    different = {
        name: (text, captured.get(name))
        for name, text in plain.items()
        if captured.get(name) != text
    }
    left_out = open_differences()
    for name in list(different):
        full = f"{suite}.{name}"
        if full in ABOUT_THE_INTERPRETER or f"cpython: {full}" in left_out:
            del different[name]
    assert not different

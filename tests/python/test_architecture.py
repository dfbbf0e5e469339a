"""The rules of the rooms that no compiler holds, as a scan of the sources.

`./dev lint` runs this file, so it imports nothing that must be built.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
NO_ROOMS = {"tests", "benchmarks", "examples", "third_party"}


ALL_ROOMS = {file.parent.name for file in ROOT.glob("*/BUILD")}


class Rule(NamedTuple):
    name: str
    pattern: str  # what must not stand in a line of code
    rooms: set[str]  # where it may stand
    instead: str
    files: set[str] = set()  # where else it may stand


RULES = [
    Rule(
        "private functions",
        r"\b_Py[A-Z]\w*|Py_BUILD_CORE|internal/pycore_",
        {"cpython", "bytecode"},
        "a function of cpython/ with a name of its own",
    ),
    Rule(
        "versions",
        r"\b(ma_version_tag|tp_version_tag|func_version)\b",
        {"cpython"},
        "cpython/version_tags.h",
    ),
    Rule(
        "layouts",
        # (".tp_dictoffset =" fills in a type of ours.)
        r"(->|\.)(ma_\w+|dk_\w+|func_\w+|m_ml|m_module|m_self|d_method|d_member|ob_digit|ob_item"
        r"|ob_sval|ob_shash|ob_ref|c_tracefunc|c_profilefunc|cframe|ht_\w+|tp_mro|tp_dict"
        r"|tp_bases)\b|->tp_dictoffset\b|offsetof\(Py",
        {"cpython", "bytecode"},
        "a function of cpython/ that says what is read",
    ),
    Rule(
        "facts",
        # What belongs to static types of C, to the builtins and to sys.modules may be read.
        r"\bcpython::lookup(After|Place)?\((?!&Py)|\bPyDict_GetItem\w*\("
        r"(?!PyEval_GetBuiltins|PyImport_GetModuleDict)|\bPyObject_GetAttr\("
        r"|\bPyObject_Is(Subclass|Instance)\(",
        ALL_ROOMS - {"variables", "interpreter"},
        "a question to heap/, which guards the answer",
    ),
    Rule(
        "slots",
        # The program may give a class of its own a special method, or take it away.
        r"->tp_(iter|iternext|hash|call|as_number|as_sequence|as_mapping)\b",
        {"cpython", "guards"},
        "Heap::hasSpecial(), or fillsSlot() of cpython/ for a type that nothing can change",
    ),
    Rule(
        "kinds",
        # A value of the program's may always be of another kind: an object of the same type that
        # the trace does not look into, or of a subclass.
        r"llvm::cast<|\btrackerOf<\w+>\([^()]*\)->",
        ALL_ROOMS - {"variables", "interpreter", "libraries"},
        "requireKind()",
    ),
    Rule(
        "lost interrupts",
        # What is set may be what a signal's handler has raised.
        r"\bPyErr_Clear\b",
        {"cpython"},
        "clearException(), which keeps an interrupt, or clearUnlessInterrupted()",
        {"core/pending_python_exception.h", "core/pending_python_exception.cc"},
    ),
    Rule(
        "imports",
        # It calls what the program has put into builtins.
        r"\bPyImport_Import(Module\w*)?\(",
        {"cpython"},
        "cpython::importModule()",
    ),
    Rule(
        "libraries",
        # In names and in texts.
        r"(?i)\w*(torch|numpy)\w*",
        ALL_ROOMS - {"variables", "codegen", "interpreter", "heap", "runtime"},
        "a question to variables/library.h, which the libraries answer",
        # These register the libraries, and hand graphs to torch's backends.
        {"runtime/libraries.cc", "runtime/codegen_environment.cc"},
    ),
]


def code_lines(file: Path) -> list[str]:
    """The lines of a C++ file without comments."""
    return [line.split("//")[0] for line in file.read_text().splitlines()]


def sources() -> list[Path]:
    folders = [folder for folder in ROOT.iterdir() if (folder / "BUILD").exists()]
    return [
        file
        for folder in folders
        if folder.name not in NO_ROOMS and not folder.is_symlink()
        for file in sorted(folder.rglob("*"))
        if file.suffix in {".cc", ".h", ".def"}
    ]


def breaches(rule: Rule) -> list[str]:
    found = []
    for file in sources():
        place = file.relative_to(ROOT)
        if place.parts[0] in rule.rooms or str(place) in rule.files:
            continue
        for number, line in enumerate(code_lines(file), 1):
            if match := re.search(rule.pattern, line):
                found.append(f"{place}:{number}: {match[0]}; use {rule.instead}")
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_room_breaks_a_rule(rule: Rule):
    found = breaches(rule)
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rule_is_needed_where_it_allows(rule: Rule):
    """A rule that nothing would break any more says nothing."""
    unrestricted = rule._replace(rooms=set())
    rooms = {breach.split("/")[0] for breach in breaches(unrestricted)}
    assert rooms, f"no source has {rule.pattern}"


# A new reference from CPython, taken over unlooked at. `checked()` (core/checked.h) looks; else the
# variable has to be looked at within the next lines, or the reference is only handed on.
NEW_REFERENCE = re.compile(
    r"\bsteal\(\s*(?:reinterpret_cast<[^>]*>\(\s*)?(?:[\w.()]+ \? )?"
    r"(?!PyException_Get|PyFrame_Get)Py[A-Z]\w+\("
)
LOOKED_AT = (
    r"(!{0}\b|\b{0} (&&|\|\||\?)|\(\s*{0}\)|(&&|\|\|) {0}\b|return {0};|{0} = nullptr"
    r"|\b{0}\.get\(\) ==)"
)
HANDED_ON = re.compile(
    r"(Ref<[^>]*>::steal\(|(case .*:\s*)?(if \(.*\)\s*)?return .*steal\(|while \(Ref|if \(Ref"
    r"|.*\bset\(\")",
    re.DOTALL,
)
# They test the interpreter, or themselves answer to Python with what they were given.
RESULTS_IN = {"cpython", "python", "runtime"}


def unchecked_results(file: Path) -> list[str]:
    text = "\n".join(code_lines(file))
    found = []
    for match in NEW_REFERENCE.finditer(text):
        start = max(text.rfind(c, 0, match.start()) for c in ";{}") + 1
        end = text.find(";", match.end())
        statement = text[start:end].strip()
        after = "\n".join(text[end : end + 800].split("\n")[:9])
        names = re.findall(r"([\w.\->]+)\s*=\s*(?:Ref<[^>]*>|Value)::steal", statement)
        if HANDED_ON.match(statement):
            continue
        if not any(re.search(LOOKED_AT.format(re.escape(name)), after) for name in names):
            number = text.count("\n", 0, match.start()) + 1
            found.append(f"{file.relative_to(ROOT)}:{number}: {statement}; use checked()")
    return found


def test_results_of_cpython_are_checked():
    """Each may be null, where memory runs out if nowhere else."""
    files = [f for f in sources() if f.relative_to(ROOT).parts[0] not in RESULTS_IN]
    found = [line for file in files for line in unchecked_results(file)]
    assert not found, "\n".join(["", *found])


def test_text_of_strings_is_checked():
    """PyUnicode_AsUTF8 gives null for lone surrogates: printable() takes any text."""
    bare = re.compile(r"(?<!char\* text = )(?<!message = text \? )\bPyUnicode_AsUTF8\w*\(")
    places = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sources()
        if file.relative_to(ROOT).as_posix() != "core/text.cc"
        and file.relative_to(ROOT).parts[0] != "python"
        for number, line in enumerate(code_lines(file), 1)
        if bare.search(line)
    ]
    assert not places, "\n".join(["", *places])


def test_public_headers_show_nothing_of_the_engine():
    """They include each other, Python.h and the standard library."""
    included = [
        (file.name, name)
        for file in sorted((ROOT / "include" / "armature").glob("*.h"))
        for name in re.findall(r'#include [<"](.+)[>"]', file.read_text())
    ]
    assert included
    allowed = re.compile(r"armature/\w+\.h|Python\.h|[a-z_]+")
    assert [pair for pair in included if not allowed.fullmatch(pair[1])] == []


def names_made_again(text: str) -> list[int]:
    """Lines where staticName(), or a function that hands on what it gives, is neither called for a
    static variable nor its reference taken over."""
    wrappers = re.findall(r"PyObject\* (\w+)\(const char\* \w+\) \{ return staticName\(", text)
    calls = "|".join(["staticName", *wrappers])
    found = []
    for match in re.finditer(rf"(?<![\w.>:])(?:{calls})\((?!const char)", text):
        start = max(text.rfind(end, 0, match.start()) for end in (";", "}", ") {"))
        before = text[start + 1 : match.start()]
        if not re.search(r"\bstatic\b|steal\($|return $", before):
            found.append(text.count("\n", 0, match.start()) + 1)
    return found


def test_names_that_stay_are_made_once():
    """Each call of staticName() leaves a reference behind."""
    assert names_made_again("PyObject* f() { g(staticName(name)); return nullptr; }") == [1]
    places = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sources()
        if file.suffix == ".cc"
        for line in names_made_again(file.read_text())
    ]
    assert not places, "\n".join(["", *places])

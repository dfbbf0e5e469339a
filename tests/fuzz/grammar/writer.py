"""The machinery of the grammar: productions by kind, scopes, and text with indentation.

A production is a function of the Writer. For a kind of value (``produces``) it returns an
expression that is likely of this kind; as a statement (``statement``) it writes lines; as a change
of the world (``change``) it returns source that runs between two calls. A program uses the
productions of a few subjects only, so that these meet often.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

Kind = Literal[
    "number", "text", "truth", "list", "dict", "object", "class", "function", "array", "key"
]
KINDS: tuple[Kind, ...] = (
    "number",
    "text",
    "truth",
    "list",
    "dict",
    "object",
    "class",
    "function",
    "array",
    "key",
)
SUBJECTS = (
    "inheritance",
    "special_methods",
    "attributes",
    "builtin_bases",
    "containers",
    "closures",
    "exceptions",
    "generators",
    "contexts",
    "identity",
    "names",
    "arrays",
    "output",
    "lifetimes",
    "metaclasses",
)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class _Production:
    write: Callable[[Writer], str]
    subject: str | None
    weight: int


_expressions: dict[str, list[_Production]] = {kind: [] for kind in KINDS}
_statements: list[_Production] = []
_changes: list[_Production] = []


def _register(into: list[_Production], subject: str | None, weight: int) -> Callable[[T], T]:
    if subject is not None and subject not in SUBJECTS:
        raise ValueError(f"no subject {subject!r}")

    def decorate(write: T) -> T:
        into.append(_Production(write, subject, weight))  # type: ignore[arg-type]
        return write

    return decorate


def produces(kind: Kind, subject: str | None = None, weight: int = 2) -> Callable[[T], T]:
    return _register(_expressions[kind], subject, weight)


def statement(subject: str | None = None, weight: int = 2) -> Callable[[T], T]:
    return _register(_statements, subject, weight)


def change(subject: str | None = None, weight: int = 2) -> Callable[[T], T]:
    return _register(_changes, subject, weight)


@dataclasses.dataclass(slots=True)
class Class:
    """A class of the program, as far as the grammar has to know it."""

    name: str
    base: str = ""
    takes: int = 1  # the arguments of __init__


@dataclasses.dataclass(slots=True)
class Names:
    """What exists in the world. Few names, so that program and changes mean the same things."""

    classes: list[Class] = dataclasses.field(default_factory=list)
    functions: list[str] = dataclasses.field(default_factory=list)
    generators: list[str] = dataclasses.field(default_factory=list)
    managers: list[str] = dataclasses.field(default_factory=list)
    numbers: tuple[str, ...] = ("N", "M")
    attributes: tuple[str, ...] = ("x", "y", "size")
    properties: tuple[str, ...] = ("area", "total")
    methods: tuple[str, ...] = ("m0", "m1", "m2")
    keys: tuple[str, ...] = ("'a'", "'b'", "'x'", "1", "(1, 2)")


class Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.subjects = set(self.random.sample(SUBJECTS, self.random.randint(2, 5)))
        self.names = Names()
        self.scope: dict[str, list[str]] = {kind: [] for kind in KINDS}
        self.level = 0  # Functions and methods call those of lower levels only, so calls end.
        self.depth = 0
        self.blocks = 0
        self.loops = 0
        self._lines: list[str] = []
        self._fresh = 0

    # --- Choices

    def pick(self, *alternatives: T) -> T:
        return self.random.choice(alternatives)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def wants(self, subject: str) -> bool:
        return subject in self.subjects

    def choose(self, productions: list[_Production]) -> _Production:
        allowed = [p for p in productions if p.subject is None or p.subject in self.subjects]
        # What a program is about comes more often than what is common to all.
        weights = [p.weight * (1 if p.subject is None else 3) for p in allowed]
        return self.random.choices(allowed, weights)[0]

    # --- Text

    def line(self, text: str) -> None:
        self._lines += ["    " * self.blocks + part for part in text.split("\n")]

    @contextlib.contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines under a header. The names that are bound there are not known afterwards."""
        self.line(header)
        self.blocks += 1
        scope = {kind: list(names) for kind, names in self.scope.items()}
        length = len(self._lines)
        try:
            yield
        finally:
            if len(self._lines) == length:
                self.line("pass")
            self.scope = scope
            self.blocks -= 1

    def take(self) -> str:
        text = "\n".join(self._lines) + "\n"
        self._lines = []
        return text

    def fresh(self, prefix: str) -> str:
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    # --- Programs

    def bind(self, kind: str, name: str) -> str:
        if name not in self.scope[kind]:
            self.scope[kind].append(name)
        return name

    def expression(self, kind: Kind) -> str:
        """An expression that is likely, but not surely, of the kind."""
        if self.chance(0.02):
            kind = self.pick(*KINDS)
            if kind == "array" and not self.wants("arrays"):
                kind = "number"
        if self.depth >= 3 or self.chance(0.35):
            return self.leaf(kind)
        self.depth += 1
        try:
            return self.choose(_expressions[kind]).write(self)
        finally:
            self.depth -= 1

    def leaf(self, kind: Kind) -> str:
        names = self.scope[kind]
        if names and self.chance(0.8):
            return self.pick(*names)
        return self.literal(kind)

    def literal(self, kind: Kind) -> str:
        match kind:
            case "number":
                return self.pick("0", "1", "2", "3", "-1", "0.5", *self.names.numbers)
            case "text":
                return self.pick("'a'", "'b'", "'x'", "''")
            case "truth":
                return self.pick("True", "False", *(self.scope["number"] or ("1",)))
            case "list":
                return self.pick("LOG", "[]", "[1, 2]", "[3, 1, 2]")
            case "dict":
                return self.pick("TABLE", "{}", "{'a': 1}", "{'x': 2, 'b': 3}")
            case "object":
                return self.pick("OBJ", "OTHER")
            case "class":
                return (
                    self.pick(*(c.name for c in self.names.classes))
                    if (self.names.classes)
                    else "object"
                )
            case "function":
                return self.pick("abs", "(lambda v: v)", *self.functions())
            case "array":
                return "W"
            case "key":
                return self.pick(*self.names.keys)

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.choose(_statements).write(self)

    def change(self) -> str:
        return self.choose(_changes).write(self)

    # --- Names that may be used here

    def functions(self) -> list[str]:
        """Those that code of this level may call."""
        return [f for f in self.names.functions if 2 * int(f[1:]) < self.level]

    def methods(self) -> list[str]:
        return [m for m in self.names.methods if 2 * int(m[1:]) + 1 < self.level]

    def generator(self) -> str:
        """The name of a generator function; below the entry, of something that can be iterated."""
        return self.pick(*self.names.generators) if self.level > 7 else "(lambda v=1: iter([v, 2]))"

    def attribute(self) -> str:
        return self.pick(*self.names.attributes)

    def class_name(self) -> str:
        return self.literal("class")

    def exact_class(self) -> Class:
        return self.pick(*self.names.classes)

"""Makes a failing program small: statements, expressions and steps go while the failure stays."""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.program import ENTRY, Program, Step

_BLOCKS = ("body", "orelse", "finalbody")
# The lists of a syntax tree from which elements may go.
_LISTS = (
    "body", "orelse", "finalbody", "handlers", "decorator_list", "bases", "keywords", "elts",
    "args", "defaults", "kw_defaults", "kwonlyargs", "names", "items", "generators", "ifs",
    "targets", "values", "ops",
)  # fmt: skip


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program found within the time for which ``fails`` still holds."""
    return _Shrinker(program, fails, time.monotonic() + seconds).run()


class _Shrinker:
    def __init__(self, program: Program, fails: Callable[[Program], bool], deadline: float) -> None:
        self.best = program
        self.fails = fails
        self.deadline = deadline
        self.tried: set[tuple[object, ...]] = set()

    def run(self) -> Program:
        size = None
        while size != self.best.size and time.monotonic() < self.deadline:
            size = self.best.size
            self.steps()
            self.source(_without_elements)
            self.step_texts(_without_elements)
            self.source(_hoisted)
            self.source(_simplified)
            self.step_texts(_simplified)
        return self.best

    def better(self, candidate: Program) -> bool:
        key = (candidate.source, candidate.steps)
        if key in self.tried or time.monotonic() > self.deadline:
            return False
        self.tried.add(key)
        if not _is_valid(candidate) or not self.fails(candidate):
            return False
        self.best = candidate
        return True

    def steps(self) -> None:
        """Delta debugging: chunks of half the length first, down to single steps."""
        size = max(1, len(self.best.steps) // 2)
        while True:
            start = 0
            while start < len(self.best.steps):
                steps = self.best.steps[:start] + self.best.steps[start + size :]
                candidate = dataclasses.replace(self.best, steps=steps)
                if not steps or not self.better(candidate):
                    start += size
            if size == 1:
                return
            size //= 2

    def source(self, find: _Reductions) -> None:
        def attempt(text: str) -> bool:
            return self.better(dataclasses.replace(self.best, source=text))

        _reduce(lambda: self.best.source, attempt, find)

    def step_texts(self, find: _Reductions) -> None:
        for number in range(len(self.best.steps)):
            step = self.best.steps[number]

            def read(number: int = number) -> str:
                return str(self.best.steps[number])

            def attempt(text: str, number: int = number, step: Step = step) -> bool:
                if step.is_call:
                    if not (text.startswith(f"{ENTRY}(") and text.endswith(")")):
                        return False
                    text = text[len(ENTRY) + 1 : -1]
                steps = list(self.best.steps)
                same = [i for i, other in enumerate(steps) if other == steps[number]]
                for index in same:  # A repeated call stays one.
                    steps[index] = Step(text, step.is_call)
                return self.better(dataclasses.replace(self.best, steps=tuple(steps)))

            _reduce(read, attempt, find)


# A way to change the node of a number (in the order of ast.walk); False where it cannot be done.
_Edit = Callable[[Any], bool]
_Reductions = Callable[[ast.Module], Iterator[tuple[int, _Edit]]]


def _reduce(read: Callable[[], str], attempt: Callable[[str], bool], find: _Reductions) -> None:
    """Tries the reductions one after the other, each on what the last success has left."""
    position = 0
    while True:
        try:
            tree = ast.parse(read())
        except (SyntaxError, RecursionError):
            return
        for index, (number, edit) in enumerate(find(tree)):
            if index < position:
                continue
            text = _edited(tree, number, edit)
            if text is not None and attempt(text):
                position = index
                break
        else:
            return


def _edited(tree: ast.Module, number: int, edit: _Edit) -> str | None:
    changed = copy.deepcopy(tree)
    if not edit(next(itertools.islice(ast.walk(changed), number, None))):
        return None
    try:
        return ast.unparse(ast.fix_missing_locations(changed))
    except Exception:  # Parts that only make sense together were torn apart.
        return None


def _is_valid(program: Program) -> bool:
    try:
        compile(program.source, "<candidate>", "exec")
        for step in program.steps:
            compile(str(step), "<candidate>", "exec")
    except (SyntaxError, ValueError):
        return False
    return any(step.is_call for step in program.steps)


def _without_elements(tree: ast.Module) -> Iterator[tuple[int, _Edit]]:
    """Without a run of elements of one list: long runs first."""
    for number, node in enumerate(ast.walk(tree)):
        for field in _LISTS:
            elements = getattr(node, field, None)
            size = len(elements) if isinstance(elements, list) else 0
            while size:
                for start in range(0, len(elements), size):
                    yield number, _delete(field, slice(start, start + size))
                size //= 2


def _delete(field: str, part: slice) -> _Edit:
    def delete(node: Any) -> bool:
        elements = getattr(node, field)
        if field != "body" or isinstance(node, ast.Module) or elements[part] != elements:
            del elements[part]
        elif len(elements) == 1 and isinstance(elements[0], ast.Pass):
            return False
        else:
            elements[:] = [ast.Pass()]
        return True

    return delete


def _hoisted(tree: ast.Module) -> Iterator[tuple[int, _Edit]]:
    """With a compound statement replaced by one of its bodies."""
    for number, node in enumerate(ast.walk(tree)):
        for field in _BLOCKS:
            block = getattr(node, field, None)
            for index, inner in enumerate(block if isinstance(block, list) else ()):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                    continue
                for part in _BLOCKS:
                    if isinstance(getattr(inner, part, None), list):
                        yield number, _hoist(field, index, part)


def _hoist(field: str, index: int, part: str) -> _Edit:
    def hoist(node: Any) -> bool:
        block = getattr(node, field)
        inner = getattr(block[index], part)
        block[index : index + 1] = inner
        return bool(inner)

    return hoist


def _simplified(tree: ast.Module) -> Iterator[tuple[int, _Edit]]:
    """With an expression replaced by a part of it or by a constant."""
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            for index, old in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(old, ast.expr) and _is_loaded(old):
                    for new in _simpler(old):
                        yield number, _replace(field, index, new)


def _replace(field: str, index: int, new: ast.expr) -> _Edit:
    def replace(node: Any) -> bool:
        value = getattr(node, field)
        if isinstance(value, list):
            value[index] = copy.deepcopy(new)
        else:
            setattr(node, field, copy.deepcopy(new))
        return True

    return replace


def _is_loaded(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load | None)


def _simpler(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant):
        return
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr) and _is_loaded(part):
            yield part
        elif isinstance(part, ast.keyword):
            yield part.value
    yield ast.Constant(1)
    if not isinstance(node, ast.Name):
        yield ast.Constant(None)

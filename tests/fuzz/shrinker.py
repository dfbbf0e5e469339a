"""Makes a failing program small: statements, expressions and steps go while the failure stays."""

from __future__ import annotations

import ast
import copy
import dataclasses
import time
from collections.abc import Callable, Iterator

from fuzz.program import ENTRY, Program, Step

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

    def source(self, reductions: Callable[[ast.Module], Iterator[ast.Module]]) -> None:
        def attempt(text: str) -> bool:
            return self.better(dataclasses.replace(self.best, source=text))

        _reduce(lambda: self.best.source, attempt, reductions)

    def step_texts(self, reductions: Callable[[ast.Module], Iterator[ast.Module]]) -> None:
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

            _reduce(read, attempt, reductions)


def _reduce(
    read: Callable[[], str],
    attempt: Callable[[str], bool],
    reductions: Callable[[ast.Module], Iterator[ast.Module]],
) -> None:
    """Tries the reductions one after the other, each on what the last success has left."""
    position = 0
    while True:
        try:
            tree = ast.parse(read())
        except (SyntaxError, RecursionError):
            return
        for number, reduced in enumerate(reductions(tree)):
            if number >= position and attempt(ast.unparse(ast.fix_missing_locations(reduced))):
                position = number
                break
        else:
            return


def _is_valid(program: Program) -> bool:
    try:
        compile(program.source, "<candidate>", "exec")
        for step in program.steps:
            compile(str(step), "<candidate>", "exec")
    except (SyntaxError, ValueError):
        return False
    return any(step.is_call for step in program.steps)


def _edited(tree: ast.Module, number: int, edit: Callable[[ast.AST], bool]) -> ast.Module | None:
    """A copy of the tree in which ``edit`` has changed the node of this number, if it could."""
    changed = copy.deepcopy(tree)
    for index, node in enumerate(ast.walk(changed)):
        if index == number:
            return changed if edit(node) else None
    return None


def _without_elements(tree: ast.Module) -> Iterator[ast.Module]:
    """Without a run of elements of one list: long runs first."""
    for number, node in enumerate(ast.walk(tree)):
        for field in _LISTS:
            length = len(getattr(node, field, None) or ()) if not _is_operator(node) else 0
            if not isinstance(getattr(node, field, None), list):
                continue
            size = length
            while size:
                for start in range(0, length, size):

                    def delete(
                        found: ast.AST, field: str = field, part: slice = slice(start, start + size)
                    ) -> bool:
                        elements = getattr(found, field)
                        if (
                            field == "body"
                            and not isinstance(found, ast.Module)
                            and elements[part] == elements
                        ):
                            if len(elements) == 1 and isinstance(elements[0], ast.Pass):
                                return False
                            elements[:] = [ast.Pass()]
                        else:
                            del elements[part]
                        return True

                    changed = _edited(tree, number, delete)
                    if changed is not None and _can_unparse(changed):
                        yield changed
                size //= 2


def _is_operator(node: ast.AST) -> bool:
    return isinstance(node, ast.operator | ast.cmpop | ast.boolop | ast.unaryop | ast.expr_context)


def _can_unparse(tree: ast.Module) -> bool:
    try:
        ast.unparse(ast.fix_missing_locations(tree))
    except Exception:  # Parts that only make sense together were torn apart.
        return False
    return True


def _hoisted(tree: ast.Module) -> Iterator[ast.Module]:
    """With a compound statement replaced by one of its bodies."""
    for number, node in enumerate(ast.walk(tree)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for index, inner in enumerate(block):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                    continue
                for part in ("body", "orelse", "finalbody"):
                    if not isinstance(getattr(inner, part, None), list) or not getattr(inner, part):
                        continue

                    def hoist(
                        found: ast.AST, field: str = field, index: int = index, part: str = part
                    ) -> bool:
                        block = getattr(found, field)
                        block[index : index + 1] = getattr(block[index], part)
                        return True

                    changed = _edited(tree, number, hoist)
                    if changed is not None and _can_unparse(changed):
                        yield changed


def _simplified(tree: ast.Module) -> Iterator[ast.Module]:
    """With an expression replaced by a part of it or by a constant."""
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            for index, old in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(old, ast.expr) or isinstance(
                    getattr(old, "ctx", None), ast.Store | ast.Del
                ):
                    continue
                for new in _simpler(old):

                    def replace(
                        found: ast.AST,
                        field: str = field,
                        index: int | None = index,
                        new: ast.expr = new,
                    ) -> bool:
                        if index is None:
                            setattr(found, field, copy.deepcopy(new))
                        else:
                            getattr(found, field)[index] = copy.deepcopy(new)
                        return True

                    changed = _edited(tree, number, replace)
                    if changed is not None and _can_unparse(changed):
                        yield changed


def _simpler(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant):
        return
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr) and not isinstance(getattr(part, "ctx", None), ast.Store):
            yield part
        elif isinstance(part, ast.keyword):
            yield part.value
    if not isinstance(node, ast.Name):
        yield ast.Constant(1)
        yield ast.Constant(None)
    else:
        yield ast.Constant(1)

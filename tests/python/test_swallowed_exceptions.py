"""Exceptions of the program's that C code swallows: their tracebacks stay as they were."""

from __future__ import annotations

import pytest
from changing_world import Cases, check_world

CASES = Cases("swallowed exceptions")

# The functions and the lines of a traceback, relative to the first.
FRAMES = """
    def frames(error):
        found, entry = [], error.__traceback__
        while entry is not None:
            found.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
            entry = entry.tb_next
        return [(name, line - found[0][1]) for name, line in found]

    def caught(error):
        try:
            raise error
        except BaseException as raised:
            return raised

    def give(error):
        raise error

    class Items:
        def __init__(self, error):
            self.error = error

        def __iter__(self):
            return self

        def __next__(self):
            give(self.error)
"""

CASES.add(
    "of_iterators",
    FRAMES
    + """
    def entry(x, error):
        for _ in Items(error):
            pass
        first = list(Items(error)), next(Items(error), 3), 4 in Items(error)
        (*rest,) = Items(error)
        return x + 1, first, rest, frames(error), error.__context__
    """,
    "entry(1, StopIteration(1))",
    "entry(1, caught(StopIteration(1)))",
)
CASES.add(
    "of_attributes",
    FRAMES
    + """
    class Object:
        def __init__(self, error):
            self.error = error

        @property
        def value(self):
            give(self.error)

    class Fallback(Object):
        def __getattr__(self, name):
            return name

    def entry(x, error):
        found = hasattr(Object(error), "value"), getattr(Object(error), "value", 3)
        return x + 1, found, Fallback(error).value, frames(error)
    """,
    "entry(1, AttributeError('value'))",
    "entry(1, caught(AttributeError('value')))",
)
CASES.add(
    "of_sequences_and_callables",
    FRAMES
    + """
    class Sequence:
        def __init__(self, error):
            self.error = error

        def __getitem__(self, index):
            if index == 2:
                raise self.error
            return index

    def entry(x, end, stop):
        def call():
            raise stop

        return x + 1, list(Sequence(end)), list(iter(call, 1)), frames(end), frames(stop)
    """,
    "entry(1, IndexError(), StopIteration())",
    "entry(1, caught(IndexError()), caught(StopIteration()))",
)
CASES.add(
    "of_generators",
    FRAMES
    + """
    def closed(error):
        try:
            yield 1
        except GeneratorExit:
            raise error

    def delegate(error):
        return (yield from Items(error))

    def entry(x, exit, stop):
        generator = closed(exit)
        next(generator)
        generator.close()
        return x + 1, list(delegate(stop)), frames(exit), frames(stop)
    """,
    "entry(1, GeneratorExit(), StopIteration(2))",
    "entry(1, caught(GeneratorExit()), caught(StopIteration(2)))",
)
CASES.add(
    "raised_again_behind_a_handler",
    FRAMES
    + """
    class Again(Items):
        def __next__(self):
            try:
                give(self.error)
            except StopIteration:
                raise

    def entry(x, error):
        return x + 1, list(Again(error)), frames(error)
    """,
    "entry(1, StopIteration(1))",
    "entry(1, StopIteration(2))",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_swallowed_exceptions(source: str, steps: tuple[str, ...]) -> None:
    check_world(source, *steps)

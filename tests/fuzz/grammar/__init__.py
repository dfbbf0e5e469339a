"""Writes programs and changes of their world from a seed. Each module registers productions."""

from fuzz.grammar import (  # noqa: F401
    arrays,
    changes,
    containers,
    control,
    functions,
    objects,
    values,
)
from fuzz.grammar.assembly import write_program

__all__ = ["write_program"]

"""`import` of what is imported already, while the modules change."""

from __future__ import annotations

from typing import Any

import pytest
from changing_world import Cases, check_world

CASES = Cases("imports in traces")

MODULES = """
import sys, types
LOG = []
class Telling(types.ModuleType):
    def __getattribute__(self, name):
        LOG.append(name)
        return super().__getattribute__(name)
module = sys.modules["told"] = types.ModuleType("told")
module.value = 1
"""

CASES.add(
    "the module's class tells of what import reads",
    MODULES
    + """
def entry():
    import told
    return LOG
""",
    "entry()",
    "module.__class__ = Telling",
    "entry()",
    "LOG.clear()",
    "module.__class__ = types.ModuleType",
    "entry()",
)

CASES.add(
    "a name of a module that tells",
    MODULES
    + """
def entry():
    from told import value
    return value, LOG
""",
    "entry()",
    "module.__class__ = Telling",
    "entry()",
    "module.value = 2",
    "entry()",
    "module.__class__ = types.ModuleType",
    "module.value = 3",
    "entry()",
)

CASES.add(
    "the module has no spec, and says so",
    MODULES
    + """
def entry():
    import told
    return told.value, LOG
""",
    "entry()",
    "del module.__spec__",
    "entry()",
    "module.__getattr__ = lambda name: LOG.append(name)",
    "entry()",
    "module.__spec__ = None",
    "entry()",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_imports(source: str, steps: tuple[Any, ...]) -> None:
    check_world(source, *steps)

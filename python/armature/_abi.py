"""Which interpreter the engine was built for: its file name says so."""

import platform
import re
import sys
import sysconfig
from pathlib import Path


def _readable(tag: str) -> str:
    """ "CPython 3.11 (cpython-311-x86_64-linux-gnu)" for an ABI tag."""
    version = re.match(r"cpython-(\d)(\d+)", tag)
    return f"CPython {version[1]}.{version[2]} ({tag})" if version else tag


def why_no_engine() -> str:
    """What to tell a user whose interpreter finds no engine that it can load."""
    built_for = [
        _readable(file.name.split(".")[1]) for file in sorted(Path(__file__).parent.glob("_C.*.so"))
    ]
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".unknown.so"
    here = (
        f"{platform.python_implementation()} {platform.python_version()} ({suffix.split('.')[1]})"
    )
    if not built_for:
        return f"armature's engine is not built; ./dev build makes it for {here}"
    return (
        f"armature was built for {' and '.join(built_for)}, but this interpreter is {here}, "
        f"{sys.executable}"
    )

"""The command line of whole-program mode."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from armature.whole_program import comparison, run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m armature.whole_program",
        description="Runs a program with every Python frame captured. For '-m test MODULES', "
        "CPython's own tests, it compares each test's outcome with that in plain Python.",
        usage="%(prog)s [options] (SCRIPT | -m MODULE) [ARGUMENTS]",
    )
    parser.add_argument("--report", type=Path, help="a file for the counts of frames, as JSON")
    parser.add_argument("--jobs", type=int, default=1, help="modules of tests at a time (1)")
    parser.add_argument("--seconds", type=float, default=600, help="for a module of tests (600)")
    parser.add_argument("-m", dest="is_module", action="store_true", help="a module, not a file")
    parser.add_argument("program", metavar="SCRIPT | MODULE")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.is_module and options.program == "test":
        unknown = [name for name in options.arguments if name.startswith("-")]
        if unknown or not options.arguments:
            parser.error(f"-m test takes the names of modules of tests, not {unknown or 'nothing'}")
        return comparison.compare(options.arguments, options.jobs, options.seconds)
    run(options.program, options.is_module, options.arguments, options.report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs tests of CPython's on code that was lifted and lowered. A program of its own, started as

    python -I -S -X frozen_modules=off round_trip_runner.py EXTENSION MODE TEST...

so that next to nothing has been imported before the loader is changed: every module of the standard
library that the tests import, and the tests themselves, then run on the lowered code.
MODE: `plain` leaves the code alone; `round_trip` and `stretch` say what becomes of it.
The last line of output is {test: [number run, [failures]]}, in JSON.
"""

import _signal
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader

# Some of the tests interrupt themselves; started in the background, a program ignores that.
_signal.signal(_signal.SIGINT, _signal.default_int_handler)


def load_extension(path):
    loader = ExtensionFileLoader("armature._C", path)
    module = loader.create_module(ModuleSpec("armature._C", loader, origin=path))
    loader.exec_module(module)
    return module


def round_trip_everything(extension, stretch):
    """Every module that is loaded from here on, and the examples in documentation."""
    get_code = SourceFileLoader.get_code

    def round_tripping_get_code(self, fullname):
        return extension.round_trip(get_code(self, fullname), stretch=stretch)

    def round_tripping_compile(*arguments, **options):
        return extension.round_trip(compile(*arguments, **options), stretch=stretch)

    SourceFileLoader.get_code = round_tripping_get_code
    import doctest

    doctest.compile = round_tripping_compile  # seen before the builtin


def run(name):
    import unittest

    suite = unittest.defaultTestLoader.loadTestsFromName("test." + name)
    result = unittest.TextTestRunner(stream=sys.stderr).run(suite)
    failures = [str(test) for test, _ in result.failures + result.errors]
    return result.testsRun, failures + [str(test) for test in result.unexpectedSuccesses]


def main(extension, mode, *tests):
    if mode != "plain":
        round_trip_everything(load_extension(extension), mode == "stretch")
    import json

    assert ("unused" in json.dumps.__code__.co_names) == (mode == "stretch")
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        outcome = {test: run(test) for test in tests}
        os.chdir("/")
    print("\n" + json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

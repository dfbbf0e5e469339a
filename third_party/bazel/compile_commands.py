"""Writes compile_commands.json, for clangd and clang-tidy, from what Bazel would run."""

import json
import subprocess
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parents[2]
# What g++ knows and clang doesn't, and output that no tool wants.
DROPPED = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object", "-MD"}
DROPPED_WITH_VALUE = {"-MF", "-o"}


def bazel(*arguments):
    command = ["bazel", *arguments]
    return subprocess.run(command, cwd=WORKSPACE, check=True, stdout=subprocess.PIPE).stdout


def tool_arguments(arguments):
    arguments = iter(arguments)
    for argument in arguments:
        if argument in DROPPED_WITH_VALUE:
            next(arguments)
        elif argument not in DROPPED and not argument.startswith("-frandom-seed="):
            yield argument
    yield "-Wno-unknown-warning-option"


def entry(action, execution_root):
    """Of one action, with the source's place in the workspace, where editors open it."""
    arguments = list(tool_arguments(action["arguments"]))
    source = arguments[arguments.index("-c") + 1]
    if not (WORKSPACE / source).is_file():
        return None  # a source of Bazel's own
    file = str(WORKSPACE / source)
    arguments[arguments.index("-c") + 1] = file
    arguments[1:1] = ["-iquote", str(WORKSPACE)]
    return {"directory": execution_root, "file": file, "arguments": arguments}


def main():
    execution_root = bazel("info", "--ui_event_filters=-info", "execution_root").decode().strip()
    query = 'mnemonic("CppCompile", //...)'
    options = ["--noshow_progress", "--ui_event_filters=-info", "--output=jsonproto"]
    actions = json.loads(bazel("aquery", *options, query)).get("actions", [])
    entries = {}
    for action in actions:
        if found := entry(action, execution_root):
            entries[found["file"]] = found
    text = json.dumps([entries[file] for file in sorted(entries)], indent=1) + "\n"
    (WORKSPACE / "compile_commands.json").write_text(text)
    print(f"compile_commands.json: {len(entries)} files")


if __name__ == "__main__":
    main()

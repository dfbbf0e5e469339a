"""Writes a failing program as a file that shows the difference by itself."""

from __future__ import annotations

import pathlib

from fuzz.differences import Difference
from fuzz.program import ENTRY, FILENAME, Program

_TEMPLATE = '''\
"""{kind} at step {step}, from seed {seed}.

{detail}
"""

import gc
import types

import armature

PROGRAM = """\\
{source}"""

# A string is a call of {entry}; a change of the world stands in a tuple.
STEPS = [
{steps}]


def run(capture):
    module = types.ModuleType("program")
    names = module.__dict__
    exec(compile(PROGRAM, "{filename}", "exec"), names)
    function = capture(names["{entry}"])
    for number, step in enumerate(STEPS):
        try:
            if isinstance(step, tuple):
                exec(step[0], names)
                continue
            arguments = eval(f"(lambda *args, **kwargs: (args, kwargs))({{step}})", names)
            result = function(*arguments[0], **arguments[1])
            outcome = (result, *arguments)
        except BaseException as error:
            outcome = error
        gc.collect()
        shown = {{k: v for k, v in names.items() if type(v) in (int, list, dict) and k[0] != "_"}}
        print(f"{{number}}: {{outcome!r}}\\n   {{shown!r}}")


if __name__ == "__main__":
    print("plain")
    run(lambda function: function)
    print("captured")
    run(armature.compile)
'''


def write_reproducer(
    directory: pathlib.Path, name: str, seed: int, program: Program, difference: Difference
) -> pathlib.Path:
    steps = "".join(
        f"    {step.text!r},\n" if step.is_call else f"    ({step.text!r},),\n"
        for step in program.steps
    )
    text = _TEMPLATE.format(
        kind=difference.kind,
        step=difference.step,
        seed=seed,
        detail=difference.detail.replace("\\", "\\\\").replace('"""', "'''"),
        source=program.source.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        steps=steps,
        entry=ENTRY,
        filename=FILENAME,
    )
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.py"
    path.write_text(text)
    path.with_suffix(".json").write_text(program.to_json())
    return path

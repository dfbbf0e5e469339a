"""The command: ``./dev fuzz [--programs N | --seconds N] [--seed S] [--jobs J]``."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import sys
import time

from fuzz.differences import compare
from fuzz.grammar import write_program
from fuzz.isolation import prepare
from fuzz.judge import judge
from fuzz.library_state import BACKENDS
from fuzz.program import ENTRY, Program, Step
from fuzz.runner import confirm_and_shrink, run_seeds

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("./dev fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, help="how many (500, unless --seconds)")
    parser.add_argument("--seconds", type=float, help="how long")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first program; then come the next"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shrink", type=int, default=20, help="how many failures to make small")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="for each of them")
    parser.add_argument("--directory", type=pathlib.Path, default=_ROOT / ".cache" / "fuzz")
    parser.add_argument("--report", type=pathlib.Path, help="write the summary there, as JSON")
    parser.add_argument("--tracebacks", action="store_true", help="compare their lines, too")
    parser.add_argument(
        "--break-every", type=int, default=0, metavar="N", help="break at every N-th instruction"
    )
    parser.add_argument("--backend", choices=BACKENDS, default="eager", help="of the captured side")
    parser.add_argument("--show", action="store_true", help="print the program of --seed")
    parser.add_argument(
        "--replay", nargs="+", type=pathlib.Path, help="judge saved programs (.json)"
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    compare(Program(f"def {ENTRY}():\n    pass\n", (Step("", True),)))  # Imports what is lazy.
    prepare()

    def write(seed: int) -> Program:
        return dataclasses.replace(
            write_program(seed),
            tracebacks=options.tracebacks,
            break_every=options.break_every,
            backend=options.backend,
        )

    if options.show:
        program = write(options.seed)
        print(program.source, *program.steps, judge(program), sep="\n")
        return 0
    if options.replay:
        return replay(options.replay)
    seeds = itertools.count(options.seed)
    if options.programs or not options.seconds:
        seeds = itertools.islice(seeds, options.programs or 500)
    start = time.monotonic()
    summary = run_seeds(write, iter(seeds), options.jobs, options.seconds, verbose=True)
    print(f"{summary}\nin {time.monotonic() - start:.0f} seconds", flush=True)
    if options.report:
        options.report.write_text(json.dumps(dataclasses.asdict(summary)))
    by_signature: dict[str, list[int]] = {}
    for seed, difference in sorted(summary.differences.items()):
        by_signature.setdefault(difference.signature, []).append(seed)
    # One of each signature first, then the next of each.
    rounds = itertools.zip_longest(*by_signature.values())
    chosen = [seed for turn in rounds for seed in turn if seed is not None]
    for seed in chosen[: options.shrink]:
        difference, path = confirm_and_shrink(
            write, seed, summary.differences[seed], options.directory, options.shrink_seconds
        )
        print(f"{path}: {difference.signature}", flush=True)
    return 1 if summary.differences else 0


def replay(paths: list[pathlib.Path]) -> int:
    status = 0
    for path in paths:
        difference = judge(Program.from_json(path.with_suffix(".json").read_text())).difference
        print(f"{path}: {difference.signature if difference else 'as plain Python'}")
        status |= difference is not None
    return status


if __name__ == "__main__":
    sys.exit(main())

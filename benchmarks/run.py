"""Measures Armature beside TorchDynamo: `./dev bench [NAMES] [--json FILE]`.

Each engine lives in a process of its own; they take turns, case by case, so that what else the
machine does meets both alike. Of the rounds, the median counts.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from cases import CASES
from worker_process import Worker

HERE = Path(__file__).resolve().parent
OURS, THEIRS = "armature", "torchdynamo"
TIME_UNITS = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1}


def measure(names, rounds, show, **worker_options):
    """{case: {engine: {"rounds": [measures of a round, ...]} or {"error": text}}}"""
    workers = {engine: Worker("worker.py", engine, **worker_options) for engine in (OURS, THEIRS)}
    results = {name: {engine: {"rounds": []} for engine in workers} for name in names}
    for turn in range(rounds):
        for name in names:
            for engine, worker in workers.items():
                result = results[name][engine]
                if "error" in result:
                    continue
                show(f"round {turn + 1} of {rounds}: {name}, {engine}")
                answer = worker.ask({"case": name})
                if "error" in answer:
                    results[name][engine] = {"error": answer["error"]}
                else:
                    result["rounds"].append(answer["measures"])
    for worker in workers.values():
        worker.close()
    return results


def summarize(results):
    """One dictionary for each row of the table, times in seconds."""
    rows = []
    for name, by_engine in results.items():
        for index, row in enumerate(CASES[name].rows):
            summary = {"case": name, "what": row.what, "unit": row.unit, "target": row.target}
            for engine, result in by_engine.items():
                if "error" in result:
                    summary[engine] = None
                else:
                    times = [measures[index]["seconds"] for measures in result["rounds"]]
                    summary[engine] = statistics.median(times)
            ours, theirs = summary[OURS], summary[THEIRS]
            # An overhead lost in the noise may measure as nothing, or less: call it 10 ns.
            summary["ratio"] = theirs / max(ours, 1e-8) if ours is not None and theirs else None
            rows.append(summary)
    return rows


def table(rows):
    def duration(seconds, unit):
        return "FAILED" if seconds is None else f"{seconds * TIME_UNITS[unit.split('/')[0]]:,.2f}"

    def times(factor):
        return "-" if factor is None else f"{factor:,.1f}x"

    def verdict(row):
        if row["target"] is None or row["ratio"] is None:
            return ""
        return "met" if row["ratio"] >= row["target"] else "MISSED"

    cells = [("case", "what", "unit", "Armature", "TorchDynamo", "ratio", "target", "")]
    shown = None
    for row in rows:
        cells.append(
            (
                row["case"] if row["case"] != shown else "",
                row["what"],
                row["unit"],
                duration(row[OURS], row["unit"]),
                duration(row[THEIRS], row["unit"]),
                times(row["ratio"]),
                times(row["target"]),
                verdict(row),
            )
        )
        shown = row["case"]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    aligns = "<<<>>>><"
    return "\n".join(
        "  ".join(
            f"{cell:{a}{w}}" for cell, a, w in zip(line, aligns, widths, strict=True)
        ).rstrip()
        for line in cells
    )


def machine():
    import torch

    def first(path, key):
        lines = Path(path).read_text().splitlines() if Path(path).exists() else []
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)

    def git(*arguments):
        result = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True)
        return result.stdout.strip()

    return {
        "processor": first("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": first("/proc/meminfo", "MemTotal"),
        "load": os.getloadavg(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "commit": git("describe", "--always", "--dirty"),
    }


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    parser.add_argument("--rounds", type=int, default=3, help="how often each case runs (3)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one case (300)")
    parser.add_argument(
        "--verbose", action="store_true", help="what the engines print, tracebacks too"
    )
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.rounds < 1:
        parser.error("at least one round")
    return options


def main():
    options = parse(sys.argv[1:])
    names = options.names or list(CASES)

    def show(line):
        if sys.stderr.isatty():
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    about = machine()
    results = measure(names, options.rounds, show, timeout=options.timeout, verbose=options.verbose)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    rows = summarize(results)
    print(table(rows))
    failures = [
        (name, engine, result["error"])
        for name, by_engine in results.items()
        for engine, result in by_engine.items()
        if "error" in result
    ]
    for name, engine, error in failures:
        print(f"\nFAILED {name}, {engine}: {error[:2000]}")
    if options.json:
        report = {"machine": about, "rounds": options.rounds, "rows": rows, "results": results}
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if any(engine == OURS for _, engine, _ in failures) else 0


if __name__ == "__main__":
    sys.exit(main())

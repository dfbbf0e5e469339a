"""Runs every architecture of three packages in Armature and in TorchDynamo: `./dev models`.

    ./dev models [SUITE[:NAME] ...] [--train] [--every N] [--jobs N] [--limit S] [--json FILE]

Without names, all suites: `transformers`, `timm`, `torchvision` (architectures.py). A line for each
model says, engine by engine, whether results (in training: gradients and buffers, too) are plain
PyTorch's, in how many graphs and operations, and how long the first call and later calls take; then
come the sums, and why graphs broke, the most frequent first. Ends with 1 if Armature gives a
different result, crashes, or raises what PyTorch does not.
"""

import argparse
import collections
import json
import math
import os
import queue
import sys
import threading
from pathlib import Path

import architectures
from worker_process import Worker

HERE = Path(__file__).resolve().parent
OURS, THEIRS = "armature", "torchdynamo"
UNRUNNABLE = ("build", "eager")  # nobody's fault
IMPORT_SECONDS = 120


def ask(worker, request):
    answer = worker.ask(request)
    if "error" in answer and "failed" not in answer:
        answer["failed"] = "crash"  # of the worker itself; a model's crash is its own
    return answer


def run_all(requests, engines, jobs, limit, verbose, report):
    waiting = queue.SimpleQueue()
    for request in requests:
        waiting.put(request)
    lock = threading.Lock()

    def work():
        # The worker sees to the time that a model takes, but for the libraries' imports.
        workers = {
            engine: Worker("models_worker.py", engine, IMPORT_SECONDS + limit, verbose)
            for engine in engines
        }
        while True:
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                break
            answers = {}
            for engine, worker in workers.items():
                answers[engine] = ask(worker, request)
                if answers[engine].get("failed") in UNRUNNABLE:
                    break
            with lock:
                report(request, answers)
        for worker in workers.values():
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def describe(answer):
    if "failed" in answer:
        return f"failed ({answer['failed']}): {answer['error']}"
    same = "same" if not answer["different"] else f"DIFFERENT ({answer['different']})"
    whole = "whole" if is_whole(answer) else f"{answer['graphs']} graphs"
    again = f", {answer['recompiles']} recompiles" if answer["recompiles"] else ""
    return (
        f"{same}, {whole}, {answer['operations']} operations, "
        f"cold {answer['cold']:.2f} s, warm {1e3 * answer['warm']:.1f} ms{again}"
    )


def is_whole(answer):
    return "failed" not in answer and answer["graphs"] == 1 and not answer["breaks"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summarize(results, engines):
    ran = [answers for _, answers in results if answers[OURS].get("failed") not in UNRUNNABLE]
    print(f"\n{len(results)} architectures, of which {len(ran)} can be built and run so")
    for engine in engines:
        found = [answers[engine] for answers in ran]
        done = [answer for answer in found if "failed" not in answer]
        print(
            f"{engine}: {sum(map(is_whole, found))} whole, "
            f"{sum(bool(a['different']) for a in done)} different, "
            f"{sum(bool(a['recompiles']) for a in done)} compile at the third call, "
            f"{len(found) - len(done)} failed"
        )
    if THEIRS in engines:
        pairs = [(a[OURS], a[THEIRS]) for a in ran if not any("failed" in x for x in a.values())]
        lost = [
            f"{request['suite']}:{request['name']}"
            for request, answers in results
            if THEIRS in answers and is_whole(answers[THEIRS]) and not is_whole(answers[OURS])
        ]
        # What a first call takes beyond a plain one is the engine's.
        traced = [
            (max(b["cold"] - b["plain"], 1e-6)) / max(a["cold"] - a["plain"], 1e-6)
            for a, b in pairs
        ]
        warm = [b["warm"] / a["warm"] for a, b in pairs]
        print(
            f"TorchDynamo's time / Armature's, geometric means over {len(pairs)}: "
            f"first call {geometric_mean(traced):.1f}, later calls {geometric_mean(warm):.2f}"
        )
        print(f"whole in TorchDynamo alone: {len(lost)}: {' '.join(lost)}")
    reasons = collections.Counter(
        reason for answers in ran for reason in set(answers[OURS].get("breaks", ()))
    )
    print("Why Armature's graphs broke, by the number of models:")
    for reason, count in reasons.most_common(30):
        print(f"  {count:4} {reason[:160]}")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="./dev models", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="SUITE[:NAME]")
    parser.add_argument("--train", action="store_true", help="forward, loss and backward")
    parser.add_argument("--every", type=int, default=1, help="one of so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=180, help="seconds for a model, by engine")
    parser.add_argument("--engines", default=f"{OURS},{THEIRS}")
    parser.add_argument("--json", type=Path, help="where to write all answers")
    parser.add_argument("--verbose", action="store_true", help="show what models and engines print")
    return parser.parse_args(arguments)


def requests_of(options):
    chosen = []
    for name in options.names or architectures.SUITES:
        suite, _, single = name.partition(":")
        if suite not in architectures.SUITES:
            sys.exit(f"there is no suite {suite!r}; there are {', '.join(architectures.SUITES)}")
        listed = architectures.names(suite)
        if single and single not in listed:
            sys.exit(f"{suite} has no architecture {single!r}")
        chosen += [(suite, single)] if single else [(suite, each) for each in listed]
    return [
        {"suite": suite, "name": name, "train": options.train, "limit": options.limit}
        for suite, name in chosen[:: options.every]
    ]


def main(arguments):
    options = parse(arguments)
    engines = options.engines.split(",")
    results = []

    def report(request, answers):
        results.append((request, answers))
        if options.json:  # of a run that is ended early, too
            options.json.write_text(json.dumps(results, indent=1))
        if answers[OURS].get("failed") in UNRUNNABLE:
            error = answers[OURS]["error"].splitlines()[0]
            print(f"{request['suite']}:{request['name']}: does not run: {error}", flush=True)
            return
        print(f"{request['suite']}:{request['name']}")
        for engine, answer in answers.items():
            print(f"  {engine:12} {describe(answer)}", flush=True)

    run_all(requests_of(options), engines, options.jobs, options.limit, options.verbose, report)
    summarize(results, engines)
    ours = [answers[OURS] for _, answers in results]
    # The time limit is the machine's matter.
    bad = [
        a for a in ours if a.get("different") or a.get("failed") in ("compiled", "crash", "explain")
    ]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

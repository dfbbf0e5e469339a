"""Runs cases in one engine, on request: `python worker.py ENGINE`, then one JSON object a line.

A request is {"case": name}; the answer {"measures": [{"seconds": ..., "details": {...}}, ...]}
or {"error": text}.
"""

import dataclasses
import json
import os
import sys
import traceback


def run(engine, name):
    from cases import CASES

    try:
        measures = CASES[name].run(engine)
        return {"measures": [dataclasses.asdict(measure) for measure in measures]}
    except Exception as error:
        traceback.print_exc()
        text = str(error).strip() or "(no message)"
        return {"error": f"{type(error).__name__}: {text}"}


def start(name):
    """The engine, having compiled once: what only the first compilation of a process costs."""
    import torch
    from engines import ENGINES

    torch.set_num_threads(1)
    engine = ENGINES[name]()
    engine.compile(lambda x: x + 1)(torch.ones(2))
    return engine


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what cases print is not an answer
    engine = None
    for request in sys.stdin:
        try:
            engine = engine or start(sys.argv[1])
            answer = run(engine, json.loads(request)["case"])
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"the engine does not start: {type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""Runs models in one engine, on request: `python models_worker.py ENGINE`, one JSON object a line.

A request is {"suite", "name", "train", "limit"}; the answer is `measure`'s, or {"failed": where,
"error": text}. Each model lives in a process of its own, forked from this one, which has imported
the libraries; one that takes longer than `limit` seconds, or dies, fails by itself.
"""

import copy
import json
import os
import select
import signal
import statistics
import sys
import time
import traceback
import warnings

import torch
from architectures import SUITES, build
from engines import ENGINES

WARM_SECONDS, FEWEST, MOST = 0.3, 3, 50


def tensors(value, found, seen):
    """All tensors that a result holds, in its order."""
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif id(value) in seen:
        return found
    elif isinstance(value, dict):
        seen.add(id(value))
        for each in value.values():
            tensors(each, found, seen)
    elif isinstance(value, (list, tuple)):
        seen.add(id(value))
        for each in value:
            tensors(each, found, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, torch.nn.Module)):
        seen.add(id(value))
        tensors(vars(value), found, seen)
    return found


def step(call, model, inputs, train):
    """A call as users make it; all tensors that it leaves: results, and in training gradients."""
    torch.manual_seed(1)
    if not train:
        with torch.no_grad():
            return tensors(call(**inputs), [], set())
    model.zero_grad()
    results = tensors(call(**inputs), [], set())
    losses = [r.double().square().mean() for r in results if r.requires_grad]
    if losses:
        torch.stack(losses).sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [r.detach().clone() for r in (*results, *gradients, *model.buffers())]


def difference(expected, actual):
    """What is different, in words; None if nothing is."""
    if len(expected) != len(actual):
        return f"{len(actual)} tensors, not {len(expected)}"
    for i, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"tensor {i} is {b.dtype}{list(b.shape)}, not {a.dtype}{list(a.shape)}"
        if a.layout == torch.strided and not torch.allclose(
            a.double() if not a.is_complex() else a,
            b.double() if not b.is_complex() else b,
            rtol=1e-4,
            atol=1e-5,
            equal_nan=True,
        ):
            return f"tensor {i} differs by {(a.double() - b.double()).abs().max().item():.3g}"
    return None


def maker(suite, name, train):
    """What gives the same model with its inputs again and again. To build it takes long."""
    model, inputs = build(suite, name)
    model.train(train)
    try:
        copy.deepcopy((model, inputs))
    except Exception:
        return lambda: (build(suite, name)[0].train(train), inputs)
    return lambda: copy.deepcopy((model, inputs))


def measure(engine, suite, name, train):
    place = "build"
    try:
        fresh = maker(suite, name, train)
        model, inputs = fresh()
        place = "eager"
        expected = [step(model, model, inputs, train) for _ in range(3)]
        plain_again, inputs = fresh()
        if difference(expected[0], step(plain_again, plain_again, inputs, train)):
            return {"failed": "eager", "error": "two equal models give different results"}

        place = "compiled"
        model, inputs = fresh()
        compiled = engine.compile(model)
        start = time.perf_counter()
        actual = step(compiled, model, inputs, train)
        cold = time.perf_counter() - start
        found = difference(expected[0], actual)
        for i in (1, 2):
            actual = step(compiled, model, inputs, train)
            again = difference(expected[i], actual)
            found = found or (again and f"call {i + 1}: {again}")
        plain, _ = fresh()
        answer = {
            "different": found,
            "cold": cold,
            "warm": warm(compiled, model, inputs, train),
            "plain": warm(plain, plain, inputs, train),
        }
        place = "explain"
        model, inputs = fresh()
        answer.update(engine.explain(model, lambda call: step(call, model, inputs, train)))
        return answer
    except Exception as error:
        traceback.print_exc()
        return {"failed": place, "error": f"{type(error).__name__}: {error}"[:300]}


def warm(call, model, inputs, train):
    seconds = []
    start = time.perf_counter()
    while len(seconds) < FEWEST or (
        time.perf_counter() - start < WARM_SECONDS and len(seconds) < MOST
    ):
        begun = time.perf_counter()
        step(call, model, inputs, train)
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def in_child(engine, request):
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        answer = measure(engine, request["suite"], request["name"], request["train"])
        with os.fdopen(writable, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writable)
    text = b""
    end = time.monotonic() + request["limit"]
    while True:
        ready, _, _ = select.select([readable], [], [], max(0, end - time.monotonic()))
        piece = os.read(readable, 65536) if ready else None
        if not piece:
            break
        text += piece
    if piece is None:
        os.kill(child, signal.SIGKILL)
    os.close(readable)
    _, status = os.waitpid(child, 0)
    if piece is None:
        return {"failed": "time", "error": f"longer than {request['limit']} s"}
    if not text:
        return {"failed": "crash", "error": f"the process ended with status {status}"}
    return json.loads(text)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what models print is not an answer
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    import transformers

    transformers.logging.set_verbosity_error()
    # What nearly all models import, once and not in each child.
    from transformers.models.bert import modeling_bert  # noqa: F401
    from transformers.models.clip import modeling_clip  # noqa: F401
    from transformers.models.llama import modeling_llama  # noqa: F401

    engine = ENGINES[sys.argv[1]]()
    engine.compile(lambda x: x + 1)(torch.ones(2))
    engine.reset()
    for line in sys.stdin:
        request = json.loads(line)
        assert request["suite"] in SUITES
        print(json.dumps(in_child(engine, request)), file=answers, flush=True)


if __name__ == "__main__":
    main()

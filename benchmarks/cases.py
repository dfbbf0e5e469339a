"""What is measured: a case runs once a round in one engine, and returns a Measure for each row.

Every case also checks that the compiled function computes what the plain one does.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from timeit import Timer

import torch


@dataclass(frozen=True)
class Row:
    what: str
    unit: str  # a unit of time, a slash, and what is counted
    target: float | None = None  # how many times faster than TorchDynamo we must be


@dataclass
class Measure:
    seconds: float  # for one of the row's unit
    details: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    name: str
    rows: tuple[Row, ...]
    run: Callable


CASES: dict[str, Case] = {}


def case(*rows):
    def register(run):
        CASES[run.__name__] = Case(run.__name__, rows, run)
        return run

    return register


# --- Ways to measure ---


def first_call(engine, fn, *args, fullgraph=True, dynamic=None, expected=None):
    """(seconds of the call that captures, the compiled function).

    The least of up to five, so that a first call of microseconds is measured as well as one of
    seconds.
    """
    times = []
    while not times or (len(times) < 5 and sum(times) < 0.25):
        engine.reset()
        compiled = engine.compile(fn, fullgraph=fullgraph, dynamic=dynamic)
        gc.collect()
        start = time.perf_counter()
        result = compiled(*args)
        times.append(time.perf_counter() - start)
        if expected is not None:
            torch.testing.assert_close(result, expected)
    return min(times), compiled


def capture(engine, fn, *args, count=1, **options):
    """The first call's seconds for one of `count`; the plain call's are among the details."""
    expected = fn(*args)
    start = time.perf_counter()
    fn(*args)
    plain = time.perf_counter() - start
    seconds, _ = first_call(engine, fn, *args, expected=expected, **options)
    return Measure(seconds / count, {"first call": seconds, "plain call": plain})


def per_call(*functions, seconds=0.01, repeats=15):
    """The median time of a call of each function, which take turns."""
    timers = [Timer(function) for function in functions]
    counts = []
    for timer in timers:
        once = max(timer.timeit(3) / 3, 1e-8)
        counts.append(max(1, int(seconds / once)))
    samples = [
        [timer.timeit(count) / count for timer, count in zip(timers, counts, strict=True)]
        for _ in range(repeats)
    ]
    return [statistics.median(times) for times in zip(*samples, strict=True)]


def minus_plain(compiled, plain):
    return Measure(compiled - plain, {"compiled call": compiled, "plain call": plain})


# --- The cases ---


@case(
    Row("a call, fullgraph, minus the plain call", "µs/call", 20),
    Row("a call, breaks allowed, minus the plain call", "µs/call", 20),
)
def call_overhead(engine):
    def fn(x, y, scale: int):
        return (x + y) * scale

    x, y = torch.randn(4), torch.randn(4)
    engine.reset()
    full = engine.compile(fn, fullgraph=True)
    partial = engine.compile(fn)
    for _ in range(10):
        torch.testing.assert_close(full(x, y, 3), fn(x, y, 3))
        torch.testing.assert_close(partial(x, y, 3), fn(x, y, 3))
    full_time, partial_time, plain = per_call(
        lambda: full(x, y, 3), lambda: partial(x, y, 3), lambda: fn(x, y, 3)
    )
    return minus_plain(full_time, plain), minus_plain(partial_time, plain)


@case(Row("first call of 1,000 torch.add in a loop", "µs/add", 200))
def trace_adds(engine):
    n = 1000

    def fn(x, y):
        for _ in range(n):
            x = torch.add(x, y)
        return x

    return [capture(engine, fn, torch.randn(4), torch.randn(4), count=n)]


@case(Row("first call of 20,000 turns of a loop of plain statements", "µs/turn", 200))
def interp_loop(engine):
    n = 20_000

    def fn(x, y, n):
        while n > 0:
            n -= 1
            x, y = y, x
        return x + y

    return [capture(engine, fn, torch.randn(16), torch.randn(16), n, count=n, dynamic=False)]


@case(Row("first call of 300 turns over classes, dicts, closures, sorting", "µs/turn", 200))
def py_objects(engine):
    n = 300

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def sum(self):
            return self.a + self.b

    def weigh(i, *rest, k=1):
        return i * k + len(rest)

    def fn(x):
        by_key = {}
        pairs = []
        for i in range(n):
            pair = Pair(i, i + 1)
            by_key[f"k{i % 17}"] = pair.sum() + weigh(i, 1, 2, k=3)
            pairs.append((i, by_key[f"k{i % 17}"]))
        pairs.sort(key=lambda pair: -pair[1])
        total = sum(b for a, b in pairs) + sum(v for k, v in sorted(by_key.items()))
        return x + total

    return [capture(engine, fn, torch.randn(4), count=n)]


@case(Row("first call of a Sequential of 150 modules", "µs/module", 150))
def mlp(engine):
    n = 50
    layers = []
    for _ in range(n):
        layers += [torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8)]
    model = torch.nn.Sequential(*layers).eval()
    return [capture(engine, model, torch.randn(2, 8), count=3 * n)]


@case(Row("first call over a path 500 deep, then 500 attributes", "ms/call"))
def guard_build(engine):
    depth = 500

    class Bag:
        pass

    bag = Bag()
    for i in range(depth):
        setattr(bag, f"attr{i}", i)
    nest = bag
    for _ in range(depth):
        nest = [nest]

    def fn(x):
        inner = nest
        for _ in range(depth):
            inner = inner[0]
        for i in range(depth):
            x = x + getattr(inner, f"attr{i}")
        return x

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # TorchDynamo recurses along the path
    try:
        return [capture(engine, fn, torch.randn(3))]
    finally:
        sys.setrecursionlimit(limit)


@case(
    Row("100 tensor arguments, ten entries, minus the plain call", "µs/call", 10),
    Row("the ten first calls of it", "ms/call"),
)
def guard_eval(engine):
    names = [f"x{i}" for i in range(100)]
    sizes = " + ".join(f"{name}.shape[0]" for name in names)
    namespace = {}
    exec(f"def fn({', '.join(names)}):\n    n = {sizes}\n    return x0 + n\n", namespace)
    fn = namespace["fn"]
    inputs = [[torch.randn(size) for _ in names] for size in range(10, 101, 10)]

    engine.reset()
    compiled = engine.compile(fn, dynamic=False)
    start = time.perf_counter()
    results = [compiled(*args) for args in inputs]
    first_calls = time.perf_counter() - start
    for args, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, fn(*args))

    def run(function):
        for args in inputs:
            function(*args)

    compiled_time, plain = per_call(lambda: run(compiled), lambda: run(fn))
    count = len(inputs)
    return minus_plain(compiled_time / count, plain / count), Measure(first_calls / count)


class Shared:
    def __init__(self):
        self.flag = True


class Leaf(torch.nn.Module):
    def __init__(self, width, has_weight):
        super().__init__()
        self.width = width
        weight = torch.nn.Parameter(torch.randn(width)) if has_weight else None
        self.register_parameter("weight", weight)
        self.register_parameter("bias", None)

    def forward(self):
        weight = 0 if self.weight is None else self.weight.shape[0]
        bias = 0 if self.bias is None else self.bias.shape[0]
        return self.width + weight + bias


class Layer(torch.nn.Module):
    def __init__(self, index, leaves, weights, shared):
        super().__init__()
        self.scale = 0.5 + index * 1e-3
        self.shared = shared
        self.leaves = torch.nn.ModuleList(Leaf(8 + k, k < weights) for k in range(leaves))

    def forward(self):
        value = 0
        if self.shared.flag:
            for leaf in self.leaves:
                value += leaf()
        return value + self.scale


class Tree(torch.nn.Module):
    def __init__(self, layers, leaves, weights):
        super().__init__()
        shared = Shared()
        self.layers = torch.nn.ModuleList(
            Layer(index, leaves, weights, shared) for index in range(layers)
        )

    def forward(self, x):
        value = 0
        for layer in self.layers:
            value += layer()
        return x + value


@case(
    Row("check of 36 layers of 14 leaves, 396 parameters", "µs/check", 15),
    Row("a call of it, minus its graph", "µs/call", 15),
    Row("its first call", "ms/call"),
)
def guard_tree(engine):
    model = Tree(36, 14, 11).eval().requires_grad_(False)
    x = torch.randn(1)
    with torch.inference_mode():
        expected = model.forward(x)
        total = (expected - x).item()

        def graph(x):
            return x + total

        first, compiled = first_call(engine, model.forward, x, expected=expected)
        call, graph_time = per_call(lambda: compiled(x), lambda: graph(x))
        overhead = minus_plain(call, graph_time)
        check = engine.guard_check(compiled, Tree.forward, {"self": model, "x": x})
        if check is None:
            alone = Measure(overhead.seconds, overhead.details | {"from": "the call"})
        else:
            assert check(), "the guards fail on the inputs that they were made for"
            alone = Measure(per_call(check)[0])
    return alone, overhead, Measure(first)


@case(
    Row("20 nested frames, a break in each, one function a frame", "ms/call"),
    Row("the same, TorchDynamo without nested_graph_breaks", "ms/call"),
)
def graph_breaks(engine):
    depth = 20
    graph_break = engine.graph_break

    def steps(x):
        for _ in range(depth):
            x = x + 1
        return x

    def make(inner):
        if inner is None:

            def fn(x):
                x = steps(x)
                graph_break()
                return steps(x)
        else:

            def fn(x):
                return steps(inner(steps(x)))

        fn.__code__ = fn.__code__.replace()  # a code object of its own
        return fn

    def measure(nested):
        fn = None
        for _ in range(depth + 1):
            fn = make(fn)
        x = torch.ones(3)
        with engine.nested_graph_breaks(nested):
            seconds, _ = first_call(engine, fn, x, fullgraph=False, expected=plain(x))
        return Measure(seconds)

    def plain(x):
        return x + 2 * depth * (depth + 1)

    return measure(True), measure(False)


@case(Row("a turn of a loop with a break in its body, minus the plain turn", "µs/turn"))
def broken_loop(engine):
    n = 10_000
    graph_break = engine.graph_break

    def fn(x, n):
        for _ in range(n):
            x = x + 1
            graph_break()
        return x

    x = torch.zeros(3)
    engine.reset()
    compiled = engine.compile(fn)
    torch.testing.assert_close(compiled(x, 50), fn(x, 50))
    compiled_time, plain = per_call(lambda: compiled(x, n), lambda: fn(x, n), repeats=5)
    return [minus_plain(compiled_time / n, plain / n)]


@case(Row("12 layers with a break in each, minus the same without", "µs/call"))
def broken_layers(engine):
    graph_break = engine.graph_break

    class Layer(torch.nn.Module):
        def __init__(self, breaks):
            super().__init__()
            self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
            self.breaks = breaks

        def forward(self, x):
            x = self.first(x).relu()
            if self.breaks:
                graph_break()
            return x + self.second(x)

    def make(breaks):
        torch.manual_seed(0)
        return torch.nn.Sequential(*[Layer(breaks) for _ in range(12)]).eval()

    x = torch.ones(16, 64)
    engine.reset()
    with torch.no_grad():
        broken, whole = (engine.compile(make(breaks)) for breaks in (True, False))
        torch.testing.assert_close(broken(x), whole(x))
        broken_time, whole_time = per_call(lambda: broken(x), lambda: whole(x))
    return [minus_plain(broken_time, whole_time)]


@case(Row("first call of Adam.step over 50 parameters", "ms/call"))
def optimizer(engine):
    def make():
        generator = torch.Generator().manual_seed(0)
        parameters = [torch.randn(4, generator=generator, requires_grad=True) for _ in range(50)]
        for parameter in parameters:
            parameter.grad = torch.randn(4, generator=generator)
        adam = torch.optim.Adam(parameters, capturable=False, foreach=False)
        adam.step()  # its state exists from the first step on
        return adam, parameters

    (plain, expected), (compiled, parameters) = make(), make()
    plain.step()
    engine.reset()
    step = engine.compile(lambda: compiled.step())
    gc.collect()
    start = time.perf_counter()
    step()
    seconds = time.perf_counter() - start
    torch.testing.assert_close(parameters, expected)
    return [Measure(seconds)]


@case(Row("first call of a 12-layer GPT-2, one graph", "ms/call", 87))
def gpt2(engine):
    import transformers

    config = transformers.GPT2Config(
        n_layer=12,
        n_embd=32,
        n_head=4,
        n_positions=64,
        vocab_size=128,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    model = transformers.GPT2Model(config).eval()
    tokens = torch.randint(0, 128, (2, 16))

    def fn(tokens):
        return model(tokens).last_hidden_state

    with torch.no_grad():
        return [capture(engine, fn, tokens)]

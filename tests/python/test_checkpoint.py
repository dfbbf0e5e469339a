"""torch.utils.checkpoint in the graph: one body; results, gradients, computations are Python's."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
import torch.nn.functional as F
from differential import break_reasons
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, noop_context_fn

LINEAR = torch.nn.Linear(4, 4)
DROPOUT = torch.nn.Dropout(0.5)
LOG: list[Any] = []


class Operations(TorchDispatchMode):
    """Counts what is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def run(function: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    """Results, gradients, and the operations of the backward pass, with what is computed again."""
    torch.manual_seed(0)
    LINEAR.zero_grad()
    inputs = [torch.randn(shape).requires_grad_() for shape in shapes]
    results = function(*inputs)
    tensors = [r for r in (results if isinstance(results, tuple) else (results,))]
    loss = sum(t.square().sum() for t in tensors if isinstance(t, torch.Tensor))
    with Operations() as operations:
        loss.backward()
    gradients = [i.grad for i in inputs] + [p.grad for p in LINEAR.parameters()]
    return tensors, gradients, operations.names


def flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in flat(item)]
    return [value.detach().tolist() if isinstance(value, torch.Tensor) else value]


def check(function: Callable[..., Any], *shapes: tuple[int, ...], backend: Any = "eager") -> Any:
    compiled = armature.compile(function, backend=backend)
    for _ in range(2):
        assert flat(run(compiled, *shapes)) == flat(run(function, *shapes))
    return compiled


def closure(x, y):
    def body(a, b):
        return torch.relu(LINEAR(a) * b).sum(0) + y

    return checkpoint(body, x, y, use_reentrant=False) * 2


def several_results(x):
    def body(a, scale):
        return {"sin": a.sin() * scale, "rest": [a, a.cos(), 3, None]}

    found = checkpoint(body, x, scale=2.0, use_reentrant=False, preserve_rng_state=False)
    return found["sin"], found["rest"][0] is x, found["rest"][1] * 2, found["rest"][2:]


def random_numbers(x):
    return checkpoint(lambda a: DROPOUT(a).exp(), x, use_reentrant=False) + DROPOUT(x)


def partial(x):
    step = functools.partial(checkpoint, use_reentrant=False, context_fn=noop_context_fn)
    for _ in range(3):
        x = step(LINEAR, x).tanh()
    return x


def nested(x):
    def inner(a):
        return a.sin().exp()

    def outer(a):
        return checkpoint(inner, a * 2, use_reentrant=False).cos()

    return checkpoint(outer, x, use_reentrant=False)


def changes_its_own(x):
    def body(a):
        parts = [a.sin()]
        parts.append(parts[0] * a)
        total = torch.zeros(4)
        for part in parts:
            total += part.sum(0)
        return F.relu(total, inplace=True)

    return checkpoint(body, x, use_reentrant=False)


def without_gradients(x):
    def body(a):
        with torch.no_grad():
            scale = a.abs().max()
        return (a / scale).exp()

    return checkpoint(body, x, use_reentrant=False)


def only_inputs(x):
    return checkpoint(lambda a: (a, 1), x, use_reentrant=False)[0] * 2


PROGRAMS = [
    (closure, (3, 4), (4,)),
    (several_results, (3, 4)),
    (random_numbers, (3, 4)),
    (partial, (3, 4)),
    (nested, (3, 4)),
    (changes_its_own, (3, 4)),
    (without_gradients, (3, 4)),
    (only_inputs, (3, 4)),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
@pytest.mark.parametrize("backend", ["eager", lambda module, inputs: module])
def test_in_one_graph(program: Any, backend: Any) -> None:
    function, *shapes = program
    if backend == "eager":
        compiled = check(function, *shapes)
    else:
        # What is computed again in backward passes is the backend's to say, and its random numbers.
        compiled = armature.compile(function, backend=backend)
        results, gradients, _ = run(compiled, *shapes)
        if function is random_numbers:
            gradients = []
        expected = run(function, *shapes)
        assert flat([results, gradients]) == flat([expected[0], expected[1][: len(gradients)]])
    assert break_reasons(compiled) == []
    assert len(armature._C.entries(compiled)) == 1


def test_the_graph_is_torch_dynamos() -> None:
    ours: list[str] = []
    theirs: list[str] = []

    def recorder(texts: list[str]) -> Callable[..., Any]:
        def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
            texts.append(module.print_readable(print_output=False))
            return module

        return backend

    def program(x, y):
        z = checkpoint(lambda a, b: torch.relu(a * b).sum(0), x, y, use_reentrant=False)
        return z * 2

    x, y = torch.randn(3, 4), torch.randn(4)
    armature.compile(program, backend=recorder(ours))(x, y)
    torch.compile(program, backend=recorder(theirs))(x, y)

    def operations(text: str) -> list[str]:
        lines = [line.split("#")[0].split(";")[0].strip() for line in text.splitlines()]
        return [line.replace(': "f32[4]"', "").replace(': "f32[3, 4]"', "") for line in lines]

    wanted = [line for line in operations(theirs[0]) if line]
    assert [line for line in operations(ours[0]) if line] == wanted


def test_another_function_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x):
        return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)

    compiled = armature.compile(program)
    x = torch.ones(2)
    assert torch.equal(compiled(x), program(x))

    # It has the code of the one that it replaces.
    @torch._compile._disable_dynamo
    def other(function, x, use_reentrant):
        return function(x) + 100

    monkeypatch.setattr(torch.utils.checkpoint, "checkpoint", other)
    assert torch.equal(compiled(x), program(x))


class Counter:
    def __init__(self) -> None:
        self.count = 0
        self.items: list[Any] = []


COUNTER = Counter()


def effect_on_global(x):
    def body(a):
        LOG.append(1)
        return a.sin()

    return checkpoint(body, x, use_reentrant=False)


def effect_on_local(x):
    seen = []

    def body(a):
        seen.append(a.sin())
        return a.cos()

    return checkpoint(body, x, use_reentrant=False) * len(seen)


def effect_on_cell(x):
    count = 0

    def body(a):
        nonlocal count
        count += 1
        return a.cos()

    return checkpoint(body, x, use_reentrant=False) * count


def effect_on_attribute(x):
    new = Counter()

    def body(a):
        new.count += 1
        COUNTER.count += 1
        return a.cos()

    return checkpoint(body, x, use_reentrant=False) * new.count


def effect_on_key_written_before(x):
    table = {"n": 1}
    table["n"] = 2

    def body(a):
        table["n"] += 1
        return a.cos()

    return checkpoint(body, x, use_reentrant=False) * table["n"]


def effect_on_iterator(x):
    numbers = iter([1, 2, 3, 4])

    def body(a):
        return a * next(numbers)

    return checkpoint(body, x, use_reentrant=False, determinism_check="none") * next(numbers)


def effect_on_generator(x):
    numbers = (n for n in range(5))

    def body(a):
        return a * next(numbers)

    return checkpoint(body, x, use_reentrant=False, determinism_check="none") * next(numbers)


def effect_on_tensor(x):
    total = torch.zeros(4)

    def body(a):
        total.add_(a.detach().sum(0))
        return a.cos()

    y = checkpoint(body, x, use_reentrant=False)
    return y + total.clone()


def object_for_a_result(x):
    def body(a):
        new = Counter()
        new.items.append(a.sin())
        return new

    return checkpoint(body, x, use_reentrant=False).items[0]


def raises(x):
    def body(a):
        raise ValueError("in the body")

    try:
        return checkpoint(body, x, use_reentrant=False)
    except ValueError as error:
        return x * len(str(error))


def reentrant(x):
    return checkpoint(torch.sin, x, use_reentrant=True)


@pytest.mark.parametrize(
    "function, kind",
    [
        (effect_on_global, "Side effect in the body of an operation"),
        (effect_on_local, "Side effect in the body of an operation"),
        (effect_on_cell, "Side effect in the body of an operation"),
        (effect_on_attribute, "Side effect in the body of an operation"),
        (effect_on_key_written_before, "Side effect in the body of an operation"),
        (effect_on_iterator, "Side effect in the body of an operation"),
        (effect_on_generator, "Side effect in the body of an operation"),
        (effect_on_tensor, "Side effect in the body of an operation"),
        (reentrant, "Call of an unsupported library function"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_left_to_python(function: Callable[..., Any], kind: str) -> None:
    compiled = armature.compile(function)

    def state() -> Any:
        return LOG[:], COUNTER.count

    for _ in range(2):
        LOG.clear()
        COUNTER.count = 0
        expected = flat(run(function, (3, 4))), state()
        LOG.clear()
        COUNTER.count = 0
        assert (flat(run(compiled, (3, 4))), state()) == expected
    assert kind in {reason["gb_type"] for reason in break_reasons(compiled)}


def test_a_body_that_fails_on_data() -> None:
    def program(x, index):
        x = x.clone()
        x.add_(1)
        return checkpoint(lambda a: a[index] * 2, x, use_reentrant=False), x

    compiled = armature.compile(program)
    x = torch.ones(3, requires_grad=True)
    good, bad = torch.tensor([0, 2]), torch.tensor([0, 7])
    assert torch.equal(compiled(x, good)[0], program(x, good)[0])
    for function in (program, compiled):
        with pytest.raises(IndexError, match="out of bounds"):
            function(x, bad)


def own_changes(x):
    total = torch.zeros_like(x)
    total[0] += x[0]
    return total * x


def test_a_body_that_changes_only_its_own_changes_nothing() -> None:
    """An operation behind it, in a handler, may fail: the call is forgotten then."""

    def function(x, index):
        y = checkpoint(own_changes, x, use_reentrant=False)
        try:
            return y[index]
        except IndexError:
            return y.sum()

    compiled = armature.compile(function)
    x = torch.ones(3, 2, requires_grad=True)
    for number in (1, 2, 7, 1):
        index = torch.tensor([number])
        assert torch.equal(compiled(x, index), function(x, index))
    assert break_reasons(compiled) == []


def test_as_data() -> None:
    compiled = armature.compile(nested)
    compiled(torch.ones(2, 2))
    (entry,) = armature._C.entries(compiled)
    assert str(entry["graph"]).count("class wrap_body_") == 2


@pytest.mark.parametrize("function", [object_for_a_result, raises])
def test_objects_and_exceptions_come_out_of_the_body(function: Callable[..., Any]) -> None:
    compiled = armature.compile(function, fullgraph=True)
    for _ in range(2):
        assert flat(run(compiled, (3, 4))) == flat(run(function, (3, 4)))


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.gelu(self.first(x))
        y = torch.nn.functional.dropout(y, 0.5)
        return x + self.second(y) * y.sum()


def changes_its_own(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[0] = x[1] * 2
    return (y * y.sin()).sum()


def breaks(x: torch.Tensor) -> torch.Tensor:
    y = x.sin() * x
    armature.graph_break()
    return (y * y).cos()


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("make", [Block, lambda: changes_its_own, lambda: breaks])
def test_a_compiled_function_is_checkpointed(make: Any, backend: str, early_stop: bool) -> None:
    torch.manual_seed(0)
    given = make()
    compiled = armature.compile(given, backend=backend)
    gradients = []
    for function in (given, compiled, compiled):
        torch.manual_seed(1)
        x = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.25, 1.0]], requires_grad=True)
        with torch.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            result = torch.utils.checkpoint.checkpoint(function, x * 1, use_reentrant=False)
        result.sum().backward()
        gradients.append((result.detach(), x.grad, torch.rand(1)))
    torch.testing.assert_close(gradients[1], gradients[0])
    torch.testing.assert_close(gradients[2], gradients[0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda y: y.is_contiguous(),
        lambda y: y.stride(),
        lambda y: y.contiguous() is y,
        lambda y: y.reshape(-1).is_contiguous(),
        lambda y: (y + 1).stride(),
    ],
)
@pytest.mark.parametrize("body", [lambda t: t * 2, lambda t: t.t(), lambda t: (t.t() + 1, t)])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_layout_of_a_bodys_result(ask, body, requires_grad):
    def program(x):
        made = torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)
        made = made[0] if isinstance(made, tuple) else made
        branch = torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))
        return ask(made), ask(branch)

    x = torch.randn(3, 4, requires_grad=requires_grad)
    assert armature.compile(program)(x) == program(x)


@pytest.mark.parametrize("turns", [0, 1, 12])
def test_effects_of_a_call_that_fails_behind_a_body(turns: int) -> None:
    def body(y: torch.Tensor) -> torch.Tensor:
        for _ in range(turns):
            y = y.sin()
        return y + 1

    def program(x: Any, y: Any, index: Any, log: list[Any]) -> Any:
        doubled = y * 2
        result = checkpoint(body, y, use_reentrant=False)
        x.add_(1)
        log.append(doubled)
        item = y[index]
        log.clear()
        return result + item

    def outcome(function: Callable[..., Any], index: int) -> Any:
        log: list[Any] = []
        x = torch.zeros(3)
        try:
            result = function(x, torch.arange(3.0), torch.tensor([index]), log).tolist()
        except IndexError as error:
            result = str(error)
        return result, x.tolist(), [item.tolist() for item in log]

    compiled = armature.compile(program)
    for index in (1, 7, 1, 7):
        assert outcome(compiled, index) == outcome(program, index)


def items_at(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return values[index].sum()


def body_in_a_body(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda v: items_at(v, index) + v, values * 2, use_reentrant=False)


def index_in_a_lambda(t: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda v: v[index].sum() + v, t, use_reentrant=False)


def index_in_a_function_that_the_body_calls(t: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda v: items_at(v, index) + v, t, use_reentrant=False)


def index_in_a_body_of_a_body(t: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return checkpoint(body_in_a_body, t, index, use_reentrant=False)


@pytest.mark.parametrize(
    "fails",
    [index_in_a_lambda, index_in_a_function_that_the_body_calls, index_in_a_body_of_a_body],
)
def test_the_traceback_of_a_body_that_fails_behind_a_change(fails: Callable[..., Any]) -> None:
    def program(x: Any, y: Any, index: Any) -> Any:
        drawn = torch.rand(3) + x
        dropped = y * 2  # noqa: F841 - the frame holds what the graph does not
        result = fails(drawn, index)
        drawn.mul_(2)
        return result, drawn

    def outcome(function: Callable[..., Any], index: int) -> Any:
        torch.manual_seed(1)
        try:
            return [t.tolist() for t in function(torch.ones(3), torch.ones(3), torch.tensor(index))]
        except IndexError as error:
            places = traceback.extract_tb(error.__traceback__)
            own = [(place.name, place.lineno) for place in places if place.filename == __file__]
            return str(error), own, torch.rand(1).item()

    compiled = armature.compile(program)
    for index in ([1], [7], [2], [7]):
        assert outcome(compiled, index) == outcome(program, index)
    assert not break_reasons(compiled)


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = checkpoint(lambda t: torch.relu(self.linear(t) * self.scale), x, use_reentrant=False)
        self.scale.mul_(0.9)
        return y


def takes_from_outside(x: Any, v: Any, w: Any) -> Any:
    y = checkpoint(lambda t: t * v.exp() * w, x, use_reentrant=False)
    v.sub_(1)
    return y


def takes_and_is_given(x: Any, v: Any, w: Any) -> Any:
    y = checkpoint(lambda a, b: a * v.exp() * b * w, w, x, use_reentrant=False)
    v.sub_(1)
    return y


def is_given_what_it_takes(x: Any, v: Any, w: Any) -> Any:
    y = checkpoint(lambda t, u: t * v.exp() * u, x, v, use_reentrant=False)
    v.sub_(1)
    return y


def is_given_by_name(x: Any, v: Any, w: Any) -> Any:
    y = checkpoint(lambda t, u: t * u.exp() * w, x, u=v, use_reentrant=False)
    v.sub_(1)
    return y


def is_given_a_list(x: Any, v: Any, w: Any) -> Any:
    y = checkpoint(lambda t: t[0] * t[1].exp() * w, [x, v], use_reentrant=False)
    v.sub_(1)
    return y


def is_a_partial(x: Any, v: Any, w: Any) -> Any:
    y = checkpoint(functools.partial(torch.mul, v), x, use_reentrant=False)
    v.sub_(1)
    return y * w


def is_given_what_changes(x: Any, v: Any, w: Any) -> Any:
    doubled = w * 2
    y = checkpoint(lambda t: (t * x).sin(), doubled, use_reentrant=False)
    doubled.add_(1)
    return y


def is_in_another(x: Any, v: Any, w: Any) -> Any:
    def inner(t: Any) -> Any:
        return checkpoint(lambda u: (u * v).sin() * w, t * 2, use_reentrant=False)

    y = checkpoint(inner, x, use_reentrant=False)
    v.sub_(1)
    return y


def of_a_module(x: Any, v: Any, w: Any) -> Any:
    return SCALED[0](x) * v * w


SCALED: list[Any] = []


@pytest.mark.parametrize(
    "program",
    [
        takes_from_outside,
        takes_and_is_given,
        is_given_what_it_takes,
        is_given_by_name,
        is_given_a_list,
        is_a_partial,
        is_given_what_changes,
        is_in_another,
        of_a_module,
    ],
)
def test_arrays_that_change_before_the_backward_pass(program: Callable[..., Any]) -> None:
    def outcome(call: Callable[..., Any]) -> Any:
        torch.manual_seed(0)
        SCALED[:] = [Scaled()]
        found = []
        for _ in range(2):
            x, w = (torch.ones(3, requires_grad=True) for _ in range(2))
            try:
                call(x, torch.ones(3), w).sum().backward()
                found.append((x.grad.tolist(), w.grad.tolist()))
            except RuntimeError as error:
                found.append(str(error))
        return found

    compiled = armature.compile(program)
    assert outcome(compiled) == outcome(program)
    assert not break_reasons(compiled)

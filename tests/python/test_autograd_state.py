"""What tensors have besides metadata: gradients through shared memory, leaves, views, offsets."""

import armature
import pytest
import torch
from differential import compare, observe, translations


def parameter(*sizes):
    return torch.ones(*sizes, requires_grad=True)


def state(*tensors):
    return [(tensor.requires_grad, tensor.is_leaf) for tensor in tensors]


def base_of_a_view(x, w):
    base = torch.zeros(3)
    view = base[0]
    view.add_(w.sum())
    return state(base, view)


def item_assigned(x, w):
    base = torch.zeros(3)
    base[0] = w.sum()
    return state(base)


def input_through_a_view(x, w):
    x.view(-1)[0].mul_(w.sum())
    return state(x)


def changed_itself(x, w):
    x.add_(w)
    return state(x)


def without_gradients(x, w):
    with torch.no_grad():
        x.view(-1).add_(w)
    return state(x)


def aliases_of_each_other(x, w):
    a, b = x.view(2, 2), x[1:3]
    a.mul_(w.sum())
    return state(x, b, a)


def with_out(x, w):
    y = torch.empty(4)
    torch.add(x, 1, out=y)
    return state(y)


def part_of_many(x, w):
    y = w * 1
    try:
        y.unbind()[0].add_(1)
    except RuntimeError as error:
        return str(error)


def view_of_a_leaf(x, w):
    try:
        w.view(-1).add_(1)
    except RuntimeError as error:
        return str(error)


def view_made_without_gradients(x, w):
    with torch.no_grad():
        view = w.view(-1)
    try:
        view.add_(1)
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize(
    "fn",
    [
        base_of_a_view,
        item_assigned,
        input_through_a_view,
        changed_itself,
        without_gradients,
        aliases_of_each_other,
        with_out,
        part_of_many,
        view_of_a_leaf,
        view_made_without_gradients,
    ],
)
def test_gradients_belong_to_memory(fn):
    compiled = armature.compile(fn)
    for gradients in (True, False, True):
        outcomes = []
        for run in (fn, compiled):
            arguments = torch.zeros(4), torch.ones(4, requires_grad=gradients)
            outcomes.append(observe(run, arguments, {}, None))
        compare(*outcomes)


def test_results_may_be_changed_where_exceptions_are_observed():
    """A result is no view of a leaf, which autograd would not let anybody change."""

    def fn(x, row):
        try:
            y = x * 2
            y[0] = row
            y += y.sum()
            return y
        finally:
            row = None

    def masked(x, row):
        try:
            y = x * 2
            y[y.sum(1) == 8] = row
            return y
        finally:
            row = None

    arguments = parameter(10, 4), parameter(4)
    compiled = armature.compile(fn, fullgraph=True)
    assert torch.equal(compiled(*arguments), fn(*arguments))
    assert torch.equal(armature.compile(masked)(*arguments), masked(*arguments))


def test_views_may_refuse_to_be_changed():
    def fn(x):
        y = torch.zeros(1) + 1
        try:
            y.add_(1)
            x.add_(1)
        except RuntimeError as error:
            return str(error), y
        return x

    compiled = armature.compile(fn)
    for make in (lambda w: w * 2, lambda w: w.view(-1), lambda w: (w * 2).unbind()[0], lambda w: w):
        outcomes = [observe(run, (make(parameter(2, 2)),), {}, None) for run in (fn, compiled)]
        compare(*outcomes)


LEAF = parameter(8)
BASE = torch.arange(16.0)


@pytest.mark.parametrize(
    ("fn", "inputs"),
    [
        (lambda x: x.is_leaf, [LEAF, LEAF * 2, LEAF]),
        (lambda x: x.contiguous().is_leaf, [LEAF * 2, LEAF]),
        (lambda x: x.storage_offset(), [BASE[0:8], BASE[1:9], BASE[0:8]]),
        (lambda x: x[1:].storage_offset(), [BASE[0:8], BASE[1:9]]),
        (lambda x: x._is_view(), [BASE, BASE[:], LEAF.view(-1), LEAF]),
        (lambda x: x._version, [BASE, BASE.clone(), BASE.clone().add_(1)]),
    ],
)
def test_questions_are_guarded(fn, inputs):
    compiled = armature.compile(fn)
    for x in inputs + inputs:
        assert compiled(x) == fn(x)


def test_offsets_that_nobody_asks_for_are_not():
    compiled = armature.compile(lambda x: x * 2)
    for offset in range(4):
        compiled(BASE[offset : offset + 8])
    assert translations(compiled) == 1


def tensors():
    weight, base = parameter(8), torch.arange(9.0)
    kept = weight * 3
    kept.retain_grad()
    hooked = parameter(8)
    hooked.register_hook(lambda gradient: gradient)
    used = parameter(8)
    used.sum().backward()
    return [
        weight,
        base[1:],
        torch.ones(8).share_memory_(),
        torch.ones(8).add_(1),
        hooked,
        torch.nn.Parameter(torch.ones(8)),
        weight * 2,
        weight.view(-1),
        kept,
        used,
        torch.ones(8, dtype=torch.complex64).conj(),
        torch.ones(1).expand(8),
    ]


def shown(value):
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype, value.requires_grad, value.is_leaf
    if isinstance(value, (tuple, list)):
        return [shown(element) for element in value]
    plain = (bool, int, float, str, torch.dtype, torch.device, torch.layout, type(None))
    return value if type(value) in plain else type(value)


# Addresses, counts of references, random numbers; what changes what the tensors share; and methods
# in place, which give NotImplemented where an argument is missing.
OTHERS = {"_cdata", "_use_count", "const_data_ptr", "data_ptr", "random_", "exponential_"}
OTHERS |= {"cauchy_", "log_normal_", "geometric_", "bernoulli_", "normal_", "uniform_"}
OTHERS |= {"bernoulli", "__sizeof__", "__hash__", "__repr__", "__str__", "__reduce_ex__", "__dir__"}
OTHERS |= {"share_memory_", "resize_", "set_", "__dict__", "__format__", "backward"}
NAMES = [name for name in dir(torch.Tensor) if name not in OTHERS and not name.startswith("__i")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["x.{}", "x.{}()"])
def test_every_question_without_arguments(form):
    for name in NAMES:
        fn = eval(f"lambda x: {form.format(name)}")
        compiled = armature.compile(fn)
        for number in [*range(len(tensors())), 0, 1]:
            answers = []
            for run in (fn, compiled):
                try:
                    answers.append(shown(run(tensors()[number])))
                except Exception as error:
                    answers.append(type(error))
            assert answers[0] == answers[1], (form.format(name), number)

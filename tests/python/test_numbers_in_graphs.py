"""Numbers that vary and are operands of tensor operations: inputs of the graph, not constants."""

import operator
import warnings

import armature
import numpy as np
import pytest
import torch
from differential import compilations, translations

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.pow,
    operator.floordiv,
    operator.mod,
]
INTEGERS = [1, 2, 0, -3, 300, 2**40, 2**59, 2**62, 2**70, 7]
FLOATS = [0.5, 1.5, 0.0, -0.0, 1e300, float("inf"), float("nan"), 2.0]


def outcome(function, *arguments):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return repr(result), result.dtype, result.stride(), result.requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
@pytest.mark.parametrize("numbers", [INTEGERS, FLOATS], ids=["int", "float"])
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators(op, numbers, dtype):
    def right(x, n):
        return op(x.clone(), n)

    def left(x, n):
        return op(n, x)

    x = torch.tensor([1, 2, 3]).to(dtype)
    for function in (right, left):
        compiled = armature.compile(function)
        for n in numbers:
            assert outcome(compiled, x, n) == outcome(function, x, n), n


METHODS = """
    add div divide eq ge greater greater_equal gt le less less_equal lt mul multiply ne not_equal
    sub subtract true_divide
""".split()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
@pytest.mark.parametrize("name", METHODS)
def test_functions_and_methods(name, dtype):
    def function(x, n):
        return getattr(torch, name)(x, n)

    def method(x, n):
        return getattr(x, name)(n)

    def in_place(x, n):
        return getattr(x.clone(), name + "_")(n)

    x = torch.tensor([1, 2, 3]).to(dtype)
    for each in (function, method, in_place):
        compiled = armature.compile(each)
        for n in INTEGERS:
            assert outcome(compiled, x, n) == outcome(each, x, n), n
        for n in FLOATS:
            assert outcome(compiled, x, n) == outcome(each, x, n), n


def test_other_numbers_are_constants():
    def program(x, n):
        return torch.div(x, n, rounding_mode="floor"), x.round(decimals=int(n))

    compiled = armature.compile(program)
    x = torch.randn(3)
    for n in (1, 2, 3, 0.5, 1.5, 2.5):
        for got, expected in zip(compiled(x, n), program(x, n), strict=True):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_values_and_gradients(backend):
    def program(x, n, f):
        y = x * f + n * 2
        return (y - (n + f)) / f, y < n, n + 1

    compiled = armature.compile(program, backend=backend)
    for n, f in [(1, 0.5), (2, 1.5), (3, 2.5), (5, 1e-3), (2**59, 3.0)]:
        x = torch.randn(3, requires_grad=True)
        got, expected = compiled(x, n, f), program(x, n, f)
        assert torch.equal(got[0], expected[0]) and torch.equal(got[1], expected[1])
        assert got[2] == expected[2]
        (gradient,) = torch.autograd.grad(got[0].sum(), x)
        (plain,) = torch.autograd.grad(expected[0].sum(), x)
        assert torch.equal(gradient, plain)


def test_one_translation_for_every_number():
    def program(x, n):
        return torch.add(x * 0.5 + n, n + 1).mul(n).div_(2 * n + 1)

    compiled = armature.compile(program)
    x = torch.ones(2)
    for n in range(40):
        assert torch.equal(compiled(x, n), program(x, n))
    assert translations(compiled) == 2
    assert torch.equal(compiled(x, 2.5), program(x, 2.5))
    assert torch.equal(compiled(x, True), program(x, True))


def test_loop_with_a_break_compiles_its_body_once(capsys):
    def program(x, turns):
        for i in range(turns):
            print(i)
            x = x * 0.5 + i
        return x

    x = torch.ones(2)
    expected = program(x, 1500)
    with compilations() as made:
        assert torch.equal(armature.compile(program)(x, 1500), expected)
    assert len(made) < 6
    assert "1499" in capsys.readouterr().out


def test_a_number_is_the_same_in_the_graph_and_outside():
    class Model:
        step = 0

    def program(model, x):
        model.step += 1
        y = x + model.step
        if model.step > 6:
            y = y * 2
        return y

    captured, plain = Model(), Model()
    compiled = armature.compile(program)
    for _ in range(12):
        assert torch.equal(compiled(captured, torch.ones(2)), program(plain, torch.ones(2)))
    assert captured.step == plain.step == 12
    assert translations(compiled) <= 4


def test_numbers_inside_of_bodies():
    def program(x, n):
        doubled = torch.utils.checkpoint.checkpoint(lambda y: y.sin() * n, x, use_reentrant=False)
        mapped = torch.vmap(lambda y: y + n)(x)
        chosen = torch.cond(x.sum() > 0, lambda y: y + n, lambda y: y - n, (x,))
        return doubled + mapped + chosen * n

    compiled = armature.compile(program)
    for n in (1, 2, 3, 4):
        x = torch.randn(3, requires_grad=True)
        assert torch.equal(compiled(x, n), program(x, n))


def test_custom_function_with_a_number():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * n

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.n + ctx.n, None

    def program(x, n):
        return Scale.apply(x, n) + n

    compiled = armature.compile(program)
    for n in (1, 2, 3, 4):
        x = torch.randn(3, requires_grad=True)
        got = compiled(x, n)
        assert torch.equal(got, program(x, n))
        (gradient,) = torch.autograd.grad(got.sum(), x)
        assert torch.equal(gradient, torch.full((3,), 2.0 * n))


def test_a_graph_that_fails_with_numbers():
    log = []

    def program(x, index, n):
        y = x + n
        log.append(n)
        x.add_(n)
        log.append("added")
        z = y[index]
        log.append("taken")
        return z * n

    def run(function, n, index):
        log.clear()
        x = torch.ones(3)
        try:
            result = function(x, torch.tensor(index), n).tolist()
        except IndexError as error:
            result = str(error)
        return result, x.tolist(), list(log)

    compiled = armature.compile(program)
    for n in (1, 2, 3, 4, 2.5, 3.5):
        assert run(compiled, n, [0, 2]) == run(program, n, [0, 2])
        assert run(compiled, n, [0, 9]) == run(program, n, [0, 9])


def test_arrays_of_several_kinds_take_numbers():
    numpy = pytest.importorskip("numpy")

    def program(x, a, n):
        return x + n, a * n, x * numpy.float32(n), a[0] + n

    compiled = armature.compile(program)
    a = numpy.arange(3.0)
    for n in (1, 2, 3, 2**40, 0.5, 1.5, 2.5):
        assert repr(compiled(torch.ones(3), a, n)) == repr(program(torch.ones(3), a, n))


def test_indexes():
    def program(x, i):
        y = x[i] * 2
        z = x.clone()
        z[i] = y
        z[i] += i
        return y, z, z[i, 0], x[-1], x[i - 1]

    compiled = armature.compile(program)
    x = torch.randn(6, 2)
    for i in [*range(1, 6), -1, -2, -5]:
        for got, expected in zip(compiled(x, i), program(x, i), strict=True):
            assert torch.equal(got, expected)


def test_items_of_varying_index_are_one_translation():
    def program(x, i):
        y = x[i]
        x[i] = y + 1
        return y.sin(), y.shape, y.stride()

    compiled = armature.compile(program)
    x, expected = torch.ones(30, 2), torch.ones(30, 2)
    for i in range(30):
        assert repr(compiled(x, i)) == repr(program(expected, i))
    assert torch.equal(x, expected)
    assert translations(compiled) <= 3


@pytest.mark.parametrize("shape", [(4, 2), (4,), (0, 2), ()])
@pytest.mark.parametrize("handled", [False, True])
def test_indexes_out_of_range(shape, handled):
    def take(x, i, log):
        log.append(i)
        y = x[i]
        log.append(y.shape)
        return y + 1

    def taken(x, i, log):
        try:
            return take(x, i, log)
        except IndexError as error:
            return str(error)

    program = taken if handled else take
    compiled = armature.compile(program)
    x = torch.ones(shape)
    for i in (0, 1, 2, 3, 4, 5, -1, -4, -5, 9, 2**70, 2.0, True):
        logs = [], []
        outcomes = []
        for function, log in zip((compiled, program), logs, strict=True):
            try:
                outcomes.append(repr(function(x, i, log)))
            except Exception as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1], i
        assert logs[0] == logs[1]


def test_the_storage_offset_of_an_item():
    def program(x, i):
        y = x[i]
        return y[1:].storage_offset(), y.as_strided((1,), (1,)), y.data_ptr() - x.data_ptr()

    compiled = armature.compile(program)
    x = torch.arange(12.0).reshape(4, 3)
    for i in (0, 1, 2, 3, -1, -2):
        assert repr(compiled(x, i)) == repr(program(x, i))


@pytest.mark.parametrize("make", [np.int64, np.uint8, torch.tensor], ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "take",
    [
        lambda x, i: x[i],
        lambda x, i: x.T[i, 1:],
        lambda x, i: x[i].view(3, 1)[1:],
        lambda x, i: x.narrow(0, i, 1) if isinstance(i, torch.Tensor) else x[:, i],
    ],
    ids=["item", "transposed", "view", "narrow"],
)
def test_the_storage_offset_of_an_item_at_an_array(make, take):
    def program(x, i):
        y = take(x, i)
        return y.storage_offset(), y.stride(), y + 1

    compiled = armature.compile(program)
    x = torch.arange(12.0).reshape(4, 3)
    for i in (0, 1, 2, 1, 0):
        assert repr(compiled(x, make(i))) == repr(program(x, make(i)))


def test_overlapping_items():
    def program(x, i, j):
        a, b = x[i], x[j]
        a.add_(1)
        b.mul_(3)
        x[i] = b
        return a + b, x.sum()

    compiled = armature.compile(program)
    for i, j in [(0, 1), (1, 2), (2, 2), (3, 0), (1, 1), (-1, 3), (0, 0)]:
        x, y = torch.ones(4, 3), torch.ones(4, 3)
        assert repr(compiled(x, i, j)) == repr(program(y, i, j))
        assert torch.equal(x, y)


def test_loop_over_items_with_a_break(capsys):
    def program(x):
        state = torch.zeros(2)
        for i in range(x.shape[0]):
            print(i)
            state = (state + x[i]) * 0.5
            x[i] = state
        return state

    x, y = torch.ones(200, 2), torch.ones(200, 2)
    expected = program(y)
    with compilations() as made:
        assert torch.equal(armature.compile(program)(x), expected)
    assert torch.equal(x, y)
    assert len(made) < 7


SMALL = {
    "add": lambda x, n: torch.add(x, x, alpha=n),
    "sub_": lambda x, n: x.clone().sub_(x, alpha=n),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "addcdiv_": lambda x, n: x.clone().addcdiv_(x, x, value=-n),
    "addmm": lambda x, n: torch.addmm(x, x[:, None], x[None], alpha=n, beta=n + 1),
    "lerp": lambda x, n: x.lerp(x + 1, n),
    "clamp": lambda x, n: (x.clamp(n), x.clamp(max=n), torch.clip(x, -n, n)),
    "clamp_min": lambda x, n: x.clamp_min(n) + torch.clamp_max(x, max=n),
    "pow": lambda x, n: (torch.pow(x, n), x.clone().pow_(exponent=n)),
    "fill_": lambda x, n: x.clone().fill_(n),
    "foreach": lambda x, n: (
        torch._foreach_add([x, x], [x, x], alpha=n),
        torch._foreach_mul((x,), n),
        torch._foreach_lerp([x], [x * 2], n),
    ),
}


def outcomes(function, *arguments):
    """As `outcome`, of several results."""
    try:
        results = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    flat = torch.utils._pytree.tree_leaves(results)
    return [(repr(each), each.dtype, each.requires_grad) for each in flat]


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.int64]
    + [torch.uint8, torch.bool],
)
@pytest.mark.parametrize("name", SMALL)
def test_numbers_that_are_converted(name, dtype):
    """torch raises for those that the tensor's dtype cannot hold."""
    function = SMALL[name]
    x = torch.tensor([1, 2, 3]).to(dtype)
    for numbers in (INTEGERS, [*INTEGERS, 32768, 32769, -65504], FLOATS, [*FLOATS, 70000.5, 3e38]):
        compiled = armature.compile(function)
        for n in numbers:
            assert outcomes(compiled, x, n) == outcomes(function, x, n), n


@pytest.mark.parametrize("name", SMALL)
def test_one_translation_for_converted_numbers(name):
    function = SMALL[name]
    compiled = armature.compile(function)
    x = torch.tensor([1.0, 2.0, 3.0])
    for n in (0.5, 1.5, 2.25, -3.0, 7.0, 1e-5, 0.0, -0.0):
        assert outcomes(compiled, x, n) == outcomes(function, x, n)
    assert translations(compiled) == 2
    # The dtype that the small numbers were small enough for is part of the guards.
    for other in (x.half(), x.long(), x.half()):
        assert outcomes(compiled, other, 70000.0) == outcomes(function, other, 70000.0)


def test_a_learning_rate_that_varies():
    def make():
        torch.manual_seed(0)
        model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(20)])
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
        return model, sgd, torch.optim.lr_scheduler.ExponentialLR(sgd, 0.9)

    def run(made, step, turns):
        model, sgd, scheduler = made
        for _ in range(turns):
            sgd.zero_grad()
            model(torch.ones(2, 3)).tanh().sum().backward()
            step()
            scheduler.step()
        return list(model.parameters())

    plain, captured = make(), make()
    step = armature.compile(lambda: captured[1].step())
    run(
        captured, step, 4
    )  # Momentum begins with the second step, and the rate varies from then on.
    with compilations() as finished:
        parameters = run(captured, step, 12)
    for got, expected in zip(parameters, run(plain, plain[1].step, 16), strict=True):
        assert torch.equal(got, expected)
    assert not finished

"""What we say that torch's operations return, against what they do return."""

import functools
import operator
import random
import subprocess
import sys
import textwrap

import pytest
import torch
import torch.nn.functional as F
from armature import _C
from torch_calls import CALLS
from torch_samples import (
    ask_torch,
    call,
    copy,
    describe,
    differences,
    operator_database,
    rule,
    structure,
)

DTYPES = [torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.uint8, torch.complex64]
SAMPLES = 6  # for each operation and dtype
CALLS_OF_A_RULE = 30
LAYOUTS = ["as it is", "reversed", "strided", "channels last", "expanded", "shuffled"]

# Rules under another name than that of torch's samples.
SAMPLED_AS = {
    "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "mod": "remainder",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "truediv": "true_divide",
    "floordiv": "floor_divide", "invert": "bitwise_not", "pos": "positive",
    "getitem": "__getitem__", "and": "bitwise_and", "or": "bitwise_or", "T": "matrices",
    "mT": "matrices", "data": "matrices",
    "square": "square", "clip": "clamp", "log_sigmoid": "logsigmoid", "concat": "cat",
    "concatenate": "cat", "linalg_vector_norm": "linalg.vector_norm",
}  # fmt: skip


def base_name(name):
    """The operation that a rule's name is about: "operator.iadd" is about "add"."""
    place, _, base = name.rpartition(".")
    if name.startswith("getattr "):
        return SAMPLED_AS[name.removeprefix("getattr ")]
    if place == "operator" and base.startswith("i") and base not in ("invert", "is_"):
        base = base[1:]
    if base.startswith("__") and base not in ("__getitem__", "__radd__", "__rmul__", "__rsub__"):
        base = base.strip("_")
    if base.endswith("_") and not base.endswith("__") and place.startswith("torch"):
        base = base[:-1]
    return SAMPLED_AS.get(base, base)


@functools.cache
def infos():
    by_name = {}
    for info in operator_database():
        for name in (info.name, *(alias.name for alias in info.aliases)):
            by_name.setdefault(name, []).append(info)
            by_name.setdefault(name.removeprefix("nn.functional."), []).append(info)
    return by_name


@functools.cache
def samples(name):
    result = []
    for info in infos().get(name, []):
        for dtype in DTYPES:
            if dtype not in info.dtypes:
                continue
            requires_grad = dtype.is_floating_point and info.supports_autograd
            generated = info.sample_inputs("cpu", dtype, requires_grad=requires_grad)
            for _, sample in zip(range(SAMPLES), generated, strict=False):
                result.append(((sample.input, *sample.args), sample.kwargs))
        if info.error_inputs_func:
            for error in info.error_inputs("cpu"):
                result.append(
                    (
                        (error.sample_input.input, *error.sample_input.args),
                        error.sample_input.kwargs,
                    )
                )
    return result


def resolve(name):
    """The operation, target and last arguments of a rule's name; None if torch lacks it."""
    if name.startswith("getattr "):
        return "call_function", getattr, (name.removeprefix("getattr "),)
    if name.startswith("torch.Tensor."):
        method = name.removeprefix("torch.Tensor.")
        return ("call_method", method, ()) if hasattr(torch.Tensor, method) else None
    target = {"torch": torch, "operator": operator}[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        target = getattr(target, part, None)
    return ("call_function", target, ()) if target else None


def relayout(tensor, layout, chance):
    """The same values in another memory layout."""
    if tensor.dim() == 0 or tensor.dim() > 8 or tensor.layout != torch.strided:
        return tensor
    with torch.no_grad():
        if layout == "reversed":
            result = tensor.transpose(0, -1).contiguous().transpose(0, -1)
        elif layout == "strided":
            room = torch.zeros([2 * size for size in tensor.shape], dtype=tensor.dtype)
            result = room[tuple(slice(None, None, 2) for _ in tensor.shape)]
            result.copy_(tensor)
        elif layout == "channels last" and tensor.dim() == 4:
            result = tensor.contiguous(memory_format=torch.channels_last)
        elif layout == "expanded" and tensor.numel():
            result = tensor.select(0, 0).unsqueeze(0).expand(tensor.shape)
        elif layout == "shuffled":
            order = list(range(tensor.dim()))
            chance.shuffle(order)
            result = tensor.permute(order).contiguous()
            result = result.permute([order.index(i) for i in range(tensor.dim())])
        else:
            return tensor
    result = result.detach()
    return result.requires_grad_() if tensor.requires_grad else result


def with_layout(value, layout, chance):
    if isinstance(value, torch.Tensor):
        return relayout(value, layout, chance)
    if type(value) in (list, tuple):
        return type(value)(with_layout(item, layout, chance) for item in value)
    if type(value) is dict:
        return {key: with_layout(item, layout, chance) for key, item in value.items()}
    return value


def is_strided(arguments):
    return all(
        value.layout == torch.strided for value in arguments if isinstance(value, torch.Tensor)
    )


def compare(operation, target, arguments, keywords, grad_enabled=True):
    """Checks the rule's answer for one call; True if it has one."""
    answer = rule(describe(operation, target, arguments, keywords, grad_enabled))
    if answer is None:
        return False
    result = call(operation, target, copy(tuple(arguments)), copy(keywords), grad_enabled)
    where = f"{target} of {arguments}, {keywords}"
    assert not isinstance(result, Exception), f"{where} raises {result!r}, the rule says {answer}"
    assert differences(structure(result), answer) == [], where
    return True


RULES = [name for name in _C.torch_rule_names() if resolve(name)]


@pytest.mark.parametrize("name", RULES)
def test_rule_agrees_with_torch(name):
    chance = random.Random(name)
    operation, target, extra = resolve(name)
    base = base_name(name)
    calls = CALLS.get("Tensor.where" if name == "torch.Tensor.where" else base, [])
    known = samples(base)
    calls = calls + chance.sample(known, min(len(known), CALLS_OF_A_RULE))
    answers = 0
    for arguments, keywords in calls:
        if not is_strided(arguments):
            continue
        if operation == "call_method" and not isinstance(arguments[0], torch.Tensor):
            continue
        for layout in ("as it is", chance.choice(LAYOUTS[1:])):
            changed = with_layout(arguments + extra, layout, chance)
            options = with_layout(keywords, layout, chance)
            # In place, what requires grad is mostly an error.
            grad_enabled = chance.random() < (0.3 if name.endswith("_") else 0.7)
            answers += compare(operation, target, changed, options, grad_enabled)
    assert answers, f"no call of {name} was answered, of {len(calls)}"


def random_tensor(chance, dimensions=None):
    count = chance.randrange(5) if dimensions is None else dimensions
    sizes = [chance.choice([0, 1, 1, 2, 3, 4]) for _ in range(count)]
    dtype = chance.choice(DTYPES + [torch.float64, torch.int32, torch.float16])
    tensor = torch.ones(sizes, dtype=dtype)  # integers are not divided by zero
    if dtype.is_floating_point and chance.random() < 0.3:
        tensor.requires_grad_()
    return relayout(tensor, chance.choice(LAYOUTS), chance)


BINARY = [
    "add", "sub", "mul", "true_divide", "floor_divide", "remainder", "pow", "eq", "lt", "maximum",
    "bitwise_and", "bitwise_left_shift", "logical_and",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_random_tensors_and_numbers(seed):
    chance = random.Random(seed)
    for _ in range(40):
        first = random_tensor(chance)
        second = chance.choice([random_tensor(chance), 2, 0.5, True, -1, 1j, random_tensor(chance)])
        if isinstance(second, torch.Tensor) and chance.random() < 0.5:
            sizes = [chance.choice([1, size]) for size in first.shape][chance.randrange(2) :]
            second = torch.ones(sizes, dtype=second.dtype)
            second = relayout(second, chance.choice(LAYOUTS), chance)
        compare("call_function", getattr(torch, chance.choice(BINARY)), (first, second), {})
        compare("call_method", chance.choice(["add_", "mul_", "div_", "pow_"]), (first, second), {})


@pytest.mark.parametrize("seed", range(10))
def test_random_subscripts(seed):
    chance = random.Random(seed)
    number = lambda: chance.choice([None, -5, -2, -1, 0, 1, 2, 3, 7])  # noqa: E731
    answers = 0
    for _ in range(100):
        items = []
        for _ in range(chance.randrange(4)):
            step = chance.choice([None, 1, 2, 3, -1]) if chance.random() < 0.3 else None
            items.append(
                chance.choice(
                    [chance.randrange(-2, 2), None, Ellipsis, slice(number(), number(), step),
                     slice(None), True, [0]]
                )
            )  # fmt: skip
        key = items[0] if len(items) == 1 else tuple(items)
        answers += compare("call_function", operator.getitem, (random_tensor(chance), key), {})
    assert answers > 20


@pytest.mark.parametrize("seed", range(10))
def test_random_views(seed):
    chance = random.Random(seed)
    answers = 0
    for _ in range(60):
        tensor = random_tensor(chance)
        sizes = [chance.choice([-1, 0, 1, 2, 3, 4, 6]) for _ in range(chance.randrange(4))]
        if chance.random() < 0.6 and tensor.numel():
            sizes = list(tensor.shape)
            chance.shuffle(sizes)
            while len(sizes) > 1 and chance.random() < 0.5:
                sizes[-2:] = [sizes[-2] * sizes[-1]]
        for method in ("view", "reshape", "expand", "repeat", "permute", "squeeze"):
            answers += compare("call_method", method, (tensor, tuple(sizes)), {})
        dimensions = [chance.randrange(-3, 3) for _ in range(2)]
        answers += compare("call_method", "transpose", (tensor, *dimensions), {})
        answers += compare("call_method", "flatten", (tensor, *dimensions), {})
        answers += compare("call_method", "unsqueeze", (tensor, dimensions[0]), {})
        answers += compare("call_method", "sum", (tensor, dimensions, chance.random() < 0.5), {})
        answers += compare("call_method", "chunk", (tensor, 2, dimensions[0]), {})
    assert answers > 100


# --- Asking torch.


def graph_operations():
    for info in operator_database():
        is_named = callable(info.op) and getattr(info.op, "__name__", "<lambda>") != "<lambda>"
        if is_named and _C.torch_classify(info.op)["kind"] == "graph operation":
            yield info


# What meta tensors are known to say otherwise than those of the CPU.
META_DIFFERS = {
    "native_batch_norm", "_native_batch_norm_legit", "nonzero_static", "linalg.eig", "fft.hfft2",
    "fft.rfft2", "fft.rfftn", "as_strided",
}  # fmt: skip


def test_torch_is_asked_without_a_rule():
    answers = 0
    for info in graph_operations():
        if torch.float32 not in info.dtypes or info.name in META_DIFFERS:
            continue
        for _, sample in zip(range(1), info.sample_inputs("cpu", torch.float32), strict=False):
            arguments = (sample.input, *sample.args)
            if not is_strided(arguments):
                continue
            result = call("call_function", info.op, copy(arguments), copy(sample.kwargs))
            try:
                answer = ask_torch(describe("call_function", info.op, arguments, sample.kwargs))
            except NotImplementedError:
                continue  # depends on data
            assert not isinstance(result, Exception)
            assert differences(structure(result), answer) == [], info.name
            answers += 1
    assert answers > 300


def test_errors_are_torchs_own():
    x, y = torch.zeros(2, 3), torch.zeros(4, 5)
    for operation, target, arguments, keywords in [
        ("call_function", torch.add, (x, y), {}),
        ("call_function", torch.mm, (x, y), {}),
        ("call_function", F.linear, (x, y), {}),
        ("call_method", "view", (x, 5), {}),
        ("call_method", "sum", (x, 7), {}),
        ("call_method", "no_such_method", (x,), {}),
        ("call_function", torch.cat, ([x, y],), {}),
        ("call_function", torch.addmm, (x, x, y), {}),
        ("call_function", torch.sum, (x,), {"no_such_keyword": 1}),
        ("call_function", torch.conv2d, (x, y), {}),
    ]:
        expected = call(operation, target, arguments, keywords)
        description = describe(operation, target, arguments, keywords)
        assert rule(description) is None
        with pytest.raises(type(expected)) as found:
            ask_torch(description)
        assert str(found.value) == str(expected)


def test_what_depends_on_data_breaks_the_graph():
    x = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    for target, arguments in [
        (torch.nonzero, (x,)),
        (torch.masked_select, (x, x > 0)),
        (torch.bincount, (torch.tensor([1, 2]),)),
        (torch.repeat_interleave, (x, torch.tensor([1, 2]), 0)),
        (F.one_hot, (torch.tensor([1, 2]),)),
        (torch.unique, (x,)),
        (torch.equal, (x, x)),
    ]:
        with pytest.raises(NotImplementedError, match="depends on the data"):
            ask_torch(describe("call_function", target, arguments, {}))


def test_asking_leaves_no_trace():
    x = torch.randn(3, 4)
    state = torch.get_rng_state()
    ask_torch(describe("call_function", torch.dropout, (x, 0.5, True), {}))
    ask_torch(describe("call_function", torch.rand, (3,), {}))
    ask_torch(describe("call_method", "normal_", (x,), {}))
    with pytest.raises(RuntimeError):
        ask_torch(describe("call_function", torch.add, (x, torch.ones(7)), {}))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    before = x.clone()
    ask_torch(describe("call_method", "add_", (x, 1), {}))
    assert torch.equal(x, before)


def test_modes_of_the_program_do_not_see_it():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), keywords=None):
            seen.append(function)
            return function(*arguments, **(keywords or {}))

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            seen.append(function)
            return function(*arguments, **(keywords or {}))

    description = describe("call_function", torch.logaddexp, (torch.zeros(3), torch.zeros(3)), {})
    for mode in (Functions(), Dispatch()):
        with mode:
            assert ask_torch(description)["sizes"] == (3,)
    assert seen == []


def test_grad_mode_of_the_node_decides():
    x = torch.zeros(3, requires_grad=True)
    for grad_enabled in (True, False):
        for target, arguments in [(torch.exp, (x,)), (torch.logaddexp, (x, x)), (torch.t, (x,))]:
            description = describe("call_function", target, arguments, {}, grad_enabled)
            expected = structure(call("call_function", target, arguments, {}, grad_enabled))
            assert differences(expected, ask_torch(description)) == []
            assert differences(expected, rule(description) or expected) == []


def test_autocast_is_asked_of_torch():
    x, y = torch.zeros(2, 3), torch.zeros(3, 4)
    description = describe("call_function", torch.mm, (x, y), {})
    with torch.autocast("cpu"):
        assert ask_torch(description)["dtype"] == torch.bfloat16
        description["evaluate"] = True
        description["outputs"] = ["%2"]
        assert "bf16[2, 4]" in _C.graph_text(description)


def test_default_device_and_dtype():
    zeros = describe("call_function", torch.zeros, (3,), {})
    division = describe("call_function", torch.true_divide, (torch.ones(2).long(), 2), {})
    torch.set_default_device("meta")
    try:
        assert rule(zeros) is None
        assert ask_torch(zeros)["device"] == torch.device("meta")
    finally:
        torch.set_default_device(None)
    torch.set_default_dtype(torch.float64)
    try:
        assert rule(zeros)["dtype"] == rule(division)["dtype"] == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert rule(zeros)["dtype"] == torch.float32


def test_structures():
    x = torch.zeros(4, 6)
    largest = describe("call_function", torch.max, (x, 1), {})
    assert rule(largest)[0] is ask_torch(largest)[0] is torch.return_types.max
    assert ask_torch(describe("call_function", torch.is_floating_point, (x,), {})) == (
        "constant",
        True,
    )
    assert ask_torch(describe("call_method", "size", (x,), {}))[0] is torch.Size
    parts = ask_torch(describe("call_function", torch.unbind, (x,), {}))
    assert parts[0] is tuple and len(parts[1]) == 4
    assert ask_torch(describe("call_function", torch.result_type, (x, 1), {})) == (
        "constant",
        torch.float32,
    )


def test_norms_import_no_compiler():
    """As torch's own functions for meta tensors do, which takes seconds."""
    program = """
        import sys
        import torch, armature
        import torch.nn.functional as F

        def f(x, y):
            lengths = x.norm(), torch.norm(x, dim=1), x.norm(2, 0, keepdim=True)
            sizes = torch.linalg.vector_norm(y), torch.linalg.vector_norm(y, 1, (0, 1), True)
            return lengths, sizes, F.normalize(x), F.cosine_similarity(x, y, dim=-1)

        x, y = torch.randn(3, 4), torch.randn(3, 4)
        torch.testing.assert_close(armature.compile(f)(x, y), f(x, y))
        assert "torch._dynamo" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)

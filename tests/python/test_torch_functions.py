"""Calls of torch that are no operations themselves: definitions of custom operators, methods taken
from the class, checks by attribute, ranges of the profiler, sizes, legacy types, scripts."""

import armature
import pytest
import torch
from armature import _C
from differential import break_reasons, check
from torch.profiler import record_function

pytestmark = pytest.mark.filterwarnings("ignore:.*record_function is called")


@torch.library.custom_op("armature_test::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


@scaled.register_fake
def _(x, by):
    return torch.empty_like(x)


@torch.library.custom_op("armature_test::fill", mutates_args={"x"})
def fill(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


def operator_by_its_definition(x):
    return scaled(x, 2.0) + scaled(x, by=3.0)


def methods_of_the_class(x):
    return torch.Tensor.dim(x), torch.Tensor.size(x, 0), torch.Tensor.add(x, 1), torch.Tensor.sum(x)


def looks_like_a_tensor(x):
    class Like:
        __torch_function__ = None

    likes = [torch.overrides.is_tensor_like(each) for each in (x, 1, None, "x")]
    return likes, x + 1


def log_probability(x):
    normal = torch.distributions.Normal(x, torch.ones(3), validate_args=False)
    return normal.log_prob(x * 2)


def ranges(x):
    with record_function("outer"), torch.autograd.profiler.record_function("inner", "args"):
        x = x + 1
    with record_function("again") as again:
        with again:
            x = x * 2
    return x


@pytest.mark.parametrize(
    "fn",
    [operator_by_its_definition, methods_of_the_class, log_probability, ranges],
)
def test_is_one_graph(fn):
    check(fn, torch.arange(3.0))
    compiled = armature.compile(fn)
    compiled(torch.arange(3.0))
    assert not break_reasons(compiled)


def test_what_looks_like_a_tensor():
    check(looks_like_a_tensor, torch.arange(3.0))


def test_an_operator_that_changes_its_argument():
    def f(x):
        y = x + 1
        fill(y, 4.0)
        return y * 2, fill(x, 5.0), x

    check(f, torch.arange(3.0))


def test_a_method_of_the_class_that_was_replaced(monkeypatch):
    def f(x):
        return torch.Tensor.dim(x)

    compiled = armature.compile(f)
    assert compiled(torch.ones(2, 3)) == 2
    monkeypatch.setattr(torch.Tensor, "dim", lambda self: "replaced", raising=False)
    assert compiled(torch.ones(2, 3)) == "replaced"


def test_a_range_is_ignored_with_a_warning():
    compiled = armature.compile(lambda x: ranges(x))
    with pytest.warns(UserWarning, match="record_function is called"):
        assert compiled(torch.zeros(1)).item() == 2


@pytest.mark.parametrize("entered", [False, True])
def test_a_break_beside_a_range(entered):
    def inside(x):
        with record_function("range") as shown:
            x = x + 1
            armature.graph_break()
            with shown:
                armature.graph_break()
                x = x * 2
        return x + 1

    def outside(x):
        shown = record_function("range")
        armature.graph_break()
        with shown:
            return x * 2

    f = inside if entered else outside
    compiled = armature.compile(f)
    for _ in range(2):
        assert compiled(torch.ones(2)).tolist() == f(torch.ones(2)).tolist()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compiled(torch.ones(2))
    assert profile.key_averages()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex64])
def test_lengths_and_type_names(dtype):
    def f(x):
        half = x.to(torch.float16) if x.dtype.is_floating_point else x
        return x.__len__() + len(half), x.type(), half.type(), x.type(torch.float64)

    compiled = armature.compile(f, fullgraph=True)
    for size in (2, 3):
        x = torch.ones(size, 2, dtype=dtype)
        *plain, converted = f(x)
        *captured, of_graph = compiled(x)
        assert captured == plain
        assert torch.equal(converted, of_graph)


def test_length_of_no_dimension():
    def f(x):
        try:
            return x.__len__()
        except TypeError as error:
            return str(error)

    assert armature.compile(f, fullgraph=True)(torch.tensor(1)) == f(torch.tensor(1))


def test_transforms_at_work():
    ask = torch._C._are_functorch_transforms_active

    def f(x):
        return x + ask()

    def inside(x):
        return torch.vmap(lambda row: row * (2 if ask() else 3))(x)

    x = torch.ones(2, 2)
    assert torch.equal(armature.compile(f, fullgraph=True)(x), f(x))
    compiled = armature.compile(f)
    for _ in range(2):
        assert torch.equal(torch.vmap(compiled)(x), torch.vmap(f)(x))
        assert torch.equal(compiled(x), f(x))
    assert torch.equal(armature.compile(inside)(x), inside(x))


def sizes_of_lists(x):
    sizes = [2, x.shape[0]]
    return torch.Size(sizes), torch.Size(n + 1 for n in sizes), x.new_zeros(torch.Size([3, 1]))


def sizes_of_what_is_none(x):
    for wrong in (["a"], [1.5], 3):
        try:
            torch.Size(wrong)
        except TypeError as error:
            yield_error = str(error)
    return yield_error


def questions_that_are_tensors(x):
    return torch._is_all_true(x > -1), torch._is_any_true(x > 100)


def legacy_types(x):
    half = x.type("torch.HalfTensor")
    return half, x.type(half.type()), x.type(torch.IntTensor), x.type("torch.FloatTensor")


def descriptors_of_tensors(x):
    return torch.Tensor.shape.__get__(x), torch.Tensor.requires_grad.__get__(x, torch.Tensor)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program",
    [
        sizes_of_lists,
        sizes_of_what_is_none,
        questions_that_are_tensors,
        legacy_types,
        descriptors_of_tensors,
    ],
)
def test_small_functions(program, backend):
    x = torch.arange(6.0).reshape(2, 3)
    options = {"fullgraph": True, "backend": backend}
    check(program, x, more=((torch.ones(4, 2),),), breaks=0, options=options)


def test_a_size_of_data_that_is_not_known():
    def program(x):
        return torch.Size([int(x), 2])

    check(program, torch.tensor(3), breaks=1)


@torch.jit.script_if_tracing
def scripted(x, by: float = 2.0):
    return x * by


def test_functions_that_are_scripted_under_a_tracer_alone():
    def program(x):
        return scripted(x), scripted(x, 3.0)

    check(program, torch.arange(3.0), breaks=0, options={"fullgraph": True})


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).relu() + 1


def test_graph_modules_are_called():
    module = torch.fx.symbolic_trace(Layers())

    def program(x):
        return module(x) * 2

    x = torch.randn(2, 3)
    compiled = armature.compile(program, fullgraph=True)
    assert torch.equal(compiled(x), program(x))
    with torch.no_grad():
        module.linear.weight.zero_()
    assert torch.equal(compiled(x), program(x))
    for node in module.graph.nodes:
        if node.target == "relu":
            node.target = "tanh"
    module.recompile()
    assert torch.equal(compiled(x), program(x))


def test_questions_are_not_in_the_graph():
    def program(x):
        if torch.is_floating_point(x) and not torch.is_complex(x):
            return x + torch.numel(x), torch.numel(input=x)
        return x

    compiled = check(program, torch.ones(3), more=((torch.ones(3, dtype=torch.int64),),), breaks=0)
    found = armature.explain(compiled)(torch.ones(3))
    assert "is_floating_point" not in found.graphs[0] and "is_complex" not in found.graphs[0]


def test_every_kind_of_call_has_its_name():
    kinds = {_C.torch_classify(callable_)["kind"] for callable_ in vars(torch).values()}
    assert {"graph operation", "constant foldable", "handled", "unsupported"} <= kinds
    assert _C.torch_classify(len)["kind"] == "not ours"

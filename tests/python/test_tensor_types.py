"""isinstance(x, torch.FloatTensor) and its like."""

import armature
import pytest
import torch
from differential import check
from fuzz.library_state import contained

TYPES = [
    torch.FloatTensor,
    torch.DoubleTensor,
    torch.HalfTensor,
    torch.BFloat16Tensor,
    torch.IntTensor,
    torch.LongTensor,
    torch.BoolTensor,
    torch.ByteTensor,
]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.bool]
KIND = torch.FloatTensor


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_kinds_of_arrays(backend):
    def program(x):
        answers = [isinstance(x, kind) for kind in TYPES]
        y = x + 1 if isinstance(x, torch.FloatTensor) else x * 2
        return y, answers, isinstance(y, torch.FloatTensor), isinstance(y, (int, torch.LongTensor))

    compiled = armature.compile(program, backend=backend, fullgraph=True)
    for dtype in DTYPES * 2:
        x = torch.ones(3, dtype=dtype)
        found, expected = compiled(x), program(x)
        assert found[0].equal(expected[0])
        assert found[1:] == expected[1:]


def test_what_is_no_array():
    def program(value):
        return isinstance(value, torch.FloatTensor)

    compiled = armature.compile(program)
    own = torch.ones(2).as_subclass(type("Own", (torch.Tensor,), {}))
    values = [1, None, "text", [torch.ones(1)], torch.Tensor, torch.FloatTensor, own]
    values += [torch.nn.Parameter(torch.ones(2)), torch.ones(2).to_sparse()]
    for value in values * 2:
        assert compiled(value) == program(value)


def test_another_kind_under_the_name(monkeypatch):
    def program(x):
        return isinstance(x, KIND), x + 1

    compiled = armature.compile(program)
    x = torch.ones(3)
    for kind in [torch.FloatTensor, torch.LongTensor, int, torch.Tensor, torch.FloatTensor]:
        monkeypatch.setitem(globals(), "KIND", kind)
        assert compiled(x)[0] == program(x)[0]


@pytest.mark.parametrize("backend", ["eager", contained])
@pytest.mark.parametrize("name", ["addcmul_", "addcdiv_"])
def test_updates_of_what_is_no_tensor_of_the_graph(name, backend):
    def outcome(function, *arguments):
        try:
            return type(function(*arguments))
        except (TypeError, NotImplementedError) as error:
            return type(error), str(error)

    method = getattr(torch.Tensor, name)
    compiled = armature.compile(lambda *arguments: method(*arguments), backend=backend)
    sparse = torch.ones(2, 3).to_sparse()
    for arguments in [(), (None,), (sparse, "text"), (sparse, sparse, sparse), (5, 5, 5)]:
        assert outcome(compiled, *arguments) == outcome(method, *arguments)
    ones = [torch.ones(2) for _ in range(4)]
    assert torch.equal(compiled(*ones[:3]), method(ones[3], *ones[1:3]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_type_of_no_type(dtype):
    def program(x):
        y = x + 1
        names = [x.type(None), y.type(dtype=None), torch.Tensor.type(x, None)]
        return names, y.type(None, False), y

    check(program, torch.ones(2, dtype=dtype))


OPERATORS = "add radd sub rsub mul rmul matmul rmatmul truediv rtruediv pow eq ne lt and or".split()


@pytest.mark.parametrize("operand", [None, "text", [], 2], ids=repr)
@pytest.mark.parametrize("name", OPERATORS)
def test_methods_of_operators_leave_operands_to_python(name, operand):
    def program(x, operand):
        class Holder:
            def __eq__(self, other):
                return getattr(x, f"__{name}__")(other)

        try:
            result = getattr(x, f"__{name}__")(operand)
        except (TypeError, RuntimeError) as error:
            return str(error)
        equal = Holder() == operand
        return result is NotImplemented, type(result), equal is NotImplemented, result

    check(program, torch.ones(2, 2, dtype=torch.int64), operand)


def test_a_bit_that_is_still_to_be_applied_makes_another_kind():
    def program(x):
        kinds = [isinstance(y, torch.FloatTensor) for y in (x, x + 0, x.resolve_neg())]
        return kinds, isinstance(x.resolve_neg().neg(), torch.FloatTensor)

    compiled = armature.compile(program)
    negated = torch.tensor([1 + 2j]).conj().imag
    for x in [torch.ones(1), negated, negated + 0, torch.ones(1, dtype=torch.int64), negated]:
        assert compiled(x) == program(x)


@pytest.mark.parametrize("backend", ["eager", contained])
@pytest.mark.parametrize("form", ["x.{}()", "torch.Tensor.{}(x)", "torch.Tensor.{}()"])
def test_methods_without_their_arguments(form, backend):
    """Rules look for no argument that is not there."""
    for name in ["__getitem__", "__add__", "__eq__", "addcmul_", "detach_", "type", "view"]:
        method = eval(f"lambda x: {form.format(name)}")

        def program(x, method=method):
            try:
                return type(method(x)).__name__
            except (TypeError, RuntimeError) as error:
                return type(error).__name__

        compiled = armature.compile(program, backend=backend)
        assert [compiled(torch.ones(2)) for _ in range(2)] == [program(torch.ones(2))] * 2, name


def product(x):
    return x.double() @ x


def linear(x):
    return torch.nn.functional.linear(x.half(), x)


def batches(x):
    return torch.bmm(x[None], x[None].to(torch.bfloat16))


def promoted(x):
    return torch.logaddexp(x.double(), x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [product, linear, batches, promoted])
def test_operands_of_several_types(fn, backend):
    """Meta tensors accept what real ones refuse."""

    def program(x):
        try:
            fn(x)
        except RuntimeError as error:
            return str(error)
        return "runs"

    compiled = armature.compile(program, backend=backend)
    assert [compiled(torch.ones(3, 3)) for _ in range(2)] == [program(torch.ones(3, 3))] * 2

"""What a program puts onto tensors and their classes takes precedence over what torch has there."""

import armature
import pytest
import torch
from armature import _C
from torch.nn import Parameter


def entries(compiled):
    return len(_C.entries(compiled))


def outcome(function, *args):
    try:
        return function(*args)
    except (AttributeError, TypeError) as error:
        return type(error).__name__, str(error)


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return type(a) is type(b) and torch.equal(a, b)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def agree(compiled, function, *args):
    found, expected = outcome(compiled, *args), outcome(function, *args)
    assert same(found, expected), (found, expected)


# --- Attributes of instances.


def read(x):
    return getattr(x, "mark", None), hasattr(x, "mark"), x + 1


@pytest.mark.parametrize("make", [torch.ones, lambda n: Parameter(torch.ones(n))])
def test_attributes_come_and_go(make):
    compiled = armature.compile(read)
    x = make(2)
    agree(compiled, read, x)
    x.mark = 3
    agree(compiled, read, x)
    x.mark = 4
    agree(compiled, read, x)
    x.other = 5
    agree(compiled, read, x)
    del x.mark
    agree(compiled, read, x)
    del x.other
    agree(compiled, read, x)


def test_an_absent_attribute_is_an_error_until_it_is_there():
    def program(x):
        return x.mark * 2

    compiled = armature.compile(program)
    x = torch.ones(2)
    agree(compiled, program, x)
    x.mark = torch.full((2,), 5.0)
    agree(compiled, program, x)


def test_an_attribute_hides_a_method_but_not_metadata():
    def program(x):
        return x.sin(), x.shape, x.dtype

    compiled = armature.compile(program)
    x = torch.ones(2)
    agree(compiled, program, x)
    x.sin = lambda: "mine"
    x.__dict__["shape"] = x.__dict__["dtype"] = "not read"
    agree(compiled, program, x)
    del x.sin
    agree(compiled, program, x)


def test_attributes_that_nobody_reads_change_nothing():
    def program(x, w):
        return x @ w.t() + x.shape[0]

    compiled = armature.compile(program)
    x, w = torch.ones(2, 2), Parameter(torch.ones(2, 2))
    agree(compiled, program, x, w)
    x.mark = w.mark = 1
    agree(compiled, program, x, w)
    before = entries(compiled)
    for value in range(5):
        x.mark = w.mark = value
        x.other = value
        agree(compiled, program, x, w)
    assert entries(compiled) == before <= 2


def test_the_dict_of_a_tensor_may_come_by_another_way():
    def program(x, attributes):
        attributes["mark"] = 5
        return getattr(x, "mark", None), x + 1

    compiled = armature.compile(program)
    agree(compiled, program, torch.ones(2), {})
    x = torch.ones(2)
    agree(compiled, program, x, x.__dict__)
    x, y = torch.ones(2), torch.ones(2)
    x.__dict__, y.__dict__  # noqa: B018 (which makes them)
    assert compiled(x, x.__dict__)[0] == program(y, y.__dict__)[0] == 5


def test_a_tensor_that_calls_itself_a_parameter():
    def program(x):
        return isinstance(x, Parameter), x + 1

    compiled = armature.compile(program)
    x = torch.ones(2)
    agree(compiled, program, x)
    x._is_param = True
    agree(compiled, program, x)
    x._is_param = False
    agree(compiled, program, x)


# --- Classes.


def add_in_place(x, y):
    x = x.clone()
    x += y
    return x


REPLACED = {
    "__add__": (lambda x, y: x + y, lambda self, other: "add"),
    "__radd__": (lambda x, y: 2 + x, lambda self, other: "radd"),
    "__iadd__": (add_in_place, lambda self, other: "iadd"),
    "__sub__": (lambda x, y: x - 1, lambda self, other: "sub"),
    "__rsub__": (lambda x, y: 1 - x, lambda self, other: "rsub"),
    "__matmul__": (lambda x, y: x @ y, lambda self, other: "matmul"),
    "__pow__": (lambda x, y: x**2, lambda self, other: "pow"),
    "__neg__": (lambda x, y: -x, lambda self: "neg"),
    "__abs__": (lambda x, y: abs(x), lambda self: "abs"),
    "__invert__": (lambda x, y: ~(x > 0), lambda self: "invert"),
    "__eq__": (lambda x, y: x == y, lambda self, other: "eq"),
    "__lt__": (lambda x, y: (x < y, y > x), lambda self, other: "lt"),
    "__getitem__": (lambda x, y: x[0], lambda self, key: "item"),
    "__len__": (lambda x, y: len(x), lambda self: 77),
    "__iter__": (lambda x, y: [item for item in x], lambda self: iter("iter")),
    "__getattr__": (lambda x, y: getattr(x, "missing", "none"), lambda self, name: name),
    "__getattribute__": (lambda x, y: x.shape, lambda self, name: name),
    "sin": (lambda x, y: x.sin(), lambda self: "sin"),
    "split": (lambda x, y: x.split(1), lambda self, size: size),
    "shape": (lambda x, y: x.shape, property(lambda self: "shape")),
    "T": (lambda x, y: x.T, property(lambda self: "T")),
    "mark": (lambda x, y: getattr(x, "mark", None), 5),
    "fresh": (lambda x, y: outcome(lambda: x.fresh(1)), lambda self, by: self + by),
}


@pytest.mark.parametrize("name", REPLACED)
@pytest.mark.parametrize("owner", [torch.Tensor, Parameter])
def test_replaced_in_the_class(name, owner, monkeypatch):
    program, replacement = REPLACED[name]
    compiled = armature.compile(program)

    def compare():
        pairs = [(torch.ones(2), torch.ones(2)), (Parameter(torch.ones(2)), torch.ones(2))]
        found = [outcome(compiled, *pair) for pair in pairs]
        expected = [outcome(program, *pair) for pair in pairs]
        return found, expected

    found, expected = compare()
    assert same(found, expected)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, replacement, raising=False)
        found, expected = compare()
        fresh = [
            outcome(armature.compile(program), make(torch.ones(2)), torch.ones(2))
            for make in (torch.Tensor, Parameter)
        ]
    assert same(found, expected), (found, expected)
    assert same(fresh, expected), (fresh, expected)
    found, expected = compare()
    assert same(found, expected)


def test_an_operator_written_twice_is_one_guard_per_class():
    def program(x, y):
        return x + y + x + y

    compiled = armature.compile(program)
    compiled(torch.ones(2), torch.ones(2))
    (entry,) = _C.entries(compiled)
    assert str(entry["guards"]).count("Tensor>.__add__ is") == 1


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ior", "ipow", "add"])
@pytest.mark.parametrize("arguments", [(), ("text",), (2, 3)])
def test_operator_methods_with_operands_that_they_do_not_know(name, arguments):
    def program(x):
        return getattr(x, f"__{name}__")(*arguments)

    x = torch.ones(2)
    found, expected = (outcome(f, x.clone()) for f in (armature.compile(program), program))
    assert same(found, expected), (found, expected)


@pytest.mark.parametrize("change", [False, True])
def test_attributes_of_what_an_operation_may_return_itself(change):
    """Nothing has put any onto an array of the trace's own; an input may have some."""

    def program(x, y):
        mask = (x > 0).to(device="cpu", dtype=torch.bool)
        same = mask.contiguous()
        return hasattr(same, "jax"), same.grad, hasattr(y.contiguous(), "jax"), x + 1

    compiled = armature.compile(program)
    for _ in range(3):
        x, y = torch.randn(3), torch.randn(3)
        if change:
            y.jax = 1
        assert compiled(x, y)[:3] == program(x, y)[:3] == (False, None, change)


def test_attributes_of_own_arrays_are_no_break():
    def program(x):
        mask = (x > 0).to(device="cpu", dtype=torch.bool)
        return not hasattr(mask.contiguous(), "jax"), x + 1

    assert armature.compile(program, fullgraph=True)(torch.ones(2))[0] is True


@pytest.mark.parametrize(
    "identity", [torch.Tensor.contiguous, torch.relu_, lambda x: x.to(x.dtype)]
)
def test_what_hides_a_method_is_found_through_results_that_are_the_tensor(identity):
    def program(x):
        y = identity(identity(x))
        return y.sum(), torch.add(x, 1).sum()

    compiled = armature.compile(program)
    plain, hiding = torch.ones(3), torch.ones(3)
    hiding.sum = lambda: "mine"
    for x in (plain, hiding, plain, hiding):
        assert str(compiled(x)) == str(program(x))
    del hiding.sum
    assert str(compiled(hiding)) == str(program(hiding))


def test_what_the_trace_puts_in_the_place_of_a_method():
    def program(x):
        x.sum = lambda: "mine"
        y = x.contiguous()
        return y.sum(), y is x, (x + 1).sum()

    compiled = armature.compile(program)
    for _ in range(2):
        assert str(compiled(torch.ones(3))) == str(program(torch.ones(3)))

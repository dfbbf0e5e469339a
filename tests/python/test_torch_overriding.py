"""Arguments whose types take over torch's operations: a graph break, wherever they hide."""

import collections

import armature
import pytest
import torch
import torch.nn.functional as F
from differential import break_reasons, check


class Sub(torch.Tensor):
    pass


class Logged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


class Duck:
    """No tensor at all."""

    def __init__(self, value=2.0):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return (func.__name__, cls.__name__)

    def __radd__(self, other):
        return "radd"


class Plain:
    def __radd__(self, other):
        return "radd"

    def __eq__(self, other):
        return "eq"

    __hash__ = None


def sub(cls):
    return torch.ones(3).as_subclass(cls)


PROGRAMS = {
    "operator": lambda x, y: x + y,
    "reflected": lambda x, y: y + x,
    "comparison": lambda x, y: x == y,
    "function": lambda x, y: torch.add(x, y),
    "method": lambda x, y: x.add(y),
    "keyword": lambda x, y: torch.add(x, other=y),
    "list": lambda x, y: torch.stack([x, y]),
    "tuple": lambda x, y: torch.cat((x, y)),
    "nested": lambda x, y: torch.block_diag(*[x, y]),
    "functional": lambda x, y: F.mse_loss(x, y),
    "inlined": lambda x, y: F.pad(y, (1, 1)),
    "index": lambda x, y: x[y.bool()] if isinstance(y, torch.Tensor) else torch.sin(y),
    "assignment": lambda x, y: x.clone().copy_(y),
    "has_torch_function": lambda x, y: torch.overrides.has_torch_function((x, y)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cls", [Sub, Logged])
def test_subclasses_of_tensor(name, cls):
    program = PROGRAMS[name]
    compiled = armature.compile(program)
    for _ in range(2):
        Logged.calls.clear()
        try:
            expected, error = program(torch.ones(3), sub(cls)), None
        except (RuntimeError, TypeError) as caught:
            expected, error = None, caught
        calls = list(Logged.calls)
        Logged.calls.clear()
        try:
            found, raised = compiled(torch.ones(3), sub(cls)), None
        except (RuntimeError, TypeError) as caught:
            found, raised = None, caught
        assert type(error) is type(raised)
        assert type(found) is type(expected)
        assert Logged.calls == calls
        if isinstance(found, torch.Tensor):
            assert torch.equal(found.as_subclass(torch.Tensor), expected.as_subclass(torch.Tensor))


@pytest.mark.parametrize("name", ["operator", "reflected", "function", "method", "list", "inlined"])
def test_objects_with_torch_function(name):
    def attempt(program):
        try:
            return program(torch.ones(3), Duck())
        except TypeError as error:
            return type(error)

    compiled = armature.compile(PROGRAMS[name])
    for _ in range(2):
        assert attempt(compiled) == attempt(PROGRAMS[name])


def test_a_plain_objects_operators_are_asked():
    def program(x, y):
        return (x + y, x == y)

    check(program, torch.ones(3), Plain())


def test_a_class_that_learns_to_override():
    class Late:
        def __radd__(self, other):
            return "radd"

    def program(x, y):
        return x + y

    compiled = armature.compile(program)
    x, y = torch.ones(3), Late()
    assert compiled(x, y) == program(x, y) == "radd"
    Late.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "taken")
    assert compiled(x, y) == program(x, y) == "taken"
    del Late.__torch_function__
    assert compiled(x, y) == program(x, y) == "radd"


def test_a_subclass_is_a_break_that_says_so():
    compiled = armature.compile(PROGRAMS["list"])
    compiled(torch.ones(3), sub(Sub))
    assert "Operation that an argument takes over" in {
        reason["gb_type"] for reason in break_reasons(compiled)
    }


def test_class_checks_of_torchs_own_classes():
    parameter = torch.nn.Parameter(torch.ones(2))
    dictionary = collections.OrderedDict()

    def program(x, y):
        kinds = (torch.Tensor, torch.nn.Parameter, torch.nn.Module)
        return [[isinstance(value, kind) for kind in kinds] for value in (x, y, dictionary, 1)]

    check(program, torch.ones(2), parameter, breaks=0)


def test_a_subclass_that_calls_itself_a_parameter():
    class Custom(torch.Tensor):
        pass

    value = torch.ones(2).as_subclass(Custom)
    value._is_param = True

    def program(x, value):
        return x + 1 if isinstance(value, torch.nn.Parameter) else x - 1

    compiled = armature.compile(program)
    x = torch.ones(2)
    assert torch.equal(compiled(x, value), program(x, value))

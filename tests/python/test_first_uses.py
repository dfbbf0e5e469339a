"""What torch makes of an object at its first use, in traced code: operators and lazy parameters."""

import armature
import pytest
import torch
from differential import break_reasons


def test_an_operator_that_nobody_has_asked_for():
    with torch.library._scoped_library("first_uses", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        library.impl("twice", lambda x: torch.empty_like(x), "Meta")

        def program(x):
            return torch.ops.first_uses.twice(x) + 1

        assert "twice" not in vars(torch.ops.first_uses)
        compiled = armature.compile(program, fullgraph=True)
        x = torch.arange(3.0)
        assert torch.equal(compiled(x), x * 2 + 1)
        assert torch.ops.first_uses.twice is vars(torch.ops.first_uses)["twice"]
        assert torch.equal(compiled(x), program(x))


def test_an_operator_that_there_is_not():
    def program(x):
        try:
            return torch.ops.aten.no_such_operator_at_all(x)
        except AttributeError as error:
            return str(error)

    assert armature.compile(program)(torch.ones(2)) == program(torch.ones(2))
    assert not hasattr(torch.ops.aten, "no_such_operator_at_all")


def module_of(kind):
    return {
        "linear": lambda: torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU()),
        "two": lambda: torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyLinear(2)),
        "convolution": lambda: torch.nn.LazyConv1d(3, 2),
        "normalization": lambda: torch.nn.LazyBatchNorm1d(),
        "no bias": lambda: torch.nn.LazyLinear(3, bias=False),
    }[kind]()


@pytest.mark.parametrize("kind", ["linear", "two", "convolution", "normalization", "no bias"])
def test_lazy_modules(kind):
    x = torch.randn(5, 6, 7) if kind in ("convolution", "normalization") else torch.randn(5, 6)
    module, plain = module_of(kind), module_of(kind)
    torch.manual_seed(3)
    expected = plain(x)
    torch.manual_seed(3)
    compiled = armature.compile(module, fullgraph=True)
    assert torch.equal(compiled(x), expected)
    assert [type(m) for m in module.modules()] == [type(m) for m in plain.modules()]
    state = module.state_dict()
    for name, value in plain.state_dict().items():
        assert torch.equal(state[name], value)
    assert torch.equal(compiled(x), plain(x))


def test_numbers_drawn_before_the_parameters():
    def program(module, x):
        return module(x + torch.rand(2, 3))

    results = []
    for function in (program, armature.compile(program)):
        torch.manual_seed(1)
        module = torch.nn.LazyLinear(2)
        results.append((function(module, torch.ones(2, 3)), module.weight))
    for plain, captured in zip(*results, strict=True):
        assert torch.equal(plain, captured)


def test_an_input_that_does_not_fit():
    def program(module, x):
        try:
            return module(x)
        except (IndexError, RuntimeError) as error:
            return type(error), str(error)

    found = [
        f(torch.nn.LazyLinear(2), torch.tensor(1.0)) for f in (program, armature.compile(program))
    ]
    assert found[0] == found[1]


class Counted(torch.nn.LazyLinear):
    calls = 0

    def initialize_parameters(self, input):
        Counted.calls += 1
        super().initialize_parameters(input)


def test_code_of_the_program_runs_once_and_in_its_place():
    module = Counted(3)

    def program(x):
        before = Counted.calls
        return module(x), before, Counted.calls

    compiled = armature.compile(program)
    _, before, after = compiled(torch.ones(2, 4))
    assert (before, after, Counted.calls) == (0, 1, 1)
    assert break_reasons(compiled)
    assert torch.equal(compiled(torch.ones(2, 4))[0], module(torch.ones(2, 4)))

"""What torch makes of an object at its first use, in traced code: operators and lazy parameters."""

import armature
import pytest
import torch
from differential import break_reasons, breaking_every, translations
from torch.nn.modules.lazy import LazyModuleMixin


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


class Remembers(LazyModuleMixin, torch.nn.Module):
    """Makes what it needs by code that no trace takes whole, and says what it saw."""

    cls_to_become = None
    seen: list = []

    def __init__(self, fails=0):
        super().__init__()
        self.weight = torch.nn.UninitializedParameter()
        self.fails = fails

    def initialize_parameters(self, x, *, scale=1.0):
        Remembers.seen.append((self.training, torch.is_grad_enabled(), tuple(x.shape)))
        armature.graph_break()
        if self.fails:
            self.fails -= 1
            raise ValueError("not yet")
        with torch.no_grad():
            self.weight.materialize((x.shape[-1],))
            self.weight.copy_(torch.rand(x.shape[-1]))

    def forward(self, x, *, scale=1.0):
        return (x * self.weight).sin() * scale


class Became(torch.nn.Module):
    def forward(self, x, *, scale=1.0):
        return x * self.weight * scale - 1


class Becomes(Remembers):
    cls_to_become = Became


class Wrapper(torch.nn.Module):
    def __init__(self, *modules):
        super().__init__()
        self.layers = torch.nn.ModuleList(modules)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        for layer in self.layers:
            x = layer(x + torch.rand(()), scale=2.0)
        return x


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("kinds", [[Remembers], [Becomes, Remembers, Becomes]])
def test_modules_of_the_program(kinds, fullgraph):
    def run(compile):
        torch.manual_seed(5)
        Remembers.seen = []
        module = Wrapper(*[kind() for kind in kinds])
        function = compile(module)
        results = [function(torch.ones(2, 3)).detach() for _ in range(3)]
        return (
            results,
            Remembers.seen,
            module.calls,
            [type(m).__name__ for m in module.modules()],
            [len(m._forward_pre_hooks) for m in module.modules()],
            {name: value.detach() for name, value in module.state_dict().items()},
            function,
        )

    plain = run(lambda module: module)
    captured = run(lambda module: armature.compile(module, fullgraph=fullgraph))
    assert repr(plain[:-1]) == repr(captured[:-1])
    before = translations(captured[-1])
    with torch.no_grad():
        captured[-1](torch.ones(2, 3))
    assert translations(captured[-1]) >= before


def test_afterwards_the_module_is_whole():
    module = Wrapper(Becomes(), Remembers())
    compiled = armature.compile(module, fullgraph=True)
    compiled(torch.ones(2, 3))
    assert translations(compiled) == 0
    for _ in range(3):
        compiled(torch.ones(2, 3))
    # One more, since the number of calls varies.
    assert translations(compiled) == 2 and not break_reasons(compiled)


def test_a_first_use_that_fails():
    def run(compile):
        module = Becomes(fails=2)
        function = compile(module)
        found = []
        for _ in range(4):
            try:
                found.append(function(torch.ones(3)).shape)
            except ValueError as error:
                found.append(str(error))
        return found, type(module).__name__, len(module._forward_pre_hooks)

    expected = run(lambda module: module)
    assert run(lambda module: armature.compile(module)) == expected
    assert run(lambda module: armature.compile(module, fullgraph=True)) == expected


def test_a_first_use_behind_an_effect_and_in_a_handler():
    def program(module, log, x):
        log.append(len(log))
        try:
            y = module(x)
        except ValueError as error:
            log.append(str(error))
            return x
        finally:
            log.append("finally")
        return y.shape

    for fails in (0, 1):
        results = []
        for function in (
            program,
            armature.compile(program),
            armature.compile(program, fullgraph=True),
        ):
            module, log = Becomes(fails=fails), []
            shapes = [tuple(function(module, log, torch.ones(3))) for _ in range(3)]
            results.append((log, shapes, type(module)))
        assert results[0] == results[1] == results[2]


def test_a_new_module_in_each_call():
    def program(module, x):
        return module(x).shape

    compiled = armature.compile(program, fullgraph=True)
    for _ in range(12):
        module = Becomes()
        assert compiled(module, torch.ones(3)) == (3,)
        assert type(module) is Became
        assert compiled(module, torch.ones(3)) == (3,)


def test_what_is_called_at_a_first_use_runs_as_it_is():
    inner = armature.compile(lambda x: x * 2, fullgraph=True)

    class Calls(Becomes):
        def initialize_parameters(self, x, *, scale=1.0):
            inner(x)
            super().initialize_parameters(x)

    compiled = armature.compile(Calls(), fullgraph=True)
    compiled(torch.ones(3))
    assert translations(inner) == 0
    inner(torch.ones(3))
    assert translations(inner) == 1


def asks_for_parameters(lazy, x):
    before = lazy.has_uninitialized_params(), lazy.in_features
    return before, lazy(x).shape


def branches_on_parameters(lazy, x):
    if lazy.has_uninitialized_params():
        return "initialized here", lazy(x).shape
    return "nothing to do", x.shape


def counts_parameters(lazy, x):
    kind = torch.nn.parameter.UninitializedParameter
    before = sum(isinstance(parameter, kind) for parameter in lazy.parameters())
    return before, lazy(x).shape


def counts_attributes(lazy, x):
    before = len(vars(lazy))
    return before, lazy(x).shape, len(vars(lazy))


@pytest.mark.parametrize(
    "program",
    [asks_for_parameters, branches_on_parameters, counts_parameters, counts_attributes],
)
def test_a_lazy_module_that_was_looked_at(program):
    def outcome(function, lazy):
        try:
            return function(lazy, torch.ones(1, 3))
        except AttributeError as error:  # of what is no lazy module any more
            return str(error)

    expected, lazy = torch.nn.LazyLinear(2), torch.nn.LazyLinear(2)
    compiled = armature.compile(program)
    for _ in range(3):
        assert outcome(compiled, lazy) == outcome(program, expected)


@pytest.mark.parametrize("every", [0, 1, 2, 3, 5, 8, 13, 21, 34])
def test_a_lazy_module_whose_call_is_resumed(every):
    def program(lazy, x):
        return lazy(x).shape, type(lazy).__name__

    for hooks in (False, True):
        names = []
        lazy = torch.nn.LazyLinear(2)
        if hooks:
            lazy.register_forward_pre_hook(
                lambda module, _, names=names: names.append(print(type(module).__name__)),
                prepend=True,
            )
        with breaking_every(every):
            result = armature.compile(program)(lazy, torch.ones(1, 3))
        assert result == ((1, 2), "Linear") and len(names) == hooks

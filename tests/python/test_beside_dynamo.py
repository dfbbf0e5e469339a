"""TorchDynamo in the same process: before, beside and around what Armature captures."""

import subprocess
import sys
import textwrap

import pytest

COMMON = """
import armature, torch
from armature import _C

def breaks(compiled):
    entries = _C.entries(getattr(compiled, "__func__", compiled))
    return [e["break_reason"] for e in entries if e["break_reason"]]

class Block(torch.nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.layer = torch.nn.Linear(size, size)
        self.calls = 0

    def forward(self, x):
        self.calls = self.calls + 1
        self.last = x.shape[0]
        return self.layer(x).relu()

def use_dynamo():
    module = Block()
    torch.compile(module, backend="eager")(torch.ones(2, 4))
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
"""

PROGRAMS = {
    "modules made before": """
        model = Block()
        use_dynamo()
        x = torch.randn(2, 4)
        compiled = armature.compile(model.forward)
        assert torch.equal(compiled(x), model.forward(x)) and model.calls == 2
        assert not breaks(compiled), breaks(compiled)
    """,
    "modules made after": """
        use_dynamo()
        model = Block()
        x = torch.randn(2, 4)
        compiled = armature.compile(model.forward)
        assert torch.equal(compiled(x), model.forward(x)) and model.calls == 2
        assert not breaks(compiled), breaks(compiled)
    """,
    "modules made in a trace": """
        def program(x):
            pool = torch.nn.ReLU()
            drop = torch.nn.Identity()
            return drop(pool(x)) + 1

        x = torch.randn(2, 4)
        before = armature.compile(program)
        before(x)
        use_dynamo()
        compiled = armature.compile(program)
        for _ in range(2):
            assert torch.equal(compiled(x), program(x))
            assert torch.equal(before(x), program(x))
        assert len(breaks(compiled)) <= len(breaks(armature.compile(program)))
        assert not breaks(compiled), breaks(compiled)
    """,
    "a class that TorchDynamo watches for changes": """
        from torch._dynamo.mutation_guard import MutationTracker, ensure_patched, watch
        ensure_patched(Block)
        model = Block()
        x = torch.randn(2, 4)
        compiled = armature.compile(model.forward)
        assert torch.equal(compiled(x), model.forward(x)) and model.calls == 2
        assert not breaks(compiled), breaks(compiled)

        class Code:
            invalid = 0
            def invalidate(self, *reason):
                Code.invalid += 1

        code = Code()
        watch(model, code)
        told = len(MutationTracker.db[model].watchers) if hasattr(
            MutationTracker.db[model], "watchers") else None
        compiled(x)
        assert model.calls == 3
        reasons = {b["gb_type"] for b in breaks(compiled)}
        assert reasons == {"Change of a module that TorchDynamo may watch"}, reasons
    """,
    "a replaced method that has lost what it replaced": """
        import types
        use_dynamo()
        patched = torch.nn.Module.__init__
        cells = tuple(types.CellType() for _ in patched.__closure__)
        lost = types.FunctionType(patched.__code__, patched.__globals__, "lost", None, cells)

        def program(model):
            try:
                lost(model)
            except NameError:
                return "lost"

        compiled = armature.compile(program)
        assert compiled(Block()) == program(Block()) == "lost"
        reason, = {b["gb_type"] for b in breaks(compiled)}
        assert reason == "Method that TorchDynamo replaced", reason
    """,
    "a captured function inside of a compiled one": """
        inner = armature.compile(lambda x: torch.sin(x) * 2)

        def outer(x):
            return inner(x) + 1

        compiled = torch.compile(outer, backend="eager")
        x = torch.randn(3)
        for _ in range(3):
            assert torch.equal(compiled(x), outer(x))
    """,
    "a compiled function inside of a captured one": """
        inner = torch.compile(lambda x: torch.sin(x) * 2, backend="eager")

        def outer(x):
            return inner(x) + 1

        compiled = armature.compile(outer)
        x = torch.randn(3)
        for _ in range(3):
            assert torch.equal(compiled(x), outer(x))
    """,
    "code of ours is not captured again": """
        seen = []
        inner = torch.compile(lambda x: x.sin() + len(seen), backend="eager")

        def program(x):
            y = inner(x)
            seen.append(1)
            armature.graph_break()
            return inner(y)

        x = torch.ones(2)
        expected = [program(x) for _ in range(3)]
        seen.clear()
        captured = torch.compile(armature.compile(program), backend="eager")
        assert all(map(torch.equal, [captured(x) for _ in range(3)], expected))
    """,
    "both on one module": """
        model = Block()
        x = torch.randn(2, 4)
        expected = model(x)
        first, second = torch.compile(model, backend="eager"), armature.compile(model)
        for _ in range(2):
            assert torch.equal(first(x), expected) and torch.equal(second(x), expected)
        assert model.calls == 5
        torch._dynamo.reset()
        assert torch.equal(second(x), expected) and torch.equal(first(x), expected)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_dynamo(name):
    program = COMMON + textwrap.dedent(PROGRAMS[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""What compiled functions hold can be collected, and may run any code when it dies."""

import gc
import weakref

import armature
import pytest
import torch

X = torch.ones(3)


def test_a_module_that_holds_its_compiled_self_dies():
    class Own(torch.nn.Module):
        def forward(self, x):
            return x + 1

    module = Own()
    object.__setattr__(module, "compiled", armature.compile(module))
    module.compiled(X)
    dead = weakref.ref(module)
    del module
    gc.collect()
    assert dead() is None


# --- Finalizers.


class Last:
    """Runs something when it dies."""

    def __init__(self, action):
        self.action = action

    def __del__(self):
        self.action()


def backend_that_holds(action):
    """The callable it returns runs the action when the entry that holds it dies."""

    def backend(module, examples):
        last = Last(action)

        def run(*args):
            return module.forward(*args) if last else None

        return run

    return backend


@pytest.mark.parametrize("dies_by", ["reset", "death"])
@pytest.mark.parametrize("action", ["reset", "call", "both", "compile"])
def test_finalizers_of_what_an_entry_holds(action, dies_by):
    ran = []

    def act():
        function = alive() if alive else None
        ran.append(function is not None)
        if action in ("reset", "both"):
            armature.reset()
        if action in ("call", "both") and function is not None and len(ran) < 20:
            assert torch.equal(function(X), X * 2)
        if action == "compile":
            assert torch.equal(armature.compile(lambda x: x + 1)(X), X + 1)

    def f(x):
        y = x * 1
        print(end="")
        return y * 2

    compiled = armature.compile(f, backend=backend_that_holds(act))
    alive = weakref.ref(compiled)
    compiled(X)
    if dies_by == "reset":
        for _ in range(3):
            armature.reset()
            assert torch.equal(compiled(X), X * 2)
    alive = None if dies_by == "death" else alive
    del compiled
    gc.collect()
    assert len(ran) >= 2


def test_a_finalizer_that_resets_while_guards_are_checked():
    class Thing:
        def __init__(self, action):
            self.action = action
            self.value = 1

        def __del__(self):
            self.action()

    compiled = armature.compile(lambda thing, x: x + thing.value)
    for _ in range(4):
        assert torch.equal(compiled(Thing(armature.reset), X), X + 1)
        assert torch.equal(compiled(Thing(lambda: compiled(Thing(int), X)), X), X + 1)


def test_entries_that_died_run_finalizers_when_they_go():
    actions = []

    def act():
        actions.append(1)
        armature.reset()

    with armature.config.patch(recompile_limit=50):
        compiled = armature.compile(lambda kind, x: x + kind.value, backend=backend_that_holds(act))
    for i in range(5):
        kind = type("Kind", (), {"value": i})
        assert torch.equal(compiled(kind, X), X + i)
        del kind
        gc.collect()
    assert actions


def test_a_function_that_is_called_while_the_collector_takes_it_apart():
    results = []

    class Owner:
        def __del__(self):
            results.append(self.compiled(X))

    def make():
        def f(x):
            return x + len(cell)

        cell = [f]
        owner = Owner()
        owner.compiled = armature.compile(f)
        cell.append(owner)
        owner.compiled(X)

    make()
    gc.collect()
    assert len(results) == 1 and torch.equal(results[0], X + 2)

"""What compiled functions hold can be collected, and may run any code when it dies."""

import gc
import os
import subprocess
import sys
import weakref

import armature
import pytest
import torch
from armature import _C
from memory_in_use import memory_in_use

X = torch.ones(3)

PROGRAMS = {
    "plain": "def f(x): return x + 1",
    "global": "K = [1, 2]\ndef f(x): return x + K[0]",
    "class": "class C:\n  n = 2\n  def m(self, x): return x * self.n\ndef f(x): return C().m(x)",
    "break": "def f(x):\n  y = x + 1\n  print(end='')\n  return y * K\nK = 3",
    "loop": "def f(x):\n  for i in range(3):\n    x = x + i\n    print(end='')\n  return x",
    "module": "import torch\nM = torch.nn.Linear(3, 3)\ndef f(x): return M(x)",
    "function": "def g(x): return x * 2\ndef f(x): return g(x) + 1",
    "effect": "SEEN = []\nclass P: pass\np = P()\n"
    "def f(x):\n  SEEN.append(1)\n  p.count = len(SEEN)\n  return x",
    "instance": "class P: pass\np = P()\np.x = 3\ndef f(x): return x + p.x",
    "tuple": "class P: pass\nT = (P, P())\ndef f(x): return x if isinstance(T[1], T[0]) else 0",
    "dict": "class P: pass\nD = {'k': P}\ndef f(x): return x if D['k']() else 0",
    "closure": "def make():\n  n = [1]\n  def f(x):\n    n[0] += 1\n    return x + n[0]\n"
    "  return f\nf = make()",
    "itself": "def f(x, n=3): return x if n == 0 else compiled(x + 1, n - 1)",
    "slots": "class S:\n  __slots__ = ('a',)\ns = S()\ns.a = 1\ndef f(x): return x + s.a",
    "bound": "class P:\n  def m(self, x): return x\nb = P().m\ndef f(x): return b(x)",
    "in place": "def f(x):\n  y = x + 1\n  y.add_(1)\n  print(end='')\n  return y.mul_(2)",
    "random": "import torch\nclass P: pass\np = P()\n"
    "def f(x):\n  p.last = torch.rand_like(x)\n  return x + p.last",
    "compiled module": "import armature, torch\nclass M(torch.nn.Module):\n"
    "  def forward(self, x):\n    y = x + 1\n    print(end='')\n    return y * 2\n"
    "m = armature.compile(M())\ndef f(x): return m(x)",
    "closure over itself": "import armature\ndef make():\n"
    "  def f(x, n=2):\n    print(end='')\n    return x if n == 0 else g(x + 1, n - 1)\n"
    "  g = armature.compile(f)\n  g(marker_input)\n  return f\n"
    "import torch\nmarker_input = torch.ones(2)\nf = make()",
    "attribute of itself": "def f(x): return x + len(f.own.__name__)\nf.own = f",
    "keys": "class P: pass\nD = {P: 1, (P, 2): 2}\ndef f(x): return x + D[P] + D[P, 2]",
    "super": "class A:\n  def m(self, x): return x + 1\n"
    "class B(A):\n  def m(self, x): return super().m(x) * 2\nb = B()\ndef f(x): return b.m(x)",
    "property": "class P:\n  @property\n  def n(self): return self._n\np = P()\np._n = 3\n"
    "def f(x): return x + p.n",
    "partial": "import functools\ndef g(x, p): return x + p.n\nclass P: n = 1\n"
    "h = functools.partial(g, p=P())\ndef f(x): return h(x)",
    "error": "class E(Exception): pass\ndef g(x):\n  raise E(x)\n"
    "def f(x):\n  try:\n    g(x)\n  except E as e:\n    return e.args[0]",
    "returned function": "def f(x):\n  def g(): return x + K\n  return g\nK = 2",
    "returned class": "def f(x):\n  class C: n = x\n  return C",
    "generator": "def g(n):\n  for i in range(n): yield i\ndef f(x): return x + sum(g(3))",
    "varied": "p = type('P', (), {})()\np.n = 0\ndef f(x):\n  p.n += 1\n  return x * p.n",
    "not traced": "import sys\nclass P: pass\np = P()\n"
    "def f(x):\n  with open('/dev/null') as p.file: return x + 1",
    "numpy": "import numpy\nA = numpy.ones(3)\ndef f(x): return x + float((A * 2).sum())",
}


class Marker:
    """Dies with the namespace that holds it."""


def run_in_a_namespace(name, backend, calls=2):
    """A namespace in which the program's f was compiled, called, and is alive."""
    namespace = {"marker": Marker(), "__name__": "namespace"}
    exec(PROGRAMS[name], namespace)
    if backend == "own":
        exec("def backend(module, examples): return module.forward", namespace)
        backend = namespace["backend"]
    compiled = namespace["compiled"] = armature.compile(namespace["f"], backend=backend)
    for _ in range(calls):
        namespace["result"] = compiled(X)
    return namespace


@pytest.mark.parametrize("backend", ["eager", "own"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_namespace_with_a_compiled_function_dies(name, backend):
    namespace = run_in_a_namespace(name, backend)
    assert len(_C.entries(namespace["compiled"])) > 0
    dead = weakref.ref(namespace["marker"])
    del namespace
    gc.collect()
    gc.collect()
    assert dead() is None


@pytest.mark.parametrize("backend", ["eager", "own"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rounds_leave_no_objects(name, backend):
    rounds = 20

    def left():
        for _ in range(rounds):
            run_in_a_namespace(name, backend)
        gc.collect()
        return len(gc.get_objects())

    left()
    first, second, third = left(), left(), left()
    # A leak grows each time; caches of the interpreter's own do not.
    assert min(second - first, third - second) < rounds


def test_entries_that_a_finalizer_saves_still_hear_of_deaths():
    saved = []

    class Saver:
        def __del__(self):
            saved.append(self.namespace)

    namespace = {"saver": Saver()}
    namespace["saver"].namespace = namespace
    exec("class C: n = 1\ndef f(p, x): return x + p.n", namespace)
    compiled = namespace["compiled"] = armature.compile(namespace["f"])
    assert torch.equal(compiled(namespace["C"](), X), X + 1)
    del compiled, namespace
    gc.collect()
    (namespace,) = saved
    dead = weakref.ref(namespace.pop("C"))
    gc.collect()
    assert dead() is None
    assert not any(entry["valid"] for entry in _C.entries(namespace["compiled"]))
    exec("class C: n = 2", namespace)
    assert torch.equal(namespace["compiled"](namespace["C"](), X), X + 2)


def test_collecting_while_compiling():
    """Every object that is made may be what starts the collector."""
    threshold = gc.get_threshold()
    gc.collect()
    gc.freeze()  # What is there already would be walked over each time.
    gc.set_threshold(1, 1, 1)
    try:
        for name in PROGRAMS:
            namespace = run_in_a_namespace(name, "eager", calls=1)
            armature.reset()
            namespace["compiled"](X)
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()


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


ROUNDS = """
import gc, sys, torch, armature
sys.path.insert(0, sys.argv[2])
from memory_in_use import memory_in_use
X = torch.ones(3)
print_ = print
def once(i):
    namespace = {}
    exec('''
class C:
    n = 2
    def m(self, x): return x * self.n
def f(x):
    y = C().m(x)
    print(end="")
    return [y + 1]
''', namespace)
    namespace["compiled"] = armature.compile(namespace["f"])
    namespace["compiled"](X)
def rounds(count):
    for i in range(count): once(i)
    gc.collect()
    return memory_in_use()
rounds(1500)
before = rounds(500)
objects = len(gc.get_objects())
after = rounds(int(sys.argv[1]))
print_(after - before, len(gc.get_objects()) - objects)
"""


def test_compiling_and_dropping_leaves_memory_flat():
    count = int(os.environ.get("ARMATURE_ROUNDS", "3000"))
    done = subprocess.run(
        [sys.executable, "-c", ROUNDS, str(count), os.path.dirname(__file__)],
        check=True,
        capture_output=True,
        text=True,
    )
    memory, objects = map(int, done.stdout.split())
    assert memory < (4 << 20) + count * 100
    assert objects < 50


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


def test_a_computed_tensor_lives_as_long_as_its_variable():
    def fn(x):
        y = x + 1
        reference = weakref.ref(y)
        print(end="")
        alive = reference() is not None
        y = None
        print(end="")
        return alive, reference() is None

    x = torch.ones(2)
    assert armature.compile(fn)(x) == fn(x) == (True, True)


def test_what_a_tensor_has_saved_lives_as_long_as_its_variable():
    def fn(x):
        y = x * x
        saved = y.grad_fn._raw_saved_self
        print(end="")
        return saved.register_hooks(lambda x: x, lambda x: x)

    x = torch.ones(2, requires_grad=True)
    assert armature.compile(fn)(x) is fn(x) is None


def test_guards_keep_no_key_alive():
    class Key:
        pass

    def fn(table, key, x):
        total = table[key]
        for each in table:
            total += table[each]
        return x + total, key in table, "other" in table

    captured = armature.compile(fn)
    key, other = Key(), Key()
    table = {key: 1, other: 2}
    x = torch.ones(2)
    for _ in range(2):
        assert torch.equal(captured(table, key, x)[0], x + 4)
    references = weakref.ref(key), weakref.ref(other)
    table.clear()
    del key, other
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    key = Key()
    assert torch.equal(captured({key: 5}, key, x)[0], x + 10)
    assert str(_C.entries(captured))


def test_a_finalizer_ends():
    class Finalizer(weakref.finalize):
        pass

    class Thing:
        pass

    def fn(done):
        thing = Thing()
        reference = weakref.ref(Finalizer(thing, done.append, 1))
        alive = reference() is not None
        del thing
        return alive, reference() is None, done

    assert armature.compile(fn)([]) == fn([]) == (True, True, [1])


def test_turns_of_generators_leave_nothing_behind():
    """A trace through very many of them needs the memory of a few."""

    def program(x, n):
        def numbers():
            while True:
                yield 5

        walk = numbers()
        for _ in range(n):
            next(walk)
        return x + 1

    used = []

    def at_the_end_of_the_trace(gm, inputs):
        used.append(memory_in_use())
        return gm.forward

    def grown(n):
        before = memory_in_use()
        compiled = armature.compile(program, backend=at_the_end_of_the_trace, fullgraph=True)
        compiled(torch.ones(1), n)
        return used.pop() - before

    grown(50_000)
    assert grown(400_000) < 48 * 2**20

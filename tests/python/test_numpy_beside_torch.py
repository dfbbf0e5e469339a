"""NumPy's arrays and torch's tensors in one trace: conversions, operators, functions of either."""

from __future__ import annotations

import contextlib
import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import armature
import numpy as np
import pytest
import torch
from changing_world import check_world

pytestmark = pytest.mark.filterwarnings("ignore")

MAKERS: dict[str, Callable[[], Any]] = {
    "x": lambda: torch.arange(6.0).reshape(2, 3) + 1,
    "a": lambda: np.arange(6.0).reshape(2, 3) + 1,
    "g": lambda: torch.ones(2, 3, requires_grad=True),
    "i": lambda: torch.tensor([1, 0]),
    "ai": lambda: np.array([1, 0]),
    "f": lambda: np.float32(2),
    "n": lambda: np.int64(1),
    "c": lambda: (torch.ones(2, 3) * 1j).conj(),
    "t": lambda: torch.ones(3, 2).T,
    "m": lambda: np.array([True, False]),
    "r": lambda: np.arange(6.0).reshape(2, 3)[::-1],
}

# Of arguments named as above, those in one graph.
WHOLE = """
x * f
f * x
np.float64(2) * x
x + np.int64(1)
i + f
f + i
x * a
x @ a.T
x ** f
f ** x
x * np.uint8(2)
x * np.bool_(True)
x * np.complex64(1j)
x == a
a == x
x + np.array(2.0)
x + a.sum()
a.mean() * x
x * list(a.sum(0))[0]
x.add_(f)
x.clamp(min=f)
torch.add(x, f)
torch.where(x > 1, x, f)
x.masked_fill(x > 1, f)
x[ai]
x[n]
a[i]
np.sin(x)
np.add(a, x)
np.multiply(f, x)
np.sqrt(x.sum())
np.float64(x.sum())
np.dot(x, x.T)
np.where(x > 1, x, 0)
np.concatenate([x, a])
np.stack([x, x])
np.clip(x, 0, 1)
np.transpose(x)
np.reshape(x, (3, 2))
np.array(x)
np.asarray(x)
x.__array__()
x.numpy(force=False).dtype
x.numpy() is x.numpy()
g.numpy(force=True)
g.detach().numpy() * 2
t.numpy().copy()
(x.numpy() + 1).sum() * x
x.view(-1).numpy()[1:4].mean()
torch.from_numpy(a.T).stride()
torch.from_numpy(a.T * 2).stride()
torch.from_numpy((a.T * 2)[1:]).is_contiguous()
torch.from_numpy(t.numpy() + 1).stride()
torch.from_numpy(np.sort(a.T, axis=0)).sin().numpy() * f
torch.from_numpy(np.linalg.inv(a[:, :2] + np.eye(2)))
torch.from_numpy(np.split(a, [1], axis=1)[1]).stride()
torch.from_numpy(np.broadcast_to(a[0], (4, 3))).stride()
torch.stack([torch.from_numpy(a), torch.from_numpy(a)]).shape
torch.asarray(a)
torch.as_tensor(a, dtype=torch.float32).matmul(x.T)
torch.as_tensor(f)
torch.tensor(f)
torch.tensor([f, f])
torch.full((2,), f)
torch.full((2,), fill_value=n, dtype=torch.float32)
x.uniform_(-f, f)
torch.empty(2).uniform_(-np.log(f), np.log(f)).exp()
x.normal_(f, n)
x.t().bernoulli_(np.float64(0.5)), x
torch.tensor(a, dtype=torch.float64, requires_grad=True)
torch.from_numpy(x.numpy()).add_(1), x
torch.from_numpy(a).mul_(2), a
""".strip().split("\n")

# Those that raise, all the same.
RAISES = """
a * x
g * a
x < a
x.uniform_(f, -f)
x.normal_(0, -n)
x.mul_(2).bernoulli_(f)
a @ x.T
np.array(2.0) + x
np.sum(x)
np.mean(x)
np.sin(g)
g.numpy()
c.numpy()
x.bfloat16().numpy()
torch.from_numpy(r)
torch.from_numpy(a[::-1])
torch.from_numpy(f)
torch.from_numpy(3)
""".strip().split("\n")

# Those of which shapes depend on data, or on what is not modelled: breaks.
BREAKS = """
x[m]
torch.zeros(n)
torch.full((n,), f)
x.exponential_(f)
x.sum(n)
torch.mul(x, a)
np.linalg.inv(x[:, :2])
x.__iadd__(a)
float(f) * x
""".strip().split("\n")


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return (
            (left.dtype, left.stride(), left.requires_grad)
            == (right.dtype, right.stride(), right.requires_grad)
            and left.shape == right.shape
            and torch.equal(left, right)
        )
    if isinstance(left, np.ndarray):
        return (left.dtype, left.strides) == (right.dtype, right.strides) and np.array_equal(
            left, right
        )
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def function(text: str) -> tuple[Callable[..., Any], list[Callable[[], Any]]]:
    namespace: dict[str, Any] = {"torch": torch, "np": np}
    names = compile(text, "", "eval").co_names
    used = [name for name in names if name in MAKERS]
    exec(f"def f({', '.join(used)}): return {text}", namespace)
    return namespace["f"], [MAKERS[name] for name in used]


def outcome(call: Callable[..., Any], makers: list[Callable[[], Any]]) -> tuple[Any, ...]:
    arguments = [make() for make in makers]
    torch.manual_seed(0)
    try:
        return call(*arguments), arguments
    except Exception as error:
        return type(error).__name__, str(error), arguments


@pytest.mark.parametrize("text", WHOLE + RAISES + BREAKS)
def test_as_in_python(text: str) -> None:
    plain, makers = function(text)
    captured = armature.compile(function(text)[0])
    expected = outcome(plain, makers)
    for _ in range(2):
        assert same(outcome(captured, makers), expected)


@pytest.mark.parametrize("text", WHOLE)
def test_in_one_graph(text: str) -> None:
    captured, makers = function(text)
    armature.compile(captured, fullgraph=True)(*[make() for make in makers])


@pytest.mark.parametrize("text", BREAKS)
def test_breaks(text: str) -> None:
    captured, makers = function(text)
    with pytest.raises(armature.Unsupported):
        armature.compile(captured, fullgraph=True)(*[make() for make in makers])


def test_memory_is_shared_in_both_directions() -> None:
    def f(x, a):
        b = x.numpy()
        b += 1
        y = x * 2
        x.mul_(3)
        t = torch.from_numpy(a)
        t[0] = 7
        a[1] += 5
        return y, b, t, b.sum() + t.sum()

    compiled = armature.compile(f, fullgraph=True)
    for _ in range(3):
        given = [(MAKERS["x"](), MAKERS["a"]()) for _ in range(2)]
        results = f(*given[0]), compiled(*given[1])
        assert same(*results)
        assert same(*given)
        x, _ = given[1]
        results[1][1][0, 0] = 99  # the array, and thereby the tensor
        assert x[0, 0] == 99


def test_layouts_are_guarded() -> None:
    def f(a):
        t = torch.from_numpy(a * 2 + 1)
        return t, t.stride(), t.is_contiguous(), t.T.contiguous().stride()

    compiled = armature.compile(f)
    base = np.arange(24.0).reshape(4, 6)
    views = [base, base.T, base[:, ::2], base[1:3].T, np.asfortranarray(base), base[:0], base[0]]
    for _ in range(2):
        for view in views + [view.astype(np.float32) for view in views]:
            assert same(compiled(view), f(view))


def test_more_sizes_than_one() -> None:
    def f(a, x):
        return torch.from_numpy(a) + x.numpy().sum()

    compiled = armature.compile(f)
    for size in range(12):
        a, x = np.ones((size, 2)), torch.ones(size)
        assert same(compiled(a, x), f(a, x))


def test_a_loop() -> None:
    def f(x, turns):
        total = np.zeros(3)
        for k in range(turns):
            total = total + (x * np.float32(k)).numpy()
        return torch.from_numpy(total)

    compiled = armature.compile(f)
    for turns in (3, 1500):
        assert same(compiled(torch.ones(3), turns), f(torch.ones(3), turns))


def test_across_breaks() -> None:
    def f(x, a):
        b = x.numpy()
        t = torch.from_numpy(a)
        armature.graph_break()
        b *= 2
        t += 1
        armature.graph_break()
        return b, t, x, a, t.numpy() is a

    compiled = armature.compile(f)
    for _ in range(2):
        results = [of(MAKERS["x"](), MAKERS["a"]()) for of in (f, compiled)]
        assert same(*results)


def test_a_failure_is_caught() -> None:
    def f(x):
        try:
            return x.numpy() * 2
        except RuntimeError as error:
            return str(error)

    compiled = armature.compile(f)
    for make in (MAKERS["g"], MAKERS["x"], MAKERS["c"], MAKERS["g"]):
        assert same(compiled(make()), f(make()))


def test_gradients_pass_by_scalars() -> None:
    def f(g, s):
        return (g * s + np.float64(3)).sum()

    compiled = armature.compile(f, fullgraph=True)
    grads = []
    for of in (f, compiled):
        g = MAKERS["g"]()
        of(g, np.float32(2)).backward()
        grads.append(g.grad)
    assert same(*grads)


def test_scalars_vary_without_a_new_graph() -> None:
    graphs = []

    def backend(module, examples):
        graphs.append(module)
        return module.forward

    def f(x, s):
        return x * s

    compiled = armature.compile(f, backend=backend)
    for k in range(5):
        s = np.float32(k)
        assert same(compiled(torch.ones(2), s), f(torch.ones(2), s))
    assert armature.explain(f)(torch.ones(2), np.float32(1)).graph_count == 1


def test_arrays_end_when_python_ends_them() -> None:
    def f(x):
        b = x.numpy()
        t = torch.from_numpy(b + 1)
        return t, weakref.ref(b)

    for of in (f, armature.compile(f)):
        t, ref = of(torch.ones(3))
        gc.collect()
        assert ref() is None
        assert t.sum() == 6


def test_errors_of_floating_point_are_the_runs() -> None:
    def f(x, a):
        return torch.from_numpy(np.log(a)) + x.numpy() / a

    compiled = armature.compile(f)
    ones, zeros = np.ones(3), np.zeros(3)
    with np.errstate(all="raise"):
        assert same(compiled(torch.ones(3), ones), f(torch.ones(3), ones))
        for of in (f, compiled):
            with pytest.raises(FloatingPointError):
                of(torch.ones(3), zeros)


def test_warnings_are_the_runs() -> None:
    def f(x, a):
        return np.sin(x), x * a

    compiled = armature.compile(f)
    found = []
    for of in (f, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            of(MAKERS["x"](), MAKERS["a"]())
        found.append([(str(each.message), each.category, each.lineno) for each in caught])
    assert found[0] == found[1] == found[2]
    assert found[0]


@pytest.mark.parametrize(
    "change",
    [
        "torch.Tensor.__array__ = lambda self, dtype=None: np.zeros(2)",
        "torch.Tensor.__array_priority__ = -1000",
        "del torch.Tensor.__array_wrap__",
        "torch.Tensor.__array_ufunc__ = None",
        "torch.Tensor.numpy = lambda self: np.zeros(2)",
    ],
)
@pytest.mark.parametrize("expression", ["np.sin(x)", "np.float32(2) * x", "x.numpy()"])
def test_conversions_that_programs_replace(change: str, expression: str) -> None:
    names = "__array__ __array_priority__ __array_wrap__ __array_ufunc__ numpy"
    restore = f"""
        for name in {names!r}.split():
            if name in SAVED:
                setattr(torch.Tensor, name, SAVED[name])
            elif name in vars(torch.Tensor):
                delattr(torch.Tensor, name)
    """
    check_world(
        f"""
        import numpy as np, torch, warnings
        warnings.simplefilter("ignore")
        SAVED = {{n: vars(torch.Tensor)[n] for n in {names!r}.split() if n in vars(torch.Tensor)}}
        def entry(x):
            result = {expression}
            return type(result).__name__, result.tolist()
        """,
        "entry(torch.ones(2))",
        change,
        "entry(torch.ones(2))",
        restore,
        "entry(torch.ones(2))",
    )


def test_numbers_of_numbers_in_handlers():
    def program(x, dimension):
        with contextlib.suppress(IndexError):
            scale = np.sqrt(float(dimension)) / (dimension - 1)
            y = torch.ones(3) * -np.log(10000.0)
            y = y * scale
            return torch.nn.functional.embedding(x, torch.eye(3)) + y, scale
        return None

    def outcome(function, *arguments):
        try:
            return repr(function(*arguments))
        except ArithmeticError as error:
            return type(error), str(error)

    compiled = armature.compile(program)
    x = torch.tensor([0, 2])
    for dimension in (2, 3, 4, 1, 0, -1):
        for state in ("ignore", "warn", "raise"):
            with np.errstate(all=state), warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                got = outcome(compiled, x, dimension)
            with np.errstate(all=state), warnings.catch_warnings(record=True) as expected:
                warnings.simplefilter("always")
                assert got == outcome(program, x, dimension)
            assert [str(each.message) for each in heard] == [str(each.message) for each in expected]
    armature.reset()
    assert outcome(armature.compile(program, fullgraph=True), x, 4) == outcome(program, x, 4)


def test_an_array_of_the_other_library_is_dropped_in_a_handler() -> None:
    def fails(tensor):
        try:
            raise ValueError(1)
        finally:
            tensor.numpy()
            tensor[0:2].add_(tensor[1:3])

    compiled = armature.compile(fails)
    for _ in range(3):
        for function in (fails, compiled):
            with pytest.raises(RuntimeError, match="some elements of the input tensor") as raised:
                function(torch.arange(3.0))
            assert isinstance(raised.value.__context__, ValueError)

"""NumPy programs: captured and plain calls give the same results, types, layouts and effects."""

import copy
import warnings

import armature
import numpy as np
import pytest
from armature import _C


def look(value):
    """All that a program can see of a result."""
    if isinstance(value, np.ndarray):
        return (
            type(value),
            value.dtype,
            value.shape,
            value.strides,
            value.flags.c_contiguous,
            value.flags.f_contiguous,
            value.flags.writeable,
            value.tobytes() if value.dtype != object else repr(value),
        )
    if isinstance(value, np.generic):
        return (type(value), value.dtype, value.tobytes())
    if isinstance(value, (list, tuple)):
        return (type(value), [look(item) for item in value])
    if isinstance(value, dict):
        return (type(value), {key: look(item) for key, item in value.items()})
    return (type(value), value)


def outcome(function, arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ("returns", look(function(*arguments)))
        except Exception as error:
            result = ("raises", type(error), str(error))
    told = [(warning.category, str(warning.message)) for warning in caught]
    return result, look(list(arguments)), told


def breaks(compiled):
    return [
        entry["break_reason"]["gb_type"] for entry in _C.entries(compiled) if entry["break_reason"]
    ]


def check(function, *arguments, breaking=False, calls=2):
    """Runs a function plainly and captured; returns the compiled function."""
    compiled = armature.compile(function)
    for _ in range(calls):
        plain, captured = copy.deepcopy(arguments), copy.deepcopy(arguments)
        assert outcome(function, plain) == outcome(compiled, captured)
    if breaking is False:
        assert breaks(compiled) == []
        assert len(_C.entries(compiled)) == 1
    elif breaking is not None:
        assert breaks(compiled)
    return compiled


X = np.arange(12.0).reshape(3, 4) / 7
Y = np.linspace(-1, 1, 12).reshape(3, 4)
V = np.array([3.0, -1.0, 2.0, 0.5])
N = np.arange(6).reshape(2, 3)
M = np.array([[4.0, 1.0], [1.0, 3.0]])


def test_normalises_rows():
    def function(x):
        mean = x.mean(axis=1, keepdims=True)
        std = np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)
        return (x - mean) / std

    compiled = check(function, X)
    assert outcome(function, [X]) == outcome(compiled, [X])


ONE_GRAPH = {
    "matmul": (lambda x, y: x @ y.T + np.dot(x, y.T), (X, Y)),
    "where": (lambda x, y: np.where(x > y, x, -y), (X, Y)),
    "scalar result": (lambda x: x.sum() + np.max(x) * 2, (X,)),
    "scalar type": (lambda x: x.astype(np.float32).sum() / 3, (X,)),
    "reductions": (
        lambda x: (
            x.sum(axis=(0, 1)),
            x.max(0),
            np.min(x, axis=-1, keepdims=True),
            x.any(),
            x.argmax(),
        ),
        (X,),
    ),
    "promotion": (lambda x, i: (x[:2, :3] + i, i + True, i / 2, i // 2, i + 1.5, i * 2j), (X, N)),
    "float32": (
        lambda x: (x.astype("float32") * 2, x.astype(np.dtype("f4")) + np.float64(1)),
        (X,),
    ),
    "broadcast": (lambda x, v: x * v + v[:, np.newaxis][:3], (X, V)),
    "indexing": (lambda x: (x[1], x[1, 2], x[..., 0], x[::2, 1:], x[None, :, -1], x[-1][0]), (X,)),
    "integer arrays": (lambda x, i: (x[i[0]], x[[0, 2]], x[i[0, 0]], x[:, i]), (X, N % 3)),
    "slice assignment": (lambda x, v: x.__class__ and assign(x, v), (X, V)),
    "in place": (lambda x, v: inplace(x, v), (X, V)),
    "shape": (lambda x: x.reshape(x.shape[0] * x.shape[1], -1) * x.ndim + x.size, (X,)),
    "dtype": (
        lambda x, i: (
            x.dtype,
            i.dtype == np.int64,
            np.zeros(3, dtype=x.dtype),
            i.itemsize,
            x.nbytes,
        ),
        (X, N),
    ),
    "length": (lambda x: len(x) + len(x[0]), (X,)),
    "iteration": (lambda x: [row.sum() for row in x], (X,)),
    "unpacking": (lambda x: (lambda a, b, c: a * b - c)(*x), (X,)),
    "lists as operands": (
        lambda v: (v + [1, 2, 3, 4], (1.0, 2, 3, 4) * v, np.add(v, [1, 2, 3, 4]), v < [1, 2, 3, 4]),
        (V,),
    ),
    "lists of arrays": (
        lambda x, y: (
            np.concatenate([x, y], axis=1),
            np.stack((x, y)),
            np.array([x[0], y[0]]),
            np.vstack([x, y]),
        ),
        (X, Y),
    ),
    "creation": (
        lambda: (
            np.zeros((2, 3)),
            np.ones(3, np.int8),
            np.arange(5),
            np.eye(3),
            np.full((2,), 7.5),
            np.linspace(0, 1, 5),
            np.array([[1, 2], [3, 4]]),
        ),
        (),
    ),
    "constants": (lambda x: x * np.pi + np.e + np.inf, (X,)),
    "ufunc outputs": (lambda x: np.modf(x) + np.divmod(x, 0.3) + np.frexp(x), (X,)),
    "split": (lambda x: np.split(x, 2, axis=1) + list(np.array_split(x, 2)), (X,)),
    "linalg": (
        lambda m: (
            np.linalg.inv(m),
            np.linalg.norm(m),
            np.linalg.det(m),
            np.linalg.solve(m, m[0]),
            np.linalg.cholesky(m),
        ),
        (M,),
    ),
    "linalg tuples": (
        lambda m: (np.linalg.qr(m), np.linalg.svd(m).S, np.linalg.eigh(m), np.linalg.slogdet(m)),
        (M,),
    ),
    "fft": (lambda v: (np.fft.fft(v), np.fft.rfft(v), np.abs(np.fft.fftshift(v))), (V,)),
    "einsum": (
        lambda x, y: (np.einsum("ij,kj->ik", x, y), np.tensordot(x, y, axes=([1], [1]))),
        (X, Y),
    ),
    "attributes": (lambda x: (x.T, x.real, x.imag, (x * 1j).real), (X,)),
    "transposes": (
        lambda x: (x.transpose(1, 0), np.moveaxis(x, 0, 1), x.swapaxes(0, 1).copy(), x.T.ravel()),
        (X,),
    ),
    "methods": (
        lambda x: (
            x.cumsum(1),
            x.clip(0.2, 0.9),
            x.round(1),
            x.std(),
            x.var(axis=0, ddof=1),
            x.repeat(2),
            x.flatten(),
        ),
        (X,),
    ),
    "functions": (
        lambda x: (
            np.cumsum(x),
            np.clip(x, 0, 1),
            np.diff(x),
            np.median(x),
            np.percentile(x, [20, 50]),
            np.sort(x)[::-1],
            np.argsort(-x),
            np.outer(x[0], x[1]),
            np.tile(x, 2),
            np.pad(x, 1),
        ),
        (X,),
    ),
    "ufunc methods": (
        lambda x: (np.add.reduce(x), np.multiply.accumulate(x, axis=1), np.add.outer(x[0], x[1])),
        (X,),
    ),
    "negation": (lambda x, i: (-x, +x, ~i, abs(x), i << 1, i ^ 3, i & 1), (X, N)),
    "comparisons": (lambda x, y: ((x < y) & (x >= 0), x == y, x != 0.5, 1 > x), (X, Y)),
    "zero dimensions": (
        lambda x: (x[0, 0] + 1, np.array(3.5) + 1, np.asarray(2), np.float64(2) ** 2),
        (X,),
    ),
    "scalar arithmetic": (
        lambda i: (i.sum() // 4, i[0, 0] - 1.5, np.int8(3) + 4, -i[1, 1], np.sqrt(2)),
        (N,),
    ),
    "metadata functions": (
        lambda x: (
            np.shape(x),
            np.ndim(x),
            np.size(x),
            np.result_type(x, np.float32),
            np.iscomplexobj(x),
        ),
        (X,),
    ),
    "dict of arrays": (lambda d: {key: value * 2 for key, value in d.items()}, ({"a": X, "b": V},)),
    "masks": (lambda x: np.where(np.isnan(x) | (x > 1), 0, x) * (x < 1.2), (X,)),
    "empty": (lambda x: (x[:0], x[:0].sum(), np.zeros((0, 3)) + 1), (X,)),
}


def assign(x, v):
    x[0] = v
    x[1:, :2] *= 2
    x[:, -1] = [7, 8, 9]
    x[x > 1] = 0
    x[2, 2] += 5
    return x


def inplace(x, v):
    y = x
    x += 1
    x *= v
    x -= x.mean()
    np.add(x, 1, out=x)
    np.multiply(x, v, x)
    total = v[0]
    total += 10
    return y, x is y, total, v[0]


@pytest.mark.parametrize("name", ONE_GRAPH)
def test_one_graph(name):
    function, arguments = ONE_GRAPH[name]
    check(function, *arguments)


BREAKS = {
    "nonzero": (lambda x: np.nonzero(x > 0.5)[0] + 1, (X,)),
    "where of one": (lambda x: np.where(x > 0.5), (X,)),
    "unique": (lambda x: np.unique(x) * 2, (X,)),
    "mask": (lambda x: x[x > 0.5] * 2, (X,)),
    "item": (lambda x: x.sum().item() + 1, (X,)),
    "tolist": (lambda x: (x * 2).tolist(), (X,)),
    "float": (lambda x: float(x.sum()) + x, (X,)),
    "truth": (lambda x: x + 1 if x.sum() > 3 else x - 1, (X,)),
    "allclose": (lambda x, y: np.allclose(x, y), (X, Y)),
    "size from data": (lambda i: np.zeros(i.max()), (N,)),
    "slice from data": (lambda i: i[: i[0, 1]], (N,)),
    "repeat from data": (lambda x, i: x.repeat(i[0], axis=0), (X, N)),
    "count": (lambda x: np.count_nonzero(x), (X,)),
    "objects": (lambda x: x.astype(object), (X,)),
    "strings": (lambda x: np.array(["a", "b"]), (X,)),
    "strides": (lambda x: (x * 2).T.strides, (X,)),
    "flags": (lambda x: (x * 2).T.flags.c_contiguous, (X,)),
    "layout": (lambda x: np.ascontiguousarray(x) is x, (X,)),
    "membership": (lambda x: 0.0 in x, (X,)),
    "text": (lambda x: f"{x.sum()} {x}", (X,)),
    "errors": (lambda x: raising(x), (X,)),
    "handled data": (lambda m: handled(m), (np.zeros((2, 2)),)),
    "identity of numbers": (lambda x: x.any() is (x > 0).any(), (X,)),
    "list repetition": (lambda i: [1, 2] * i.max(), (N,)),
}


def raising(x):
    with np.errstate(divide="raise"):
        try:
            return np.divide(x, 0)
        except FloatingPointError:
            return "caught"


def handled(m):
    try:
        return np.linalg.inv(m)
    except np.linalg.LinAlgError as error:
        return str(error)


@pytest.mark.parametrize("name", BREAKS)
def test_breaks_and_stays_right(name):
    function, arguments = BREAKS[name]
    check(function, *arguments, breaking=None)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.random.rand(3) + x[0, 0],
        lambda x: np.random.default_rng(1).normal(size=3) + x[0, 0],
    ],
)
def test_random_numbers_are_drawn_at_every_call(function):
    np.random.seed(3)
    expected = [function(X) for _ in range(3)]
    np.random.seed(3)
    compiled = armature.compile(function)
    assert [look(compiled(X)) for _ in range(3)] == [look(value) for value in expected]


ERRORS = {
    "shapes": (lambda x, v: x + v[:3], (X, V)),
    "matmul": (lambda x: x @ x, (X,)),
    "index": (lambda x: x[7], (X,)),
    "index array": (lambda x, i: x[i[0] + 5], (X, N)),
    "too many indices": (lambda x: x[0, 0, 0], (X,)),
    "cast": (lambda i: inplace(i, 1.5), (N,)),
    "reshape": (lambda x: x.reshape(5, -1), (X,)),
    "axis": (lambda x: x.sum(axis=4), (X,)),
    "singular": (lambda x: np.linalg.inv(x[:2, :2] * 0), (X,)),
    "negative power": (lambda i: i**-i, (N,)),
    "attribute": (lambda x: x.nothing, (X,)),
    "method": (lambda x: x.sum().nothing(), (X,)),
    "length": (lambda x: len(x.sum()), (X,)),
    "unpacking": (lambda x: (lambda a, b: a)(*x), (X,)),
    "iteration": (lambda x: list(x[0, 0]), (X,)),
    "concatenate": (lambda x, v: np.concatenate([x, v]), (X, V)),
    "scalar item": (lambda x: x.sum()[0], (X,)),
    "out shape": (lambda x, v: np.add(x, x, out=v), (X, V)),
    "boolean subtract": (lambda x: (x > 0) - (x < 1), (X,)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_same_errors(name):
    function, arguments = ERRORS[name]
    check(function, *arguments, breaking=None)


def test_error_caught_by_shape():
    def function(x, v):
        try:
            return x.reshape(5, -1)
        except ValueError as error:
            return str(error)

    check(function, X, V, breaking=None)


@pytest.mark.parametrize(
    "function", [lambda a, b: a + b, lambda a, b: a @ b, lambda a, b: np.concatenate([a, b]) * a]
)
def test_error_that_follows_from_the_shapes(function):
    """Of other shapes the operation does not raise."""

    def handled(a, b):
        try:
            return function(a, b)
        except ValueError as error:
            return str(error)

    shapes = [((2, 3), (2, 2)), ((2, 3), (3, 3)), ((3, 3), (3, 3)), ((2, 3), (2, 2)), ((4,), (4,))]
    for order in (shapes, shapes[::-1]):
        compiled = armature.compile(handled)
        for a, b in order:
            arguments = (np.ones(a), np.ones(b))
            np.testing.assert_equal(compiled(*arguments), handled(*arguments))


@pytest.mark.parametrize("make", [np.asarray, np.array])
def test_warnings_of_the_trial_are_nobodys(make):
    """Whether a warning is an error is what the filters say in each call."""

    def handled(a):
        try:
            return make(a, "f4")
        except np.exceptions.ComplexWarning as warning:
            return str(warning)

    def plainly(a):
        return make(a, "f4")

    for function in (handled, plainly):
        compiled = armature.compile(function)
        for action in ("error", "ignore", "always", "error"):
            for a in (np.array([1 + 1j]), np.array([2.0])):
                found = []
                for call in (function, compiled):
                    with warnings.catch_warnings(record=True) as told:
                        warnings.simplefilter(action)
                        try:
                            found.append((look(call(a)), len(told)))
                        except np.exceptions.ComplexWarning as warning:
                            found.append((str(warning), len(told)))
                assert found[0] == found[1], action


def takes_two(a):
    first, _last = a[0], a[3]
    return first


def reshapes(a):
    a.reshape(2, 2)
    return len(a)


def splits(a):
    x, y = np.split(a, 2)
    return a


def broadcasts(a):
    np.broadcast_to(a, (2, 4))
    return a + 1


@pytest.mark.parametrize("function", [takes_two, reshapes, splits, broadcasts])
def test_errors_of_what_nobody_uses(function):
    """What only rearranges is left out of a graph, but on other sizes it raises."""
    for order in ([4, 2, 3, 4], [4, 4, 1, 5]):
        compiled = armature.compile(function)
        for size in order:
            assert outcome(compiled, [np.arange(size)]) == outcome(function, [np.arange(size)])


def test_read_only_input():
    x = X.copy()
    x.flags.writeable = False

    def function(x):
        x += 1
        return x

    compiled = armature.compile(function)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            compiled(x)
    assert look(compiled(X.copy())) == look(X + 1)


def test_warnings_come_at_every_call():
    check(lambda x: np.log(x - 1), X, calls=3)


def test_identity():
    def function(x, y):
        z = np.asarray(x)
        z += 1
        x *= 2
        return z is x, x is y, np.copy(x) is x, x.T is x, np.add(x, 1, out=y) is y, z

    compiled = check(function, X, Y)
    a = X.copy()
    assert compiled(a, a)[:5] == (True, True, False, False, True)


def test_views_share_memory_as_plainly():
    def function(x):
        row, flat, column = x[1], x.reshape(-1), x[:, 0]
        row += 10
        flat[0] = -1
        column *= 2
        x.T[2] = 0
        x.sort(axis=1)
        np.copyto(row, 5.0, where=row > 12)
        return x, row, column

    check(function, X)
    check(function, np.asfortranarray(X))
    check(function, X[::-1])


def test_scalars_as_inputs():
    def function(s, x):
        t = s
        s += 1
        return s, t, x * s, s.dtype, isinstance(s, float), type(s + t), s.shape

    compiled = check(function, np.float64(2.5), X)
    for scalar in (np.float64(7), np.float32(1), np.int16(3), True, 2, 2.5, np.complex64(1j)):
        if hasattr(scalar, "dtype"):
            assert look(compiled(scalar, X)) == look(function(scalar, X))


def test_what_is_looked_at_is_guarded():
    def function(x):
        return x.sum() * 2, x + 1

    compiled = armature.compile(function)
    assert look(compiled(X)) == look(function(X))
    for x in (X[:2], np.ones((7, 1)), np.zeros((0, 4)), X.T):
        assert look(compiled(x)) == look(function(x))
    assert len(_C.entries(compiled)) == 1
    for x in (X.astype(np.float32), V, N, np.array(3.0), np.array(2)):
        assert look(compiled(x)) == look(function(x))
    assert len(_C.entries(compiled)) == 6

    sized = armature.compile(lambda x: (x * 2).reshape(-1) * x.shape[0])
    for x in (X, X[:2], X):
        assert look(sized(x)) == look((x * 2).reshape(-1) * x.shape[0])
    assert len(_C.entries(sized)) == 2


def test_large_arrays_are_not_computed_while_tracing():
    x = np.broadcast_to(np.float64(1.0), (100_000, 100_000))

    def function(x):
        return (x[:3] * 2 + x.T[:3])[0, :2]

    check(function, np.broadcast_to(np.float64(1.0), (4, 4)))
    compiled = armature.compile(function)
    assert look(compiled(x)) == look(np.full(2, 3.0))


def test_loops():
    def function(x, steps):
        total = np.zeros_like(x)
        for step in range(steps):
            total = total * 0.5 + np.sin(x * step)
            total[step % len(total)] -= step
        return total

    check(function, X, 10)


def test_state_on_objects():
    class Model:
        def __init__(self):
            self.weight = X.T.copy()
            self.calls = np.int64(0)

        def __call__(self, x):
            self.calls += 1
            self.last = np.maximum(x @ self.weight, 0)
            return self.last.sum(axis=-1)

    plain, captured = Model(), Model()
    compiled = armature.compile(Model.__call__)
    for _ in range(3):
        assert look(plain(X)) == look(compiled(captured, X))
        assert look(plain.calls) == look(captured.calls)
        assert look(plain.last) == look(captured.last)


@pytest.mark.parametrize("make", [lambda: X, lambda: X[0], lambda: X[0, 0]])
def test_members_of_errors(make):
    def f(a):
        try:
            return np.sort(a, axis=1) + np.float64(1)
        except ValueError as error:
            return str(error), error.axis, error.ndim, error.args

    compiled = armature.compile(f)
    for _ in range(2):
        assert look(compiled(make())) == look(f(make()))


@pytest.mark.parametrize("mode", ["call", "log"])
def test_errors_that_are_heard_come_in_order(mode):
    log = []

    class Handler:
        def __call__(self, kind, _):
            log.append(kind)

        def write(self, text):
            log.append(text)

    def f(x):
        log.append("before")
        x = 1 / x
        log.append("between")
        return np.log(x - x)

    compiled = armature.compile(f)
    with np.errstate(all="ignore"):
        compiled(X)
    with np.errstate(all=mode, call=Handler()):
        for function in (f, compiled, compiled):
            log.clear()
            function(X)
            heard = [entry for entry in log if "divide" in entry or "invalid" in entry]
            assert heard and log.index("before") < log.index(heard[0]) < log.index("between")
            if function is f:
                expected = log.copy()
            assert log == expected


torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: torch.from_numpy(x) + t,
        lambda x, t: t.numpy() + x,
        lambda x, t: np.sum(t.numpy()),
        lambda x, t: (x.sum(), t.sum()),
        lambda x, t: np.add(x, t),
        lambda x, t: torch.add(t, x.shape[0]),
    ],
)
def test_beside_torch(function):
    t = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    compiled = armature.compile(function)
    for _ in range(2):
        results = function(X, t), compiled(X, t)
        for plain, captured in zip(
            *(r if isinstance(r, tuple) else (r,) for r in results), strict=True
        ):
            assert type(plain) is type(captured)
            assert np.array_equal(np.asarray(plain), np.asarray(captured))

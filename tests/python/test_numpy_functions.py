"""Every function of NumPy that the trace knows, on data of many kinds.

What a trace holds of a result comes from one trial run without data. Each function is captured
once and then called with other data and sizes: the plain call says whether the trace was right
to believe that type, dtype and rank of the result depend on nothing else.
"""

import itertools
import warnings

import armature
import numpy as np
import pytest

MODULES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}


def functions():
    """(text, function) of all callables of NumPy's public modules."""
    for prefix, module in MODULES.items():
        for name in sorted(dir(module)):
            value = getattr(module, name)
            if not name.startswith("_") and callable(value) and not isinstance(value, type):
                yield f"{prefix}.{name}", value


def arrays(kind, seed, size):
    """One array of a kind: its dtype and rank are always the same, data and sizes are not."""
    generator = np.random.default_rng(seed)
    n = size
    data = {
        "matrix": lambda: generator.normal(size=(n, n)) + (n * np.eye(n) if seed % 2 else 0),
        "positive": lambda: (lambda m: m @ m.T + np.eye(n))(generator.normal(size=(n, n))),
        "vector": lambda: generator.normal(size=n) * 10.0 ** generator.integers(-3, 3),
        "sorted": lambda: np.sort(generator.normal(size=n)),
        "integers": lambda: generator.integers(0, n, size=n),
        "small": lambda: generator.integers(0, 2, size=(n, n)).astype(np.int8),
        "booleans": lambda: generator.random(size=(n, n)) < 0.5,
        "complex": lambda: generator.normal(size=(n, n)) + 1j * generator.normal(size=(n, n)),
        "float32": lambda: generator.normal(size=(n, n)).astype(np.float32),
        "cube": lambda: generator.normal(size=(2, n, 3)),
        "scalar": lambda: np.float64(generator.normal()),
        "point": lambda: np.array(generator.normal()),
    }
    value = data[kind]()
    if seed % 5 == 4 and isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
        value = value.copy()
        value.flat[0] = np.nan
        value.flat[-1] = np.inf
    return value


# Forms of call: the text of the arguments, and the kinds of the arrays in them.
FORMS = [
    ("a", ["matrix"]),
    ("a", ["positive"]),
    ("a", ["vector"]),
    ("a", ["integers"]),
    ("a", ["small"]),
    ("a", ["booleans"]),
    ("a", ["complex"]),
    ("a", ["float32"]),
    ("a", ["cube"]),
    ("a", ["scalar"]),
    ("a", ["point"]),
    ("a, axis=0", ["matrix"]),
    ("a, axis=-1, keepdims=True", ["cube"]),
    ("a, 1", ["matrix"]),
    ("a, (0, 1)", ["matrix"]),
    ("a, a.shape", ["matrix"]),
    ("a, b", ["matrix", "matrix"]),
    ("a, b", ["vector", "vector"]),
    ("a, b", ["matrix", "vector"]),
    ("a, b", ["vector", "integers"]),
    ("a, b", ["integers", "integers"]),
    ("a, b", ["sorted", "vector"]),
    ("a, b", ["vector", "scalar"]),
    ("a, b", ["float32", "complex"]),
    ("a, 0.5", ["vector"]),
    ("a, [20.0, 50.0]", ["matrix"]),
    ("a, [0, 1]", ["vector"]),
    ("(a, b)", ["matrix", "matrix"]),
    ("[a, b]", ["vector", "vector"]),
    ("[a, b], axis=1", ["matrix", "matrix"]),
    ("a, b, c", ["booleans", "matrix", "matrix"]),
    ("a, b, c", ["vector", "sorted", "vector"]),
    ("a, -0.5, 0.5", ["float32"]),
    ("a, out=b", ["matrix", "matrix"]),
    ("a, b, out=c", ["matrix", "matrix", "matrix"]),
    ("a, out=b", ["vector", "vector"]),
    ("'ij,jk->ik', a, b", ["matrix", "matrix"]),
    ("[a > 0, a < 0], [a, b], 7.0", ["vector", "vector"]),
    ("a, 1, b", ["vector", "scalar"]),
    ("3", []),
    ("(2, 3)", []),
    ("1, 5", []),
    ("(2, 3), 1.5", []),
    ("[[1, 2], [3, 4]]", []),
    ("2.5", []),
    ("np.float32, np.float64", []),
]

SEEDS = (0, 3, 9)


def look(value):
    if isinstance(value, np.ndarray):
        # What numpy.empty returns is nobody's promise; NaNs compare by their place.
        return (type(value), value.dtype, value.shape, value.strides, repr(value))
    if isinstance(value, np.generic):
        return (type(value), repr(value))
    if isinstance(value, (list, tuple)):
        return (type(value), [look(item) for item in value])
    return (type(value), repr(value))


def outcome(function, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = look(function(*arguments))
        except Exception as error:
            return type(error), str(error)
    return result, [look(argument) for argument in arguments]


# Not comparable, or with effects outside of the process.
EXCLUDED = {
    "np.printoptions",
    "np.empty",
    "np.empty_like",
    "np.may_share_memory",
    "np.shares_memory",
    "np.save",
    "np.savez",
    "np.savez_compressed",
    "np.savetxt",
    "np.info",
    "np.show_config",
    "np.show_runtime",
    "np.test",
    "np.linalg.test",
    "np.fft.test",
    "np.seterr",
    "np.setbufsize",
    "np.seterrcall",
    "np.set_printoptions",
    "np.fromfile",
    "np.load",
    "np.loadtxt",
    "np.genfromtxt",
    "np.fromregex",
    "np.nested_iters",
    "np.get_include",
    "np.getbufsize",
}


@pytest.mark.parametrize("text", [text for text, _ in functions() if text not in EXCLUDED])
def test_results_depend_on_nothing_unguarded(text):
    for form, kinds in FORMS:
        names = "abc"[: len(kinds)]
        source = f"lambda {', '.join(names)}: {text}({form})"
        function = eval(source, {"np": np})
        calls = []
        for seed, size in itertools.product(SEEDS, (4, 5)):
            calls.append([arrays(kind, seed + i, size) for i, kind in enumerate(kinds)])
        # A call that never works is another test's matter.
        first = outcome(
            function, [np.copy(a) if isinstance(a, np.ndarray) else a for a in calls[0]]
        )
        if isinstance(first[0], type) and issubclass(first[0], (TypeError, AttributeError)):
            continue
        compiled = armature.compile(function)
        for arguments in calls:

            def copies():
                return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]

            assert outcome(function, copies()) == outcome(compiled, copies()), source


def test_large_inputs_are_not_computed_with_while_tracing():
    """Their metadata is right nevertheless."""
    forms = [
        "a + b",
        "a @ b",
        "a.sum(axis=0) + b.max(axis=1)",
        "np.where(a > b, a, b)",
        "np.dot(a, b)",
        "np.einsum('ij,jk->k', a, b)",
        "np.linalg.svd(a)[1]",
        "np.linalg.inv(a)",
        "np.percentile(a, [1, 2], axis=0)",
        "np.sort(a, axis=None)",
        "np.cumsum(b)",
        "np.outer(a[0], b[0])",
        "np.add(a[:, :1], [1, 2])",
        "np.take(a, [0, 2], axis=1)",
        "np.add.reduce(a)",
        "np.concatenate([a, b])",
        "a.T - b.mean(keepdims=True)",
    ]
    a = np.random.default_rng(1).normal(size=(60, 60))
    for form in forms:
        source = f"lambda a, b: (lambda r: (r, r.shape, r.dtype, r.ndim))({form})"
        function = eval(source, {"np": np})
        compiled = armature.compile(function, fullgraph=True)
        assert outcome(function, [a, a + 1]) == outcome(compiled, [a, a + 1]), source

"""A function is translated anew when what it read has changed, and only then."""

import gc
import logging

import armature
import pytest
import torch
from differential import translations

X = torch.ones(2, 3)
number = 1
text = "a"
callee_result = 1


class Config:
    size = 2

    def __init__(self, depth=1):
        self.depth = depth

    def method(self):
        return 1


def callee():
    return callee_result


def default_argument(n=1):
    return n


def keyword_default(*, n=1):
    return n


def make_closure(n):
    def inner(x):
        return x + n

    def change(new):
        nonlocal n
        n = new

    return inner, change


def scenario(fn, first, second, changed, expect=2):
    """`first` and `second` give arguments; `changed` is done between them. Returns the compiled."""
    compiled = armature.compile(fn)
    for _ in range(2):
        assert torch.equal(torch.as_tensor(fn(*first())), torch.as_tensor(compiled(*first())))
    assert translations(compiled) == 1
    changed()
    for _ in range(2):
        expected, actual = fn(*second()), compiled(*second())
        assert type(expected) is type(actual)
        assert torch.equal(torch.as_tensor(expected), torch.as_tensor(actual))
    assert translations(compiled) == expect
    return compiled


ARGUMENTS = {
    "int": (1, 2),
    "str": ("a", "bb"),
    "int to float": (1, 1.0),
    "bool to int": (True, 1),
    "None": (None, 1),
    "list length": ([1], [1, 2]),
    "list item": ([1], [2]),
    "list to tuple": ([1], (1,)),
    "dict keys": ({"a": 1}, {"b": 1}),
    "dict item": ({"a": 1}, {"a": 2}),
    "dict order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "set": ({1}, {2}),
    "zero sign": (0.0, -0.0),
    "range": (range(2), range(3)),
    "function": (callee, default_argument),
    "class": (int, float),
    "nested": ([{"a": (1, [2])}], [{"a": (1, [3])}]),
    "string in a tuple": (("a", "b"), ("a", "c")),
    "complex": (1j, 2j),
    "slice": (slice(1), slice(2)),
    "bytes": (b"a", b"b"),
    "type of an instance": (Config(), type("Other", (Config,), {})()),
    "attribute": (Config(1), Config(2)),
}


def describe(value):
    if isinstance(value, dict):
        return [(k, describe(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple, set, range)):
        return [type(value).__name__, [describe(v) for v in value]]
    if isinstance(value, Config):
        return type(value).__name__ + str(value.depth)
    return value() if callable(value) else repr(value)


@pytest.mark.parametrize(("first", "second"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_arguments(first, second):
    compiled = armature.compile(describe)
    for value in (first, first, second, second, first, second):
        assert compiled(value) == describe(value)


TENSORS = {
    "shape": torch.ones(3, 3),
    "rank": torch.ones(2),
    "dtype": torch.ones(2, 3, dtype=torch.float64),
    "requires_grad": torch.ones(2, 3, requires_grad=True),
    "stride": torch.ones(3, 2).t(),
    "meta": torch.ones(2, 3, device="meta"),
    "parameter": torch.nn.Parameter(torch.ones(2, 3)),
}


@pytest.mark.parametrize("other", TENSORS.values(), ids=TENSORS.keys())
def test_tensors(other):
    def f(x):
        facts = [
            x.shape,
            x.dtype,
            x.requires_grad,
            x.stride(),
            x.dim(),
            type(x),
            x.device,
            x.is_leaf,
        ]
        facts += [x.is_contiguous(), x.numel(), len(x), x.size(0), x.is_floating_point()]
        y = x * 2
        return facts, y.dtype, y.shape, y.requires_grad

    compiled = armature.compile(f)
    for x in (X, X, other, other, X):
        assert compiled(x) == f(x)


def test_unread_shape_does_not_recompile():
    compiled = armature.compile(lambda x: x * 2 + 1)
    for shape in [(2, 3), (3,), (1, 2, 3)]:
        compiled(torch.ones(shape))
    assert translations(compiled) == 1


def test_global_int(monkeypatch):
    scenario(
        lambda x: x + number,
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setitem(globals(), "number", 5),
    )


def test_global_of_a_callee(monkeypatch):
    scenario(
        lambda x: x + callee(),
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setitem(globals(), "callee_result", 5),
    )


def test_global_function_replaced(monkeypatch):
    scenario(
        lambda x: x + callee(),
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setitem(globals(), "callee", lambda: 7),
    )


def test_code_of_a_function_replaced():
    def local():
        return 1

    scenario(
        lambda x: x + local(),
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(local, "__code__", (lambda: 3).__code__),
    )


def test_builtin_shadowed(monkeypatch):
    scenario(
        lambda x: x + len([1]),
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setitem(globals(), "len", lambda v: 9),
    )


def test_default_changed(monkeypatch):
    scenario(
        lambda x: x + default_argument(),
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setattr(default_argument, "__defaults__", (8,)),
    )


def test_keyword_default_changed(monkeypatch):
    scenario(
        lambda x: x + keyword_default(),
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setattr(keyword_default, "__kwdefaults__", {"n": 8}),
    )


def test_closure_content_changed():
    inner, change = make_closure(1)
    scenario(lambda x: inner(x), lambda: (X,), lambda: (X,), lambda: change(4))
    inner, change = make_closure(1)
    scenario(inner, lambda: (X,), lambda: (X,), lambda: change(4))


def test_class_attribute_changed(monkeypatch):
    config = Config()
    scenario(
        lambda x: x + config.size,
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setattr(Config, "size", 20),
    )


def test_method_replaced(monkeypatch):
    config = Config()
    scenario(
        lambda x: x + config.method(),
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setattr(Config, "method", lambda self: 20),
    )


def test_method_shadowed_by_the_instance():
    config = Config()
    scenario(
        lambda x: x + config.method(),
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(config, "method", lambda: 20),
    )


def test_class_attribute_shadowed_by_the_instance():
    config = Config()
    scenario(
        lambda x: x + config.size,
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(config, "size", 20),
    )


def test_attribute_appears():
    config = Config()

    def f(x):
        return x + (2 if hasattr(config, "extra") else 1) + getattr(config, "extra", 0)

    scenario(f, lambda: (X,), lambda: (X,), lambda: setattr(config, "extra", 20))


def test_class_attribute_appears():
    config = Config()

    def f(x):
        return x + (2 if hasattr(config, "appearing") else 1)

    try:
        scenario(f, lambda: (X,), lambda: (X,), lambda: setattr(Config, "appearing", 20))
    finally:
        del Config.appearing


def test_special_method_appears():
    class Plain:
        pass

    value = Plain()
    scenario(
        lambda x: x + (2 if value else 1),
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(Plain, "__bool__", lambda self: False),
    )


def test_base_class_attribute_changed():
    class Base:
        size = 1

    class Derived(Base):
        pass

    value = Derived()
    scenario(lambda x: x + value.size, lambda: (X,), lambda: (X,), lambda: setattr(Base, "size", 6))
    Base.size = 1
    scenario(
        lambda x: x + value.size, lambda: (X,), lambda: (X,), lambda: setattr(Derived, "size", 6)
    )


def test_property_replaced():
    class Holder:
        @property
        def value(self):
            return 1

    holder, first = Holder(), Holder.value
    scenario(
        lambda x: x + holder.value,
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(Holder, "value", property(lambda self: 6)),
    )
    assert first.fget(holder) == 1
    # Once the getter has died, so has what was compiled for it.
    scenario(
        lambda x: x + holder.value,
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(Holder, "value", property(lambda self: 7)),
        expect=1,
    )


def test_class_of_an_instance_changed():
    class Other:
        size = 7

    config = Config()
    scenario(
        lambda x: x + config.size,
        lambda: (X,),
        lambda: (X,),
        lambda: setattr(config, "__class__", Other),
    )


def test_module_attribute_changed(monkeypatch):
    import math

    scenario(
        lambda x: x + math.pi,
        lambda: (X,),
        lambda: (X,),
        lambda: monkeypatch.setattr(math, "pi", 3),
    )


def test_grad_mode():
    def f(x):
        return x * 2

    compiled = armature.compile(f)
    x = torch.ones(2, requires_grad=True)
    for _ in range(2):
        assert compiled(x).requires_grad
        with torch.no_grad():
            assert not compiled(x).requires_grad
        with torch.inference_mode():
            assert not compiled(x).requires_grad


def test_grad_mode_is_read():
    compiled = armature.compile(lambda: torch.is_grad_enabled())
    for _ in range(2):
        assert compiled() is True
        with torch.no_grad():
            assert compiled() is False


def test_default_dtype():
    def f():
        return torch.ones(2) + 1, torch.get_default_dtype()

    compiled = armature.compile(f)
    assert compiled()[1] == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        value, dtype = compiled()
        assert value.dtype == dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert compiled()[0].dtype == torch.float32


def test_autocast():
    def f(x):
        y = x @ x
        return y, y.dtype

    compiled = armature.compile(f)
    x = torch.ones(2, 2)
    assert compiled(x)[1] == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value, dtype = compiled(x)
        assert value.dtype == dtype == torch.bfloat16
    assert compiled(x)[1] == torch.float32


def test_limit():
    def f(x, n):
        return x.expand(n, *x.shape).sum(0), n

    compiled = armature.compile(f)
    for n in range(1, 20):
        value, same = compiled(X, n)
        assert torch.equal(value, X.expand(n, *X.shape).sum(0)) and same == n
    assert translations(compiled) == 8


def test_reset():
    compiled = armature.compile(lambda x, n: x + n)
    compiled(X, 1)
    armature.reset()
    assert translations(compiled) == 0
    assert torch.equal(compiled(X, 2), X + 2)
    assert translations(compiled) == 1


def test_identity_of_arguments():
    def f(a, b):
        return a is b, a + b

    compiled = armature.compile(f)
    y = X.clone()
    for a, b in [(X, y), (X, X), (y, X), (y, y)]:
        assert compiled(a, b)[0] is (a is b)


def test_unhashable_and_dying_arguments():
    def f(config):
        return config.depth + config.size

    compiled = armature.compile(f)
    for depth in range(5):
        assert compiled(Config(depth)) == depth + 2


HELD = {"a": 5}


@pytest.mark.parametrize(
    "function",
    [
        lambda: HELD["a"].append(1),
        lambda: HELD.setdefault("a", 7).append(1),
        lambda: [*HELD["a"], 1],
        lambda: [n for n in HELD["a"]],
        lambda: {**HELD["a"]},
        lambda: HELD["a"][0],
        lambda: (lambda *a: a)(*HELD["a"]),
    ],
)
def test_what_an_operand_turned_out_to_be_is_forgotten_with_its_guards(function):
    """An instruction that breaks has looked at its operands in vain: nothing may stay of that."""
    compiled = armature.compile(function)
    for value in (5, [], None, [1], {"b": 2}, 5, "text"):
        outcomes = []
        for run in (function, compiled):
            HELD["a"] = value.copy() if isinstance(value, (list, dict)) else value
            try:
                outcomes.append((run(), HELD["a"]))
            except Exception as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]


def test_the_warning_where_nothing_is_left_to_compare_with(caplog):
    def f(instance):
        return instance.method()

    compiled = armature.compile(f)
    with caplog.at_level(logging.WARNING, "armature"):
        for _ in range(armature.config.recompile_limit + 2):

            class K:
                def method(self):
                    return 1

            assert compiled(K()) == 1
            del K
            gc.collect()
    assert "compiled for are no more" in caplog.text

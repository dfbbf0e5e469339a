"""What compile() takes and what it returns; reset, disable, graph_break, guard_check, config."""

import asyncio
import collections.abc
import copy
import functools
import inspect
import logging
import math
import operator
import pickle
import types
import typing
import warnings

import armature
import numpy as np
import pytest
import torch
from armature import _C


def double(x, *, plus=0):
    """Twice x."""
    return x * 2 + plus


decorated = armature.compile(double)


@armature.compile
def decorated_by_name(x):
    return x + 1


def translations(compiled):
    return len(_C.entries(compiled))


# --- Kinds of callables.


def test_function_keeps_its_name_documentation_and_signature():
    assert decorated.__name__ == "double"
    assert decorated.__doc__ == "Twice x."
    assert decorated.__wrapped__ is double
    assert inspect.signature(decorated) == inspect.signature(double)
    assert decorated(torch.ones(2), plus=1).tolist() == [3, 3]


def test_decorator_with_arguments():
    @armature.compile(fullgraph=True, dynamic=False, backend="eager")
    def f(x):
        return x - 1

    assert f(torch.ones(2)).tolist() == [0, 0]
    assert translations(f) == 1


def test_method_and_decorated_methods():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def plain(self, x):
            return x * self.factor

        @armature.compile
        def compiled(self, x):
            return x * self.factor

        @armature.compile
        @staticmethod
        def static(x):
            return x * 5

        @armature.compile
        @classmethod
        def of_class(cls, x):
            return x * len(cls.__name__)

    x = torch.ones(2)
    assert armature.compile(Scale(3).plain)(x).tolist() == [3, 3]
    assert Scale(4).compiled(x).tolist() == [4, 4]
    assert Scale.static(x).tolist() == [5, 5]
    assert Scale.of_class(x).tolist() == [5, 5]


def test_callable_object_sees_its_state():
    class Adder:
        def __call__(self, x):
            return x + self.amount

    adder = Adder()
    adder.amount = 1
    compiled = armature.compile(adder)
    assert compiled(torch.zeros(1)).item() == 1
    adder.amount = 2
    assert compiled(torch.zeros(1)).item() == 2


def test_what_a_function_has_the_compiled_one_has():
    def plain(a: int, b=2, *, c=3):
        return a, b, c

    compiled = armature.compile(plain)
    assert inspect.getfullargspec(compiled) == inspect.getfullargspec(plain)
    assert inspect.isfunction(compiled) and callable(compiled)
    assert inspect.getsource(compiled) == inspect.getsource(plain)
    for name in ("__code__", "__globals__", "__closure__", "__annotations__", "__module__"):
        assert getattr(compiled, name) is getattr(plain, name)
    assert not inspect.iscoroutinefunction(compiled)
    assert set(dir(plain)) <= {*dir(compiled), "__builtins__"}

    compiled.note = "both"
    assert plain.note == "both" and vars(compiled) is vars(plain)
    plain.other = 1
    assert compiled.other == 1
    del compiled.note
    assert not hasattr(plain, "note") and not hasattr(compiled, "note")
    compiled.__name__ = "renamed"
    assert plain.__name__ == "renamed"
    with pytest.raises(AttributeError, match="'function' object has no attribute 'missing'"):
        compiled.missing  # noqa: B018


def test_defaults_can_be_changed():
    def plain(a, b=2, *, c=3):
        return a, b, c

    compiled = armature.compile(plain)
    assert compiled(1) == (1, 2, 3)
    compiled.__defaults__ = (20,)
    compiled.__kwdefaults__ = {"c": 30}
    assert plain.__defaults__ == (20,) and compiled.__defaults__ == (20,)
    assert compiled(1) == plain(1) == (1, 20, 30)
    plain.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        compiled(1)
    plain.__defaults__ = (5, 6)
    assert compiled() == (5, 6, 30)


def test_code_can_be_changed():
    def plain(x):
        return x + 1

    def other(x, y=4, *rest):
        return x * 10, y, rest

    def numbers(x):
        yield x

    compiled = armature.compile(plain)
    x = torch.ones(1)
    original = plain.__code__
    assert compiled(x).item() == 2
    compiled.__code__ = other.__code__
    assert plain(x, 1, 2)[0].item() == 10
    assert compiled(x, 1, 2)[0].item() == 10 and compiled(x, 1, 2)[1:] == (1, (2,))
    plain.__code__ = numbers.__code__
    assert list(compiled(3)) == [3]
    assert _C.entries(compiled) == []
    armature.reset()
    assert inspect.isgeneratorfunction(compiled)
    compiled.__code__ = original
    assert compiled(x).item() == 2
    assert translations(compiled) == 1
    assert armature.guard_check(compiled, x)


def test_two_compilations_of_one_function_share_it():
    def plain(x):
        return x

    a, b = armature.compile(plain), armature.compile(plain)
    a.mark = 1
    assert b.mark == 1 and a is not b and a != b and len({a, b, plain}) == 3


def test_call_of_a_metaclass():
    class Meta(type):
        @armature.compile
        def __call__(cls, x):
            made = object.__new__(cls)
            made.x = x + 1
            return made

    class Made(metaclass=Meta):
        pass

    for _ in range(2):
        made = Made(torch.ones(1))
        assert type(made) is Made and made.x.item() == 2


def test_abstract_and_bound():
    import abc

    class Base(abc.ABC):
        @armature.compile
        @abc.abstractmethod
        def f(self): ...

    with pytest.raises(TypeError, match="abstract"):
        Base()

    class Derived(Base):
        @armature.compile
        def f(self):
            return self

    derived = Derived()
    assert derived.f() is derived
    assert derived.f.__func__.function.__name__ == "f"
    assert Derived.f.__get__(derived)() is derived
    assert derived.f.__name__ == "f"


CALLABLES = {
    "cached": (functools.lru_cache(lambda x: x), 1),
    "function in C": (math.sin, 1.0),
    "method in C": ([3].count, 3),
    "unbound method in C": (str.upper, "a"),
    "operation of torch": (torch.relu, torch.ones(2)),
    "getter": (operator.itemgetter(1), [1, 2]),
    "dispatcher": (functools.singledispatch(lambda x: [x]), 1),
    "ufunc": (np.negative, 3.0),
}


@pytest.mark.parametrize("transform", [armature.compile, armature.disable])
@pytest.mark.parametrize("name", CALLABLES)
def test_what_stands_for_a_callable_behaves_as_that(transform, name):
    original, argument = CALLABLES[name]
    compiled = transform(original)
    for _ in range(2):
        assert same(compiled(argument), original(argument))
    for attribute in dir(original):
        if attribute.startswith("__") and attribute not in ("__name__", "__doc__", "__module__"):
            continue
        assert getattr(compiled, attribute) == getattr(original, attribute)
    if not isinstance(original, types.FunctionType):
        assert isinstance(compiled, type(original))
        assert compiled == original
        assert repr(compiled) == repr(original)
        assert hash(compiled) == hash(original)


def same(left, right):
    return torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right


def test_a_cached_function():
    calls = []

    def f(x):
        calls.append(x)
        return x + 1

    compiled = armature.compile(functools.lru_cache(maxsize=2)(f))
    assert [compiled(1), compiled(1), compiled(2)] == [2, 2, 3]
    assert calls == [1, 2]
    assert compiled.cache_info() == (1, 2, 2, 2)
    assert compiled.__wrapped__ is f
    compiled.cache_clear()
    assert compiled(1) == 2
    assert calls == [1, 2, 1]
    assert inspect.signature(compiled) == inspect.signature(f)


def test_a_cached_method_binds():
    class C:
        @armature.compile
        @functools.lru_cache  # noqa: B019
        def method(self, x):
            return self, x

        @armature.compile
        @functools.partial
        def partial(x):
            return x

    c = C()
    assert c.method(1) == C.method(c, 1) == (c, 1)
    assert C.method.cache_info().hits == 1
    assert c.partial(1) == C.partial(1) == 1


def test_partials_keep_what_they_have():
    class Own(functools.partial):
        extra = 5

    for kind in (functools.partial, Own):
        partial = kind(double, plus=5)
        partial.tag = 1
        compiled = armature.compile(partial)
        assert compiled.tag == 1
        assert isinstance(compiled, kind)
        assert compiled.keywords == {"plus": 5}
        assert compiled(torch.ones(2)).tolist() == [7, 7]


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_static_and_class_methods_keep_what_they_have(kind):
    class Own(kind):
        extra = 5

    def f(*args):
        return args[-1] + 1

    method = kind(f)
    method.tag = 1
    compiled = armature.compile(method)
    assert type(compiled) is kind
    assert compiled.tag == 1
    assert compiled.__wrapped__ is compiled.__func__
    own = armature.compile(Own(f))
    assert own.extra == 5
    holder = type("Holder", (), {"method": compiled, "own": own})
    assert holder.method(1) == holder().method(1) == holder.own(1) == holder().own(1) == 2


def test_partial():
    compiled = armature.compile(functools.partial(double, plus=5))
    assert isinstance(compiled, functools.partial)
    assert compiled(torch.ones(1)).item() == 7


def test_compiled_twice_is_compiled_once():
    twice = armature.compile(armature.compile(double))
    assert twice.function is double


def test_compiled_function_inside_another_is_part_of_its_graph():
    def outer(x):
        return decorated(x) + 1

    found = armature.explain(outer)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 3)
    assert found.result.tolist() == [3, 3]


def test_wrong_arguments_raise_pythons_error():
    with pytest.raises(TypeError, match=r"double\(\) missing 1 required positional argument: 'x'"):
        decorated()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        decorated(torch.ones(1), nonsense=1)


def test_pickle_and_copy():
    assert pickle.loads(pickle.dumps(decorated_by_name)) is decorated_by_name
    assert copy.deepcopy(decorated_by_name) is decorated_by_name
    again = pickle.loads(pickle.dumps(decorated))
    assert again.function is double
    assert again(torch.ones(1)).item() == 2


@armature.compile
@functools.lru_cache
def cached_by_name(x):
    return [x]


def test_cached_functions_are_pickled_and_copied_as_functions_are():
    assert pickle.loads(pickle.dumps(cached_by_name)) is cached_by_name
    assert copy.copy(cached_by_name) is cached_by_name
    assert copy.deepcopy(cached_by_name) is cached_by_name


class Called:
    def __call__(self, x=1):
        return x


@pytest.mark.parametrize("original", [Called(), torch.nn.Identity()], ids=["object", "module"])
def test_objects_are_callables_and_no_descriptors(original):
    compiled = armature.compile(original)
    assert isinstance(compiled, collections.abc.Callable)
    assert isinstance(compiled, typing.Callable)
    assert not inspect.isroutine(compiled)

    class Owner:
        bound = classmethod(compiled)

    assert Owner.bound() is Owner


def test_cached_functions_bind():
    class Owner:
        method = armature.compile(functools.lru_cache(lambda self, x: (self, x)))

    owner = Owner()
    assert owner.method(1) == (owner, 1)


def test_recursion():
    @armature.compile
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert power(torch.full((1,), 2.0), 5).item() == 32


# --- What runs as plain Python.


def test_generator_and_coroutine_functions_run_plain():
    def numbers(x):
        yield x
        yield x + 1

    async def later(x):
        return x * 3

    compiled = armature.compile(numbers)
    assert inspect.isgeneratorfunction(compiled)
    assert list(compiled(1)) == [1, 2]
    assert asyncio.run(armature.compile(later)(2)) == 6
    with pytest.raises(armature.Unsupported, match="generator function"):
        armature.compile(numbers, fullgraph=True)


def test_disable_argument():
    assert armature.compile(double, disable=True) is double
    assert armature.compile(disable=True)(double) is double


# --- disable, graph_break, is_compiling.


def test_disabled_function_breaks_the_graph_and_runs_plain():
    seen = []

    @armature.disable
    def plain(x):
        seen.append(armature.is_compiling())
        return decorated_by_name(x)

    def f(x):
        return plain(x + 1) * 2

    before = translations(decorated_by_name)
    found = armature.explain(f)(torch.zeros(3))
    assert found.result.tolist() == [4, 4, 4]
    assert seen == [False]
    assert translations(decorated_by_name) == before
    (reason,) = found.break_reasons
    assert reason.gb_type == "Call of a disabled function"
    assert "plain" in reason.context
    with pytest.raises(armature.Unsupported, match="disabled"):
        armature.compile(f, fullgraph=True)(torch.zeros(3))


def test_disable_keeps_kinds():
    class Thing:
        @armature.disable()
        def method(self, x):
            return self, x

    thing = Thing()
    assert thing.method(1) == (thing, 1)
    assert armature.disable(thing.method)(2) == (thing, 2)
    disabled = armature.disable(decorated)
    assert disabled.function is double
    assert armature.disable(disabled) is disabled
    assert armature.compile(disabled) is disabled
    with pytest.raises(TypeError):
        armature.disable(Thing)
    with pytest.raises(TypeError):
        armature.disable(3)


def test_graph_break():
    def f(x):
        y = x + 1
        armature.graph_break()
        return y * 2

    assert armature.graph_break() is None
    found = armature.explain(f)(torch.ones(2))
    assert found.graph_count == 2
    assert found.break_reasons[0].line == f.__code__.co_firstlineno + 2
    assert found.result.tolist() == [4, 4]


def test_is_compiling_is_true_in_a_trace_only():
    def f(x):
        return x + (1 if armature.is_compiling() and torch.compiler.is_compiling() else 2)

    assert not armature.is_compiling()
    assert f(torch.zeros(1)).item() == 2
    assert armature.compile(f)(torch.zeros(1)).item() == 1


def test_a_branch_for_compilers_that_raises_is_not_taken():
    log = []

    def attend(x, mask):
        if mask is None and not armature.is_compiling():
            mask = torch.ones(3)
        return mask[0] * x

    def cleaned_up(x, mask):
        try:
            return attend(x, mask)
        finally:
            log.append(armature.graph_break())

    x = torch.arange(3.0)
    for entry in (attend, cleaned_up):
        compiled = armature.compile(entry)
        for _ in range(2):
            assert compiled(x, None).tolist() == [0, 1, 2]
    assert log == [None, None]


# --- reset, guard_check, config.


def test_guard_check_and_reset():
    compiled = armature.compile(lambda x, n: x + n)
    x = torch.ones(2)
    assert not armature.guard_check(compiled, x, 1)
    compiled(x, 1)
    assert armature.guard_check(compiled, x, 1)
    assert armature.guard_check(compiled, x, n=1)
    assert not armature.guard_check(compiled, x, 2)
    assert not armature.guard_check(compiled, x)  # Does not fit the parameters.
    armature.reset()
    assert not armature.guard_check(compiled, x, 1)
    assert compiled(x, 1).tolist() == [2, 2]
    with pytest.raises(TypeError, match="compile"):
        armature.guard_check(double, x)


def test_guard_check_of_methods_and_partials():
    class Scale:
        factor = 2

        @armature.compile
        def call(self, x):
            return x * self.factor

    scale, x = Scale(), torch.ones(2)
    scale.call(x)
    assert armature.guard_check(scale.call, x)
    partial = functools.partial(decorated, plus=3)
    armature.reset()  # Other tests have given it other numbers.
    partial(x)
    assert armature.guard_check(partial, x)
    assert not armature.guard_check(partial, x, plus=4)


def test_recompile_limit_falls_back_to_python_with_one_warning(caplog):
    with armature.config.patch(recompile_limit=2):
        compiled = armature.compile(lambda x, items: x + sum(items))
    x = torch.zeros(1)
    assert [compiled(x, [1] * n).item() for n in range(2)] == [0, 1]
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, "armature"):
        warnings.simplefilter("error")  # a program's warnings are its own
        assert [compiled(x, [1] * n).item() for n in range(5)] == [0, 1, 2, 3, 4]
    assert len(caplog.records) == 1
    assert "len(L['items']) == 1" in caplog.text and __file__ in caplog.text
    assert translations(compiled) == 2


def test_config_refuses_nonsense():
    assert armature.config.recompile_limit == 8
    with pytest.raises(AttributeError):
        armature.config.recompile_limits = 3
    with pytest.raises(TypeError):
        armature.config.recompile_limit = "3"
    with pytest.raises(ValueError):
        armature.config.recompile_limit = 0
    with pytest.raises(ValueError):
        armature.config.recompile_limit = 2**31
    with pytest.raises(AttributeError), armature.config.patch(nonsense=1):
        pass
    assert armature.config.recompile_limit == 8


def test_signature_of_a_callable_object():
    class Scale:
        def __call__(self, x, *, by=2):
            return x * by

    for original in Scale(), torch.nn.Linear(1, 1):
        compiled = armature.compile(original)
        assert inspect.signature(compiled) == inspect.signature(original)


def test_the_call_of_a_callable_object_is_its_method():
    class Scale:
        def __call__(self, x, *, by=2):
            return x * by + (self is scale)

    scale = Scale()
    compiled = armature.compile(scale)
    for read in (
        lambda call: call.__func__,
        lambda call: call.__qualname__,
        inspect.signature,
        inspect.getfullargspec,
        inspect.ismethod,
        inspect.getsource,
    ):
        assert read(compiled.__call__) == read(scale.__call__)
    assert compiled.__call__.__self__ is scale
    assert compiled.__call__(torch.ones(1)).item() == 3
    compiled.__call__ = 5
    assert compiled.__call__ == scale.__call__ == 5
    assert compiled(1) == scale(1)
    del compiled.__call__
    assert compiled.__call__(1) == scale.__call__(1)

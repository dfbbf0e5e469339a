"""inspect.signature() in traced code, and what it is made of: annotations of functions, the dicts
of classes, mapping proxies, attributes of partials."""

import functools
import inspect
import types

import armature
import pytest
import torch
from differential import check


def plain(a, b: int = 3, *c, d, e: str = "x", **k) -> float:
    return a


@functools.wraps(plain)
def wrapped(*args, **kwargs):
    return plain(*args, **kwargs)


class Made:
    def __init__(self, x, y=2):
        self.x = x

    def method(self, a, b=1):
        return a

    @classmethod
    def of_class(cls, a):
        return a

    @staticmethod
    def static(a, *, b):
        return a

    def __call__(self, q, r=1):
        return q


class MadeByNew:
    def __new__(cls, a, b):
        return object.__new__(cls)


MADE = Made(1)
PARTIAL = functools.partial(plain, 1, d=3)
LINEAR = torch.nn.Linear(2, 2)
OLD = inspect.signature(plain)


def parameters_of(target):
    return [
        (p.name, p.kind, p.default is p.empty, p.annotation)
        for p in inspect.signature(target).parameters.values()
    ]


def of_a_function(x):
    return parameters_of(plain), inspect.signature(plain).return_annotation, x + 1


def of_wrappers(x):
    return parameters_of(wrapped), parameters_of(PARTIAL), inspect.unwrap(wrapped) is plain


def of_methods(x):
    return (
        parameters_of(MADE.method),
        parameters_of(Made(2).method),
        parameters_of(Made.of_class),
        parameters_of(Made.static),
    )


def of_callables(x):
    return parameters_of(MADE), parameters_of(Made), parameters_of(MadeByNew)


def of_modules(x):
    return parameters_of(LINEAR.forward), parameters_of(torch.nn.Linear)


def of_a_new_function(x):
    def new(a, b: int = 1, *, c=2) -> str:
        return a

    return parameters_of(new), new.__annotations__, new.__annotations__ is new.__annotations__


def membership(x):
    names = inspect.signature(plain).parameters
    return "b" in names, "z" in names, len(names), list(names), names["b"].default


def bound(x):
    binding = inspect.signature(plain).bind(x, 2, 3, d=4, z=5)
    binding.apply_defaults()
    return binding.args, binding.kwargs


def wrongly_bound(x):
    try:
        inspect.signature(plain).bind()
    except TypeError as error:
        return str(error)


def texts(x):
    return str(inspect.signature(plain)), repr(OLD), OLD == inspect.signature(plain)


def replaced(x):
    return str(OLD.replace(parameters=[OLD.parameters["b"]]))


def returned(x):
    return inspect.signature(plain).parameters, inspect.signature(plain), OLD


def full_specification(x):
    return inspect.getfullargspec(plain), inspect.get_annotations(plain)


@pytest.mark.parametrize(
    "function",
    [
        of_a_function,
        of_wrappers,
        of_methods,
        of_callables,
        of_modules,
        of_a_new_function,
        membership,
        bound,
        wrongly_bound,
        texts,
        replaced,
        full_specification,
    ],
)
def test_signature(function):
    check(function, torch.ones(2), breaks=0)


def test_signatures_that_leave_the_trace():
    compiled = check(lambda x: (inspect.signature(plain).parameters["a"].name, OLD), 1, breaks=0)
    parameters, signature, old = armature.compile(returned)(1)
    assert type(parameters) is types.MappingProxyType and list(parameters) == list(OLD.parameters)
    assert signature == OLD and old is OLD
    assert compiled(1)[1] is OLD


def test_functions_that_change():
    def target(a: int, b: str = "b") -> None:
        pass

    def look():
        return (
            dict(target.__annotations__),
            target.__annotations__.get("a"),
            str(inspect.signature(target)),
        )

    def other(q):
        pass

    def add_annotation():
        target.__annotations__["c"] = 1

    def replace_annotation():
        target.__annotations__["a"] = float

    def new_annotations():
        target.__annotations__ = {"b": bytes}

    def no_annotations():
        target.__annotations__ = None

    def defaults():
        target.__defaults__ = (7, 8)

    def explicit():
        target.__signature__ = inspect.signature(other)

    def wrap():
        del target.__signature__
        target.__wrapped__ = other

    changes = [add_annotation, replace_annotation, new_annotations, no_annotations, defaults]
    compiled = armature.compile(look)
    assert compiled() == look()
    for change in [*changes, explicit, wrap]:
        change()
        assert compiled() == look() == compiled(), change


def test_functions_of_one_code():
    def make(annotation):
        def target(a: annotation):
            pass

        return target

    targets = [make(annotation) for annotation in (int, str, int)]
    check(
        lambda target: (target.__annotations__["a"], str(inspect.signature(target))),
        targets[0],
        more=((targets[1],), (targets[2],), (plain,)),
    )


def test_annotations_are_the_function_s_own():
    def target(a: int):
        pass

    def write(value):
        target.__annotations__["b"] = value
        return target.__annotations__

    def restore():
        target.__annotations__ = {"a": int}

    compiled = check(write, 3, restore=restore, watch=target.__annotations__)
    restore()
    assert compiled(4) is target.__annotations__ == {"a": int, "b": 4}


def test_classes_that_change():
    class Base:
        def __init__(self, a):
            pass

    class Derived(Base):
        attribute = 1

    def look():
        own = Derived.__dict__
        return (
            "attribute" in own,
            "__init__" in own,
            own.get("attribute"),
            list(inspect.signature(Derived).parameters),
            vars(Derived).get("other"),
        )

    compiled = armature.compile(look)
    assert compiled() == look()
    Derived.attribute = 2
    assert compiled() == look()
    Derived.__init__ = lambda self, b, c: None
    assert compiled() == look()
    del Derived.attribute
    Derived.other = 5
    assert compiled() == look()
    Base.attribute = 3
    assert compiled() == look() == (False, True, None, ["b", "c"], 5)


def test_attributes_of_partials():
    partial = functools.partial(plain, 1)

    def look(target):
        return (
            getattr(target, "note", None),
            hasattr(target, "__wrapped__"),
            isinstance(target, functools.partial),
            type(target).__name__,
            target.__doc__ == functools.partial.__doc__,
        )

    noted = functools.partial(plain, 1)
    noted.note = [3]
    check(look, partial, more=((noted,),), breaks=0)

    def missing(target):
        try:
            return target.absent
        except AttributeError as error:
            return str(error)

    check(missing, partial, breaks=0)


def operations_of(proxy):
    return (
        proxy["a"],
        len(proxy),
        bool(proxy),
        list(proxy),
        list(reversed(proxy)),
        list(proxy.items()),
        list(proxy.keys()),
        list(proxy.values()),
        "b" in proxy,
        proxy.get("q"),
        proxy.get("q", 4),
        proxy == {"a": 1},
        proxy != {"a": 1},
        proxy.copy(),
        dict(proxy),
        proxy | {"c": 3},
        {"c": 3} | proxy,
        repr(proxy),
        str(proxy),
        {**proxy},
    )


def error_of(function):
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


def errors_of(proxy):
    def assign():
        proxy["a"] = 2

    def unite_in_place():
        mine = proxy
        mine |= {}

    return (
        error_of(lambda: proxy["q"]),
        error_of(assign),
        error_of(lambda: hash(proxy)),
        error_of(lambda: proxy < proxy),
        error_of(lambda: types.MappingProxyType()),
    )


def test_mapping_proxies():
    def new(mapping):
        proxy = types.MappingProxyType(mapping)
        before = operations_of(proxy)
        mapping["z"] = 9
        return before, operations_of(proxy), proxy, errors_of(proxy)

    check(new, {"a": 1}, more=(({"a": 2, "b": 3},),))
    check(lambda: operations_of(types.MappingProxyType(types.MappingProxyType({"a": 1}))), breaks=0)


def test_existing_mapping_proxies():
    first, second = {"a": 1, "b": torch.ones(2)}, {"a": 1}
    proxies = types.MappingProxyType(first), types.MappingProxyType(second)

    def look(proxy, mapping):
        mapping["new"] = len(proxy)
        return proxy["a"], list(proxy), "new" in proxy, proxy

    compiled = armature.compile(look)
    for proxy, mapping in [
        (proxies[0], first),
        (proxies[1], second),
        (proxies[0], second),
        (proxies[1], first),
        (types.MappingProxyType(second), second),
    ]:
        first.pop("new", None)
        second.pop("new", None)
        expected = look(proxy, mapping)[:3]
        first.pop("new", None)
        second.pop("new", None)
        actual = compiled(proxy, mapping)
        assert actual[:3] == expected and actual[3] is proxy
    first["a"] = 5
    assert compiled(proxies[0], second)[0] == 5

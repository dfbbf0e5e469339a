"""What a trace knows of existing objects stands only as long as the objects stay so.

Each case makes a world: a function, and steps between its calls that change what the function
looked at and give the arguments of the next call. It runs plainly in one world and captured in
another.
"""

# ruff: noqa: B024 (classes without abstract methods are what is tested)
import abc
import codecs
import types
import warnings

import armature
import pytest
import torch

CASES = {}


def case(name):
    def add(make):
        CASES[name] = make
        return make

    return add


def run(make, transform):
    function, steps = make()
    function = transform(function)
    results = []
    for step in steps:
        arguments = step() or ()
        if not isinstance(arguments, tuple):
            arguments = (arguments,)
        try:
            results.append(repr(function(*arguments)))
        except Exception as error:
            results.append(f"{type(error).__name__}: {error}")
    return results


def nop():
    return None


def setter(owner, name, value):
    return lambda: setattr(owner, name, value)


for special, val in [
    ("__eq__", lambda s, o: "eq"),
    ("__len__", lambda s: 0),
    ("__bool__", lambda s: False),
    ("__getattribute__", lambda s, n: n),
]:

    def make(special=special, val=val):
        class K:
            x = 1

        k = K()
        o = K()

        def f():
            return (k == o, bool(k), k.x)

        return f, [nop, setter(K, special, val), nop]

    CASES["add " + special] = make


@case("add method/override in subclass")
def case_add_method_override_in_subclass():
    class A:
        def m(self):
            return 1

    class B(A):
        pass

    class C(B):
        pass

    c = C()
    return (lambda: c.m()), [
        nop,
        setter(B, "m", lambda s: 2),
        setter(C, "m", lambda s: 3),
        lambda: delattr(C, "m"),
    ]


@case("property added")
def case_property_added():
    class A:
        pass

    a = A()
    a.x = 5
    return (lambda: a.x), [nop, setter(A, "x", property(lambda s: 7))]


@case("init/new added")
def case_init_new_added():
    class A:
        pass

    def f():
        a = A()
        return getattr(a, "v", 0), type(a).__name__

    def i(self):
        self.v = 3

    def n(cls):
        o = object.__new__(cls)
        o.v = 9
        return o

    return f, [nop, setter(A, "__init__", i), setter(A, "__new__", n), nop]


@case("super skipped gains")
def case_super_skipped_gains():
    class A:
        def m(self):
            return "A"

    class B(A):
        pass

    class C(B):
        def m(self):
            return "C" + super().m()

    c = C()
    return (lambda: c.m()), [nop, setter(B, "m", lambda s: "B")]


@case("M.__call__")
def case_m___call():
    class M(torch.nn.Module):
        def forward(self, x):
            return x + 1

    m = M()
    x = torch.ones(1)
    return (lambda: m(x)), [nop, setter(M, "__call__", lambda s, x: "called"), nop]


@case("dict.get override")
def case_dict_get_override():
    class D(dict):
        pass

    d = D(a=1)
    return (lambda: (d.get("a"), d.get("b", 2))), [nop, setter(D, "get", lambda s, *a: "mine"), nop]


@case("__missing__")
def case_missing():
    class D(dict):
        pass

    d = D(a=1)

    def f():
        try:
            return d["z"]
        except KeyError:
            return "KE"

    return f, [nop, setter(D, "__missing__", lambda s, k: "miss" + k), nop]


@case("K.__name__")
def case_k___name():
    class K:
        pass

    k = K()
    return (lambda: (type(k).__name__, K.__qualname__)), [
        nop,
        setter(K, "__name__", "Q"),
        setter(K, "__qualname__", "Z"),
    ]


@case("register")
def case_register():
    class A(abc.ABC):
        pass

    class B:
        pass

    b = B()
    return (lambda: (isinstance(b, A), issubclass(B, A))), [
        nop,
        lambda: (A.register(B), None)[1],
        nop,
    ]


@case("subclasshook")
def case_subclasshook():
    log = []

    class A(abc.ABC):
        @classmethod
        def __subclasshook__(cls, C):
            log.append(1)
            return hasattr(C, "foo")

    class B:
        pass

    b = B()
    return (lambda: (isinstance(b, A), len(log))), [nop, setter(B, "foo", 1), nop]


@case("twins")
def case_twins():
    def mk(n, dflt, kw):
        g = {"__name__": n, "G": n, "__builtins__": __builtins__}
        exec(f"def t(a={dflt!r},*,k={kw!r}): return (a,k,G,t.__name__,getattr(t,'attr',None))", g)
        return g["t"]

    a = mk("a", 1, 2)
    b = mk("b", 1, 2)
    c = types.FunctionType(a.__code__, a.__globals__, "cc", (5,))
    c.__kwdefaults__ = {"k": 6}

    def f(t):
        return t(), t.__name__, t.__defaults__

    def attr():
        a.attr = 3
        return a

    return f, [lambda: a, lambda: b, lambda: c, attr]


@case("code assign")
def case_code_assign():
    def g():
        return 1

    def h():
        return 2

    def s():
        g.__code__ = h.__code__

    return (lambda: g()), [nop, s]


@case("defaults assign")
def case_defaults_assign():
    def g(a=1, *, k=2):
        return a, k

    def s():
        g.__defaults__ = (7,)

    def s2():
        g.__kwdefaults__ = {"k": 8}

    def s3():
        g.__defaults__ = None

    return (lambda: g()), [nop, s, s2, s3]


@case("module getattr / class")
def case_module_getattr_class():
    m = types.ModuleType("mm")
    m.a = 1

    class MM(types.ModuleType):
        b = 5

        @property
        def a(self):
            return "prop"

    def f():
        return getattr(m, "zz", "none"), getattr(m, "b", 0)

    def s():
        m.__getattr__ = lambda n: "ga" + n

    def s2():
        m.__class__ = MM

    return f, [nop, s, s2]


@case("module class under a write")
def case_module_class_under_a_write():
    m = types.ModuleType("mm")
    m.a = 1

    class Guarded(types.ModuleType):
        def __setattr__(self, name, value):
            raise TypeError(name)

        def __delattr__(self, name):
            raise KeyError(name)

        def __add__(self, other):
            return "sum"

    def f():
        results = []
        try:
            m.b = 5
            del m.b
        except (TypeError, KeyError) as error:
            results.append(repr(error))
        try:
            results.append(m + 1)
        except TypeError as error:
            results.append(str(error))
        return results, type(m).__name__, isinstance(m, Guarded)

    def s():
        m.__class__ = Guarded

    def s2():
        types.ModuleType.__setattr__(m, "__class__", types.ModuleType)

    return f, [nop, s, s2]


@case("type of a module")
def case_type_of_a_module():
    m = types.ModuleType("mm")

    class Other(types.ModuleType):
        def __bool__(self):
            return False

    def s():
        m.__class__ = Other

    return (lambda: (type(m) is types.ModuleType, isinstance(m, Other), not m)), [nop, s]


@case("instance attr for absent")
def case_instance_attr_for_absent():
    class K:
        def m(self):
            return "cls"

        y = 1

    k = K()

    def s():
        k.m = lambda: "inst"

    def s2():
        k.y = 2

    return (lambda: (k.m(), k.y, hasattr(k, "zz"))), [nop, s, s2, lambda: setattr(k, "zz", 1)]


@case("AttrDict")
def case_attrdict():
    class AttrDict(dict):
        def __init__(self, *a, **k):
            super().__init__(*a, **k)
            self.__dict__ = self

    d = AttrDict(a=1)

    def f():
        d["b"] = 2
        d.c = d.b + d.a
        r = (d["c"], dict(d))
        d.clear()
        return r, len(d)

    return f, [nop, lambda: d.update(a=4)]


@case("obj and dict")
def case_obj_and_dict():
    class K:
        pass

    k = K()
    k.x = 1

    def f(o, d):
        o.x += 1
        d["x"] += 10
        o.y = d["x"]
        return o.x, d["y"], vars(o) is d

    return f, [
        lambda: (k, k.__dict__),
        lambda: (K(), {"x": 1}),
        lambda: (k, {"x": 5}),
        lambda: (k, k.__dict__),
    ]


@case("bump")
def case_bump():
    class K:
        def __init__(self):
            self.n = 0

    a, b = K(), K()

    def f(x, y):
        x.n += 1
        y.n += 10
        return x.n, y.n

    return f, [lambda: (a, b), lambda: (a, a), lambda: (b, a), lambda: (b, b)]


LOG = []


@case("global list is arg")
def case_global_list_is_arg():
    LOG.clear()
    other = []

    def f(x):
        x.append(len(LOG))
        return list(LOG), list(x)

    return f, [lambda: other, lambda: LOG, lambda: LOG, lambda: other]


@case("borg")
def case_borg():
    class K:
        pass

    s = {"n": 0}
    a, b, c = K(), K(), K()
    a.__dict__ = s
    b.__dict__ = s
    c.n = 0

    def f(x, y):
        x.n += 1
        y.n += 1
        return x.n, y.n

    return f, [lambda: (a, c), lambda: (a, b), lambda: (c, a)]


@case("cells alias")
def case_cells_alias():
    def mk():
        n = 0

        def inc():
            nonlocal n
            n += 1
            return n

        def get():
            return n

        return inc, get

    i1, g1 = mk()
    i2, g2 = mk()

    def f(a, b):
        a()
        return b()

    return f, [lambda: (i1, g2), lambda: (i1, g1), lambda: (i2, g1), lambda: (i2, g2)]


@case("class attr data")
def case_class_attr_data():
    class K:
        n = 0

    def f():
        return K.n if isinstance(K.n, int) else "property"

    return f, [nop, setter(K, "n", 1), setter(K, "n", property(lambda s: 1))]


@case("hash added")
def case_hash_added():
    class K:
        pass

    a, b = K(), K()

    def f():
        return len({a: 1, b: 2})

    def s():
        K.__hash__ = lambda s: 1
        K.__eq__ = lambda s, o: True

    return f, [nop, s]


@case("__bases__")
def case_bases():
    class A:
        def m(self):
            return "A"

    class B:
        def m(self):
            return "B"

    class C(A):
        pass

    c = C()

    def s():
        C.__bases__ = (B,)

    return (lambda: (c.m(), isinstance(c, A), isinstance(c, B))), [nop, s]


@case("cell emptied")
def case_cell_emptied():
    def mk(v):
        def inner():
            return x

        if v:
            x = 1
        return inner

    return (lambda g: g()), [lambda: mk(True), lambda: mk(False), lambda: mk(True)]


@case("monkeypatch tensor")
def case_monkeypatch_tensor():
    x = torch.ones(2)
    old = torch.Tensor.relu

    def s():
        torch.Tensor.relu = lambda s: "patched"

    def r():
        torch.Tensor.relu = old

    def f():
        return x.relu()

    return f, [nop, s, r]


@case("__class__ assign")
def case_class___assign():
    class A:
        def m(self):
            return "A"

    class B:
        def m(self):
            return "B"

    a = A()

    def s():
        a.__class__ = B

    return (lambda: (a.m(), type(a).__name__)), [nop, s]


@case("metaclass call")
def case_metaclass_call():
    class Meta(type):
        pass

    class K(metaclass=Meta):
        pass

    return (lambda: type(K()).__name__ if not isinstance(K(), str) else K()), [
        nop,
        setter(Meta, "__call__", lambda c: "meta"),
    ]


@case("descriptor get added")
def case_descriptor_get_added():
    class D:
        pass

    class K:
        d = D()

    k = K()
    return (lambda: type(k.d).__name__), [nop, setter(D, "__get__", lambda s, o, t: 5)]


@case("kw default dict mutated")
def case_kw_default_dict_mutated():
    def g(*, k=2):
        return k

    def s():
        g.__kwdefaults__["k"] = 9

    return (lambda: g()), [nop, s]


@case("claimed class")
def case_claimed_class():
    class A:
        pass

    class P:
        @property
        def __class__(self):
            return A

    p = P()
    return (lambda: (isinstance(p, A), isinstance(p, P))), [nop]


@case("except int")
def case_except_int():
    def f():
        try:
            raise ValueError(1)
        except int:
            return 1

    return f, [nop]


HANDLED = []


@codecs.register
def search_codec(name):
    if name != "of_the_program":
        return None
    return codecs.CodecInfo(
        lambda text, errors="strict": (bytes(HANDLED), len(text)),
        lambda data, errors="strict": (repr(HANDLED), len(data)),
        name=name,
    )


@case("error handlers and codecs of the program")
def case_codecs():
    HANDLED.clear()

    def handles(text):
        def handle(error):
            HANDLED.append(len(HANDLED))
            return text, error.end

        def step():
            codecs.register_error("of_the_program", handle)
            return "é", b"\xff"

        return step

    def f(text, data):
        return (
            text.encode("ascii", "of_the_program"),
            data.decode("ascii", errors="of_the_program"),
            str(data, "utf8", "of_the_program"),
            bytes(text, "of-the-program", "strict"),
            text.encode("UTF_8", "replace"),
            data.decode("of_the_program"),
            text.encode(encoding="ascii", errors="ignore"),
        )

    return f, [handles("A"), handles("B"), handles("B")]


@case("truth of NotImplemented")
def case_truth_of_not_implemented():
    def f(a, b):
        return [a.__eq__(b) and 1, not a.__eq__(b), 2 if a.__lt__(b) else 3]

    def filtered(action):
        def step():
            warnings.filterwarnings(action, category=DeprecationWarning)
            return (5, "5")

        return step

    return f, [filtered(action) for action in ("ignore", "error", "ignore")]


@pytest.mark.parametrize("name", CASES)
def test_facts(name):
    plain = run(CASES[name], lambda function: function)
    captured = run(CASES[name], armature.compile)
    assert captured == plain


def test_a_dropped_generator_runs_its_clean_up():
    """It runs where the generator is dropped, so such a trace is not used at all."""

    class Manager:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, *_):
            log.append("exit")

    def items():
        try:
            yield 1
            yield 2
        finally:
            log.append("finally")

    def managed():
        with Manager():
            yield 1

    def f(x):
        first = next(items())
        log.append("between")
        generator = managed()
        first += next(generator)
        del generator
        for item in items():
            if item == 1:
                break
        log.append("end")
        return x + first

    def g(x):
        return x + sum(items())

    def passed_by():
        try:
            try:
                yield 1
            except (IndexError, KeyError):
                log.append("never")
        except IndexError:
            log.append("never")
        except ValueError:
            log.append("never")

    def h(x):
        return x + next(passed_by())

    def caught():
        try:
            yield 1
        except BaseException as error:
            log.append(type(error).__name__)

    def k(x):
        return x + next(caught())

    for function in (f, g, h, k):
        results = []
        for transform in (lambda function: function, armature.compile):
            log = []
            results.append((transform(function)(torch.ones(2)).tolist(), log))
        assert results[0] == results[1]


def test_a_mapping_that_names_a_key_twice():
    class Names:
        def __init__(self, *names):
            self.names = names

        def keys(self):
            return self.names

        def __getitem__(self, name):
            return len(name)

    def take(**given):
        return given

    def program(mapping):
        try:
            return {**mapping}, take(**mapping)
        except TypeError as error:
            return str(error)

    compiled = armature.compile(program)
    for names in (("a", "b"), ("a", "a"), ("a", "b", "a")):
        assert compiled(Names(*names)) == program(Names(*names))

"""What a trace knows of types, functions, modules and libraries changes between two calls."""

import pytest
import torch
from changing_world import Cases, check_world, quick_collections

FACTS = Cases("facts")


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    with quick_collections():
        yield


# --- Facts about types

TWO = """
class A:
    def __init__(self, x=1):
        self.x = x
class B(A):
    pass
class C(B):
    pass
OBJ = C()
"""

for name, body, change in (
    ("method", "hasattr(o, 'm') and o.m()", "{}.m = lambda self: 5"),
    ("property_over_an_attribute", "o.x", "{}.x = property(lambda self: 5)"),
    ("property_for_an_absent_name", "getattr(o, 'p', 1)", "{}.p = property(lambda self: 5)"),
    ("data_descriptor", "o.x", "{}.x = Data()"),
    ("__getattribute__", "o.x", "{}.__getattribute__ = lambda self, name: 5"),
    ("__getattr__", "getattr(o, 'none', 1)", "{}.__getattr__ = lambda self, name: 5"),
    ("__eq__", "(o == 1, o != 1, o in [1])", "{}.__eq__ = lambda self, other: True"),
    ("__len__", "bool(o)", "{}.__len__ = lambda self: 0"),
    ("__bool__", "1 if o else 2", "{}.__bool__ = lambda self: False"),
    ("__init__", "type(o)(3).x", "{}.__init__ = lambda self, x: setattr(self, 'x', x + 1)"),
    ("__new__", "type(o)(3).x", "{}.__new__ = lambda cls, x: object.__new__(C)"),
    ("__call__", "callable(o) and o()", "{}.__call__ = lambda self: 5"),
    ("__iter__", "[*(o if hasattr(o, '__iter__') else ())]", "{}.__iter__ = lambda s: iter('ab')"),
    ("__contains__", "1 in (o if hasattr(type(o), '__contains__') else [])",
     "{}.__contains__ = lambda self, item: True"),
    ("__getitem__", "getattr(type(o), '__getitem__', len) is len", "{}.__getitem__ = max"),
    ("__hash__", "{o: 1}.get(o)", "{}.__hash__ = lambda self: 1"),
    ("__lt__", "TRY(lambda: o < o)", "{}.__lt__ = lambda self, other: True"),
    ("__add__", "TRY(lambda: o + 1)", "{}.__add__ = lambda self, other: 5"),
    ("__radd__", "TRY(lambda: 1 + o)", "{}.__radd__ = lambda self, other: 5"),
    ("__iadd__", "INPLACE(o)", "{}.__iadd__ = lambda self, other: 5"),
    ("__setattr__", "SET(o)", "{}.__setattr__ = lambda self, name, value: LOG.append(name)"),
    ("__delattr__", "DELETE(o)", "{}.__delattr__ = lambda self, name: LOG.append(name)"),
    ("__str__", "str(o)[:3]", "{}.__str__ = lambda self: 'text'"),
    ("__repr__", "f'{{o!r}}'[:3]".replace("{{", "{").replace("}}", "}"),
     "{}.__repr__ = lambda self: 'text'"),
    ("__format__", "f'{o}'[:3]", "{}.__format__ = lambda self, spec: 'text'"),
    ("__index__", "TRY(lambda: [1, 2][o])", "{}.__index__ = lambda self: 1"),
    ("__enter__", "TRY(lambda: WITH(o))",
     "{0}.__enter__ = lambda s: 5\n{0}.__exit__ = lambda *a: None"),
    ("__class__", "(isinstance(o, int), o.__class__)", "{}.__class__ = property(lambda self: int)"),
    ("__dict__", "o.__dict__", "{}.__dict__ = property(lambda self: {{'x': 5}})"),
    ("__name__", "type(o).__mro__[1].__name__", "B.__name__ = 'Z'"),
    ("__qualname__", "type(o).__qualname__", "C.__qualname__ = 'Z'"),
    ("__module__", "type(o).__module__", "C.__module__ = 'Z'"),
    ("__doc__", "type(o).__doc__", "C.__doc__ = 'Z'"),
    ("__init_subclass__", "type('D', (type(o),), {}).__name__",
     "{}.__init_subclass__ = classmethod(lambda cls: LOG.append('sub'))"),
):  # fmt: skip
    for owner in "C", "A":
        FACTS.add(
            f"{name}_added_to_{'the_class' if owner == 'C' else 'a_base'}",
            f"""{TWO}
LOG = []
class Data:
    def __get__(self, instance, owner):
        return 5
    def __set__(self, instance, value):
        pass
def TRY(f):
    try:
        return f()
    except TypeError as error:
        return str(error)
def INPLACE(o):
    try:
        o += 1
    except TypeError as error:
        return str(error)
    return o
def SET(o):
    o.y = 1
def DELETE(o):
    try:
        del o.y
    except AttributeError as error:
        return str(error)
def WITH(o):
    with o as value:
        return value
def entry(o):
    return {body}
""",
            "entry(OBJ)",
            change.format(owner),
            "entry(OBJ)",
        )

FACTS.add(
    "a_class_that_super_skipped_gains_the_method",
    """
    class A:
        def m(self): return 1
    class B(A): pass
    class C(B):
        def m(self): return super().m()
    OBJ = C()
    def entry(): return OBJ.m()
    """,
    "entry()",
    "B.m = lambda self: 2",
    "entry()",
    "del B.m",
    "entry()",
)
FACTS.add(
    "a_method_is_deleted_and_a_base_takes_over",
    """
    class A:
        def m(self): return 1
    class B(A):
        def m(self): return 2
    OBJ = B()
    def entry(): return OBJ.m()
    """,
    "entry()",
    "del B.m",
    "entry()",
    "del A.m",
    "entry()",
)
FACTS.add(
    "a_descriptor_becomes_a_data_descriptor",
    """
    class Plain:
        def __get__(self, instance, owner): return 1
    class K:
        x = Plain()
    OBJ = K()
    vars(OBJ)['x'] = 2
    def entry(): return OBJ.x
    """,
    "entry()",
    "Plain.__set__ = lambda self, instance, value: None",
    "entry()",
    "del Plain.__get__",
    "entry()",
    "del Plain.__set__",
    "entry()",
)
FACTS.add(
    "a_class_attribute_becomes_a_descriptor_by_its_type",
    """
    class Value: pass
    class K:
        x = Value()
    def entry(o): return type(o.x).__name__
    """,
    "entry(K())",
    "Value.__get__ = lambda self, instance, owner: 7",
    "entry(K())",
)
FACTS.add(
    "the_call_of_a_module_class",
    """
    import torch
    class M(torch.nn.Module):
        def forward(self, x): return x + 1
    MODULE = M()
    def entry(x): return MODULE(x)
    """,
    "entry(torch.ones(2))",
    "M.__call__ = lambda self, x: x + 10",
    "entry(torch.ones(2))",
    "del M.__call__",
    "entry(torch.ones(2))",
)
FACTS.add(
    "the_forward_of_a_module",
    """
    import torch
    class M(torch.nn.Module):
        def forward(self, x): return x + 1
    MODULE = M()
    def entry(x): return MODULE(x)
    """,
    "entry(torch.ones(2))",
    "M.forward = lambda self, x: x + 10",
    "entry(torch.ones(2))",
    "MODULE.forward = lambda x: x + 20",
    "entry(torch.ones(2))",
)
for name, call, change in (
    ("get", "d.get('a')", "D.get = lambda self, key: 5"),
    ("__getitem__", "d['a']", "D.__getitem__ = lambda self, key: 5"),
    ("__contains__", "'z' in d", "D.__contains__ = lambda self, key: True"),
    ("__len__", "(len(d), bool(d))", "D.__len__ = lambda self: 0"),
    ("__iter__", "list(d)", "D.__iter__ = lambda self: iter('xyz')"),
    ("keys", "list(d.keys())", "D.keys = lambda self: ['k']"),
    ("items", "[k for k, v in d.items()]", "D.items = lambda self: [('k', 1)]"),
    ("update", "d.update(a=2) or d.get('a')", "D.update = lambda self, **more: 5"),
    ("__setitem__", "d.__setitem__('a', 3)", "D.__setitem__ = lambda self, key, value: 5"),
    ("__eq__", "d == {'a': 1}", "D.__eq__ = lambda self, other: 5"),
    ("__missing__", "MISS(d)", "D.__missing__ = lambda self, key: 5"),
    ("__init__", "D(a=1)", "D.__init__ = lambda self, **more: None"),
):
    FACTS.add(
        f"a_subclass_of_dict_gains_{name}",
        f"""
class D(dict):
    pass
TABLE = D(a=1)
def MISS(d):
    try:
        return d['none']
    except KeyError:
        return 0
def entry(d):
    return {call}
""",
        "entry(TABLE)",
        change,
        "entry(TABLE)",
    )
FACTS.add(
    "__missing___is_called_inside_try",
    """
    class D(dict):
        def __missing__(self, key): return key * 2
    def entry(d):
        try:
            return d['k']
        except KeyError:
            return 'no'
    """,
    "entry(D())",
    "del D.__missing__",
    "entry(D())",
)
for name, call, change in (
    ("append", "xs.append(1)", "L.append = lambda self, item: LOG.append(item)"),
    ("__getitem__", "xs[0]", "L.__getitem__ = lambda self, index: 5"),
    ("__len__", "len(xs)", "L.__len__ = lambda self: 9"),
    ("__iter__", "sum(xs)", "L.__iter__ = lambda self: iter((7,))"),
    ("__add__", "xs + [1]", "L.__add__ = lambda self, other: 5"),
    ("__bool__", "not xs", "L.__bool__ = lambda self: False"),
):
    FACTS.add(
        f"a_subclass_of_list_gains_{name}",
        f"""
class L(list):
    pass
LOG = []
ITEMS = L([1, 2])
def entry(xs):
    return {call}
""",
        "entry(ITEMS)",
        change,
        "entry(ITEMS)",
    )
FACTS.add(
    "a_class_is_registered_with_an_abstract_one",
    """
    import abc
    class A(abc.ABC): pass
    class B: pass
    def entry(o): return isinstance(o, A), issubclass(type(o), A)
    """,
    "entry(B())",
    "A.register(B)",
    "entry(B())",
)
FACTS.add(
    "a_hook_is_added_behind_a_registration",
    """
    import abc
    class A(abc.ABC): pass
    class B: pass
    A.register(B)
    def entry(o): return isinstance(o, A), issubclass(type(o), A)
    """,
    "entry(B())",
    "A.__subclasshook__ = classmethod(lambda cls, other: False)",
    "entry(B())",
)
FACTS.add(
    "a_class_keeps_the_slot_of_its_deleted___new__",
    """
    class A:
        v = 1
    class B(A): pass
    class C(list): pass
    def entry(cls, *args):
        try: return cls(*args).v
        except TypeError as e: return str(e)
    """,
    "entry(A)",
    "entry(A, 1)",
    "entry(B, 1)",
    "entry(C, ())",
    "A.__new__ = C.__new__ = lambda cls, *a: object.__new__(A)",
    "entry(A)",
    "entry(A, 1)",
    "del A.__new__, C.__new__",
    "C.v = 2",
    "entry(A)",
    "entry(A, 1)",
    "entry(B, 1)",
    "entry(C, ())",
    "A.__init__ = lambda self, *a: None",
    "entry(A, 1)",
    "A.__init__ = lambda self, *a: object.__init__(self, *a)",
    "entry(A, 1)",
)
FACTS.add(
    "__instancecheck___and___subclasscheck___of_a_metaclass",
    """
    class M(type): pass
    class A(metaclass=M): pass
    def entry(o): return isinstance(o, A), issubclass(type(o), A)
    """,
    "entry(1)",
    "M.__instancecheck__ = lambda cls, o: True",
    "entry(1)",
    "M.__subclasscheck__ = lambda cls, o: True",
    "entry(1)",
    "del M.__instancecheck__, M.__subclasscheck__",
    "entry(1)",
)
FACTS.add(
    "__subclasshook___runs_when_python_runs_it",
    """
    import abc
    class A(abc.ABC):
        @classmethod
        def __subclasshook__(cls, other):
            print('asked', other.__name__)
            return NotImplemented
    class B: pass
    class C: pass
    def entry(o): return isinstance(o, A)
    """,
    "entry(B())",
    "entry(C())",
    "class D: pass",
    "entry(D())",
)
FACTS.add(
    "attributes_of_a_metaclass",
    """
    class M(type): pass
    class A(metaclass=M):
        x = 1
    def entry(): return A.x, getattr(A, 'y', 0), A.__name__
    """,
    "entry()",
    "M.x = property(lambda cls: 2)",
    "entry()",
    "M.y = 3",
    "entry()",
    "M.__getattribute__ = lambda cls, name: 'any'",
    "entry()",
)
FACTS.add(
    "the_bases_of_a_class",
    """
    class A:
        def m(self): return 1
    class B:
        def m(self): return 2
    class K(A): pass
    OBJ = K()
    def entry(o): return o.m(), isinstance(o, A), K.__mro__
    """,
    "entry(OBJ)",
    "K.__bases__ = (B,)",
    "entry(OBJ)",
    "K.__bases__ = (B, A)",
    "entry(OBJ)",
)
FACTS.add(
    "the_class_of_an_instance",
    """
    class A:
        def m(self): return 1
    class B:
        def m(self): return 2
    OBJ = A()
    def entry(): return OBJ.m(), type(OBJ), OBJ.__class__.__name__
    """,
    "entry()",
    "OBJ.__class__ = B",
    "entry()",
)
FACTS.add(
    "an_instance_attribute_for_an_absent_name",
    """
    class A: pass
    OBJ = A()
    def entry(): return hasattr(OBJ, 'x'), getattr(OBJ, 'x', 1), 'x' in vars(OBJ)
    """,
    "entry()",
    "OBJ.x = 2",
    "entry()",
    "del OBJ.x",
    "entry()",
    "A.x = 3",
    "entry()",
)
FACTS.add(
    "an_instance_attribute_hides_a_method",
    """
    class A:
        def m(self): return 1
    OBJ = A()
    def entry(): return OBJ.m()
    """,
    "entry()",
    "OBJ.m = lambda: 2",
    "entry()",
    "del OBJ.m",
    "entry()",
)
FACTS.add(
    "a_special_method_on_the_instance_is_not_asked",
    """
    class A: pass
    OBJ = A()
    def entry(): return bool(OBJ), OBJ == 1
    """,
    "entry()",
    "OBJ.__bool__ = lambda: False; OBJ.__eq__ = lambda other: True; OBJ.__len__ = lambda: 0",
    "entry()",
)
FACTS.add(
    "classmethods_and_staticmethods",
    """
    class A:
        @classmethod
        def c(cls): return cls.__name__
        @staticmethod
        def s(v=1): return v
    class B(A): pass
    def entry(): return B.c(), B().c(), B.s(), B().s(2)
    """,
    "entry()",
    "A.s = classmethod(lambda cls, v=3: v)",
    "entry()",
    "A.c = staticmethod(lambda: 'static')",
    "entry()",
    "B.s = lambda self=1, v=4: v",
    "entry()",
)
FACTS.add(
    "the_parts_of_a_property",
    """
    class A:
        @property
        def p(self): return self.x
        @p.setter
        def p(self, value): self.x = value
    OBJ = A()
    def entry(v):
        OBJ.p = v
        return OBJ.p
    """,
    "entry(1)",
    "A.p = A.p.setter(lambda self, value: setattr(self, 'x', -value))",
    "entry(1)",
    "A.p = A.p.getter(lambda self: 'got')",
    "entry(1)",
)

# --- Facts about functions

TWIN = """
import functools, types
N = 1
def f(v=1, *, k=2):
    return (v, k, N)
def named(): return 1
def twin(f, names=None, name=None):
    made = types.FunctionType(f.__code__, names or f.__globals__, name or f.__name__,
                              f.__defaults__, f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__dict__.update(f.__dict__)
    return made
"""
for name, body, change in (
    ("globals", "f()", "f = twin(f, {'N': 5})"),
    ("name", "f.__name__", "f = twin(f, name='other')"),
    ("assigned_name", "f.__name__", "f.__name__ = 'other'"),
    ("qualname", "f.__qualname__", "f.__qualname__ = 'other'"),
    ("attribute", "getattr(f, 'tag', 0)", "f.tag = 1"),
    ("attribute_of_a_twin", "getattr(f, 'tag', 0)", "f = twin(f); f.tag = 1"),
    ("defaults", "f()", "f.__defaults__ = (5,)"),
    ("defaults_of_a_twin", "f()", "f = twin(f); f.__defaults__ = (5,)"),
    ("no_defaults", "f(3)", "f.__defaults__ = None"),
    ("keyword_defaults", "f()", "f.__kwdefaults__ = {'k': 5}"),
    ("keyword_defaults_in_place", "f()", "f.__kwdefaults__['k'] = 5"),
    ("keyword_defaults_of_a_twin", "f()", "f = twin(f); f.__kwdefaults__ = {'k': 5}"),
    ("code", "f()", "f.__code__ = (lambda v=1, *, k=2: 'other').__code__"),
    ("doc", "f.__doc__", "f.__doc__ = 'text'"),
    ("module", "f.__module__", "f.__module__ = 'text'"),
    ("annotations", "f.__annotations__", "f.__annotations__ = {'v': int}"),
    ("wrapped", "hasattr(f, '__wrapped__')", "f.__wrapped__ = named"),
    ("read_defaults", "f.__defaults__", "f.__defaults__ = (5,)"),
    ("identity", "f is KEPT", "f = twin(f)"),
    ("equality", "f == KEPT", "f = twin(f)"),
    ("read_code", "f.__code__.co_name", "f.__code__ = named.__code__"),
    ("read_globals", "f.__globals__['N']", "f = twin(f, {'N': 5})"),
    ("partial", "p()", "p = functools.partial(f, 7)"),
    ("partial_keywords", "p()", "p.keywords['k'] = 9"),
):
    FACTS.add(
        f"a_function_with_other_{name}",
        f"{TWIN}\nKEPT = f\np = functools.partial(f, k=3)\ndef entry():\n    return {body}",
        "entry()",
        change,
        "entry()",
    )
    FACTS.add(
        f"a_function_argument_with_other_{name}",
        f"{TWIN}\nKEPT = f\np = functools.partial(f, k=3)\ndef entry(f, p):\n    return {body}",
        "entry(f, p)",
        change,
        "entry(f, p)",
    )
FACTS.add(
    "the_closure_of_a_twin",
    """
    def make(n):
        def f(): return n
        return f
    F = make(1)
    def entry(f): return f()
    """,
    "entry(F)",
    "F = make(2)",
    "entry(F)",
    "F.__closure__[0].cell_contents = 3",
    "entry(F)",
    "del F.__closure__[0].cell_contents",
    "entry(F)",
)
FACTS.add(
    "one_cell_for_two_variables",
    """
    import types
    def make():
        a, b = 1, 2
        def f():
            nonlocal a
            a += 1
            return a, b
        return f
    F = make()
    def twin(*cells):
        return types.FunctionType(F.__code__, globals(), "f", None, cells)
    entry = twin(types.CellType(1), types.CellType(2))
    """,
    "entry()",
    "c = types.CellType(5); entry = twin(c, c)",
    "entry()",
    "entry()",
    "entry = twin(types.CellType(3), types.CellType(4))",
    "entry()",
)
FACTS.add(
    "the_function_of_a_method",
    """
    class A:
        def m(self, v=1): return v
    OBJ = A()
    def entry(): return OBJ.m()
    """,
    "entry()",
    "A.m.__defaults__ = (2,)",
    "entry()",
    "A.m.__code__ = (lambda self, v=1: v + 10).__code__",
    "entry()",
)
FACTS.add(
    "the_entry_itself",
    "def entry(v=1, *, k=2): return v, k",
    "entry()",
    "entry.__defaults__ = (5,)",
    "entry()",
    "entry.__kwdefaults__ = {'k': 6}",
    "entry()",
    "entry.__code__ = (lambda v=1, *, k=2: (k, v, 'other')).__code__",
    "entry()",
)
FACTS.add(
    "a_generator_function_with_other_code",
    """
    def g(v=1): yield v
    def entry(): return list(g())
    """,
    "entry()",
    "g.__defaults__ = (2,)",
    "entry()",
    "g.__code__ = (lambda v=1: (yield 9)).__code__",
    "entry()",
)

# --- Facts about modules, globals and builtins

MODULE = """
import types
class Special(types.ModuleType):
    x = 7
    def __getattr__(self, name): return 8
MOD = types.ModuleType('mod')
MOD.y = 1
"""
for name, body, change in (
    ("attribute", "MOD.y", "MOD.y = 2"),
    ("absent_attribute", "hasattr(MOD, 'x')", "MOD.x = 2"),
    ("__getattr__", "getattr(MOD, 'x', 0)", "MOD.__getattr__ = lambda name: name + '!'"),
    ("__class__", "getattr(MOD, 'x', 0)", "MOD.__class__ = Special"),
    ("__class___with___getattr__", "getattr(MOD, 'z', 0)", "MOD.__class__ = Special"),
    ("__dict__", "sorted(vars(MOD))[-1]", "MOD.zz = 1"),
    ("__name__", "MOD.__name__", "MOD.__name__ = 'other'"),
    ("global_for_a_builtin", "len([1])", "len = lambda items: 50"),
    ("deleted_global", "GONE", "del GONE"),
    ("new_global", "'NEW' in globals()", "NEW = 1"),
):
    FACTS.add(
        f"a_module_gains_{name}",
        f"{MODULE}\nGONE = 1\ndef entry():\n    return {body}",
        "entry()",
        change,
        "entry()",
    )
FACTS.add(
    "a_builtin_is_replaced",
    """
    import builtins
    builtins.fuzzed = lambda v: v + 1
    def entry(): return fuzzed(1)
    """,
    "entry()",
    "builtins.fuzzed = lambda v: v + 10",
    "entry()",
    "del builtins.fuzzed",
    "entry()",
)
FACTS.add(
    "the_order_of_a_dict",
    """
    D = {'a': 1, 'b': 2}
    class K: pass
    OBJ = K()
    OBJ.p, OBJ.q = 1, 2
    def entry(): return list(D), [k for k in vars(OBJ)], next(iter(D.items()))
    """,
    "entry()",
    "D['a'] = D.pop('a')",
    "entry()",
    "OBJ.__dict__['p'] = OBJ.__dict__.pop('p')",
    "entry()",
)
for state, query, change in (
    ("grad_mode", "torch.is_grad_enabled()", "torch.set_grad_enabled(False)"),
    ("default_dtype", "torch.get_default_dtype()", "torch.set_default_dtype(torch.float64)"),
    ("dtype_of_a_new_tensor", "torch.zeros(1).dtype", "torch.set_default_dtype(torch.float64)"),
    ("anomaly_mode", "torch.is_anomaly_enabled()", "torch.autograd.set_detect_anomaly(True)"),
    ("deterministic", "torch.are_deterministic_algorithms_enabled()",
     "torch.use_deterministic_algorithms(True)"),
    ("math_sdp", "torch.backends.cuda.math_sdp_enabled()",
     "torch.backends.cuda.enable_math_sdp(False)"),
    ("threads", "torch.get_num_threads()", "torch.set_num_threads(2)"),
    ("autocast", "torch.is_autocast_enabled('cpu')", "torch.set_autocast_enabled('cpu', True)"),
    ("default_device", "torch.zeros(1).device", "torch.set_default_device('meta')"),
    ("matmul_precision", "torch.get_float32_matmul_precision()",
     "torch.set_float32_matmul_precision('medium')"),
):  # fmt: skip
    FACTS.add(
        f"the_state_of_torch_{state}",
        f"import torch\ndef entry():\n    return {query}",
        "entry()",
        change,
        "entry()",
        "torch.backends.cuda.enable_math_sdp(True); torch.set_num_threads(1)\n"
        "torch.set_autocast_enabled('cpu', False); torch.set_default_device(None)\n"
        "torch.set_float32_matmul_precision('highest')",
        "entry()",
    )


@pytest.fixture
def settings_as_they_were():
    """What the programs that are about the state of torch can only set to a value, not back."""
    threads = torch.get_num_threads()
    products = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
    precisions = [product.fp32_precision for product in products]
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    for product, precision in zip(products, precisions, strict=True):
        product.fp32_precision = precision


@pytest.mark.usefixtures("settings_as_they_were")
@pytest.mark.parametrize(("source", "steps"), FACTS.parameters)
def test_facts(source, steps):
    check_world(source, *steps)

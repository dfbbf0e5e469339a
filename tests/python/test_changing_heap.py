"""Aliasing, effects and constants: which objects are one, what is written, what is equal."""

import pytest
from changing_world import Cases, check_world, compilations, quick_collections

HEAP = Cases("heap")
EFFECTS = Cases("effects")
CONSTANTS = Cases("constants")
ONE_TRANSLATION = Cases("one translation")
COUNTERS = Cases("counters")


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    with quick_collections():
        yield


# --- One heap

HEAP.add(
    "a_dict_that_is_its_own_instance_dict",
    """
    class AttrDict(dict):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            self.__dict__ = self
    D = AttrDict(a=1)
    def entry(d):
        d.b = d.a + 1
        d['a'] = d.b
        return d.a, d['b'], len(d)
    """,
    "entry(D)",
    "entry(AttrDict(a=5))",
)
HEAP.add(
    "a_dict_made_inside_that_is_its_own_instance_dict",
    """
    class AttrDict(dict):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            self.__dict__ = self
    def entry(v):
        d = AttrDict(a=v)
        d.b = 2
        return d['b'], d.a, d
    """,
    "entry(1)",
    "entry(2)",
)
HEAP.add(
    "an_instance_dict_that_comes_to_be_the_object_or_another_class",
    """
    class AttrDict(dict): pass
    class Plain: pass
    OWN, SAME, OTHER = AttrDict(x=1), AttrDict(x=1), Plain()
    SAME.__dict__ = SAME
    OTHER.__dict__ = AttrDict(x=1)
    def entry(o):
        return o.__dict__ is o, vars(o) is o, type(o.__dict__).__name__, len(vars(o))
    """,
    "entry(OWN)",
    "entry(SAME)",
    "entry(OWN)",
    "entry(Plain())",
    "entry(OTHER)",
)
HEAP.add(
    "the_text_of_a_module",
    """
    import types
    class Named(types.ModuleType):
        def __repr__(self): return 'named'
    MODULE = types.ModuleType('first')
    def entry():
        return (repr(MODULE), str(MODULE), f'{MODULE}', '%s' % MODULE, '%r' % (MODULE,),
                '{}'.format(MODULE), '{0!r}'.format(MODULE), str((MODULE, 1)), repr([MODULE]))
    """,
    "entry()",
    "MODULE.__name__ = 'second'",
    "entry()",
    "MODULE.__class__ = Named",
    "entry()",
    "MODULE.__dict__.clear()",
    "entry()",
)
HEAP.add(
    "an_object_and_its_dict_together",
    """
    class K: pass
    OBJ = K(); OBJ.x = 1
    def entry(o, d):
        d['x'] = 5
        first = o.x
        o.x = 6
        return first, d['x'], o.__dict__ is d, vars(o) is d
    """,
    "entry(OBJ, vars(OBJ))",
    "entry(OBJ, {'x': 1})",
    "entry(OBJ, vars(OBJ))",
)
HEAP.add(
    "two_objects_then_one",
    """
    class K: pass
    P, Q = K(), K()
    P.n = Q.n = 0
    def entry(a, b):
        a.n += 1
        b.n += 1
        return a.n, b.n
    """,
    "entry(P, Q)",
    "entry(P, P)",
    "entry(Q, P)",
)
for name, body in (
    ("list", "a.append(1); return len(b), b[-1:]"),
    ("dict", "a['k'] = 1; return b.get('k'), list(b)"),
    ("set", "a.add('k'); return 'k' in b"),
):
    HEAP.add(
        f"two_of_{name}_then_one",
        f"""
P, Q = {name}(), {name}()
def entry(a, b):
    {body}
""",
        "entry(P, Q)",
        "entry(P, P)",
        "entry(Q, P)",
    )
    HEAP.add(
        f"a_global_{name}_that_is_also_an_argument",
        f"""
b = {name}()
def entry(a):
    {body}
""",
        f"entry({name}())",
        "entry(b)",
        f"entry({name}())",
    )
    HEAP.add(
        f"a_{name}_of_an_instance_that_is_also_an_argument",
        f"""
class K: pass
OBJ = K(); OBJ.b = {name}()
def entry(a):
    b = OBJ.b
    {body}
""",
        f"entry({name}())",
        "entry(OBJ.b)",
        f"entry({name}())",
    )
    HEAP.add(
        f"a_{name}_in_a_cell_that_is_also_an_argument",
        f"""
def make():
    b = {name}()
    def f(a):
        {body}
    return f, b
F, B = make()
def entry(a): return F(a)
""",
        f"entry({name}())",
        "entry(B)",
    )
HEAP.add(
    "a_module_dict_under_two_roles",
    """
    N = 1
    def entry(d):
        global N
        d['N'] = 5
        first = N
        N = 6
        return first, d['N']
    """,
    "entry({'N': 1})",
    "entry(globals())",
)
HEAP.add(
    "a_default_argument_that_is_also_an_argument",
    """
    def add(v, into=[]):
        into.append(v)
        return len(into)
    def entry(xs):
        xs.append(0)
        return add(1), xs
    """,
    "entry([])",
    "entry(add.__defaults__[0])",
)
HEAP.add(
    "an_element_that_is_also_an_argument",
    """
    def entry(xs, x):
        x.append(1)
        return xs[0], len(xs[0])
    """,
    "entry([[1]], [2])",
    "INNER = [5]",
    "entry([INNER], INNER)",
)
HEAP.add(
    "a_list_that_holds_itself",
    """
    def entry(xs):
        xs[0].append(1)
        return len(xs)
    """,
    "entry([[2]])",
    "LOOP = []\nLOOP.append(LOOP)",
    "entry(LOOP)",
)
HEAP.add(
    "the_storage_of_tensors",
    """
    import torch
    X, Y = torch.ones(2), torch.ones(2)
    def entry(a, b):
        a.add_(1)
        return b + 0, a is b
    """,
    "entry(X, Y)",
    "entry(X, X)",
    "entry(X, X.view(2))",
)
HEAP.add(
    "a_class_dict_and_its_attributes",
    """
    class K:
        n = 0
    def entry(d):
        K.n += 1
        return d['n'], K.n
    """,
    "entry(vars(K))",
    "entry({'n': 5})",
)
for kind, one, other in (
    ("large_integers", "10**9", "int('1000000000')"),
    ("small_integers", "5", "int('5')"),
    ("texts", "'some text'", "''.join(['some', ' text'])"),
    ("floats", "1.5", "float('1.5')"),
    ("tuples", "(1, 2)", "tuple([1, 2])"),
    ("bytes", "b'ab'", "bytes([97, 98])"),
):
    HEAP.add(
        f"the_identity_of_{kind}",
        f"P, Q = {one}, {other}\ndef entry(a, b): return a is b, a is not b, a == b",
        "entry(P, Q)",
        "entry(P, P)",
        "entry(P, Q)",
    )

# --- Effects

EFFECTS.add(
    "instance_dicts_with_keys_of_all_kinds",
    """
    class K: pass
    OBJ = K()
    def entry(o):
        vars(o)[1] = 'one'
        vars(o)[None] = vars(o).get((1, 2))
        vars(o)['x'] = 3
        return o.x, list(vars(o))
    """,
    "entry(OBJ)",
    "vars(OBJ)[(1, 2)] = 5",
    "entry(OBJ)",
)
EFFECTS.add(
    "instance_dicts_are_written_past_properties",
    """
    LOG = []
    class K:
        @property
        def p(self): return 'property'
        @p.setter
        def p(self, value): LOG.append(value)
        def __setattr__(self, name, value): LOG.append(name)
    OBJ = K()
    def entry(o):
        vars(o)['p'] = 1
        o.__dict__['q'] = 2
        object.__setattr__(o, 'r', 3)
        return o.p, o.q, o.r
    """,
    "entry(OBJ)",
    "entry(K())",
)
EFFECTS.add(
    "subclasses_of_containers_are_written_as_the_exact_type",
    """
    LOG = []
    class D(dict):
        def __setitem__(self, key, value):
            LOG.append(key)
            super().__setitem__(key, value)
        def update(self, *args): LOG.append('update')
        def clear(self): LOG.append('clear')
    class L(list):
        def append(self, item):
            LOG.append('append')
            list.append(self, item)
        def extend(self, items): LOG.append('extend')
        def clear(self): LOG.append('clear')
    TABLE, ITEMS = D(a=1), L([1])
    def entry():
        TABLE['b'] = 2
        dict.__setitem__(TABLE, 'c', 3)
        ITEMS.append(4)
        list.append(ITEMS, 5)
        return len(TABLE), len(ITEMS)
    """,
    "entry()",
)
EFFECTS.add(
    "order_over_all_objects",
    """
    class K:
        def __init__(self, name): self.name = name
        def __del__(self): print('del', self.name)
    A, B = [K(1)], {'k': K(2)}
    class O: pass
    OBJ = O(); OBJ.x = K(3)
    def entry():
        B['k'] = None
        OBJ.x = None
        A.clear()
        B['k'] = 1
    """,
    "entry()",
    "A.append(K(4)); B['k'] = K(5); OBJ.x = K(6)",
    "entry()",
)
EFFECTS.add(
    "finalizers_of_what_is_made_inside",
    """
    class K:
        def __init__(self, name): self.name = name
        def __del__(self): print('del', self.name)
    def entry(v):
        a = K(v)
        print('made')
        a = None
        print('dropped')
        K('temporary')
        return 1
    """,
    "entry(1)",
)
for name, operation in (
    ("an_index", "x[torch.tensor([7])]"),
    ("cholesky", "torch.linalg.cholesky(-torch.eye(2))"),
    ("an_assertion", "torch._assert(bool((x > 5).all()), 'no')"),
    ("a_shape", "x + torch.ones(5)"),
    ("item", "x.item()"),
    ("embedding", "torch.nn.functional.embedding(torch.tensor([9]), torch.ones(2, 2))"),
    ("inverse", "torch.inverse(torch.zeros(2, 2))"),
):
    EFFECTS.add(
        f"effects_before_{name}_fails",
        f"""
import torch
LOG = []
class K: pass
OBJ = K()
def entry(x):
    LOG.append(1)
    OBJ.x = 2
    y = {operation}
    LOG.append(3)
    return y
""",
        "entry(torch.ones(3))",
    )
    EFFECTS.add(
        f"{name}_fails_and_is_caught",
        f"""
import torch
LOG = []
def entry(x):
    LOG.append(1)
    try:
        y = {operation}
        LOG.append(2)
    except Exception as error:
        LOG.append(type(error).__name__)
    return x + 1
""",
        "entry(torch.ones(3))",
    )

for name, (source, steps) in {
    "append_to_lists_of_every_length": (
        "LOG = []\ndef entry(v):\n    LOG.append(v)",
        ["entry('v')"] * 4,
    ),
    "a_fresh_device": (
        "import torch\ndef entry(x, d):\n    return x.to(d)",
        ["entry(torch.ones(2), torch.device('cpu'))"] * 4,
    ),
    "a_fresh_size": (
        "import torch\ndef entry(x, s):\n    return x.expand(s)",
        ["entry(torch.ones(2), torch.Size([3, 2]))"] * 4,
    ),
    "a_fresh_range": ("def entry(r):\n    return sum(r), r", ["entry(range(int('3')))"] * 4),
    "a_fresh_frozenset": ("def entry(s):\n    return 1 in s", ["entry(frozenset([1, 2]))"] * 4),
    "a_fresh_slice": ("def entry(s):\n    return [1, 2, 3][s]", ["entry(slice(0, 2))"] * 4),
    "a_fresh_bound_method": ("def entry(f):\n    f(1)", ["entry([].append)"] * 4),
    "a_fresh_method": (
        "class K:\n    def m(self): return 1\ndef entry(f):\n    return f()",
        ["entry(K().m)"] * 4,
    ),
    "a_fresh_lambda": ("def entry(f):\n    return f(1)", ["entry(lambda v: v + 1)"] * 4),
    "a_fresh_partial": (
        "import functools\ndef add(a, b): return a + b\ndef entry(f):\n    return f(1)",
        ["entry(functools.partial(add, 2))"] * 4,
    ),
    "a_fresh_tuple_key": (
        "D = {(int, 'a'): 1}\ndef entry(k):\n    return D[k]",
        ["entry((int, 'a'))"] * 4,
    ),
    "a_fresh_dtype_of_numpy": (
        "import numpy as np\ndef entry(d):\n    return np.zeros(2, d)",
        ["entry(np.dtype('f4'))"] * 4,
    ),
}.items():
    ONE_TRANSLATION.add(name, source, *steps)
for name, source in {
    "of_an_instance": "class K: n = 0\nS = K()\ndef entry(x):\n    S.n += 1\n    return x + 1",
    "of_a_global": "step = 0\ndef entry(x):\n    global step\n    step += 1\n    return x + 1",
    "of_a_dict": "S = {'n': 0}\ndef entry(x):\n    S['n'] += 1\n    return x + 1",
    "of_a_list": "S = [0.5]\ndef entry(x):\n    S[0] += 1.5\n    return x + 1",
}.items():
    COUNTERS.add(name, f"import torch\n{source}", *["entry(torch.ones(2))"] * 30)

# --- Constants

CONSTANTS.add(
    "a_bound_method_of_a_tensor_at_a_break",
    """
    import torch
    from armature import graph_break
    def shape(x):
        graph_break()
        return x.shape[0], 2, 2
    def entry(x): return x.expand(shape(x))
    """,
    "entry(torch.ones(2, 2))",
    "entry(torch.ones(2, 2) * 3)",
)
CONSTANTS.add(
    "a_dict_with_tuple_keys",
    """
    import torch
    class A: pass
    def f(): pass
    D = {(A, f): 1, (torch.float32, torch.device('cpu')): 2, (int, (A, None)): 3}
    def entry(a, b): return D[a, b], (a, b) in D, [k for k in D]
    """,
    "entry(A, f)",
    "entry(torch.float32, torch.device('cpu'))",
    "entry(int, (A, None))",
    "entry(f, A)",
)
CONSTANTS.add(
    "a_registry_of_torch",
    """
    import torch
    from torch.distributions import Normal, kl_divergence
    def entry(x): return kl_divergence(Normal(x, 1.0), Normal(0.0, 1.0))
    """,
    "entry(torch.ones(2))",
)
CONSTANTS.add("a_shape_as_a_key", """
    import torch
    CACHE = {}
    def entry(x):
        if x.shape not in CACHE:
            CACHE[x.shape] = x.shape[0]
        return CACHE[x.shape]
    """, "entry(torch.ones(2))", "entry(torch.ones(3, 1))")  # fmt: skip
for name, item in (("a_list", "[1]"), ("a_dict", "{}"), ("a_set_in_a_tuple", "(1, {2})")):
    CONSTANTS.add(
        f"{name}_in_a_constant_set",
        f"""
def entry(v):
    try:
        return {item} in {{1, 2, 3}}
    except TypeError as error:
        return str(error)
""",
        "entry(1)",
    )
CONSTANTS.add(
    "an_object_that_is_equal_to_a_constant",
    """
    class K:
        def __eq__(self, other):
            print('asked', other)
            return other == 2
        def __hash__(self): return 2
    OBJ = K()
    def entry(o):
        return o in {1, 2, 3}, o in (1, 2), o in range(4), o in [3], {2: 'two'}.get(o)
    """,
    "entry(OBJ)",
    "entry(2)",
    "entry(2.0)",
    "entry(True)",
)
for name, one, other in (
    ("zeros", "0.0", "-0.0"),
    ("numbers_of_other_types", "1", "True"),
    ("numbers_and_floats", "1", "1.0"),
    ("tuples", "(1, 2)", "(1, 2.0)"),
    ("ranges", "range(0)", "range(5, 2)"),
    ("frozensets", "frozenset([1])", "frozenset([1.0])"),
    ("complexes", "complex(0, 0.0)", "complex(0, -0.0)"),
    ("nans", "float('nan')", "-float('nan')"),
    ("sizes", "torch.Size([1])", "(1,)"),
    ("slices", "slice(1)", "slice(1.0)"),
):
    CONSTANTS.add(
        f"equal_{name}_that_are_not_the_same",
        "import torch\nK = [None]\ndef entry(v):\n"
        "    K[0] = v\n    return v, [v], (v, 1), str(v), type(v), v == v",
        f"entry({one})",
        f"entry({other})",
    )


@pytest.mark.parametrize(("source", "steps"), HEAP.parameters)
def test_heap(source, steps):
    check_world(source, *steps)


@pytest.mark.parametrize(("source", "steps"), EFFECTS.parameters)
def test_effects(source, steps):
    check_world(source, *steps)


@pytest.mark.parametrize(("source", "steps"), CONSTANTS.parameters)
def test_constants(source, steps):
    check_world(source, *steps)


@pytest.mark.parametrize(("source", "steps"), ONE_TRANSLATION.parameters)
def test_one_translation(source, steps):
    assert sum(compilations(source, *steps)[1:]) == 0


@pytest.mark.parametrize(("source", "steps"), COUNTERS.parameters)
def test_counters_do_not_turn_a_function_off(source, steps):
    found = compilations(source, *steps)
    assert sum(found) <= 3
    assert sum(found[5:]) == 0

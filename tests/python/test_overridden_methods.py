"""Subclasses of builtin types that override methods, in everything that C code does with them.

CPython looks at some slots of such an object and past others: `{**d}` asks whether the class has an
`__iter__` of its own, and then calls `keys` and `__getitem__`. Programs are drawn of all uses of an
object, and of the methods that its class overrides while it is used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from changing_world import check_world, quick_collections

SOURCE = """
import collections
import copy
import functools
import itertools
import json
import math
import operator

import torch


class Kind({base}):
    pass


GLOBAL = Kind({initial})


def arguments(*values, **named):
    return values, named


def in_place(d, other, operation):
    return operation(d, other), d, other


def matched(d):
    match d:
        case int() | float() | complex():
            return "number"
        case str(text):
            return text
        case [first, *rest]:
            return first, rest
        case {{"a": value, **rest}}:
            return value, rest
        case set() | frozenset():
            return "set"


def entry(x):
    d = {made}
    return {use}
"""

# The base class, the arguments of its constructor, the kinds of what is done with it.
TYPES = {
    "list": ("list", "[3, 1, 2]", "sized items sequence"),
    "tuple": ("tuple", "(3, 1, 2)", "sized items sequence hashed"),
    "deque": ("collections.deque", "[3, 1, 2]", "sized items sequence"),
    "set": ("set", "{3}", "sized items set"),
    "frozenset": ("frozenset", "{3}", "sized items set hashed"),
    "str": ("str", "'ab'", "sized items sequence text hashed"),
    "bytes": ("bytes", "b'ab'", "sized items sequence hashed"),
    "int": ("int", "2", "number hashed"),
    "float": ("float", "2.5", "number hashed"),
    "complex": ("complex", "2j", "number hashed"),
    "dict": ("dict", "a=1", "sized items mapping"),
    "OrderedDict": ("collections.OrderedDict", "a=1", "sized items mapping"),
    "defaultdict": ("collections.defaultdict", "int, a=1", "sized items mapping"),
    "Counter": ("collections.Counter", "'aab'", "sized items mapping"),
    "UserDict": ("collections.UserDict", "a=1", "sized items mapping"),
}

USES = {
    "all": """repr(d) ; str(d) ; f'{d}' ; f'{d!r:>9}' ; '%s' % (d,) ; '{}'.format(d) ; bool(d)
        ; d or 1 ; d == d ; d != d ; d == Kind(d) ; d is d ; type(d) ; isinstance(d, int)
        ; isinstance(d, (list, dict, str)) ; copy.copy(d) ; copy.deepcopy(d) ; matched(d)
        ; json.dumps(d) ; print(d) ; [d].index(d) ; [1].count(d) ; d in (1, 2) ; getattr(d, 'w', 0)
        ; d < d ; d >= 1 ; hasattr(d, '__len__') ; vars(d) ; sorted([d, d])""",
    "sized": "len(d) ; d.__len__() ; operator.length_hint(d) ; 3 in d ; d.__contains__('a')",
    "items": """[*d] ; list(d) ; tuple(d) ; set(d) ; frozenset(d) ; sorted(d) ; sum(d) ; max(d)
        ; min(d) ; any(d) ; arguments(*d) ; [*enumerate(d)] ; [*zip(d, d)] ; [*map(str, d)]
        ; dict.fromkeys(d) ; [i for i in d] ; {i: 1 for i in d} ; next(iter(d))
        ; [*itertools.chain(d, d)] ; [*itertools.islice(d, 2)] ; ','.join(d)
        ; [1, 2].extend(d) ; {1}.union(d) ; {1}.isdisjoint(d) ; in_place([1], d, operator.iadd)
        ; collections.Counter(d) ; collections.deque(d) ; collections.OrderedDict(d)""",
    "sequence": """d[0] ; d[-1] ; d[0:2] ; d + d ; d * 2 ; 2 * d ; d.index(1) ; d.count(1)
        ; [*reversed(d)] ; [] + d ; [] == d ; [3, 1, 2] == d ; (3, 1, 2) < d ; torch.tensor(d)
        ; x[d] ; functools.reduce(operator.add, d) ; operator.itemgetter(0)(d) ; range(*d)
        ; in_place([1, 2], d, lambda a, b: operator.setitem(a, slice(1), b)) ; '%s-%s-%s' % d""",
    "set": """d | {1} ; {1} | d ; d & {3} ; {3} - d ; d - {3} ; d ^ {1} | d <= {3} ; {3} >= d
        ; d.union([1]) ; d.issubset({3}) ; {3}.issuperset(d) ; d.copy() ; type(d | d)
        ; in_place({3, 4}, d, operator.iand) ; in_place({3, 4}, d, set.update)
        ; in_place({3, 4}, d, set.difference_update)""",
    "text": """'c' + d ; d + 'c' ; 'a' in d ; 'ab' == d ; int(d, 16) ; d.encode() ; d % ()
        ; d.upper() ; d.join(['1', '2']) ; ','.join([d, d]) ; 'xaby'.split(d) ; d.split('a')
        ; 'abc'.startswith(d) ; 'abc'.replace(d, 'z') ; 'abc'.find(d) ; getattr(x, d, 0)
        ; arguments(**{d: 1}) ; ord(d[0]) ; '%5s|' % d ; d.format(1) ; ['ab'].index(d)""",
    "number": """d + 1 ; 1 + d ; d - 1 ; 1 - d ; d * 2 ; 2 * d ; d / 2 ; 2 / d ; 7 // d ; d % 2
        ; 7 % d ; d ** 2 ; 2 ** d ; -d ; +d ; abs(d) ; 2 == d ; d < 3 ; 3 < d ; int(d) ; float(d)
        ; complex(d) ; round(d) ; round(d, 1) ; math.sqrt(d) ; math.floor(d) ; math.trunc(d)
        ; divmod(7, d) ; pow(d, 2) ; sum([d, d]) ; sum([1.5, d]) ; max(d, 1) ; min(d, 9) ; x + d
        ; d * x ; x ** d ; x[d] ; torch.zeros(d) ; [1, 2, 3][d] ; range(d) ; [0] * d ; 'a' * d
        ; d.real ; d.conjugate() ; d.bit_length() ; 1 << d ; d & 3 ; 3 | d ; ~d ; '%.1f' % d
        ; '%d' % d ; chr(d) ; hex(d) ; operator.index(d) ; torch.full((2,), d) ; x.mul(d)
        ; [1, 2, 3, 4][:d] ; d + Kind(1) ; True + d ; d + 1j ; int.__add__(d, 1) ; math.comb(5, d)
        ; torch.add(x, x, alpha=d) ; torch.clamp(x, d) ; d.as_integer_ratio()""",
    "hashed": "hash(d) ; {d: 1} ; {2: 1, 'ab': 2}.get(d) ; d in {2, 'ab'} ; {d, d}",
    "mapping": """d['a'] ; d.get('a') ; d.get('b', 3) ; d['b'] ; 'a' in d ; d == {'a': 1} ; d.keys()
        ; [*d.keys()] ; [*d.values()] ; [*d.items()] ; d | {'b': 2} ; {'b': 2} | d ; dict(d)
        ; {**d} ; arguments(**d) ; d.copy() ; [*reversed(d)] ; d.keys() | {'b'} ; {'a'} & d.keys()
        ; ('a', 1) in d.items() ; '{a}'.format(**d) ; '%(a)s' % d ; '{a}'.format_map(d)
        ; d.pop('a') ; d.popitem() ; d.setdefault('r', 5) ; d.update(z=1) ; d.clear()
        ; in_place({}, d, dict.update) ; in_place({}, d, operator.ior) ; dict.get(d, 'a')
        ; in_place(d, {'w': 2}, operator.ior) ; in_place(d, 'a', operator.delitem)
        ; collections.ChainMap(d)['a'] ; collections.defaultdict(int, d)
        ; operator.itemgetter('a')(d) ; in_place(collections.Counter(), d, operator.iadd)""",
}

METHODS = {
    "all": """__eq__=lambda s, o: 'eq' ; __ne__=lambda s, o: 'ne' ; __hash__=lambda s: 3
        ; __lt__=lambda s, o: 'lt' ; __gt__=lambda s, o: 'gt' ; __repr__=lambda s: 'repr'
        ; __str__=lambda s: 'str' ; __format__=lambda s, f: 'format' ; __bool__=lambda s: False
        ; __class__=property(lambda s: int) ; __getattr__=lambda s, n: n ; __hash__=None
        ; __getattribute__=lambda s, n: lambda *a: n ; __eq__=lambda s, o: NotImplemented
        ; __reduce_ex__=lambda s, p: (list, ((1,),)) ; __copy__=lambda s: 'copy'
        ; __deepcopy__=lambda s, m: 'deepcopy' ; __init__=lambda s, *a, **k: None""",
    "sized": """__len__=lambda s: 2 ; __contains__=lambda s, v: True
        ; __length_hint__=lambda s: 9""",
    "items": "__iter__=lambda s: iter('xy') ; __iter__=None ; __reversed__=lambda s: iter('r')",
    "sequence": """__getitem__=lambda s, i: 7 ; __add__=lambda s, o: 'add' ; index=lambda s, v: 77
        ; __radd__=lambda s, o: 'radd' ; __mul__=lambda s, o: 'mul' ; __rmul__=lambda s, o: 'rmul'
        ; count=lambda s, v: 78 ; __index__=lambda s: 1""",
    "set": """__or__=lambda s, o: 'or' ; __ror__=lambda s, o: 'ror' ; __and__=lambda s, o: 'and'
        ; __rsub__=lambda s, o: 'rsub' ; __sub__=lambda s, o: 'sub' ; __xor__=lambda s, o: 'xor'
        ; __le__=lambda s, o: 'le' ; __ge__=lambda s, o: 'ge' ; union=lambda s, *a: 'union'
        ; copy=lambda s: 'own copy'""",
    "text": """__mod__=lambda s, o: 'mod' ; __rmod__=lambda s, o: 'rmod' ; upper=lambda s: 'UP'
        ; join=lambda s, i: 'joined' ; encode=lambda s: b'encoded' ; __int__=lambda s: 5
        ; __new__=lambda c, *a: str.__new__(c, 'new')""",
    "number": "; ".join(
        f"__{name}__=lambda s, *a: {value!r}"
        for name, value in [
            *((name, name) for name in "add radd sub rsub mul rmul truediv rtruediv".split()),
            *((name, name) for name in "floordiv rfloordiv mod rmod pow rpow and rand".split()),
            *((name, name) for name in "or ror lshift rlshift divmod rdivmod le ge".split()),
            *dict.fromkeys(
                "neg pos abs index trunc floor ceil round invert int".split(), 1
            ).items(),
            ("float", 5.5),
            ("complex", 5j),
        ]
    )
    + "; __radd__=None ; real=8 ; conjugate=lambda s: 8 ; __add__=lambda s, o: NotImplemented",
    "hashed": "__hash__=lambda s: hash('ab') ; __hash__=lambda s: 'no number'",
    "mapping": """__getitem__=lambda s, k: 7 ; __setitem__=lambda s, k, v: None
        ; __delitem__=lambda s, k: None ; __or__=lambda s, o: 'or' ; __ror__=lambda s, o: 'ror'
        ; __ior__=lambda s, o: 'ior' ; get=lambda s, *a: 'get' ; keys=lambda s: ['k']
        ; values=lambda s: ['v'] ; items=lambda s: [('i', 1)] ; pop=lambda s, *a: 'pop'
        ; popitem=lambda s: 'popitem' ; update=lambda s, *a, **k: 'update'
        ; setdefault=lambda s, *a: 'setdefault' ; copy=lambda s: 'own copy' ; clear=lambda s: 0
        ; __missing__=lambda s, k: k ; fromkeys=classmethod(lambda c, *a: 'fromkeys')""",
}

PROGRAMS = 6


@pytest.fixture(autouse=True, scope="module")
def _quick_collections() -> Iterator[None]:
    with quick_collections():
        yield


def listed(table: dict[str, str], kinds: str) -> list[str]:
    return [text.strip() for kind in f"all {kinds}".split() for text in table[kind].split(";")]


@pytest.mark.parametrize("name", TYPES)
def test_overridden(name: str) -> None:
    base, initial, kinds = TYPES[name]
    draw = random.Random(name)
    uses, methods = listed(USES, kinds), listed(METHODS, kinds)
    for _ in range(PROGRAMS):
        made = draw.choice(["GLOBAL", f"Kind({initial})"])
        source = SOURCE.format(base=base, initial=initial, made=made, use=draw.choice(uses))
        steps = [f"Kind.{method}" for method in draw.sample(methods, 3)]
        steps.append("del " + steps[0].split("=")[0])
        calls = [line for step in steps for line in (step, "entry(torch.arange(3.0))")]
        check_world(source, "entry(torch.arange(3.0))", *calls, repeat=False)


@pytest.mark.parametrize(
    ("name", "use", "method"),
    [
        ("deque", "d[-1], d[1]", "__len__=lambda s: 2"),
        ("deque", "d[-1]", "__len__=lambda s: -1"),
        ("deque", "d.__getitem__(-2)", "__len__=lambda s: 1"),
        ("set", "{1}.isdisjoint(d)", "__iter__=None"),
        ("frozenset", "{1}.isdisjoint(d)", "__iter__=lambda s: iter([1])"),
        ("str", "d.format(1) is d, d.format_map({}) is d", "__repr__=lambda s: 'repr'"),
        ("int", "x + d", "__torch_function__=classmethod(lambda *a, **k: 'overridden')"),
        ("float", "torch.mul(x, d)", "__getattribute__=lambda s, n: lambda *a, **k: n"),
        ("float", "torch.mul(x, d)", "__getattr__=lambda s, n: lambda *a, **k: n"),
    ],
)
def test_what_c_code_asks_for(name: str, use: str, method: str) -> None:
    base, initial, _ = TYPES[name]
    for made in ("GLOBAL", f"Kind({initial})"):
        source = SOURCE.format(base=base, initial=initial, made=made, use=use)
        entry = "entry(torch.arange(3.0))"
        check_world(
            source, entry, f"Kind.{method}", entry, "del Kind." + method.split("=")[0], entry
        )


def test_unpacking_asks_for_keys_where_the_class_iterates() -> None:
    for use in ("{**d}", "{} | d", "d | {}", "dict(d)", "d.copy()", "arguments(**d)"):
        check_world(
            SOURCE.format(base="dict", initial="a=1", made="Kind(a=1)", use=use),
            "entry(1)",
            "Kind.__getitem__ = lambda self, key: 'own'",
            "entry(1)",
            "Kind.__iter__ = lambda self: iter('zz')",
            "entry(1)",
            "Kind.keys = lambda self: ['b']",
            "entry(1)",
            "del Kind.__iter__",
            "entry(1)",
        )

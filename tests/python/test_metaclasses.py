"""Classes as the objects that they are: operators of metaclasses, classes over tuple, __class__."""

import pytest
from changing_world import check_world, quick_collections


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    with quick_collections():
        yield


META = """
class Meta(type):
    pass
class K(metaclass=Meta):
    pass
def entry():
    try:
        return {}
    except Exception as error:
        return type(error), str(error)
"""


@pytest.mark.parametrize(
    ("expression", "method", "body"),
    [
        ("K + 1", "__add__", "cls, other: 'add'"),
        ("1 + K", "__radd__", "cls, other: 'radd'"),
        ("(K == 1, K != 1, K in [1])", "__eq__", "cls, other: True"),
        ("K < 1", "__lt__", "cls, other: 'lt'"),
        ("-K", "__neg__", "cls: 'neg'"),
        ("[1, 2][K]", "__index__", "cls: 1"),
        ("(int(K), bool(K))", "__int__", "cls: 7"),
        ("bool(K)", "__bool__", "cls: False"),
        ("(len(K), bool(K))", "__len__", "cls: 0"),
        ("K[1]", "__getitem__", "cls, key: key"),
        ("K.__setitem__", "__setitem__", "cls, key, value: None"),
        ("K | int", "__or__", "cls, other: 'or'"),
        ("1 in K", "__contains__", "cls, item: True"),
        ("list(K)", "__iter__", "cls: iter('ab')"),
        ("f'{K}'", "__str__", "cls: 'text'"),
        ("f'{K:x}'", "__format__", "cls, spec: spec"),
    ],
)
def test_a_metaclass_gains_an_operator(expression, method, body):
    check_world(
        META.replace("{}", expression),
        "entry()",
        f"Meta.{method} = lambda {body}",
        "entry()",
        f"del Meta.{method}",
        "entry()",
    )


def test_a_class_gets_another_metaclass():
    check_world(
        """
        class M1(type):
            def name(cls): return 'one'
        class M2(type):
            def name(cls): return 'two'
            def __bool__(cls): return False
        class K(metaclass=M1): pass
        def entry(): return K.name(), type(K).__name__, bool(K), isinstance(K, M1)
        """,
        "entry()",
        "K.__class__ = M2",
        "entry()",
    )


def test_a_tuple_class_with_a_constructor_of_its_own():
    check_world(
        """
        class P(tuple):
            __slots__ = ()
            _fields = ('a', 'b')
            def __new__(cls, a, b): return tuple.__new__(cls, (b, a))
            def __init__(self, a, b): print(a, b)
        class Q(tuple):
            def __new__(cls, *items): return super().__new__(cls, items)
        def entry(): return P(1, 2), type(P(1, 2)).__name__, Q(1, 2), vars(Q(1))
        """,
        "entry()",
    )


def test_the_constructor_of_a_namedtuple_changes():
    check_world(
        """
        import collections
        N = collections.namedtuple('N', 'a b', defaults=(5,))
        def entry():
            try:
                return N(1), N(a=1, b=2), N._make([3, 4])
            except TypeError as error:
                return str(error)
        """,
        "entry()",
        "N.__new__.__defaults__ = (8,)",
        "entry()",
        "N.__new__.__defaults__ = None",
        "entry()",
        "N.__new__ = lambda cls, *items: ('other', items)",
        "entry()",
        "del N.__new__",
        "entry()",
    )


def test_what_cannot_be_searched():
    check_world(
        """
        class Without: pass
        class Raising:
            def __iter__(self): raise ERROR('mine')
        ERROR = ValueError
        def entry(container):
            try:
                return 1 in container
            except Exception as error:
                return type(error), str(error)
        """,
        "entry(Without())",
        "entry(Without)",
        "entry(Raising())",
        "ERROR = TypeError",
        "entry(Raising())",
    )


def test_a_metaclass_that_is_called_by_a_class():
    check_world(
        """
class Meta(type):
    __call__ = dict
class K(metaclass=Meta):
    pass
from typing import TypedDict
class Typed(TypedDict):
    a: int
def entry():
    return K(a=1), K([(1, 2)]), Typed(a=1), type(Typed(a=3))
""",
        "Meta.__call__ = list",
        "Meta.__call__ = lambda cls, *args, **kwargs: (cls.__name__, args, kwargs)",
    )


def test_what_a_metaclass_says_the_class_of_a_class_is():
    check_world(
        """
LOG = []
class Meta(type):
    pass
class K(metaclass=Meta):
    pass
class Other:
    pass
def entry():
    LOG.clear()
    match K:
        case Other():
            matched = True
        case _:
            matched = False
    return isinstance(K, int), isinstance(K, Other), matched, K.__class__, type(K), LOG
""",
        "entry()",
        "Meta.__class__ = property(lambda cls: int)",
        "entry()",
        "Meta.__class__ = Other",
        "entry()",
        "del Meta.__class__",
        """
        def told(cls, name):
            LOG.append(name)
            return type.__getattribute__(cls, name)
        Meta.__getattribute__ = told
        """,
        "entry()",
    )


def test_the_error_of_a_deleted_field():
    check_world(
        """
import collections, time
Pair = collections.namedtuple("Pair", "a b")
def entry(value):
    texts = []
    try:
        value[0].a = 1
    except AttributeError as error:
        texts.append(str(error))
    try:
        del value[0].a
    except AttributeError as error:
        texts.append(str(error))
    try:
        del value[1].tm_year
    except AttributeError as error:
        texts.append(str(error))
    return texts
""",
        "entry((Pair(1, 2), time.gmtime(0)))",
        "entry((Pair(1, 2), time.gmtime(0)))",
    )

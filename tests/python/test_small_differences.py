"""Programs that once differed from plain Python in who is asked first, in what an error says, in
which object comes out, or in what the world looked like afterwards."""

import copy
import functools

import armature
import pytest
import torch
from changing_world import check_world

CLASSES = """
import collections, functools, operator
class A:
    def __divmod__(s, o): return NotImplemented
    def __rdivmod__(s, o): return "Ar"
class Base:
    def __divmod__(s, o): return "Base"
class Derived(Base):
    def __rdivmod__(s, o): return "Derived"
class I(int):
    def __rdivmod__(s, o): return "Ir"
class Other:
    def __rdivmod__(s, o): return "Other"
class Not: __reversed__ = None
class Name(str):
    def __eq__(self, other): NAMED.append(other); return False
    __hash__ = str.__hash__
class Plain(str): pass
def keywords(a=1, **k): return a, [str(q) for q in k]
def any_keywords(**k): return k
P = functools.partial(any_keywords)
NAMED, X, Y, E, J, O, N = [], A(), A(), Base(), I(3), Other(), Not()
"""

EXPRESSIONS = {
    "divmod_of_one_type": "divmod(X, Y)",
    "divmod_of_a_subclass": "divmod(E, Derived())",
    "divmod_of_a_base": "divmod(Derived(), E)",
    "divmod_of_a_number": "divmod(7.5, J)",
    "divmod_of_an_int": "divmod(7, J)",
    "divmod_of_others": "(divmod(7, O), divmod(E, O), divmod(E, 3))",
    "divmod_of_nothing": "divmod(O, 3)",
    "not_reversible": "reversed(N)",
    "count": "operator.countOf(5, 1)",
    "index": "operator.indexOf(5, 1)",
    "enumerate_nothing": "enumerate()",
    "enumerate_start": "enumerate(start=1)",
    "enumerate_twice": "enumerate([], iterable=1)",
    "enumerate_by_name": "list(enumerate(iterable='ab', start=2))",
    "static_method": "staticmethod()",
    "class_method": "classmethod(1, 2)",
    "sum_of_tuples": "(() + args is args, args + () is args)",
    "partial": "P()",
    "keyword_names": "keywords(**{Name('a'): 5})",
    "keyword_names_of_a_subclass": "keywords(**{Plain('a'): 5})",
    "partial_of_a_name": "functools.partial(keywords, **{Plain('a'): 5})()",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_as_in_python(name):
    source = CLASSES + textual(EXPRESSIONS[name])
    check_world(source, "entry(torch.ones(2), 3, 4)", "P.keywords.pop(3, None)", "entry(None)")


def textual(expression):
    return f"""
def entry(x, *args):
    try:
        result = {expression}
    except Exception as error:
        return type(error), str(error), NAMED[:]
    return result, NAMED[:]
"""


def test_names_of_keywords_that_are_given_to_the_compiled_function():
    check_world(
        CLASSES + "def entry(x, a=1, **k): return a, [str(q) for q in k], NAMED[:], x + 1",
        "entry(torch.ones(2), **{Name('a'): 5})",
        "entry(torch.ones(2), **{Plain('a'): 5})",
        "entry(torch.ones(2), a=5)",
    )


def test_lengths_of_dicts_are_one_translation():
    steps = [f"entry(torch.ones(2), {{i: 1 for i in range({n}, {n + 3})}})" for n in range(4)]
    source = "def entry(x, d): return x + len(d)"
    graphs = []
    compiled = armature.compile(lambda x, d: x + len(d), backend=lambda g, _: graphs.append(g) or g)
    for n in range(4):
        assert torch.equal(compiled(torch.ones(2), {n: 1, n + 1: 2}), torch.ones(2) + 2)
    assert len(graphs) == 1
    check_world(source, *steps, "entry(torch.ones(2), {})")


def test_conversions_that_str_format_does_not_know():
    source = """
def entry(text, o):
  try: return text.format(o)
  except ValueError as error: return str(error)
"""
    conversions = ["q", "S", " ", "~", "\x7f", "\xe9", "\u0173", "\t"]
    check_world(source, *(f"entry({'{!' + each + '}'!r}, [1])" for each in conversions))
    check_world(source, *(f"entry({'{!' + each + ':5}'!r}, 7)" for each in conversions))


def test_widths_that_are_ints_of_other_types():
    source = """
class I(int):
  def __index__(self): return 9
class O:
  def __str__(self): return "o"
def entry(*parts):
  try: return "%*s" % parts, "%.*s|" % parts, "%-*s|" % (I(6), O())
  except (TypeError, OverflowError) as error: return repr(error)
"""
    widths = ["True", "False", "I(5)", "I(-8)", "I(2**70)", "1.5", "None", "O()"]
    check_world(source, *(f"entry({each}, O())" for each in widths))
    check_world(source, *(f"entry({each}, 5)" for each in widths))


def test_a_range_counts_its_arguments_first():
    source = """
LOG = []
class Index:
  def __index__(self): LOG.append(1); return 3
def entry(n):
  LOG.clear()
  o = Index()
  try: return range(*[o] * n), list(LOG)
  except TypeError as error: return repr(error), list(LOG)
"""
    check_world(source, *(f"entry({n})" for n in range(6)))


def test_length_and_keys_of_a_dict():
    source = "def entry(x, d):\n  n = len(d); d['k'] = n; return x, n, len(d), [*d], bool(d)"
    steps = ["entry(torch.ones(2), {})", "entry(torch.ones(2), {'k': 1})"]
    check_world(source, *steps, "entry(torch.ones(2), {1: 2})", "entry(torch.ones(2), {2: 2})")


def test_copies_of_compiled_functions():
    def program(x):
        return x + 1

    compiled, disabled = armature.compile(program), armature.disable(program)
    for function in (compiled, disabled):
        assert copy.copy(function) is function
        assert copy.deepcopy([function])[0] is function


def test_results_of_a_cache_that_is_not_filled_yet():
    check_world(
        """
import collections, functools, types
@functools.cache
def buffer(n): return torch.zeros(n)
@functools.lru_cache(maxsize=4)
def made(kind):
    if kind == 0: return iter([1, 2, 3])
    if kind == 1: return lambda: COUNT.append(1) or len(COUNT)
    if kind == 2: return types.SimpleNamespace(a=1)
    if kind == 3: return collections.deque()
    if kind == 4: return [kind].append
    if kind == 5: return functools.partial(max, 1)
    if kind == 6: return ValueError(1)
    return (torch.ones(2), kind)
COUNT = []
def entry(x, kind):
    b = buffer(1)
    b.add_(1)
    thing = made(kind)
    if kind == 0: return x + b, next(thing)
    if kind == 1: return x + b, thing()
    if kind == 2: thing.a += 1; return thing.a
    if kind == 3: thing.append(1); return len(thing)
    if kind == 7: thing[0].add_(1); return thing[0] + b
    return made(kind) is thing
""",
        *(f"entry(torch.ones(2), {kind})" for kind in range(8)),
        "buffer.cache_clear(); made.cache_clear()",
        *(f"entry(torch.ones(2), {kind})" for kind in range(8)),
    )


def test_a_partial_with_keys_that_are_no_names():
    def keywords(a, b=0, **k):
        return a, b, k

    partial = functools.partial(keywords, 1)
    partial.keywords[3] = 9
    compiled = armature.compile(lambda x: (x + 1, partial()))
    with pytest.raises(TypeError, match="keywords must be strings"):
        compiled(torch.ones(2))


MAPPINGS = """
class Keys:
    def __init__(self, error, where): self.error, self.where = error, where
    def keys(self):
        LOG.append("keys")
        if self.where == "keys": raise self.error
        return ["a"]
    def __getitem__(self, key):
        if self.where == "item": raise self.error
        return key
LOG = []
def display(x, o): return x + 1, {**o}
def call(x, o): return x + 1, (lambda **k: k)(**o)
def call_of_c(x, o): return x + 1, dict(**o)
def update(x, o): d = {}; d.update(o); return d
def entry(f, x, o): return f(x, o), LOG
"""


@pytest.mark.parametrize("where", ["keys", "item", "nowhere"])
@pytest.mark.parametrize(
    "error",
    ["AttributeError('k')", "KeyError('a')", "KeyError()", "KeyError(1, 2)", "TypeError(1)"],
)
def test_what_unpacking_says_of_a_mapping_that_raises(error, where):
    given = f"torch.ones(2), Keys({error}, {where!r})"
    calls = ("display", "call", "call_of_c", "update")
    check_world(MAPPINGS, *(f"entry({f}, {given})" for f in calls))


@pytest.mark.parametrize("length", ["1", "2 ** 70", "-1", "None", "len(self.seen)"])
def test_a_deque_asks_its_length_for_its_text(length):
    check_world(
        f"""
import collections
class Asked(collections.deque):
    seen = []
    def __len__(self): self.seen.append("len"); return {length}
def text(x, d): return x + 1, repr(d), d.seen
def formatted(x, d): return "%r" % (d,), f"{{d}}", d.seen
def doubled(x, d): d.extend(d); return list.__len__(d.seen)
def entry(f, x, d): return f(x, d)
GIVEN = Asked("ab")
""",
        *(f"entry({f}, torch.ones(2), GIVEN)" for f in ("text", "formatted", "doubled", "text")),
    )


@pytest.mark.parametrize("value", ["5", "'a'", "None", "(1, 2)", "2.5", "True", "range(3)"])
@pytest.mark.parametrize(
    ("name", "assigned"),
    [("__class__", "Mine"), ("__class__", "int"), ("__class__", "3"), ("__doc__", "'d'")]
    + [("real", "1"), ("start", "1"), ("other", "Mine"), ("__dict__", "{}")],
)
def test_what_is_said_of_an_assignment_to_data(value, name, assigned):
    check_world(
        f"""
class Mine: pass
def entry(x, value):
    x = x + 1
    try: value.{name} = {assigned}
    except Exception as e: return type(e), str(e)
    return x
""",
        f"entry(torch.ones(2), {value})",
    )

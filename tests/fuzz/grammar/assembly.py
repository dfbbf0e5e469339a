"""Puts a program together: prelude, definitions, the entry, and the steps."""

from __future__ import annotations

from fuzz.grammar.functions import write_function, write_generator
from fuzz.grammar.objects import write_class
from fuzz.grammar.writer import Kind, Writer
from fuzz.program import ENTRY, Program, Step

_PRELUDE = """\
import abc, collections, contextlib, functools, gc, math, operator, types, weakref
import numpy as np
import torch
from armature import disable, graph_break

WATCHED = []
N = 2
M = 3
LOG = [1]
TABLE = {'a': 1, 'x': 5}
TAGS = {1, 'a'}
QUEUE = collections.deque([1], maxlen=3)
COUNTS = collections.Counter(['a'])
GROUPS = collections.defaultdict(list)
ORDERED = collections.OrderedDict(a=1, b=2)
"""
_TWIN = """\
def twin(function, names, name=None, defaults=None):
    made = types.FunctionType(
        function.__code__, names, name or function.__name__,
        defaults or function.__defaults__, function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made
"""
_WATCH = """\
def watch(thing):
    WATCHED.append(weakref.ref(thing))
    return thing
"""
_ARRAYS = """\
W = torch.tensor([1.0, 2.0, 3.0])
V = np.array([1.0, 2.0, 3.0])
"""
_PROBLEM = """\
class Problem(ValueError):
    def __init__(self, *parts):
        super().__init__(*parts)
        self.parts = parts
"""
_CONSTANT = """\
class Constant:
    def __init__(self, value):
        self.value = value
    def __get__(self, instance, owner=None):
        return self.value if instance is None else self.value + 10
"""
_DATA_CONSTANT = """\
    def __set__(self, instance, value):
        LOG.append(value)
"""
_META = """\
class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        LOG.append('made')
        return made
    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance)
    def __getattr__(cls, name):
        return 7
"""
_ADDER = """\
def adder(n):
    def add(v=1):
        nonlocal n
        n += 1
        return v + n
    return add
"""
_MANAGERS = """\
class Guarded:
    def __init__(self, v):
        self.v = v
    def __enter__(self):
        LOG.append('in')
        return self.v
    def __exit__(self, kind, error, traceback):
        LOG.append(kind and kind.__name__)
        return self.v == 1
@contextlib.contextmanager
def managing(v):
    LOG.append('enter')
    try:
        yield v
    finally:
        LOG.append('leave')
"""


def write_program(seed: int) -> Program:
    w = Writer(seed)
    write_world(w)
    parameters = write_entry(w)
    source = w.take()
    return Program(source, write_steps(w, parameters), observed=w.chance(0.7))


def write_world(w: Writer) -> None:
    w.line(_PRELUDE.rstrip())
    w.line(_TWIN.rstrip())
    for subject, text in (
        ("lifetimes", _WATCH),
        ("exceptions", _PROBLEM),
        ("contexts", _PROBLEM),
        ("attributes", _CONSTANT + (_DATA_CONSTANT if w.chance(0.5) else "")),
        ("metaclasses", _META),
        ("closures", _ADDER),
        ("contexts", _MANAGERS),
        ("arrays", _ARRAYS),
    ):
        if w.wants(subject) and not (
            text is _PROBLEM and subject == "contexts" and w.wants("exceptions")
        ):
            w.line(text.rstrip())
    if w.wants("contexts"):
        w.names.managers = ["Guarded", "managing"]
    base = None
    for name in "ABCD"[: 4 if w.wants("inheritance") else w.pick(1, 2)]:
        chosen = base if base is not None and w.chance(0.8) else None
        made = write_class(w, name, chosen)
        w.names.classes.append(made)
        base = made
    for name in ("OBJ", "OTHER"):
        kind = w.exact_class()
        w.line(f"{name} = {kind.name}({w.pick('1', '2')})")
        w.bind("object", name)
    for number in range(w.pick(1, 2, 3)):
        write_function(w, number)
    if w.wants("generators"):
        for number in range(2):
            write_generator(w, number)


def write_entry(w: Writer) -> list[Kind]:
    """Writes the entry and returns the kinds of its parameters, which are named a, b, c."""
    kinds: list[Kind] = ["object", "list", "dict", "number", "object"]
    if w.wants("arrays"):
        kinds += ["array", "array", "array"]
    if w.wants("closures"):
        kinds.append("function")
    chosen = [w.pick(*kinds) for _ in range(w.pick(1, 2, 2, 3))]
    names = [f"{kind[0]}_{letter}" for kind, letter in zip(chosen, "abc", strict=False)]
    w.level = 9
    if w.wants("arrays"):
        w.bind("array", "W")
    for name in w.names.numbers:
        w.bind("number", name)
    w.bind("list", "LOG")
    w.bind("dict", "TABLE")
    parameters = [*names, w.pick("k=1", "*rest, k=2", "k=N", "**more")]
    with w.block(f"def {ENTRY}({', '.join(parameters)}):"):
        w.line("global N, M\nout = []")
        for kind, name in zip(chosen, names, strict=True):
            w.scope[kind] += [name, name]  # More likely than what is global.
        w.statements(w.random.randint(2, 6))
        w.line(f"return {w.pick('out', 'out', '(out, ' + w.expression('object') + ')')}")
    return chosen


def write_steps(w: Writer, parameters: list[Kind]) -> tuple[Step, ...]:
    """Calls, each done twice, and changes between them."""
    steps = []
    call = Step(arguments(w, parameters), True)
    steps += [call, call]
    for _ in range(w.random.randint(2, 6)):
        if w.chance(0.8):
            for _ in range(w.pick(1, 1, 2)):
                steps.append(Step(w.change(), False))
        if w.chance(0.5):
            call = Step(arguments(w, parameters), True)
        steps += [call] * w.pick(1, 2, 2)
    return tuple(steps)


def arguments(w: Writer, parameters: list[Kind]) -> str:
    texts = [argument(w, kind) for kind in parameters]
    if len(texts) > 1 and w.chance(0.2):
        texts[1] = texts[0]
    return ", ".join(texts) + (w.pick("", "", "", ", k=3"))


def argument(w: Writer, kind: Kind) -> str:
    if w.chance(0.04):
        kind = w.pick("number", "list", "dict", "object", "text")
    kind_of_object = w.exact_class()
    alternatives: dict[str, tuple[str, ...]] = {
        "number": ("1", "2", "0", "-3", "2.5", "True", "N"),
        "text": ("'a'", "'x'", "'long text'"),
        "list": ("[1, 2]", "LOG", "[]", "[OBJ, 2]", "[[1], 'a']", "[1, 2]"),
        "dict": ("{'a': 1}", "TABLE", "vars(OBJ)", "{}", "{1: 2, 'x': 3}", "{'x': 3, 1: 2}"),
        "object": ("OBJ", "OTHER", "OBJ", f"{kind_of_object.name}(3)"),
        "array": (
            "torch.tensor([1.0, 2.0])",
            "W",
            "torch.ones(2, 2)",
            "torch.tensor([1, 2])",
            "torch.tensor([1.0, 2.0], requires_grad=True)",
            "V",
            "torch.tensor(2.0)",
        ),
        "function": ("abs", "lambda v=1: v + N", "lambda v=1: v * 2", "OBJ.m0", "f0"),
    }
    return w.pick(*alternatives[kind])

"""A graph break in a method that C code calls costs the instruction that breaks: what comes before
and after it, in the method and in its callers, is captured."""

import collections
import gc
import operator
import sys
import traceback
import warnings
import weakref

import armature
import pytest
import torch
from counted_breaks import Cases, X, check_counts
from differential import check

CASES = Cases()
case = CASES.case


@pytest.mark.parametrize(("fn", "ops", "breaks"), CASES)
def test_all_but_the_instruction_is_captured(fn, ops, breaks):
    check_counts(fn, ops, breaks)


# --- What a class makes.


class Made:
    def __init__(self, x, scale=2):
        self.before = x + 1
        print("made", scale)
        self.after = self.before * scale


@case(ops=4)
def init(x):
    made = Made(x - 1, scale=3)
    return made.before, made.after / 2


class Derived(Made):
    def __init__(self, x):
        self.own = x * 5
        super().__init__(self.own)
        self.last = self.after - 1


@case(ops=6)
def init_of_a_base(x):
    made = Derived(x - 1)
    return made, made.last / 2


class MyError(ValueError):
    def __init__(self, x):
        super().__init__("text", x + 1)
        print("error")
        self.x = x * 2


@case(ops=4)
def init_of_an_exception(x):
    try:
        raise MyError(x - 1)
    except ValueError as error:
        return error.args[1], error.x / 2


class Returning:
    def __init__(self, x):
        self.x = x + 1
        print("returns")
        return self.x


@case(ops=2)
def init_that_returns_something(x):
    try:
        return Returning(x)
    except TypeError as error:
        return str(error), x + 2


class New:
    def __new__(cls, x, *, scale=2):
        y = x + 1
        print("new", cls.__name__, scale)
        made = super().__new__(cls)
        made.y = y * scale
        return made


@case(ops=4)
def new(x):
    return New(x - 1, scale=3).y / 2


class NewAndInit(New):
    def __init__(self, x, *, scale=2):
        self.z = x + 3
        print("init", scale)
        self.z = self.z * scale


@case(ops=7, breaks=2)
def new_and_init(x):
    made = NewAndInit(x - 1, scale=3)
    return made.y / 2, made.z / 3


class NewOfAnother:
    def __new__(cls, x):
        y = x + 1
        print("new of another")
        return [y * 2]

    def __init__(self, x):
        print("never")


@case(ops=4)
def new_that_makes_another(x):
    return NewOfAnother(x - 1)[0] / 2


class NewError(ValueError):
    def __new__(cls, x):
        y = x + 1
        print("new error")
        made = super().__new__(cls, y)
        made.y = y * 2
        return made


@case(ops=4)
def new_of_an_exception(x):
    try:
        raise NewError(x - 1)
    except ValueError as error:
        return error.args, error.y / 2


class NewTuple(collections.namedtuple("Pair", "a b")):
    __slots__ = ()

    def __new__(cls, x):
        y = x + 1
        print("new tuple")
        return super().__new__(cls, y, y * 2)


@case(ops=3)
def new_of_a_tuple(x):
    return NewTuple(x - 1)


class Meta(type):
    def __call__(cls, x):
        y = x + 1
        print("call")
        made = super().__call__(y * 2)
        made.after = y * 3
        return made

    def __getattr__(cls, name):
        y = X + 1
        print("attribute", name)
        return y * 2

    def __getitem__(cls, key):
        y = X + 1
        print("item", key)
        return y * 2

    @property
    def value(cls):
        y = X + 1
        print("value")
        return y * 2

    @property
    def missing(cls):
        y = X + 1
        print("missing")
        raise AttributeError(y * 2)


class Subscripted:
    def __class_getitem__(cls, key):
        y = X + 1
        print("class item", key)
        return y * 2


@case(ops=4)
def class_getitem(x):
    return Subscripted[3] / (x - 1)


class OfMeta(metaclass=Meta):
    def __init__(self, x):
        self.x = x + 4
        print("init")
        self.x = self.x * 5


@case(ops=8, breaks=2)
def call_of_a_metaclass(x):
    made = OfMeta(x - 1)
    return made.x / 2, made.after / 3


@case(ops=4)
def getattr_of_a_metaclass(x):
    return OfMeta.anything / (x - 1)


@case(ops=4)
def property_of_a_metaclass(x):
    return OfMeta.value / (x - 1)


@case(ops=6, breaks=3)  # Python raises what leaves the getter's resumption
def property_of_a_metaclass_that_raises(x):
    return OfMeta.missing / (x - 1)


@case(ops=4)
def item_of_a_class(x):
    return OfMeta[3] / (x - 1)


# --- Attributes.


class Attributes:
    def __init__(self, x):
        self.x = x
        self.log = []

    @property
    def value(self):
        y = self.x + 1
        print("getter")
        return y * 2

    @value.setter
    def value(self, value):
        y = value + 1
        print("setter")
        self.x = y * 2

    @value.deleter
    def value(self):
        y = self.x + 1
        print("deleter")
        self.x = y * 2

    @property
    def missing(self):
        self.log.append(self.x + 1)
        print("missing")
        self.log.append(self.x + 2)
        raise AttributeError("none")

    @property
    def method(self):
        y = self.x + 1
        print("method")
        return lambda z: y + z

    @property
    def flag(self):
        self.x = self.x + 1
        print("flag")
        self.x = self.x * 3
        return len(self.log) == 0


@case(ops=4)
def getter(x):
    return Attributes(x - 1).value / 2


@case(ops=4)
def setter(x):
    a = Attributes(x)
    a.value = x - 1
    return a.x / 2


@case(ops=4)
def deleter(x):
    a = Attributes(x - 1)
    del a.value
    return a.x / 2


@case(ops=4)
def getter_that_is_called(x):
    return Attributes(x - 1).method(x) / 2


@case(ops=4, breaks=2)  # Python raises what leaves the getter's resumption
def getter_that_raises(x):
    a = Attributes(x - 1)
    try:
        return a.missing
    except AttributeError as error:
        return a.log, str(error), error.name, error.obj is a, x + 3


class Fallback(Attributes):
    def __getattr__(self, name):
        if name != "missing":
            raise AttributeError(name)
        y = self.x * 5
        print("fallback", name)
        return y * 7


@case(ops=6, breaks=3)
def getter_and_getattr(x):
    a = Fallback(x - 1)
    return a.missing + 1, len(a.log)


class Lazy:
    def __getattr__(self, name):
        y = X * 5
        print("fallback", name)
        return y * 7


@case(ops=4)
def getattr_alone(x):
    return Lazy().anything + (x - 1)


class Hooked:
    def __getattribute__(self, name):
        y = X * 5
        print("hooked", name)
        return y * 7


@case(ops=3)
def getattribute(x):
    return Hooked().anything + 1


class Setting:
    def __setattr__(self, name, value):
        y = value + 1
        print("set", name)
        object.__setattr__(self, name, y * 2)

    def __delattr__(self, name):
        y = self.x + 3
        print("delete", name)
        object.__setattr__(self, "y", y * 2)


@case(ops=4)
def setattr_hook(x):
    a = Setting()
    a.x = x - 1
    return a.x / 2


@case(ops=5, breaks=2)
def delattr_hook(x):
    a = Setting()
    a.x = x - 1
    del a.x
    return a.y


class Descriptor:
    def __get__(self, instance, owner):
        if instance is None:
            return self
        y = instance.x + 1
        print("get")
        return y * 2

    def __set__(self, instance, value):
        y = value + 1
        print("set")
        instance.x = y * 2


class Described:
    field = Descriptor()


class OverAttributes(Attributes):
    @property
    def value(self):
        y = super().value + 5
        return y * 3

    @property
    def missing(self):
        try:
            return super().missing
        except AttributeError as error:
            return len(self.log), str(error), error.name, type(error.obj)


@case(ops=6)
def getter_of_a_base(x):
    return OverAttributes(x - 1).value / 2


@case(ops=4, breaks=2)
def getter_of_a_base_that_raises(x):
    a = OverAttributes(x - 1)
    return a.missing, a.x / 2


@case(ops=7, breaks=2)
def descriptor(x):
    a = Described()
    a.field = x - 1
    return a.field / 2, x + 1


# --- Context managers.


class Manager:
    def __init__(self, x, swallow=False):
        self.x, self.swallow = x, swallow

    def __enter__(self):
        y = self.x + 1
        print("enter")
        return y * 2

    def __exit__(self, kind, error, trace):
        self.x = self.x + 10
        print("exit", kind, error)
        self.x = self.x * 3
        return self.swallow


@case(ops=8, breaks=2)
def manager(x):
    m = Manager(x - 1)
    with m as entered:
        y = entered / 2
    return y, m.x + 5, x + 6


@case(ops=8, breaks=2)
def manager_that_swallows(x):
    m = Manager(x - 1, swallow=True)
    with m as entered:
        y = entered / 2
        raise ValueError("swallowed")
    return y, m.x + 5, x + 6


@case(ops=8, breaks=2)
def manager_that_lets_pass(x):
    m = Manager(x - 1)
    try:
        with m as entered:
            y = entered / 2
            raise ValueError("passes")
    except ValueError as error:
        return y, m.x + 5, x + 6, str(error)


# --- Items, operators, comparisons.


class Vector:
    def __init__(self, x, answer=None):
        self.x, self.answer = x, answer

    def work(self, name):
        y = self.x + 1
        print(name)
        return y * 2

    def __call__(self, other):
        return self.work("call") + other

    def __getitem__(self, key):
        return self.work("get")

    def __setitem__(self, key, value):
        self.x = self.work("set") + value

    def __delitem__(self, key):
        self.x = self.work("delete")

    def __len__(self):
        self.x = self.work("len")
        return 2

    def __contains__(self, item):
        self.x = self.work("contains")
        return [item]

    def __iter__(self):
        return iter([self.work("iter")])

    def __add__(self, other):
        if isinstance(other, str):
            self.x = self.work("add")
            return NotImplemented
        return Vector(self.work("add") + other)

    def __iadd__(self, other):
        self.x = self.work("iadd") + other
        return self

    def __radd__(self, other):
        return Vector(self.work("radd") + other)

    def __neg__(self):
        return Vector(self.work("neg"))

    def __lt__(self, other):
        return self.work("lt")

    def __eq__(self, other):
        self.x = self.work("eq")
        return self.answer

    def __str__(self):
        self.x = self.work("str")
        return "text"

    def __format__(self, specification):
        self.x = self.work("format")
        return "formatted " + specification

    def __hash__(self):
        self.x = self.work("hash")
        return -1

    def __int__(self):
        self.x = self.work("int")
        return 3

    def __index__(self):
        self.x = self.work("index")
        return 4

    def __float__(self):
        self.x = self.work("float")
        return 0.5

    def __round__(self, digits=None):
        self.x = self.work("round")
        return digits

    def __reversed__(self):
        self.x = self.work("reversed")
        return iter([6])


@case(ops=5)
def call(x):
    return Vector(x - 1)(x) / 2


@case(ops=4)
def item(x):
    return Vector(x - 1)[3] / 2


@case(ops=5)
def set_item(x):
    v = Vector(x - 1)
    v[3] = 7
    return v.x / 2


@case(ops=4)
def delete_item(x):
    v = Vector(x - 1)
    del v[3]
    return v.x / 2


@case(ops=5)
def add(x):
    return (Vector(x - 1) + 3).x / 2


@case(ops=5)
def reflected_add(x):
    return (3 + Vector(x - 1)).x / 2


@case(ops=5)
def add_in_place(x):
    v = Vector(x - 1)
    v += 4
    return v.x / 2


@case(ops=4)
def add_that_is_not_implemented(x):
    v = Vector(x - 1)
    try:
        return v + "text"
    except TypeError as error:
        return v.x / 2, str(error)


@case(ops=4)
def negative(x):
    return (-Vector(x - 1)).x / 2


@case(ops=4)
def less_than(x):
    return (Vector(x - 1) < 5) / 2


@case(ops=4)
def equal(x):
    v = Vector(x - 1, answer="anything")
    return v == 3, v.x / 2


@case(ops=4)
def not_equal(x):
    v = Vector(x - 1, answer=[])
    return v != 3, v.x / 2


@case(ops=6, breaks=2)
def equal_that_is_not_implemented(x):
    v, w = Vector(x - 1, answer=NotImplemented), Vector(x - 2, answer=5)
    return v == w, v.x / 2, w.x


class Later(Vector):
    def __add__(self, other):
        self.x = self.work("later")
        return NotImplemented


class Other:
    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        y = self.x + 4
        print("other")
        return y * 6


@case(ops=6, breaks=2)
def add_then_reflected(x):
    v = Later(x - 1)
    return v + Other(x), v.x / 2


# --- Truth, length, containment, iteration, text.


class Truth:
    def __init__(self, x, answer):
        self.x, self.answer = x, answer

    def __bool__(self):
        self.x = self.x + 1
        print("bool")
        self.x = self.x * 2
        return self.answer


@case(ops=7, breaks=2)
def condition(x):
    t, f = Truth(x - 1, True), Truth(x - 2, False)
    result = 1 if t else 2
    if f:
        result = 3
    return result, t.x / 2, f.x / 3


@case(ops=7, breaks=2)
def negated(x):
    t, f = Truth(x - 1, True), Truth(x - 2, False)
    return not t, not f, t.x / 2, f.x / 3


@case(ops=7, breaks=2)
def disjunction(x):
    t, f = Truth(x - 1, True), Truth(x - 2, False)
    result = f or t or x
    return result is t, t.x / 2, f.x / 3


@case(ops=3)
def wrong_truth(x):
    t = Truth(x, 5)
    try:
        return 1 if t else 2
    except TypeError as error:
        return str(error), t.x / 2


@case(ops=4)
def length_for_truth(x):
    v = Vector(x - 1)
    return 1 if v else 2, v.x / 2


@case(ops=7, breaks=2)
def containment(x):
    v, w = Vector(x - 1), Vector(x - 2)
    return 3 in v, 4 not in w, v.x / 2, w.x / 3


@case(ops=4)
def iteration(x):
    for y in Vector(x - 1):
        z = y / 2
    return z


class Count:
    def __init__(self, x, n):
        self.x, self.n = x, n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            print("end")
            self.x = self.x * 100
            raise StopIteration
        self.n -= 1
        y = self.x + self.n
        print("next")
        return y * 2


@case(ops=6, breaks=3)  # Python raises the StopIteration
def next_item(x):
    c = Count(x - 1, 1)
    for y in c:
        z = y / 2
    else:
        z = z + 1
    return z, c.x


@case(ops=4)
def text(x):
    v = Vector(x - 1)
    return f"{v!s}", v.x / 2


@case(ops=4)
def formatted(x):
    v = Vector(x - 1)
    return f"{v:>3}", v.x / 2


class Everything(Vector):
    def __abs__(self):
        return self.work("abs")

    def __next__(self):
        return self.work("next")

    @property
    def value(self):
        return self.work("value")


@case(ops=8, breaks=5)
def builtins(x):
    e = Everything(x - 1)
    numbers = len(e), bool(e), str(e)
    return numbers, abs(e), getattr(e, "value", 3), e.x / 2


@case(ops=5)
def builtins_that_handle(x):
    e = Everything(x - 1)
    return next(e, 7) + x, e.x / 2


@case(ops=9, breaks=6)  # all resume in one and the same translation of work()
def conversions(x):
    v = Vector(x - 1)
    numbers = hash(v), int(v), operator.index(v), float(v), round(v, 2)
    return numbers, list(reversed(v)), v.x / 2


class Wrong:
    def __init__(self, x, answer):
        self.x, self.answer = x, answer

    def work(self, name):
        self.x = self.x + 1
        print(name)
        return self.answer

    def __hash__(self):
        return self.work("hash")

    def __int__(self):
        return self.work("int")

    def __index__(self):
        return self.work("index")

    def __float__(self):
        return self.work("float")


@case(ops=6, breaks=4)
def wrong_conversions(x):
    texts = []
    w = Wrong(x - 1, "text")
    for function in hash, int, operator.index, float:
        try:
            function(w)
        except TypeError as error:
            texts.append(str(error))
    return texts, w.x / 2


def subclass_conversions(x):
    w = Wrong(x - 1, True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numbers = hash(w), int(w), operator.index(w)
    return numbers, [str(w.message) for w in caught], w.x / 2


def test_conversions_to_a_subclass():
    check(subclass_conversions, X)


# --- One inside the other, and in the middle of things.


class Chain:
    def __init__(self, x):
        self.made = Made(x + 3)

    @property
    def first(self):
        y = self.second[0] + 1
        return y * 3

    @property
    def second(self):
        return Vector(self.made.after - 1)


@case(ops=11, breaks=2)
def chain(x):
    return [1, Chain(x - 1).first / 2, x + 9]


@case(ops=10, breaks=3)
def in_handlers(x):
    try:
        raise KeyError("a")
    except KeyError as error:
        kept = error
        with Manager(x - 1, swallow=True) as entered:
            y = Attributes(entered).value
            raise ValueError("b") from None
    return y / 2, kept, x + 1, x + 2


# --- Frames, as the program sees them.


def frames_above():
    frame, names = sys._getframe(1), []
    while frame and frame.f_code.co_filename == __file__:
        names.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return names


class Seen:
    def __init__(self, x):
        self.x = x + 1
        self.frames = [frames_above()]
        self.x = self.x * 2

    def __bool__(self):
        self.frames.append(frames_above())
        return True

    def __add__(self, other):
        self.frames.append(frames_above())
        return self

    def __enter__(self):
        self.frames.append(frames_above())
        return self

    def __exit__(self, kind, error, trace):
        self.frames.append(frames_above())
        return True

    def __eq__(self, other):
        self.frames.append(frames_above())
        return NotImplemented

    def __getattr__(self, name):
        self.frames.append(frames_above())
        return name

    def __iter__(self):
        self.frames.append(frames_above())
        return self

    def __next__(self):
        self.frames.append(frames_above())
        raise StopIteration


def sees_frames(x):
    seen = Seen(x)
    if seen:
        seen + 1
    with seen:
        equal = seen == seen
        raise KeyError
    for _ in seen:
        pass
    return seen.frames, seen.any, equal, seen.x


def test_frames_are_the_program_s():
    compiled = armature.compile(sees_frames)
    expected = sees_frames(X)
    for _ in range(3):
        frames, *others = compiled(X)
        plain = [
            [name for name in names if name[0] != "test_frames_are_the_program_s"]
            for names in (*expected[0], *frames)
        ]
        assert plain[len(expected[0]) :] == plain[: len(expected[0])]
        assert others[:2] == list(expected[1:3]) and torch.equal(others[2], expected[3])


class Warns:
    def __init__(self, x):
        self.x = x

    @property
    def value(self):
        warnings.warn("old", stacklevel=2)
        return self.x + 1

    def __getitem__(self, key):
        warnings.warn("item", stacklevel=2)
        return self.x + 2


def warns(x):
    w = Warns(x - 1)
    y = w.value
    return w[3] + y


def test_lines_of_warnings():
    def lines(fn):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fn(X)
        return [(str(w.message), w.filename, w.lineno) for w in caught]

    compiled = armature.compile(warns)
    for _ in range(3):
        assert lines(compiled) == lines(warns)


# --- Exceptions before and after the break, with their tracebacks.


class Raising:
    """Each method breaks, and raises before or after that, or returns what it may not return."""

    def __init__(self, x, when, error=ValueError):
        self.x, self.when, self.error, self.log = x, when, error, []

    def act(self, name, result):
        self.log.append(self.x + 1)
        if self.when == "before":
            raise self.error(name)
        print(name)
        self.log.append(self.x + 2)
        if self.when == "after":
            raise self.error(name)
        return 3.5 if self.when == "wrong" else result

    @property
    def value(self):
        return self.act("value", 1)

    @value.setter
    def value(self, value):
        self.act("set", 1)

    def __len__(self):
        return self.act("len", 0)

    def __contains__(self, item):
        return self.act("contains", True)

    def __getitem__(self, key):
        return self.act("getitem", 5)

    def __setitem__(self, key, value):
        self.act("setitem", 5)

    def __iter__(self):
        return self.act("iter", iter([1]))

    def __next__(self):
        return self.act("next", 1)

    def __enter__(self):
        return self.act("enter", 2)

    def __exit__(self, *args):
        return self.act("exit", False)

    def __str__(self):
        return self.act("str", "text")

    def __repr__(self):
        return self.act("repr", "text")

    def __format__(self, specification):
        return self.act("format", "text")

    def __add__(self, other):
        return self.act("add", NotImplemented)

    def __neg__(self):
        return self.act("neg", 1)

    def __abs__(self):
        return self.act("abs", 1)

    def __lt__(self, other):
        return self.act("lt", NotImplemented)

    def __eq__(self, other):
        return self.act("eq", NotImplemented)


class RaisingBool(Raising):
    def __bool__(self):
        return self.act("bool", True)

    def __getattr__(self, name):
        return self.act("getattr", name)


class RaisingInit:
    def __init__(self, raising):
        self.made = raising.act("init", None)
        self.raising = raising
        if raising.when == "wrong":
            return raising


def walk(r):
    for y in r:
        return y


def step(r):
    class_ = type("Steps", (), {"__iter__": lambda self: r})
    for y in class_():
        return y


def enter(r):
    with r as entered:
        return entered


def leave(r):
    when, r.when = r.when, "never"
    with r:
        r.when = when
    return 1


def leave_raising(r):
    when, r.when = r.when, "never"
    with r:
        r.when = when
        raise KeyError("inside")


def assign(r):
    r.value = 3


def assign_item(r):
    r[3] = 3


def add_in_place_of(r):
    r += 1
    return r


OPERATIONS = {
    "init": lambda r: RaisingInit(r).made,
    "value": lambda r: r.value,
    "assign": assign,
    "assign_item": assign_item,
    "truth": lambda r: 1 if r else 2,
    "not": lambda r: not r,
    "or": lambda r: (r or 3) is r,
    "in": lambda r: 3 in r,
    "not in": lambda r: 3 not in r,
    "item": lambda r: r[3],
    "walk": walk,
    "step": step,
    "enter": enter,
    "leave": leave,
    "leave raising": leave_raising,
    "str": lambda r: f"{r!s}",
    "repr": lambda r: f"{r!r}",
    "format": lambda r: f"{r}",
    "add": lambda r: r + 1,
    "add to text": lambda r: r + "text",
    "add in place": add_in_place_of,
    "negate": lambda r: -r,
    "less": lambda r: r < 1,
    "equal": lambda r: r == 1,
    "differs": lambda r: r != 1,
    "missing": lambda r: r.nothing,
    "len()": lambda r: len(r),
    "bool()": lambda r: bool(r),
    "str()": lambda r: str(r),
    "repr()": lambda r: repr(r),
    "format()": lambda r: format(r, ">3"),
    "abs()": lambda r: abs(r),
    "iter()": lambda r: next(iter(r)),
    "next()": lambda r: next(r),
    "next() with a default": lambda r: next(r, 7),
    "getattr()": lambda r: getattr(r, "value"),  # noqa: B009
    "getattr() with a default": lambda r: getattr(r, "value", 7),
    "hasattr()": lambda r: hasattr(r, "value"),
    "setattr()": lambda r: setattr(r, "value", 7),
    "operator": lambda r: (operator.eq(r, 3), operator.neg(r), operator.getitem(r, 1)),
}


def lines_of(error):
    entries = traceback.extract_tb(error.__traceback__)
    return [(entry.name, entry.lineno) for entry in entries if entry.filename == __file__]


@pytest.mark.parametrize("when", ["never", "before", "after", "wrong"])
@pytest.mark.parametrize("error", [ValueError, AttributeError, StopIteration], ids=str)
@pytest.mark.parametrize("kind", [Raising, RaisingBool], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_exceptions(name, kind, when, error, capsys):
    if error is not ValueError and when in ("never", "wrong"):
        return
    operation = OPERATIONS[name]

    def caught(x):
        r = kind(x - 1, when, error)
        try:
            result = operation(r)
        except Exception as raised:
            result = type(raised), str(raised), getattr(raised, "name", 0), raised.__context__
        return result, r.log, x * 3

    def uncaught(x):
        return operation(kind(x - 1, when, error)), x * 3

    def outcome(fn):
        try:
            return fn(X), capsys.readouterr().out
        except Exception as raised:
            lines = [line for line in lines_of(raised) if line[0] != "outcome"]
            context = type(raised.__context__)
            return type(raised), str(raised), lines, context, capsys.readouterr().out

    for fn in (caught, uncaught):
        compiled = armature.compile(fn)
        expected = outcome(fn)
        for _ in range(3):
            assert str(outcome(compiled)) == str(expected)


# --- What a translation has read for its guards ends with the call.


class Held:
    pass


class Looking:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        armature.graph_break()
        line = error.__traceback__.tb_lineno
        armature.graph_break()
        self.line = line, trace is error.__traceback__
        return True


def test_tracebacks_do_not_outlive_the_call():
    watched = []

    def fn():
        held = Held()
        watched.append(weakref.ref(held))
        looking = Looking()
        with looking:
            armature.graph_break()
            raise ValueError
        return looking.line

    compiled = armature.compile(fn)
    for _ in range(3):
        assert compiled() == fn()
        gc.collect()
        assert [reference() for reference in watched] == [None] * len(watched)

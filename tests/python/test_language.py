# ruff: noqa: B018, E501, F821, F842, RUF015, RUF016, UP031 (odd code is what is tested here)
"""The language of traced code: each function is run plainly and captured, and must agree."""

import collections
import dataclasses
import enum
import functools
import math
import operator
import sys
import typing

import pytest
import torch
from differential import Cases, check

cases = Cases()
X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_case(fn, args, options):
    check(fn, *args, **options)


# --- Names.

counter = 3
scratch = None


def restore_globals():
    global counter, scratch
    counter, scratch = 3, None
    globals().pop("created", None)


@cases.add(X, restore=restore_globals, breaks=0)
def global_read_and_write(x):
    global counter, created
    counter += 2
    created = x + counter
    return created * 2, counter


def test_globals_written_are_seen_outside():
    restore_globals()

    def f(x):
        global counter, scratch
        counter += 1
        scratch = [x, counter]
        return x + counter

    compiled = check(f, X, restore=restore_globals)
    restore_globals()
    result = compiled(X)
    assert counter == 4 and scratch[0] is X and scratch[1] == 4
    assert torch.equal(result, X + 4)


@cases.add(X, restore=restore_globals)
def global_delete(x):
    global created
    created = 5
    y = x * created
    del created
    try:
        created
    except NameError as error:
        return y, str(error)


@cases.add(3, breaks=0)
def local_delete(x):
    y = x
    del y
    try:
        return y
    except UnboundLocalError as error:
        return str(error), error.args


@cases.add()
def unbound_local():
    if counter > 100:
        y = 1
    return y


@cases.add()
def unbound_global():
    return no_such_name


@cases.add(1, 2)
def annotated_locals(a, b):
    x: int = a
    y: "undefined thing"  # noqa: F722
    return x + b


# --- Operators.

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor,
    operator.matmul, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
]  # fmt: skip
SYMBOLS = "+ - * / // % ** << >> & | ^ @ < <= == != > >= in is".split()
OPERANDS = [
    (7, 3), (7, 0), (-7, 3), (2, -1), (True, 2), (7.5, 2), (7, 0.0), (1e308, 10.0), ("a", "b"),
    ("ab", 3), ("%s-%s", (1, 2)), ("a", 1), ((1, 2), (3,)), ((1,), 2), ([1], [2, 3]), ([1, 2], 2),
    ([1], (2,)), ({1, 2}, {2, 3}), ({1: 2}, {3: 4}), (1, "a"), (None, 1), (1j, 2), (b"a", b"b"),
    (frozenset({1}), {1}), (10**30, 7), (float("nan"), 1.0), (range(3), range(3)), (1, [1, 2]),
    ("a", "abc"), (1, {1: 2}),
]  # fmt: skip


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("operands", OPERANDS, ids=repr)
def test_binary_operators(symbol, operands):
    source = f"def f(a, b): return a {symbol} b\n"
    if symbol not in ("in", "is", "<", "<=", "==", "!=", ">", ">="):
        source = (
            f"def f(a, b):\n    c = a {symbol} b\n    d = a\n    d {symbol}= b\n    return c, d, a"
        )
    namespace = {}
    exec(source, namespace)
    check(namespace["f"], *operands, calls=2)


@cases.add(5, -3.5, True, breaks=0)
def unary(a, b, c):
    return -a, +a, ~a, not a, -b, +b, not b, -c, ~c, abs(b), not [], not ()


@cases.add(1, 2, 3, breaks=0)
def chained_comparisons(a, b, c):
    return a < b < c, a < c > b, a == b == c, a <= a != c, 1 < a < 0


@cases.add(0, "", [], breaks=0)
def boolean_operators(a, b, c):
    return a or b or c, a and b, a or 5, c or None or "x", (a and b) or c, a if b else c


@cases.add([1, 2], (3,), {"k": 4}, breaks=0)
def augmented_items(a, b, c):
    a[0] += 10
    a += [5]
    b += (6,)
    c["k"] *= 2
    c |= {"n": 1}
    a *= 2
    return a, b, c


@cases.add(X, breaks=0)
def is_and_identity(x):
    y = x
    z = [x]
    return x is y, x is z[0], x is not None, z is z, None is None, x in (x,)


# --- Building and unpacking.


@cases.add((1, 2, 3, 4), [5, 6], {"a": 7}, breaks=0)
def unpacking(t, u, d):
    a, *b, c = t
    (x, y), [z] = u, d
    first, (second, *third) = 1, u
    return (
        [a, b, c, x, y, z, *t, *u, first, second, third],
        (*t, *u),
        {*t, *u},
        {**d, "b": 1, **{"a": 0}},
    )


@cases.add((1, 2, 3))
def unpacking_too_many(t):
    a, b = t
    return a, b


@cases.add([1])
def unpacking_too_few(t):
    a, b, *c = t
    return a, b


@cases.add(5)
def unpacking_an_int(t):
    a, b = t
    return a, b


@cases.add("xyz", {"p": 1, "q": 2}, range(2), breaks=0)
def unpacking_other_iterables(s, d, r):
    a, b, c = s
    e, f = d
    g, h = r
    return a, b, c, e, f, g, h


# --- Control flow.


@cases.add(10, more=((3,), (0,)), breaks=0)
def loops(n):
    out = []
    i = 0
    while i < n:
        i += 1
        if i == 2:
            continue
        if i > 7:
            break
        out.append(i)
    else:
        out.append("while-else")
    for j in range(n):
        if j == 5:
            break
        out.append(j)
    else:
        out.append("for-else")
    return out, i


@cases.add([[1, 2], [3, 4]], breaks=0)
def nested_loops(rows):
    total = 0
    for row in rows:
        for value in row:
            if value == 3:
                break
            total += value
        else:
            total *= 10
    return total, row, value


# --- Functions.


@cases.add(X, 2, breaks=0)
def nested_function(x, n):
    def scale(y, factor=n):
        return y * factor + n

    return scale(x), scale(x, 5), scale(factor=1, y=x)


@cases.add(X, breaks=0)
def nonlocal_counter(x):
    count = 0

    def bump(by=1):
        nonlocal count
        count += by
        return count

    bump()
    bump(by=4)
    return x + count, count, bump()


@cases.add(3, breaks=0)
def cells_in_loops(n):
    late = [lambda: i for i in range(n)]
    early = [lambda i=i: i for i in range(n)]
    fs = []
    for j in range(n):
        fs.append(lambda: j * 10)
    return [f() for f in late], [f() for f in early], [f() for f in fs]


@cases.add(X, breaks=0)
def returned_closure(x):
    y = x + 1
    n = 0

    def inner(z=2, *, k: int = 3) -> int:
        """Adds."""
        nonlocal n
        n += 1
        return y + z + k + n

    inner.tag = "t"
    return inner


@cases.add(X, breaks=0)
def shared_cell(x):
    value = 1

    def get():
        return value

    def put(new):
        nonlocal value
        value = new

    put(x)
    return get, put


def test_returned_closures_share_their_cell():
    import armature

    get, put = armature.compile(shared_cell)(X)
    assert get() is X
    put(7)
    assert get() == 7


@cases.add(3, breaks=0)
def deleted_cell(n):
    value = n

    def get():
        return value

    del value
    try:
        get()
    except NameError as error:
        return str(error)


def make_accumulator():
    total = 0
    history = []

    def accumulate(x):
        nonlocal total
        total += 1
        history.append(total)
        return x + total

    return accumulate, lambda: (total, history)


def test_root_closure_is_written():
    import armature

    plain, plain_state = make_accumulator()
    traced, traced_state = make_accumulator()
    compiled = armature.compile(traced)
    for _ in range(4):
        assert torch.equal(plain(X), compiled(X))
        assert plain_state() == traced_state()


@cases.add(X)
def lambdas(x):
    return (lambda a, *b, c=3, **d: (a, b, c, d))(x, 1, 2, e=4), (lambda: x)() is x


def mutable_default(value, bucket=[]):  # noqa: B006
    bucket.append(value)
    return bucket


@cases.add(restore=lambda: mutable_default.__defaults__[0].clear(), breaks=0)
def calls_with_mutable_default():
    mutable_default(1)
    return mutable_default(2), mutable_default(3, [])


def positional_only(a, b=2, /, c=3, *, d, e=5):
    return a, b, c, d, e


def variadic(a, *args, k=1, **kwargs):
    return a, args, k, kwargs


@cases.add(breaks=0)
def kinds_of_parameters():
    args, kwargs = (1, 2), {"d": 4, "e": 6}
    return (
        positional_only(1, d=4),
        positional_only(*args, **kwargs),
        positional_only(1, c=9, d=0),
        variadic(1),
        variadic(*args, *args, k=3, z=4, **kwargs),
        variadic(a=1, **{"x y": 2}),
    )


def no_parameters():
    return 0


WRONG_CALLS = [
    lambda: positional_only(),
    lambda: positional_only(1),
    lambda: positional_only(a=1, d=2),
    lambda: positional_only(1, 2, 3, 4, d=1),
    lambda: positional_only(1, d=1, f=2),
    lambda: positional_only(1, 2, c=3, d=1, **{"c": 4}),
    lambda: positional_only(1, 2, 3, c=3, d=1),
    lambda: no_parameters(1),
    lambda: no_parameters(k=1),
    lambda: variadic(),
    lambda: variadic(*5),
    lambda: variadic(1, **5),
    lambda: variadic(1, **{1: 2}),
    lambda: (lambda a, b: 0)(1, 2, 3),
    lambda: (lambda a, b, c: 0)(),
    lambda: (lambda *, a, b, c: 0)(),
    lambda: (lambda a, *, b: 0)(1, 2, b=3),
    lambda: (lambda a=1: 0)(1, 2),
    lambda: 5(),
    lambda: "x"(),
    lambda: None(),
    lambda: len(),
    lambda: len(1, 2),
    lambda: len(5),
    lambda: int("x"),
    lambda: [].append(),
    lambda: "a".join([1]),
    lambda: {}["missing"],
    lambda: [][0],
    lambda: ()[1],
    lambda: [1]["a"],
    lambda: "abc"[5],
    lambda: (1).real(),
    lambda: (1).nothing,
    lambda: [].nothing,
    lambda: {}.nothing,
    lambda: (lambda: 0).nothing,
    lambda: 1 + "a",
    lambda: [] + (),
    lambda: {} < {},
    lambda: 1 in 5,
    lambda: iter(5),
    lambda: next(iter([])),
    lambda: -"a",
    lambda: hash([]),
    lambda: {[]: 1},
    lambda: {[]},
    lambda: max([]),
    lambda: [3, "a"].sort(),
    lambda: sorted([1, "a"]),
    lambda: range(0, 1, 0),
    lambda: f"{1:z}",
    lambda: getattr(5, "x"),  # noqa: B009
    lambda: [1, 2].index(3),
    lambda: [].pop(),
    lambda: {}.pop(1),
    lambda: set().remove(1),
    lambda: [].remove(1),
    lambda: int.from_bytes(),
    lambda: isinstance(1, 5),
    lambda: issubclass(1, int),
    lambda: sum(["a"]),
    lambda: 1 / 0,
    lambda: 1 % 0,
    lambda: chr(-1),
    lambda: ord("ab"),
    lambda: abs("x"),
    lambda: divmod(1, 0),
    lambda: round("x"),
    lambda: zip(1),
    lambda: list(zip([1], [1, 2], strict=True)),
    lambda: dict([1]),
    lambda: dict([(1, 2, 3)]),
    lambda: tuple(5),
    lambda: enumerate(5),
    lambda: reversed({1}),
    lambda: all(5),
    lambda: str(b"a", 5),
    lambda: slice(),
    lambda: object(1),
    lambda: Plain(1),
    lambda: Point(1),
    lambda: Point(1, 2, 3),
    lambda: Plain().missing,
    lambda: setattr(5, "x", 1),
]  # fmt: skip


@pytest.mark.parametrize("call", range(len(WRONG_CALLS)))
def test_errors_uncaught(call):
    check(WRONG_CALLS[call], calls=2)


@pytest.mark.parametrize("call", range(len(WRONG_CALLS)))
def test_errors_caught(call):
    wrong = WRONG_CALLS[call]

    def caught():
        try:
            return wrong()
        except Exception as error:
            return type(error), error.args, str(error)

    check(caught, calls=2)


@pytest.mark.parametrize("call", range(6))
def test_binding_errors_of_the_root(call):
    roots = [
        lambda f: f(), lambda f: f(1), lambda f: f(1, 2, 3, 4), lambda f: f(1, 2, nope=3),
        lambda f: f(1, 2, a=3), lambda f: f(1, b=2),
    ]  # fmt: skip

    def root(a, b, /, c=1, *, d=2):
        return a, b, c, d

    import armature

    compiled = armature.compile(root)
    with pytest.raises(TypeError) as expected:
        roots[call](root)
    with pytest.raises(TypeError) as actual:
        roots[call](compiled)
    assert str(actual.value) == str(expected.value)


# --- Classes.


class Plain:
    pass


class Point:
    """A point."""

    scale = 2
    instances = 0

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def norm(self):
        return self.x * self.x + self.y * self.y

    @property
    def total(self):
        return self.x + self.y

    @total.setter
    def total(self, value):
        self.x = value - self.y

    @staticmethod
    def origin():
        return Point(0, 0)

    @classmethod
    def diagonal(cls, n):
        return cls(n, n)

    def __add__(self, other):
        return type(self)(self.x + other.x, self.y + other.y)

    def __radd__(self, other):
        return Point(other + self.x, other + self.y)

    def __iadd__(self, other):
        self.x += other
        return self

    def __neg__(self):
        return Point(-self.x, -self.y)

    def __eq__(self, other):
        if not isinstance(other, Point):
            return NotImplemented
        return self.x == other.x and self.y == other.y

    def __hash__(self):
        return hash((self.x, self.y))

    def __lt__(self, other):
        return self.x < other.x

    def __repr__(self):
        return f"Point({self.x}, {self.y})"

    def __bool__(self):
        return bool(self.x or self.y)

    def __call__(self, n, *, times=1):
        return self.x * n * times

    def __getitem__(self, key):
        return (self.x, self.y)[key]

    def __setitem__(self, key, value):
        setattr(self, "xy"[key], value)

    def __len__(self):
        return 2

    def __contains__(self, value):
        return value in (self.x, self.y)

    def __iter__(self):
        yield self.x
        yield self.y

    def __format__(self, spec):
        return f"<{self.x:{spec}}>"


class Point3(Point):
    scale = 3

    def __init__(self, x, y, z):
        super().__init__(x, y)
        self.z = z

    def norm(self):
        return super().norm() + self.z**2

    @property
    def total(self):
        return super().total + self.z

    def __add__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return "reflected first"


@cases.add(Point(1, 2), X, breaks=0)
def methods_and_properties(p, x):
    p.total = 10
    p.extra = x * p.x
    bound = p.norm
    return (
        p.norm(),
        bound(),
        p.total,
        p.scale,
        Point.scale,
        Point.norm(p),
        p.extra,
        p.origin(),
        Point.diagonal(3),
    )


@cases.add(Point(1, 2), Point3(1, 2, 3))
def dunders(p, q):
    p += 5
    r = p + Point(1, 1)
    out = [r, 1 + p, -p, p == Point(6, 2), p == 5, p != 5, p < r, p(2, times=3), p[0], len(p)]
    out += [
        6 in p,
        99 in p,
        list(p),
        bool(Point(0, 0)),
        p + q,
        f"{p:>4} {p!r} {p!s}",
        str(p),
        hash(p),
    ]
    p[1] = 40
    out.append([*p])
    a, b = p
    return out, a, b, sorted([Point(2, 0), Point(1, 0)]), {Point(1, 1): "k"}[Point(1, 1)]


@cases.add(Point3(1, 2, 3), breaks=0)
def inheritance(p):
    return (
        p.norm(),
        p.total,
        p.scale,
        isinstance(p, Point),
        issubclass(Point3, Point),
        type(p) is Point3,
        Point3.diagonal.__name__,
    )


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@cases.add(Slotted(1), X)
def slots(s, x):
    s.a += 1
    s.b = x
    new = Slotted([s.a])
    try:
        new.b
    except AttributeError as error:
        message = str(error)
    try:
        new.c = 1
    except AttributeError as error:
        message += str(error)
    return s, new, message


class Fallback:
    def __init__(self):
        self.real = 1

    def __getattr__(self, name):
        if name.startswith("made_"):
            return name[5:]
        raise AttributeError(f"no {name}")


@cases.add(Fallback())
def getattr_fallback(o):
    return (
        o.real,
        o.made_up,
        getattr(o, "nope", "default"),
        hasattr(o, "nope"),
        hasattr(o, "made_x"),
    )


class Recorder:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, [value])

    def __delattr__(self, name):
        object.__setattr__(self, name, "deleted")


@cases.add(Recorder())
def setattr_override(o):
    o.a = 1
    o.b = 2
    del o.a
    new = Recorder()
    new.c = 3
    return o.a, o.b, new


@cases.add(Plain(), breaks=0)
def attributes_of_an_instance(o):
    o.a = 1
    o.b = 2
    del o.a
    o.a = 3
    setattr(o, "c", getattr(o, "b") + 1)  # noqa: B009, B010
    delattr(o, "b")
    return hasattr(o, "b"), hasattr(o, "a"), o.__dict__ == {"a": 3, "c": 3}, o


@cases.add()
def missing_attribute():
    return Plain().nothing


@dataclasses.dataclass
class Record:
    a: int
    b: list = dataclasses.field(default_factory=list)
    c: str = "c"

    def __post_init__(self):
        self.b.append(self.a)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: float = 2.0


@cases.add(Record(1), X)
def dataclass_use(r, x):
    new = Record(2, c="d")
    r.b.append(x)
    r.a += new.a
    return r, new, new == Record(2, [], "d"), Frozen(1), Frozen(1) == Frozen(1, 2.0), r.c


class Color(enum.Enum):
    RED = 1
    BLUE = "b"

    def describe(self):
        return f"{self.name}={self.value}"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@cases.add(Color.RED, Level.HIGH)
def enums(c, level):
    return (
        c is Color.RED,
        c == Color.BLUE,
        c.name,
        c.value,
        c.describe(),
        level > 1,
        level == Level.HIGH,
        Color("b"),
        Color["RED"],
        {Color.RED: 1}[c],
        level + 1,
    )


Pair = collections.namedtuple("Pair", "first second", defaults=(9,))


class Typed(typing.NamedTuple):
    a: int
    b: object = None

    def swap(self):
        return Typed(self.b, self.a)


@cases.add(Pair(1, 2), X)
def namedtuples(p, x):
    new = Pair(x)
    first, second = p
    return (
        new,
        p.first + new.second,
        p[1],
        first,
        p._replace(second=5),
        Typed(1, x).swap(),
        p == (1, 2),
        len(p),
        isinstance(p, tuple),
        p._fields,
        p._asdict(),
    )


@cases.add(X)
def class_made_inside(x):
    class Local:
        attribute = 5

        def method(self):
            return x + self.attribute

    return Local().method()


class Counted:
    made = 0

    def __init__(self):
        Counted.made += 1
        self.number = Counted.made


def restore_counted():
    Counted.made = 0


@cases.add(restore=restore_counted)
def class_attribute_written():
    return Counted().number, Counted().number, Counted.made


class Descriptor:
    def __get__(self, instance, owner):
        return (instance is None, owner.__name__)

    def __set__(self, instance, value):
        instance.__dict__["stored"] = value


class NonData:
    def __get__(self, instance, owner):
        return "non-data"


class Described:
    d = Descriptor()
    n = NonData()


@cases.add(Described())
def descriptors(o):
    o.d = 5
    before = o.n
    o.n = 1
    return o.d, Described.d, o.stored, before, o.n


class Cached:
    calls = 0

    @functools.cached_property
    def value(self):
        return [1, 2]


@cases.add(Cached())
def cached_property(o):
    return o.value, o.value is o.value, o


class Meta(type):
    def __len__(cls):
        return 7

    @property
    def nickname(cls):
        return cls.__name__.lower()


class WithMeta(metaclass=Meta):
    pass


@cases.add()
def metaclass():
    return len(WithMeta), WithMeta.nickname, WithMeta()


class MyList(list):
    def append(self, item):
        super().append(item * 2)

    def total(self):
        return sum(self)


class MyDict(dict):
    def __missing__(self, key):
        return f"missing {key}"

    def __getitem__(self, key):
        return super().__getitem__(key)


@cases.add(MyList([1, 2]), MyDict(a=1))
def container_subclasses(items, mapping):
    items.append(5)
    mapping["n"] = 3
    return (
        items.total(),
        len(items),
        items[0],
        mapping["a"],
        mapping["zzz"],
        "a" in mapping,
        MyList([7]),
        list(items),
        dict(mapping),
    )


# --- Text.


@cases.add("ab", 3, 2.5, [1, "x"])
def f_strings(s, n, f, items):
    width = 8
    return (
        f"{s}{n}{f}", f"{s!r:>10}|{n:05d}|{f:.3f}|{n:,}|{f:{width}.2f}|{s:^{width}}", f"{items}",
        f"{n=} {s=!s}", "{}", f"{None} {True} {1 + n}", "%d %s %r" % (n, s, s), f"{n:>4} {s}",
        f"{s!a}", f"{(1, s)} { {'k': n} }",
    )  # fmt: skip


@cases.add("Hello, World")
def string_methods(s):
    return (
        s.upper(), s.split(", "), s.replace("l", "L"), s.find("W"), s.startswith(("He", "x")),
        "-".join(["a", "b"]), s[::-1], s[1:4], s.strip("H"), s.partition(","), s.encode(),
        [c for c in s if c.isupper()], s * 2, "W" in s, s.count("l"), s.zfill(20), ord(s[0]), chr(65),
    )  # fmt: skip


# --- Slices and subscripts.


@cases.add([1, 2, 3, 4, 5], (1, 2, 3), 2, breaks=0)
def slices(a, t, n):
    b = a[1:n], a[::-1], a[-2:], t[:n], t[slice(0, n)], a[n:], a[:]
    a[1:3] = ["x"]
    del a[0]
    a[::2] = [0] * len(a[::2])
    return a, b, slice(n), a[-1]


@cases.add(X, 1)
def tensor_subscripts(x, i):
    return x[i], x[:, 1], x[..., None], x[0, 1:], x[x > 2].shape[0] >= 0, x[None], x[[1, 0]]


@cases.add([3, 1, 2])
def builtins_of_a_list(a):
    return (
        len(a), min(a), max(a, key=lambda v: -v), sum(a), sum(a, 10), sorted(a), sorted(a, reverse=True),
        list(reversed(a)), list(map(lambda v, w: v + w, a, a)), list(filter(None, [0, 1])), any(a), all(a),
        list(zip(a, "abc")), list(enumerate(a, 5)), divmod(7, 2), pow(2, 5, 7), round(2.567, 1), int("12"),
        float("1.5"), bool(a), str(a), repr(a), tuple(a), set(a), dict(zip("ab", a)), abs(-3), isinstance(a, (int, list)),
        callable(len), hash("a") == hash("a"), id(a) == id(a), bin(5), hex(255), iter(a) is not None, next(iter(a)), next(iter([]), 4),
        type(a) is list, frozenset(a), complex(1, 2), bytes(2), list(range(5, 0, -2)), min(1, 2), max("a", "b"),
    )  # fmt: skip


# --- Comprehensions and generators.


@cases.add([1, 2, 3], 10, breaks=0)
def comprehensions(a, n):
    return (
        [v * n for v in a], [v for v in a if v != 2], {v: v * n for v in a}, {v % 2 for v in a},
        [(v, w) for v in a for w in range(v)], [[w for w in range(v)] for v in a], sum(v for v in a),
        list(v + n for v in a), any(v > 2 for v in a), {k: [v] for k, v in zip("ab", a)}, tuple(x for x in ()),
        max((v for v in a), default=0), [lambda: v for v in a][0](),
    )  # fmt: skip


def numbers(n):
    received = []
    for i in range(n):
        got = yield i
        received.append(got)
    return received


def delegating(n):
    yield "start"
    result = yield from numbers(n)
    yield result
    yield from "ab"


@cases.add(3, breaks=0)
def generators(n):
    out = list(delegating(n))
    g = numbers(n)
    first = next(g)
    rest = [*g]
    exhausted = next(g, "done")
    total = 0
    for v in numbers(n):
        if v == 2:
            break
        total += v
    return out, first, rest, exhausted, total


@cases.add(3)
def generator_send(n):
    g = numbers(n)
    next(g)
    a = g.send("x")
    try:
        while True:
            g.send(a)
    except StopIteration as stop:
        return stop.value, a


@cases.add(3)
def generator_returned(n):
    g = numbers(n)
    return next(g)


def closing():
    log = []
    try:
        yield log
        yield 2
    finally:
        log.append("closed")


@cases.add()
def generator_close():
    g = closing()
    log = next(g)
    g.close()
    return log


def raising_generator():
    yield 1
    raise ValueError("inside")


@cases.add()
def generator_raises():
    out = []
    try:
        for v in raising_generator():
            out.append(v)
    except ValueError as error:
        out.append(str(error))
    return out


# --- Exceptions.


class CustomError(ValueError):
    def __init__(self, code, detail="none"):
        super().__init__(f"code {code}")
        self.code = code
        self.detail = detail


def fails(kind):
    if kind == 0:
        raise CustomError(5, detail="d")
    if kind == 1:
        raise KeyError("k")
    if kind == 2:
        return {}["m"]
    if kind == 3:
        return 1 // 0
    return "fine"


@cases.add(0, more=((1,), (2,), (3,), (4,)), breaks=0)
def handlers(kind):
    log = []
    try:
        log.append(fails(kind))
    except CustomError as error:
        log += [error.code, error.detail, str(error), error.args]
    except (KeyError, IndexError) as error:
        log.append(error.args)
    except Exception as error:
        log.append(type(error))
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


@cases.add(0, more=((4,),))
def finally_overrides(kind):
    def inner():
        try:
            fails(kind)
            return "try"
        finally:
            return "finally"  # noqa: B012

    def loop():
        for i in range(3):
            try:
                fails(kind)
                continue
            except ValueError:
                break
            finally:
                log.append(i)

    log = []
    loop()
    return inner(), log


@cases.add()
def raise_from():
    try:
        try:
            raise ValueError("a")
        except ValueError as error:
            raise TypeError("b") from error
    except TypeError as error:
        return (
            str(error),
            str(error.__cause__),
            error.__suppress_context__,
            error.__context__ is error.__cause__,
        )


@cases.add()
def raise_in_handler():
    try:
        try:
            fails(1)
        except KeyError:
            fails(3)
    except ZeroDivisionError as error:
        return type(error.__context__), error.__cause__


@cases.add()
def bare_raise():
    log = []
    try:
        try:
            fails(1)
        except KeyError:
            log.append(1)
            raise
        finally:
            log.append(2)
    except KeyError as error:
        return log, error.args


@cases.add(X)
def uncaught_after_work(x):
    y = x + 1
    items = [y]
    items.append(fails(0))
    return items


@cases.add()
def raise_class_and_none():
    try:
        raise ValueError from None
    except ValueError as error:
        return error.args, error.__suppress_context__


@cases.add()
def reraise_without_active():
    raise


@cases.add()
def raise_non_exception():
    raise 5  # noqa: B016


@cases.add()
def exception_variable_is_deleted():
    try:
        fails(1)
    except KeyError as error:
        kept = error
    try:
        error
    except NameError as missing:
        return str(missing), kept


@cases.add(2)
def assertion(n):
    assert n > 1, "small"
    try:
        assert n > 5, f"n is {n}"
    except AssertionError as error:
        return str(error)


@cases.add(0)
def assertion_fails(n):
    assert n, "zero"


@cases.add()
def except_star_like_nesting():
    out = []
    for kind in range(5):
        try:
            try:
                out.append(fails(kind))
            except KeyError:
                out.append("key")
                raise ValueError("again")  # noqa: B904
            finally:
                out.append("f")
        except ValueError as error:
            out.append(str(error))
        except ArithmeticError:
            out.append("arith")
    return out


# --- with.


class Manager:
    def __init__(self, log, suppress=False):
        self.log = log
        self.suppress = suppress

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(("exit", kind, str(value)))
        return self.suppress


@cases.add(X)
def with_statements(x):
    log = []
    with Manager(log) as m, Manager(log, True):
        y = x + 1
        log.append(m.suppress)
    with Manager(log, suppress=True):
        fails(1)
    for i in range(3):
        with Manager(log):
            if i == 1:
                break
    return y, log


@cases.add(X)
def with_exception_passing(x):
    log = []
    try:
        with Manager(log):
            fails(0)
    except CustomError as error:
        log.append(error.code)
    return log, x + 1


@cases.add(torch.ones(2, requires_grad=True), breaks=0)
def no_grad(x):
    with torch.no_grad():
        y = x * 2
    z = x * 3
    return y.requires_grad, z.requires_grad, y, torch.is_grad_enabled()


@cases.add(torch.ones(2, requires_grad=True))
def no_grad_with_exception(x):
    try:
        with torch.no_grad():
            y = x * 2
            fails(0)
    except ValueError:
        pass
    return y, x * 2, torch.is_grad_enabled()


@torch.no_grad()
def decorated(x):
    return x * 2


@cases.add(torch.ones(2, requires_grad=True))
def no_grad_decorator(x):
    return decorated(x), x * 3


# --- Recursion, decorators, imports, modules.


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


@cases.add(20, breaks=0)
def recursion(n):
    return factorial(n), even(n), odd(n)


def twice(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs), fn(*args, **kwargs)

    return wrapper


@twice
def wrapped(a, b=2):
    return a + b


@cases.add(X)
def decorators(x):
    return wrapped(x), wrapped(1, b=5), wrapped.__name__, functools.partial(wrapped, 1)(b=3)


@cases.add(2.0, breaks=0)
def imports_inside(v):
    import math
    import os.path
    from math import pi

    return math.sqrt(v), pi, os.path.sep


@cases.add(X, breaks=0)
def module_attributes(x):
    return torch.float32, math.pi * x, sys.maxsize, torch.nn.functional.relu(x), torch.pi, X is x


@cases.add(5, [1], breaks=0)
def walrus_and_conditionals(n, items):
    if (m := n * 2) > 5 and (k := len(items)):
        return m, k, [y := 1, y**2]
    return None


@cases.add((1, "a", [2]), more=(({"k": 5},), (Point(1, 2),), (7,)))
def match_statement(value):
    match value:
        case (1, str(s), [x]):
            return s, x
        case {"k": v}:
            return v
        case Point(x=px):
            return px
        case _:
            return "other"


@cases.add(X, breaks=0)
def result_identity(x):
    items = [x, x]
    return items, items, x, {"same": items}


@cases.add(breaks=0)
def star_expressions():
    def f(*args, **kwargs):
        return args, kwargs

    a = [1, 2]
    return f(*a, 3, *a, **{"x": 1}, y=2), f(*"ab"), f(*range(2)), f(*(v for v in a))


@cases.add([5, 3], {"a": [1]}, breaks=0)
def list_and_dict_methods(a, d):
    a.insert(0, 9)
    a.extend((1, 2))
    a.sort(key=lambda v: -v)
    popped = a.pop(), a.pop(0)
    a.reverse()
    d.setdefault("b", []).append(1)
    d.update(c=3)
    d.update([("e", 5)])
    got = (
        d.get("zz"),
        d.get("a"),
        d.pop("c"),
        d.pop("q", 0),
        list(d.items()),
        list(d.keys()),
        list(d),
    )
    a.remove(3)
    copied = a.copy(), dict(d), d.copy()
    last = d.popitem()
    return a, d, popped, got, copied, last, a.count(1), a.index(5), "a" in d, len(d)


@cases.add({1, 2}, frozenset({3}))
def set_methods(s, f):
    s.add(5)
    s.discard(1)
    s |= {7}
    t = s & {5, 7}
    return (
        s,
        s | f,
        t,
        s - t,
        s ^ {9},
        s <= {2, 5, 7},
        5 in s,
        len(s),
        s.union([1]),
        s.isdisjoint(f),
        s.pop() in (2, 5, 7),
    )


class KeepsTraceback:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.seen = traceback is not None and kind is type(error)
        self.line = traceback.tb_lineno
        return True


def test_exit_receives_a_traceback():
    def function():
        manager = KeepsTraceback()
        with manager:
            raise ValueError
        return manager.seen, manager.line

    check(function)

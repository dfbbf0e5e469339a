"""Instances of subclasses of int, float, complex, str and bytes, enumerations above all."""

import enum
import math
import operator
from array import array

import armature
import pytest
import torch
from differential import check


class Format(str, enum.Enum):  # noqa: UP042
    FIRST = "NCHW"
    LAST = "NHWC"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Choice(enum.IntFlag):
    A = 1
    B = 2


class Described(enum.IntEnum):
    ONE = "the first"
    TWO = "the second"

    def __new__(cls, description):
        value = len(cls.__members__)
        member = int.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member


class Number(int):
    def __new__(cls, value, note="n"):
        self = super().__new__(cls, value)
        self.note = note
        return self

    def __add__(self, other):
        return Number(int(self) + int(other), self.note + "+")


class Ratio(float):
    pass


class Plane(complex):
    pass


class Name(str):
    __slots__ = ()

    def upper(self):
        return "UP:" + super().upper()


class Data(bytes):
    pass


def formats(layout):
    return (
        layout == "NCHW",
        "NHWC" == layout,
        layout is Format.FIRST,
        layout == Format.LAST,
        layout in ("NCHW", "x"),
        layout in {"NCHW": 1},
        {"NCHW": 1}.get(layout),
        layout.value,
        layout.name,
        layout.lower(),
        layout + "!",
        len(layout),
        layout[0],
        "C" in layout,
        layout.startswith("N"),
        isinstance(layout, str),
        Format("NHWC"),
        Format(layout),
        Format["FIRST"],
        str(layout),
        repr(layout),
        f"{layout}",
        [each for each in Format],
        hash(layout) == hash("NCHW"),
        bool(layout),
    )


def levels(level):
    return (
        level + 1,
        1 + level,
        level < Level.HIGH,
        2 > level,
        level == 1,
        -level,
        level * 2.5,
        [5, 6, 7][level],
        list(range(level)),
        float(level),
        int(level),
        math.sqrt(level.value),
        Level(2),
        level in (1, 2),
        divmod(7, level),
        f"{level}",
        f"{level:03d}",
        str(level),
        level.bit_length(),
        level.real,
        Choice.A | Choice.B,
        Choice.A in (Choice.A | Choice.B),
        Described.TWO.description,
        Described(0),
    )


def test_enumerations_over_str():
    check(formats, Format.FIRST, more=((Format.LAST,),), breaks=0)


def test_enumerations_over_int():
    check(levels, Level.LOW, more=((Level.HIGH,),), breaks=0)


def test_new_instances():
    def new(x):
        number = Number(x, "made")
        total = number + 4
        return (
            total,
            total.note,
            type(total),
            total * 2,
            Ratio("1.5"),
            Ratio(2).hex(),
            Name("abc").upper(),
            Name("abc") + "d",
            Data(b"ab").hex(),
            Plane(1, 2) * 2,
            Ratio(0.5),
            Name("q"),
        )

    check(new, 3, breaks=0)


def error_of(function):
    try:
        return function()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Ratio("x"),
        lambda: Number([]),
        lambda: Name(1, 2, 3, 4),
        lambda: Level(9),
        lambda: Level.LOW + "a",
        lambda: Format.FIRST + 1,
        lambda: Format.FIRST < 1,
        lambda: "ab" * Ratio(2),
        lambda: "ab" + Ratio(2),
        lambda: 2.0 + Format.FIRST,
        lambda: "ab" * Level.HIGH,
        lambda: 2.0 == Level.HIGH,
        lambda: Level.HIGH == 2.0,
        lambda: 1.5 < Level.HIGH,
        lambda: "ab"[Level.LOW],
        lambda: "%s %d" % (Level.LOW, Level.HIGH),  # noqa: UP031
        lambda: "%s" % Format.FIRST,  # noqa: UP031
        lambda: "a" in Name("abc"),
        lambda: Name("a") in "abc",
        lambda: {Name("a"): 1, "a": 2},
        lambda: Name("a") in {"a"},
        lambda: Name("a") in frozenset(["a"]),
        lambda: ",".join([Name("a"), "b"]),
    ],
)
def test_errors(wrong):
    check(lambda: error_of(wrong))


def test_values_are_guarded():
    def look(number, name):
        return number + 1, name.upper(), name.lower(), number.note

    compiled = armature.compile(look)
    for number, name in [(1, "a"), (1, "a"), (2, "a"), (1, "bc")]:
        given = Number(number, "x"), Name(name)
        result = compiled(*given)
        assert result == look(*given) and type(result[0]) is Number


def test_what_is_only_handed_on_is_not():
    compiled = armature.compile(lambda number, x: (number, x + 1))
    for i in range(20):
        number = Number(i)
        assert compiled(number, torch.ones(1))[0] is number


def test_methods_that_change():
    class Word(str):
        pass

    def look(word):
        return word == "a", word + "b", {"a": 1}.get(word), f"{word}", str(word)

    compiled = armature.compile(look)
    assert compiled(Word("a")) == look(Word("a"))
    Word.__eq__ = lambda self, other: False
    Word.__hash__ = lambda self: 1
    assert compiled(Word("a")) == look(Word("a"))
    Word.__add__ = lambda self, other: "sum"
    Word.__str__ = lambda self: "text"
    assert compiled(Word("a")) == look(Word("a"))
    Word.__format__ = lambda self, specification: "formatted"
    assert compiled(Word("a")) == look(Word("a"))


def test_identity():
    first, second = Number(5), Number(5)
    check(lambda a, b: (a is b, a == b), first, second)
    compiled = armature.compile(lambda a, b: a is b)
    assert compiled(first, first) is True and compiled(first, second) is False


def test_object_s_own_comparisons():
    class Thing:
        def __init__(self, value):
            self.value = value

    class Equal(Thing):
        def __eq__(self, other):
            return NotImplemented if other is None else self.value == other.value

        __hash__ = None

    def look(a, b):
        return (
            object.__eq__(a, b),
            object.__ne__(a, b),
            object.__ne__(a, a),
            object.__ne__(a, None),
            object.__lt__(a, b),
            a.__ne__(b),
            object.__eq__(a, a),
        )

    for a, b in [(Thing(1), Thing(1)), (Equal(1), Equal(1)), (Equal(1), Equal(2))]:
        assert armature.compile(look)(a, b) == look(a, b)


def test_arguments_of_unions():
    class Mine:
        pass

    def look():
        union = int | str | Mine
        return union.__args__, isinstance(3, union), isinstance(Mine(), union)

    check(look)


class Word(str):
    pass


class Whole(int):
    pass


VALUES = [Word("5"), Word("ab"), Whole(3), Ratio(2.5), Data(b"5"), Plane(1, 2)]
EXPRESSIONS = """
int(v); float(v); complex(v); str(v); bytes(v); ord(v); chr(v); hex(v); round(v); abs(v)
len(v); list(v); sum([v, v]); min(v, v); range(v); divmod(v, 2); pow(2, v, 5); bool(v); repr(v)
format(v, "5"); "%s" % v; "%d" % v; f"{v!r:>5}"; "{:>4}".format(v); ",".join([v, v])
v.join(["a", "b"]); "abc".replace("a", v); "abc".startswith((v,)); "abc".center(v)
[1, 2, 3, 4][v]; "abcdef"[v]; "abcd"[v:]; "a" * v; [0] * v; v * 2; v + v; 1 + v; 2.0 * v
v // 2; v % 2; 2**v; ~v; v << 1; 3 == v; v == 2.5; "5" == v; 4 > v; v in [3, 2.5, "5"]
v in (3, "5"); v in {3: 1, "5": 2}; v in {3, "5"}; v in "a5"; v in range(5); {v: 1}; {v}
{3: 1}.get(v); int(v, 16); math.sqrt(v); math.floor(v); operator.index(v)
list(enumerate("ab", v)); list(reversed(v)); [1, 2, 3].index(v); [1, 2, 3, 4].pop(v)
type(v)(v); v.__add__(1); v.__format__(""); v.real; v.conjugate(); v.upper(); v[0:1]
v.to_bytes(2, "big"); v.hex(); int.__add__(v, 1); int.__index__(v); str.join(v, ["a"]); [*v]
"abc".strip(v); bytes([v]); (v, 1) == (3, 1)
"""


@pytest.mark.parametrize(
    "expression", [e for line in EXPRESSIONS.split("\n") for e in line.split("; ") if e]
)
def test_expression(expression):
    existing = eval(f"lambda v: {expression}")
    new = eval(f"lambda w: (lambda v: {expression})(type(w)(w))", globals())
    for function in (existing, new):
        for value in VALUES:
            check(lambda v: error_of(lambda: function(v)), value, calls=1)


def test_index_of_a_subclass_of_int_is_its_value():
    class Shifted(int):
        def __index__(self):
            return int(self) + 1

    def look(number):
        return [5, 6, 7][number], operator.index(number), number.__index__(), "a" * number

    check(look, Shifted(1))


def test_nan():
    value = Ratio("nan")
    check(lambda v: (v == v, v in [v], {1.0: 2}.get(v)), value)
    compiled = armature.compile(lambda v: hash(v))
    assert compiled(value) == hash(value)


class Named(int):
    def __new__(cls, name, value):
        self = super().__new__(cls, value)
        self.name = name
        return self


def test_dict_of_an_object_that_is_data_is_its_own():
    def names(o):
        try:
            o.__dict__["other"] = o.real
            return o.__dict__, o.denominator, vars(o) is o.__dict__
        except AttributeError as error:
            return repr(error)

    def made(o):
        return names(Named(o.name, 4))

    for fn in (names, made):
        compiled = armature.compile(fn)
        for value in (3, 4):
            assert compiled(Named("a", value)) == fn(Named("a", value))


class Bytes(bytearray):
    pass


@pytest.mark.parametrize("make", [bytes, bytearray, Bytes, memoryview, lambda b: array("B", b)])
def test_numbers_are_read_from_what_shows_its_bytes(make):
    def numbers(text, whole):
        found = []
        for number, one in ((float, text), (int, whole), (float, Bytes(text)), (int, text)):
            try:
                found.append(number(one))
            except (TypeError, ValueError) as error:
                found.append(repr(error))
        return found

    compiled = armature.compile(numbers)
    for _ in range(2):
        assert compiled(make(b" 3.5 "), make(b"12")) == numbers(make(b" 3.5 "), make(b"12"))


class Reflecting(float):
    def __rtruediv__(self, other):
        return "divided", other

    def __radd__(self, other):
        return "added", other

    def __gt__(self, other):
        return "greater", other

    def __eq__(self, other):
        return "equal", other

    __hash__ = float.__hash__


class ReflectingText(str):
    def __eq__(self, other):
        return "equal", other

    __hash__ = str.__hash__


def test_a_builtin_operand_leaves_what_it_does_not_know_to_the_class():
    made, text = Reflecting(2.0), ReflectingText("a")

    def f(x):
        return (
            x + 1,
            [1 / made, True / made, 1.5 / made, 2 + made, 1j + made],
            [1 < made, 1.5 < made, 2 == made, 2.0 == made],
            [1 == text, "a" == text, b"a" == text],
        )

    check(f, torch.ones(1), breaks=0)


class Text(str):
    pass


class Bytes(bytes):
    pass


def test_characters_of_subclasses():
    def program(text, data):
        letters = frozenset("abc.")
        return (
            letters.issuperset(text),
            list(text),
            [each for each in data],
            list("ab".__iter__()),
            sorted(set(text)),
        )

    check(program, Text("a.b"), Bytes(b"xy"), more=((Text("zz"), Bytes(b"")),), breaks=0)


class PlainText(str):
    pass


class Octets(bytes):
    pass


METHODS = sorted(
    name
    for name in {*dir(str), *dir(bytes)} - set(dir(object))
    if not name.startswith("__") or name in ("__add__", "__mul__", "__getitem__", "__getnewargs__")
)


def kinds_of(kind, name, text):
    """What a method gives, by type and value, and which of it are the text or the argument."""
    found = []
    for arguments in [
        (),
        ("zz",),
        ("a",),
        ("",),
        (3,),
        ("zz", 3),
        ("a", "b"),
        ("zz", "b"),
        (3, "b"),
    ]:
        made = kind(text.encode()) if kind is Octets else kind(text)
        given = [
            each if isinstance(each, int) else type(made)(each.encode() if kind is Octets else each)
            for each in arguments
        ]
        try:
            result = getattr(made, name)(*given)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            found.append(str(error))
            continue
        for part in result if isinstance(result, list | tuple) else [result]:
            which = [part is made, *[part is each for each in given]]
            found.append((type(part).__name__, str(part), which))
    return found


@pytest.mark.parametrize("kind", [PlainText, Octets])
@pytest.mark.parametrize("name", METHODS)
def test_objects_that_methods_give_back(kind, name):
    for text in ("q", "", "aab", "a b"):
        armature.reset()
        check(lambda text: kinds_of(kind, name, text), text)

"""What pure functions make of values that vary is an input of its own: guarded is what the program
finds out, and not what it was found out of."""

import decimal
import math
import random
from decimal import Decimal

import armature
import pytest
from differential import compilations

TABLE = {0: "zero", 1: "one", 2: "two"}
HUGE = 1 << 70


def bit_length(n):
    return n.bit_length() * 2 + 1


def starts(text):
    return "yes" if text.startswith("te") else text.upper() + "!"


def box_muller(x):
    return math.sqrt(abs(-2.0 * math.log(1.0 - x))) * math.cos(x * math.tau)


def item_of_remainder(n):
    return TABLE[n % 3], n + 1


def compared_expression(x):
    return "above" if 1.0 - x > 0.3 else "below"


def length(text):
    return len(text) > 3, len(text) + 1


def rounded(x):
    return math.floor(x), math.ceil(x) - 1, abs(x), round(x, 1)


def shifted(n):
    return (n >> 2) + n // 2


def types(first, second=None):
    return type(first) is type(second), callable(first), type(first).__name__


def found(text):
    try:
        return text.index("x")
    except ValueError as error:
        return str(error)


def chained(text):
    return text.strip().lower().removeprefix("a").endswith("b")


def contained(text):
    return text in ("test", "x", "ab"), "e" in text, text not in "xyz test"


def indexed(n):
    return "abcdefghij"[n % 10], (1.5, 2, "three", None)[n % 4]


def first_letter(text):
    return text[0] if text else "none", text[1:3] + "."


def texts(n):
    return (
        f"step {n:>4}",
        f"({n!r})",
        f"{n!s:<5}",
        str(n) + "!",
        "%d%%" % n,  # noqa: UP031
        format(n, "x"),
        repr(n),
    )


def numbers(n):
    return int(n) + 1, float(n) / 3, ~n, n << 3, hash(n) == 5, divmod(n, 7), hex(n)


def extremes(n):
    return max(n, 50), min(0, n), max(n, 1.5, 7)


def truths(n):
    return bool(n), not n, "some" if n else "none", n and 1, [1 for _ in "a" if n]


def handed_on(n):
    table = dict(a=n, b=+n)
    table.update(c=n)
    return table, n is n, table["a"] is n


def powers(n):
    return 0.9**n, 1 - 0.99**n, n**0.5, n**-1, pow(n, 2), pow(0.5, n), 0.1 * 0.9 ** (n // 3)


def powers_of_integers(n):
    return 2**n, 1 << n, 3 << (n + 1), (-3) ** n, 0**n, min(60, 2**n), pow(10, n), True << n


def grown(n):
    return 2 ** (n % 40) + (1 << (n & 31))


def inverse_square_root(n):
    return n**-0.5 * min(n**-0.5, n * 40**-1.5)


def sums(n):
    return sum([n, 1]), sum([1.5, n, 2.5], 1), sum((n, n)), sum([True, n])


def with_truths(n):
    return n + True, n - (n > 1), True * n


def sums_of_texts(n):
    return "a" + str(n) + "b" + str(n) + f"{n}-{n + 1}"


INTEGERS = [3, 9, HUGE, 0, -5, 100, 7, -HUGE, 6, 12]
TEXTS = ["test", "no", "tea", "x", "", "é" * 5, " AxB ", "ab", "tex", "ß"]


def formatted(n):
    return (
        "{} of {:>5} {!r} {{}}".format(n, n + 1, "x"),
        "{1} {0:.2f} {key!s:<4}|".format(n / 3, "y", key=n),
        "step %d: %.3f %s%%" % (n, n / 7, "z"),  # noqa: UP031
        "%s-%r-%5s" % (n, "a", n),  # noqa: UP031
    )


def divided(n):
    if n == 0:
        return "zero"
    return 7 / n, (1 - 0.99**n) / (1 - 0.9**n), 100 // n, 100 % n, n / (n * 2)


STEPS = [*range(1, 60)]
FLOATS = [0.1, 0.5, 0.9, 0.3, -0.0, 0.25, -3.7]


@pytest.mark.parametrize(
    "program, values, most",
    [
        (bit_length, INTEGERS, 2),
        (starts, TEXTS, 3),
        (box_muller, FLOATS, 2),
        (item_of_remainder, INTEGERS, 5),
        (compared_expression, FLOATS, 3),
        (length, TEXTS, 3),
        (rounded, FLOATS, 2),
        (shifted, INTEGERS, 2),
        (texts, INTEGERS, 2),
        (numbers, INTEGERS, 3),
        (extremes, INTEGERS, 3),
        (truths, INTEGERS, 4),
        (handed_on, INTEGERS, 2),
        (types, INTEGERS, 2),
        (found, TEXTS, None),
        (chained, TEXTS, 3),
        (contained, TEXTS, 8),
        (indexed, INTEGERS, None),
        (first_letter, TEXTS, None),
        (powers, STEPS, 2),
        (powers_of_integers, STEPS, 2),
        (grown, INTEGERS, 3),
        (inverse_square_root, STEPS, 4),
        (sums, INTEGERS, 3),
        (with_truths, INTEGERS, 5),
        (sums_of_texts, INTEGERS, 3),
        (formatted, STEPS, 2),
        (divided, STEPS, 3),
    ],
)
def test_what_is_computed_is_an_input(program, values, most):
    captured = armature.compile(program)
    with compilations() as made:
        for value in [*values, *values]:
            assert captured(value) == program(value), value
    assert most is None or len(made) <= most


@pytest.mark.parametrize(
    "program",
    [
        bit_length,
        starts,
        box_muller,
        rounded,
        length,
        shifted,
        texts,
        numbers,
        extremes,
        truths,
        powers,
        powers_of_integers,
        grown,
        inverse_square_root,
        sums,
        with_truths,
        sums_of_texts,
        formatted,
        divided,
    ],
)
def test_other_types_and_errors_are_plain_pythons(program):
    captured = armature.compile(program)
    classes = [type("N", (int,), {"bit_length": lambda self: 5}), type("S", (str,), {})]
    values = [3, 8, 0.5, 0.25, "te", "b", True, None, 2.0, 1.0, classes[0](4), classes[1]("text")]
    for value in [*values, *values[::-1], math.nan, math.inf]:
        try:
            expected = program(value)
        except Exception as error:
            with pytest.raises(type(error)) as raised:
                captured(value)
            assert str(raised.value) == str(error)
        else:
            assert repr(captured(value)) == repr(expected), value


def test_powers_and_shifts_out_of_bounds():
    """A guard must not compute what would take for ever."""

    def program(n, x):
        try:
            power = 2**n if n < 9000 else None
            return power, 1 << n if n < 9000 else None, x + 1
        except (ValueError, ZeroDivisionError) as error:
            return str(error)

    def unbounded(n):
        return 1 if n > 2**40 else (7**n) % 1000

    for function, more in (program, (1.5,)), (unbounded, ()):
        captured = armature.compile(function)
        for n in [3, 4, 5, 4096, 4097, 8000, 0, -1, -2, 10**15, 10**30, 6, 7, 4096, True, 2.5, 9]:
            if function is program and isinstance(n, float):
                continue
            assert repr(captured(n, *more)) == repr(function(n, *more)), n


def test_the_state_before_the_change_counts():
    class Counter:
        n = 7

    def program(counter):
        before = counter.n.bit_length()
        counter.n *= 5
        return before, counter.n.bit_length(), counter.n

    captured = armature.compile(program)
    plain, other = Counter(), Counter()
    for _ in range(50):
        assert captured(other) == program(plain)


def test_functions_that_the_program_replaces():
    def program(x):
        return math.floor(x)

    captured = armature.compile(program)
    assert [captured(x) for x in (1.5, 2.5, 3.5)] == [1, 2, 3]
    own = math.floor
    math.floor = lambda x: "own"
    try:
        assert [captured(x) for x in (1.5, 4.5)] == ["own", "own"]
    finally:
        math.floor = own
    assert captured(5.5) == 5


def test_turns_of_a_loop_share_translations():
    def program(n, texts):
        for _ in range(1500):
            n = (n * 7 + 3) % 1009
            if str.startswith(texts[n % 3], "b"):
                n += 1
        return n

    captured = armature.compile(program)
    for n in range(5):
        assert captured(n, ["a", "b", "c"]) == program(n, ["a", "b", "c"])


def test_random_numbers_of_any_bound():
    def program(generator, n):
        return generator.randrange(n), generator.gauss(0.0, 1.0)

    captured = armature.compile(program)
    plain, other = random.Random(5), random.Random(5)
    for n in range(1, 200):
        assert captured(other, n) == program(plain, n)
    with compilations() as made:
        for n in range(200, 600):
            assert captured(other, n) == program(plain, n)
        assert other.getstate() == plain.getstate()
    assert not made


def test_numbers_that_may_be_missing():
    def program(x, rate=None):
        if x is None:
            return "missing"
        return x * 2 if rate is None else x * rate

    captured = armature.compile(program)
    with compilations() as made:
        for n in range(30):
            for arguments in [(n,), (n, n / 2), (None,), (n, None)]:
                assert captured(*arguments) == program(*arguments)
    assert len(made) <= 5


def test_decimals():
    def program(x):
        try:
            return x.as_integer_ratio(), x.is_signed()
        except (ValueError, OverflowError) as error:
            return str(error)

    class Own(Decimal):
        def as_integer_ratio(self):
            return "own"

    captured = armature.compile(program)
    values = [Decimal(n) / 7 for n in range(-10, 10)]
    with compilations() as made:
        for value in values:
            assert captured(value) == program(value)
        assert captured(values[0])[0] is not captured(values[0])[0]
    assert len(made) <= 2
    for value in [Decimal("nan"), Decimal("-inf"), Decimal("1e400"), Own(3), 1.5, 3]:
        if isinstance(value, int):
            continue
        try:
            expected = program(value)
        except AttributeError as error:
            with pytest.raises(AttributeError, match=str(error)):
                captured(value)
        else:
            assert captured(value) == expected
    with decimal.localcontext() as context:
        context.prec = 2
        assert captured(values[3]) == program(values[3])


def test_new_tuples():
    def program(x):
        first, second = x.as_integer_ratio(), x.as_integer_ratio()
        return first == second, first is second, first

    captured = armature.compile(program)
    for n in range(5):
        value = Decimal(n) / 3
        assert captured(value) == program(value)


def test_methods_are_those_of_the_type_when_the_call_is_pythons():
    class Text:
        def index(self, part):
            return "own"

    def program(text):
        return text.index("x")

    captured = armature.compile(program)
    for text in ["ax", "bbx", "x"]:
        assert captured(text) == program(text)
    for text in ["none", "no", "nothing"]:
        with pytest.raises(ValueError, match="substring not found"):
            captured(text)
    assert captured(Text()) == "own"
    assert captured(["a", "x"]) == 1
    assert captured("aax") == 2


def test_items_and_members_of_what_is_not_constant():
    def program(items, key):
        try:
            return items[key], key in items
        except (IndexError, KeyError, TypeError, ValueError) as error:
            return type(error), str(error)

    captured = armature.compile(program)
    containers = ["text", (1, 2, 3), [4, 5, 1], {0: "a", 1: "b"}, {1, 2}, range(9), b"bytes", 5]
    for key in [0, 1, 2, 5, -1, 100, "a", 1.0, 0, 3]:
        for container in containers:
            assert captured(container, key) == program(container, key), (container, key)


def test_decimals_mind_the_context():
    def program(x):
        with decimal.localcontext() as context:
            context.prec = 2
            return abs(x), round(x, 1), x in (1, 2)

    captured = armature.compile(program)
    for n in range(5):
        value = Decimal(n) / 7
        assert captured(value) == program(value)


def test_objects_that_conversions_hand_on():
    def program(value):
        return (
            int(value) is value if isinstance(value, int) else float(value) is value,
            max(value, 5) is value,
            f"{value}",
        )

    captured = armature.compile(program)
    for value in [1000, 1001, 10**20, -7, 10**30]:
        assert captured(value) == program(value)


def test_texts_of_more_digits_than_the_limit():
    def program(n):
        try:
            return len(str(n)), len(f"{n}"), n % 7
        except ValueError as error:
            return str(error)

    captured = armature.compile(program)
    for n in [1, 2, 3, 10**4299, 10**4300, 4, 10**5000]:
        assert captured(n) == program(n)


def test_methods_that_subclasses_replace():
    class Number(int):
        def __int__(self):
            return 7

        def __format__(self, specification):
            return "formatted"

        def __bool__(self):
            return False

    def program(n):
        return int(n), f"{n}", bool(n), "yes" if n else "no"

    captured = armature.compile(program)
    for n in [1, 2, 3, Number(4), 5, Number(0)]:
        assert captured(n) == program(n)


def test_two_calls_make_two_objects():
    def program(n):
        text = str(n)
        return text is text, str(n) is str(n), float(n) is float(n), int(n) is int(n)

    captured = armature.compile(program)
    for n in [1000, 2000, 10**20, 3000, 4000, 7, 8, 5000, 6000, 7000, 8000, 9000]:
        assert captured(n) == program(n), n


@pytest.mark.parametrize(
    "text",
    [
        "'{} {}'.format(n)",
        "'{} {0}'.format(n)",
        "'{0} {}'.format(n)",
        "'{:q}'.format(n)",
        "'{'.format(n)",
        "'{0.real} {0}'.format(n)",
        "'{0.missing}'.format(n)",
        "'{:{}}|{k:{w}}'.format(n, 5, k=n, w=n % 9)",
        "'{-1}'.format(n)",
        "'{k}'.format(n, k=[n])",
        "'%d %d' % (n,)",
        "'%d' % (n, n)",
        "'%y' % (n,)",
        "'%' % (n,)",
        "'%5%%d' % (n,)",
        "'text %y' % (n,)",
        "'text %d %\\u00e9' % (n, n)",
        "'%-%' % ()",
        "'%(k)%' % {'k': n}",
        "', '.join([str(n), 'a', hex(n), ''])",
        "', '.join([str(n), n])",
        "'%(n)s' % (n,)",
        "'%(n)s %(n)d' % {'n': n}",
        "'%*d' % (5, n)",
        "'%c%c' % (n, n + 1)",
        "'none' % (n,)",
        "'%s' % ((n, n),)",
        "'%s %s' % (n, Shown())",
        "'{} {}'.format(n, Shown())",
        "'%ld %s' % (n, n)",
    ],
)
def test_formats_of_all_kinds(text):
    shown = []

    class Shown:
        def __str__(self):
            shown.append(1)
            return "shown"

    source = (
        f"def program(n):\n  try: return {text}\n  except Exception as error: return repr(error)"
    )
    namespace = {"Shown": Shown}
    exec(source, namespace)
    program = namespace["program"]
    captured = armature.compile(program)
    for n in range(60, 70):
        outcomes = []
        for function in (program, captured):
            shown.clear()
            outcomes.append((function(n), len(shown)))
        assert outcomes[0] == outcomes[1]


def test_formats_that_vary():
    def program(text, n):
        return text.format(n), text.format(str(n)), text % n

    captured = armature.compile(program)
    for n, text in enumerate(["{} %s", "{:>5}%d", "{!r}|%r", "%x{0}", "{:<3}%5s"]):
        for value in (n, n + 1):
            assert captured(text, value) == program(text, value)

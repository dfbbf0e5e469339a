"""Functions behind functools.lru_cache: traced through, with a warning, unless the program could
tell a remembered result from a new one."""

import collections
import dataclasses
import functools
import gc
import typing
import urllib.parse
import warnings
import weakref

import armature
import pytest
import torch
from differential import break_reasons, breaking_every, check


@functools.lru_cache
def added(a, b=1):
    return a + b


@functools.cache
def listed(a):
    return [a]


@functools.cache
def held(a):
    return Holder(a)


@functools.lru_cache(maxsize=2)
def doubled(x):
    return x * 2, "text"


class Holder:
    def __init__(self, factor):
        self.factor = factor

    @functools.lru_cache  # noqa: B019
    def times(self, a):
        return a * self.factor


HOLDER = Holder(3)
CALLS = []


@functools.lru_cache
def counted(a):
    CALLS.append(a)
    return a


pytestmark = pytest.mark.filterwarnings("ignore:.*lru_cache is ignored")


def test_calls():
    check(lambda x: (x + added(1), added(2, b=3), doubled(3)), torch.ones(2), breaks=0)
    check(lambda x: HOLDER.times(2) * x + Holder.times(HOLDER, 3), torch.ones(2), breaks=0)


def test_graphs_go_through():
    x = torch.ones(3)
    compiled = armature.compile(lambda x: doubled(x)[0] + 1)
    assert torch.equal(compiled(x), x * 2 + 1)
    assert armature.explain(lambda x: doubled(x)[0] + 1)(x).graph_count == 1


def test_what_python_can_tell_is_python_s():
    def effects(x):
        return counted(x), len(CALLS)

    def restore():
        counted.cache_clear()
        CALLS.clear()

    compiled = check(effects, 1, restore=restore)
    assert break_reasons(compiled)
    restore()
    compiled(1)
    assert compiled(1) == (1, 1)  # remembered
    assert armature.compile(lambda: listed(1))() is listed(1)
    assert armature.compile(lambda: held(1))() is held(1)


def test_arguments_without_a_hash():
    def call(argument):
        try:
            return added(argument, b=[2])
        except TypeError as error:
            return str(error)

    check(call, [1], more=((([1], 2),), ((1, 2),)))


class Unhashable:
    __hash__ = None


class Counts:
    def __init__(self):
        self.asked = 0

    def __hash__(self):
        self.asked += 1
        return 5


class Refuses:
    def __hash__(self):
        raise ValueError("no hash")


@dataclasses.dataclass
class Compared:
    value: int = 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: object = 1


@functools.lru_cache
def name_of(a, b=1):
    return type(a).__name__


@pytest.mark.parametrize(
    "make", [Unhashable, Counts, Refuses, Compared, Frozen, lambda: Frozen([])]
)
@pytest.mark.parametrize("inside", [lambda made: made, lambda made: (1, made)])
def test_arguments_are_asked_for_their_hash(make, inside):
    def call():
        made = make()
        try:
            return name_of(inside(made)), name_of(1, b=made), vars(made)
        except (TypeError, ValueError) as error:
            return str(error), vars(made)

    check(call)
    check(lambda made: (name_of(inside(made)), vars(made)), make())


@pytest.mark.parametrize("given", [slice(1, 2), (1, slice(None)), ((slice(1, 2),),)], ids=repr)
def test_slices_have_no_hash(given):
    def call(given):
        try:
            return name_of(given)
        except TypeError as error:
            return str(error)

    check(call, given)
    check(lambda: call(slice(1, 2)))
    check(lambda given: name_of(given), given)


def test_errors_are_not_remembered():
    @functools.lru_cache
    def fails(a):
        raise ValueError(a)

    def call(a):
        try:
            return fails(a)
        except ValueError as error:
            return error.args

    check(call, 1, breaks=0)


def test_the_function_itself_counts():
    """Not its __wrapped__, which anybody can set."""

    @functools.lru_cache
    def cached(a):
        return a + 1

    compiled = armature.compile(lambda a: cached(a))
    assert compiled(1) == 2
    cached.__wrapped__ = lambda a: a + 100
    assert compiled(1) == 2 and armature.compile(lambda a: cached(a))(1) == 2


def test_another_wrapper_of_the_same_code():
    def make(offset):
        @functools.lru_cache
        def cached(a):
            return a + offset

        return cached

    check(lambda cached, a: cached(a), make(1), 1, more=((make(2), 1), (make(1), 5)))


def test_caches_that_captured_code_has_made_are_asked():
    def f(n):
        calls = []

        @functools.lru_cache(maxsize=2)
        def cached(a):
            calls.append(a)
            return a, a + 1

        first = cached(n)
        results = first is cached(n), cached(3), cached(4), cached(n)
        return results, tuple(cached.cache_info()), calls, cached.cache_parameters()

    check(f, 1, more=((2,), (3,)))

    def leave(n):
        @functools.cache
        def cached(a):
            return a, n

        cached(n)
        return cached

    compiled = armature.compile(leave)
    use = armature.compile(lambda cached: (cached(1) is cached(1), cached.cache_info()))
    for n in (1, 2):
        plain, made = leave(n), compiled(n)
        assert use(made) == (plain(1) is plain(1), plain.cache_info())
        assert use(made) == (plain(1) is plain(1), plain.cache_info())


def test_warning():
    @functools.lru_cache
    def warned(a):
        return a

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        armature.compile(lambda a: warned(a))(1)
    (warning,) = caught
    assert "warned" in str(warning.message) and "lru_cache is ignored" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert armature.compile(lambda a: warned(a) + 1)(1) == 2


def test_compiled_wrappers_keep_their_cache():
    @functools.lru_cache
    def cached(x):
        return x + 1

    compiled = armature.compile(cached)
    x = torch.ones(2)
    assert compiled(x) is compiled(x)
    assert cached.cache_info().hits == 1


def test_functions_marked_as_constant():
    calls = []

    def marked(a):
        calls.append(a)
        return a * 10

    torch._dynamo.assume_constant_result(marked)
    cached = functools.lru_cache(marked)
    compiled = armature.compile(lambda x: x + marked(2))
    assert compiled(torch.ones(1)) == 21 and compiled(torch.ones(1)) == 21
    assert calls == [2]
    assert armature.compile(lambda x: x + cached(2))(1) == 21
    assert not break_reasons(compiled)


def test_typing_remembers_what_it_has_made():
    class Variable:
        pass

    kind = typing.TypeVar("kind")

    def annotated(x):
        def inner(y: typing.List[Variable]):  # noqa: UP006
            return x + len(y)

        def outer(f: typing.Callable[[kind], kind], y: kind) -> typing.Optional[kind]:  # noqa: UP045
            return f(y)

        return outer(inner, []), inner.__annotations__["y"]

    compiled = armature.compile(annotated, fullgraph=True)
    x = torch.arange(3.0)
    for _ in range(2):
        result, annotation = compiled(x)
        assert torch.equal(result, x)
        assert annotation is typing.List[Variable]  # noqa: UP006


def test_other_parameters_of_typing():
    def program(parameter):
        return typing.List[parameter]  # noqa: UP006

    compiled = armature.compile(program)
    for parameter in (int, str, torch.Tensor, typing.Any):
        assert compiled(parameter) is program(parameter)
    for wrong in ((int, str), ()):
        with pytest.raises(TypeError) as expected:
            program(wrong)
        with pytest.raises(TypeError) as found:
            compiled(wrong)
        assert str(found.value) == str(expected.value)


def test_typing_remembers_what_is_equal():
    def f():
        variable = typing.TypeVar("variable")
        forward = "Forward"
        after, before = variable | forward, forward | variable
        return after[int].__args__[0] is before[int].__args__[0]

    check(f)


class Settings:
    def __init__(self):
        self.factor = 2
        self.log = []


@functools.lru_cache
def settings():
    return Settings()


@functools.cache
def names():
    return {"sin", "cos"}


@functools.lru_cache(maxsize=1)
def table():
    return torch.arange(3.0)


@functools.lru_cache(maxsize=0)
def forgotten():
    return [1]


@functools.lru_cache(typed=True)
def nothing():
    return None


def uses_settings(x):
    settings().log.append(len(settings().log))
    return x * settings().factor, settings()


def test_an_object_that_is_remembered():
    settings.cache_clear()
    first = settings()
    compiled = armature.compile(uses_settings, fullgraph=True)
    result, found = compiled(torch.ones(2))
    assert found is first and result.tolist() == [2, 2] and first.log == [0]
    first.factor = 5
    result, found = compiled(torch.ones(2))
    assert found is first and result.tolist() == [5, 5] and first.log == [0, 1]
    # Another one.
    settings.cache_clear()
    second = settings()
    second.factor = 7
    result, found = compiled(torch.ones(2))
    assert found is second and result.tolist() == [7, 7]
    assert first.log == [0, 1] and second.log == [0]


def test_nothing_is_remembered_any_more():
    def program(x):
        return x * settings().factor, settings().log

    settings.cache_clear()
    compiled = armature.compile(program)
    for _ in range(2):
        assert compiled(torch.ones(1))[1] is settings().log
        assert compiled(torch.ones(1))[1] is settings().log
        settings.cache_clear()


def test_sets_and_tensors_that_are_remembered():
    def program(x):
        return x + table() if "sin" in names() else x - table(), table(), nothing()

    for cached in (names, table, nothing):
        cached.cache_clear()
    names(), table(), nothing()
    compiled = armature.compile(program)
    for change in (None, "sin", None, "add", "table"):
        if change == "sin":
            names().discard("sin")
        elif change == "add":
            names().add("sin")
        elif change == "table":
            table().add_(3)
        expected, found = program(torch.ones(3)), compiled(torch.ones(3))
        assert torch.equal(expected[0], found[0])
        assert found[1] is table() and found[2] is None


def test_caches_without_memory():
    check(lambda x: (x, forgotten()), torch.ones(1))


def test_parameters_and_more_than_one_result():
    @functools.lru_cache
    def made(a=1):
        return [a]

    def program(x):
        return x + len(made()), made(), made(2)

    made(), made(2), made(3)
    compiled = armature.compile(program)
    for _ in range(3):
        _, first, second = compiled(torch.ones(1))
        assert first is made() and second is made(2)


def test_devices_of_a_context():
    def program(x):
        with torch.device("meta"):
            made = torch.ones(2), torch.empty(3, device="cpu"), torch.zeros_like(x)
        return [each.device for each in made], x + 1

    compiled = armature.compile(program, fullgraph=True)
    for _ in range(3):
        assert str(compiled(torch.ones(2))) == str(program(torch.ones(2)))


def test_caches_that_are_gone_are_forgotten():
    def make(x):
        cached = functools.lru_cache(len)
        return cached("four") + x

    def dead_references():
        gc.collect()
        return sum(type(o) is weakref.ref and o() is None for o in gc.get_objects())

    compiled = armature.compile(make)
    before = dead_references()
    for _ in range(5):
        assert compiled(1) == make(1)
    assert dead_references() == before


Pair = collections.namedtuple("Pair", "first second")


class Numbered(tuple):
    pass


class Several(frozenset):
    pass


class Text(str):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda text: Pair(text, 1),
        lambda text: (Pair(text, 1),),
        lambda text: frozenset([Pair(text, 1)]),
        lambda text: Numbered((text,)),
        lambda text: Several([text]),
        lambda text: Text(text),
        lambda text: frozenset([text, 1]),
        lambda text: (text, [1]),
        lambda text: slice(0, len(text)),
        lambda text: functools.partial(int, text),
        lambda text: len(text) ** 70,
        urllib.parse.urlsplit,
    ],
)
def test_what_is_remembered_is_never_made_anew(make):
    plain, captured = functools.lru_cache(make), functools.lru_cache(make)

    def program(cached, text):
        return cached(text), cached(text + "x"), type(cached(text))

    compiled = armature.compile(program)
    for text in ["a", "a", "bb", "a", "c", "c"]:
        assert repr(compiled(captured, text)) == repr(program(plain, text))


@functools.cache
def fibonacci(n):
    NOTED.append(n)
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.lru_cache(maxsize=2)
def evicted(n, k=1):
    NOTED.append((n, k))
    return n, k


@functools.cache
def paired(a, b=2):
    NOTED.append((a, b))
    return a, (b, a)


NOTED = []


@pytest.mark.parametrize("every", [0, 1, 3])
def test_a_call_that_was_made_in_the_trace_is_not_made_again(every):
    """Without its cache, the recursion would take longer than anybody waits."""

    def program(n):
        NOTED.clear()
        sums = fibonacci(n), fibonacci(n - 3)
        few = [evicted(1), evicted(1), evicted(2), evicted(1), evicted(3), evicted(2)]
        same = paired(1) is paired(1), paired(1, b=2) is paired(1), paired(2)[1]
        return sums, few, same, list(NOTED)

    expected = []
    for call in (program, armature.compile(program)):
        for cached in (fibonacci, evicted, paired):
            cached.cache_clear()
        with breaking_every(every if call is not program else 0):
            expected.append(call(60))
    assert expected[0] == expected[1]


def test_what_a_break_takes_back_is_not_remembered():
    @functools.cache
    def noted(n):
        NOTED.append(n)
        return n * 2

    def program(x, items):
        NOTED.clear()
        for item in items:
            try:
                noted(item)
                x = x + noted(item)
                [][item]
            except IndexError:
                print(end="")
        return x, noted(items[0]), list(NOTED)

    expected = program(torch.ones(2), [1, 2, 1, 3])
    noted.cache_clear()
    actual = armature.compile(program)(torch.ones(2), [1, 2, 1, 3])
    assert torch.equal(actual[0], expected[0]) and actual[1:] == expected[1:]

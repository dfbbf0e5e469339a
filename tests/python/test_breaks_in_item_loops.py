"""A graph break amid the items that C code takes costs the instruction that breaks.

Iterators that ask others or call functions, constructs and calls that take the items of an
iterator, searches and comparisons. What comes before and behind the break is captured.
"""

import collections
import gc
import sys
import weakref

import armature
import pytest
from counted_breaks import Cases, X, check_counts
from differential import check

CASES = Cases()
case = CASES.case


@pytest.mark.parametrize(("fn", "ops", "breaks"), CASES)
def test_all_but_the_instruction_is_captured(fn, ops, breaks):
    check_counts(fn, ops, breaks)


class Loud:
    """Computes something before and after a break."""

    def __init__(self, x, value=0):
        self.x = x
        self.value = value

    def step(self, *what):
        self.x = self.x + 1
        print(*what)
        self.x = self.x * 2


def numbers(loud, count):
    for i in range(count):
        if i == 1:
            loud.step("item", i)
        yield i


@case(ops=4)
def loop_over_zip(x):
    loud, results = Loud(x - 1), []
    for a, b in zip("abc", numbers(loud, 3)):
        results.append((a, b))
    return results, loud.x / 2


@case(ops=4)
def loop_over_enumerate(x):
    loud, results = Loud(x - 1), []
    for i, b in enumerate(numbers(loud, 3), 5):
        results.append((i, b))
    return results, loud.x / 2


@case(ops=4)
def loop_over_filter(x):
    loud, results = Loud(x - 1), []

    def odd(item):
        if item == 2:
            loud.step("odd", item)
        return item % 2

    for item in filter(odd, [1, 2, 3]):
        results.append(item)
    return results, loud.x / 2


@case(ops=4)
def loop_over_map_of_generators(x):
    loud, results = Loud(x - 1), []
    for item in map(lambda a, b: a + b, [1, 2, 3], numbers(loud, 3)):
        results.append(item)
    return results, loud.x / 2


@case(ops=4)
def loop_until_the_sentinel(x):
    loud, left, results = Loud(x - 1), [3, 2, 1], []

    def take():
        if len(left) == 2:
            loud.step("take")
        return left.pop()

    for item in iter(take, 3):
        results.append(item)
    return results, loud.x / 2


@case(ops=4)
def unpacked(x):
    loud = Loud(x - 1)
    a, b, c = numbers(loud, 3)
    return a, b, c, loud.x / 2


@case(ops=4)
def unpacked_with_a_star(x):
    loud = Loud(x - 1)
    a, *b, c = numbers(loud, 5)
    return a, b, c, loud.x / 2


@case(ops=4)
def displays_of_items(x):
    loud = Loud(x - 1)
    items = [7, *numbers(loud, 3), 8]
    return items, loud.x / 2


@case(ops=4)
def deque_extended(x):
    loud, items = Loud(x - 1), collections.deque([8], 3)
    items.extend(numbers(loud, 5))
    return items, loud.x / 2


@case(ops=4)
def set_of_items(x):
    loud = Loud(x - 1)
    items = {7, *numbers(loud, 3), 8}
    return items, loud.x / 2


@case(ops=4)
def starred_arguments(x):
    def total(a, b, c, d=0):
        return a, b, c, d

    loud = Loud(x - 1)
    results = total(*numbers(loud, 3), **{"d": 4})
    return results, loud.x / 2


@case(ops=4)
def dict_of_pairs(x):
    loud = Loud(x - 1)
    made = dict((i, str(i)) for i in numbers(loud, 3))
    return made, loud.x / 2


@case(ops=4)
def next_of_zip(x):
    loud = Loud(x - 1)
    pairs = zip(numbers(loud, 3), "abc")
    first, second = next(pairs), next(pairs)
    return first, second, next(pairs), next(pairs, None), loud.x / 2


class Equal(Loud):
    def __eq__(self, other):
        if self.value == 2:
            self.step("equal", self.value)
        return self.value == getattr(other, "value", other)


@case(ops=7)
def found_in_a_list(x):
    items = [Equal(x - 1, i) for i in range(4)]
    return 3 in items, items[2].x / 2


@case(ops=7)
def index_in_a_list(x):
    items = [Equal(x - 1, i) for i in range(4)]
    return items.index(3), items[2].x / 2


@case(ops=7)
def counted_in_a_tuple(x):
    items = tuple(Equal(x - 1, i) for i in range(4))
    return items.count(3), items[2].x / 2


@case(ops=7)
def removed_from_a_list(x):
    items = [Equal(x - 1, i) for i in range(4)]
    other = items[2]
    items.remove(3)
    return len(items), other.x / 2


class Ordered(Loud):
    def __lt__(self, other):
        if {self.value, other.value} == {1, 2}:
            self.step("less", self.value)
        return self.value < other.value


@case(ops=7)
def sorted_objects(x):
    items = [Ordered(x - 1, i) for i in (2, 1, 3, 0)]
    small = items[1]
    return [item.value for item in sorted(items)], small.x / 2


@case(ops=7)
def sort_of_a_list(x):
    items = [Ordered(x - 1, i) for i in (2, 1, 3, 0)]
    small = items[1]
    items.sort(reverse=True)
    return [item.value for item in items], small.x / 2


@case(ops=4)
def instance_check(x):
    loud = Loud(x - 1)

    class Meta(type):
        def __instancecheck__(cls, instance):
            loud.step("check")
            return instance == 3

    class Three(metaclass=Meta):
        pass

    return isinstance(3, (str, Three)), loud.x / 2


# --- Each break in turn, and what is raised.


def every(x):
    """Each item breaks."""

    def generate(count, name="g"):
        for i in range(count):
            print(name, i)
            yield i

    a, b = generate(2)
    *c, d = generate(3)
    made = dict(zip(generate(2, "k"), generate(3, "v"), strict=False))
    made.update((i, print(i)) for i in generate(2))
    return a, b, c, d, made, [*generate(2)], {*generate(2)}, list(enumerate(generate(2))), x + 1


def wrong_lengths(x):
    def generate(count):
        for i in range(count):
            print("item", i)
            yield i

    def one():
        a, b = generate(1)

    def three():
        a, b = generate(3)

    def few():
        a, *b, c = generate(1)

    def pairs():
        return dict(tuple(generate(n)) for n in (2, 3))

    def no_pairs():
        return dict(generate(2))

    def short():
        return list(zip(generate(2), generate(1), strict=True))

    def long():
        return list(zip(generate(1), generate(2), strict=True))

    def argument():
        return (lambda a, b: a)(*generate(3))

    results = []
    for function in one, three, few, pairs, no_pairs, short, long, argument:
        try:
            results.append(function())
        except (ValueError, TypeError) as error:
            results.append((type(error), str(error).replace(wrong_lengths.__qualname__, "")))
    return results, x + 1


def raised_amid(x):
    def generate(count):
        for i in range(count):
            print("item", i)
            if i == 1:
                raise KeyError(i)
            yield i

    def unpack():
        a, b = generate(3)

    functions = [
        unpack,
        lambda: [*generate(3)],
        lambda: {*generate(3)},
        lambda: print(*generate(3)),
        lambda: dict(zip("abc", generate(3))),
        lambda: list(enumerate(generate(3))),
        lambda: list(filter(None, generate(3))),
        lambda: next(map(generate, generate(0)), "none"),
    ]
    results = []
    for function in functions:
        try:
            results.append(function())
        except KeyError as error:
            results.append(error.args)
    return results, x + 1


def ends_of_steps(x):
    def stop(item):
        print("stop", item)
        if item == 2:
            raise StopIteration("end")
        return item

    results = [list(filter(stop, [1, 2, 3])), list(zip(map(stop, [1, 2, 3]), "abc"))]
    results.append(list(iter(lambda: stop(2), 7)))
    iterator = map(stop, [2])
    try:
        next(iterator)
    except StopIteration as end:
        results.append(end.value)
    results.append(next(map(stop, [2]), "default"))
    results.append(next(enumerate([]), "none"))
    return results, x + 1


def one_iterator_twice(x):
    def generate():
        for i in range(5):
            print("item", i)
            yield i

    iterator = generate()
    numbered = enumerate(iterator)
    first = next(numbered)
    pairs = list(zip(numbered, iterator))
    return first, pairs, list(numbered), x + 1


def truth_that_breaks(x):
    class Verdict:
        def __init__(self, value):
            self.value = value

        def __bool__(self):
            print("truth", self.value)
            return self.value > 1

    verdicts = [Verdict(i) for i in range(4)]
    kept = list(filter(None, verdicts))
    also = list(filter(lambda v: Verdict(v.value - 1), verdicts))
    return [v.value for v in kept], [v.value for v in also], x + 1


def searches(x):
    class Item:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            print("equal", self.value)
            if self.value == 9:
                raise KeyError(9)
            return self.value == other

    items = [Item(i) for i in (3, 1, 3, 2)]
    results = [1 in items, 5 in items, items.count(3), items.index(3, 1), Item(4) in (3, 4)]
    items.remove(3)
    results.append([item.value for item in items])
    for method in items.index, items.remove, tuple(items).index:
        try:
            method(7)
        except ValueError as error:
            results.append(str(error))
    items.insert(1, Item(9))
    for function in (lambda: 2 in items), (lambda: items.count(2)), (lambda: items.remove(2)):
        try:
            results.append(function())
        except KeyError as error:
            results.append(error.args)
    return results, x + 1


def search_in_a_list_that_shrinks(x):
    class Item:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            print("equal", self.value)
            if self.value == 1:
                del items[2:]
            return self.value == other

    items = [Item(i) for i in range(4)]
    first = 3 in items
    items.extend(Item(i) for i in range(1, 3))
    items.remove(1)
    return first, [item.value for item in items], x + 1


def sort_that_raises(x):
    class Item:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            print("less", self.value, other.value)
            if self.value == 5:
                raise KeyError(5)
            return self.value < other.value

    values, results = [4, 2, 5, 1, 3], []
    items = [Item(value) for value in values]
    for function in items.sort, (lambda: sorted(items, reverse=True)):
        try:
            results.append(function())
        except KeyError as error:
            results.append(error.args)
        results.append([item.value for item in items])
    items = [Item(value) for value in (4, 2, 1, 3)]
    items.sort()
    results.append([item.value for item in items])
    return results, x + 1


def sort_of_many(x):
    class Item:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            if self.value == 20 and other.value == 19:
                print("less")
            return self.value < other.value

    items = sorted(Item(i * 7 % 40) for i in range(40))
    few = sorted(Item(i * 7 % 30) for i in range(30))
    return [item.value for item in items], [item.value for item in few], x + 1


def not_comparable(x):
    class Left:
        def __lt__(self, other):
            print("left")
            return NotImplemented

    class Right(Left):
        def __gt__(self, other):
            print("right")
            return NotImplemented

    try:
        return sorted([Left(), Right(), Left()])
    except TypeError as error:
        return str(error), x + 1


def checks_of_classes(x):
    class Meta(type):
        def __instancecheck__(cls, instance):
            print("instance", type(instance))
            if instance == 5:
                raise KeyError(5)
            return [] if instance == 4 else [instance]

        def __subclasscheck__(cls, other):
            print("subclass", other)
            return other is bool

    class A(metaclass=Meta):
        pass

    class B(A):
        pass

    results = [
        isinstance(3, A),
        isinstance(4, (A, (str, B))),
        isinstance(A(), A),
        isinstance(B(), (str, A | int)),
        issubclass(int, (A, int)),
        issubclass(bool, (str, (B,))),
    ]
    try:
        isinstance(5, (str, A))
    except KeyError as error:
        results.append(error.args)
    return results, x + 1


def what_a_star_asks(x):
    """The rest is list() of the iterator: its __iter__ and __length_hint__ are asked then."""

    class Asked:
        def __init__(self, count, hint=None):
            self.left = list(range(count))
            self.hint = hint

        def __iter__(self):
            print("iter", len(self.left))
            return self

        def __next__(self):
            print("next", len(self.left))
            if not self.left:
                raise StopIteration
            return self.left.pop()

        def __length_hint__(self):
            print("hint", len(self.left))
            if isinstance(self.hint, Exception):
                raise self.hint
            return self.hint

    class Other(Asked):
        def __iter__(self):
            return self if len(self.left) == 5 else Asked(3, 0)

    *a, b = Asked(3, 7)
    c, *d = Asked(3, 0)
    e, f, *g, h = Other(5, 1)
    results = [a, b, c, d, e, f, g, h]

    def far():
        i, j, *k = Asked(1, 0)

    def wrong():
        i, *k = Asked(2, "text")

    def failing():
        *i, k = Asked(2, KeyError(1))

    for function in far, wrong, failing:
        try:
            function()
        except (ValueError, TypeError, KeyError) as error:
            results.append((type(error), str(error)))
    return results, x + 1


def classes_within_tuples(x):
    class Meta(type):
        def __instancecheck__(cls, instance):
            print("instance", cls.__name__)
            return cls.__name__ == "Last"

    class First(metaclass=Meta):
        pass

    class Last(metaclass=Meta):
        pass

    results = [isinstance(1, (str, (First, (str, First)), (float, (First, Last)), 7))]
    for depth in 20, 5000:
        nested = First
        for _ in range(depth):
            nested = (nested, First)
        try:
            results.append(isinstance(1, nested))
        except RecursionError:
            results.append("too deep")
    try:
        isinstance(1, (First, (str, 7), Last))
    except TypeError as error:
        results.append(str(error))
    return results, x + 1


programs = [
    every,
    what_a_star_asks,
    classes_within_tuples,
    wrong_lengths,
    raised_amid,
    ends_of_steps,
    one_iterator_twice,
    truth_that_breaks,
    searches,
    search_in_a_list_that_shrinks,
    sort_that_raises,
    sort_of_many,
    not_comparable,
    checks_of_classes,
]


@pytest.mark.parametrize("program", programs, ids=lambda program: program.__name__)
def test_programs(program):
    check(program, X, more=((X * 2,),))


def test_existing_iterators_go_on():
    def program(pairs, numbered, kept):
        results = []
        for (a, b), (i, c) in zip(pairs, numbered):
            print(a, b, i, c)
            results.append((a, b, i, c))
        results.extend(kept)
        return results

    def iterators():
        def generate(name):
            for i in range(4):
                print(name, i)
                yield i

        numbered = enumerate(generate("n"))
        next(numbered)
        return zip("abcd", generate("z")), numbered, filter(lambda i: print(i) or i, generate("f"))

    compiled = armature.compile(program)
    for _ in range(3):
        assert compiled(*iterators()) == program(*iterators())


def test_frames_are_the_program_s():
    def names():
        frame, found = sys._getframe(1), []
        while frame.f_code.co_name != "program":
            found.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        return found, frame.f_lineno

    def program(x):
        seen = []

        class Item:
            def __lt__(self, other):
                seen.append(names())
                return False

            def __eq__(self, other):
                seen.append(names())
                return False

        def generate():
            seen.append(names())
            yield 1
            seen.append(names())
            yield 2

        a, b = generate()
        for _ in zip("ab", generate()):
            pass
        sorted([Item(), Item()])
        _ = 3 in [Item()]
        return seen, [*generate()], x + 1

    compiled = armature.compile(program)
    for _ in range(3):
        assert compiled(X)[:2] == program(X)[:2]


def test_nothing_is_kept():
    class Item:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            print(end="")
            return self.value < other.value

        def __eq__(self, other):
            print(end="")
            return self.value == other

    def program(items, references):
        def generate():
            for item in items:
                print(end="")
                yield item

        references += [weakref.ref(item) for item in items]
        items.sort()
        a, b, c = generate()
        for pair in zip(generate(), generate()):
            pass
        items.remove(3)
        del items[:], a, b, c, pair
        return [reference() is None for reference in references]

    gc.collect()
    gc.disable()
    try:
        compiled = armature.compile(program)
        for _ in range(3):
            assert compiled([Item(3), Item(5), Item(4)], []) == program(
                [Item(3), Item(5), Item(4)], []
            )
    finally:
        gc.enable()


def test_a_keyword_is_no_pairs():
    def program():
        def generate():
            print(end="")
            yield "ab"

        made, updated = dict(a=generate()), {}
        updated.update(b=generate())
        return [*map(type, made.values()), *updated], list(made["a"]), list(updated["b"])

    compiled = armature.compile(program)
    for _ in range(3):
        assert compiled() == program()

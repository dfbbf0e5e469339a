"""Lists, tuples, dicts, sets and their iterators: captured functions against plain ones."""

# Odd displays and unpackings are what is tested.
# ruff: noqa: F601

import collections
import copy
import operator

import armature
import pytest
from differential import check as check_calls
from differential import observe


def check(function, *arguments):
    """Without graph breaks, unless an exception leaves the function."""
    raises = observe(function, copy.deepcopy(arguments), {}, None).error is not None
    return check_calls(function, *arguments, breaks=None if raises else 0)


def check_each(function, *calls):
    """One captured function and several calls: what one guarded must not fit another."""
    check_calls(function, *calls[0], more=calls[1:])


# Each is a function of containers that existed before the call.


def list_changes(xs, ys):
    xs.append(1)
    xs.extend(ys)
    xs.insert(1, "i")
    popped = xs.pop(0)
    xs[0] = popped
    xs += (7, 8)
    xs *= 2
    del xs[-1]
    xs.reverse()
    return xs, xs[1:4], xs[::-1], len(xs), xs.index(1), xs.count(8)


def list_slices(xs, ys):
    xs[1:2] = ys
    del xs[::3]
    xs[len(xs) :] = [9, 9]
    xs[::2] = range(len(xs[::2]))
    return xs + ys, xs * 2, 2 * ys


def list_aliases(xs, ys):
    both = [xs, xs]
    both[0].append(1)
    alias = xs
    alias += [2]
    return both, xs is both[1], alias is xs


def list_iteration_sees_appends(xs, ys):
    seen = []
    for x in xs:
        seen.append(x)
        if len(xs) < 6:
            xs.append(len(xs))
    return seen


def list_iteration_and_removal(xs, ys):
    seen = []
    for x in xs:
        seen.append(x)
        xs.remove(x)
    return seen, xs


def exhausted_iterator_stays_exhausted(xs, ys):
    iterator = iter(xs)
    first = list(iterator)
    xs.append(99)
    return first, list(iterator), list(xs)


def reversed_list(xs, ys):
    iterator = reversed(xs)
    return next(iterator), list(iterator), list(reversed(ys)), list(reversed((1, 2)))


def comparisons(xs, ys):
    return xs == ys, xs != ys, xs < ys, xs <= ys, xs > ys, xs >= ys, xs == list(xs), xs == tuple(xs)


def membership(xs, ys):
    return 1 in xs, ys in [ys, xs], "z" not in xs, (1, 2) in [(1, 2), xs]


def unpacking(xs, ys):
    first, *rest = xs
    *init, last = ys
    return first, rest, init, last, [*xs, *ys], (*xs, 0), {*ys}, {**{"a": xs}}


def nested_literals(xs, ys):
    table = {"xs": xs, "pairs": [(x, [y]) for x in xs for y in ys], "t": (xs, ys)}
    table["pairs"].append(xs)
    return table


def sorting(xs, ys):
    words = ["pear", "fig", "apple", "kiwi"]
    words.sort(key=len)
    numbers = sorted(ys, reverse=True)
    pairs = sorted([(1, "b"), (0, "z"), (1, "a")], key=operator.itemgetter(0)) if False else []
    by_key = sorted(words, key=lambda w: (w[-1], len(w)), reverse=True)
    ys.sort()
    return words, numbers, pairs, by_key, ys


def sort_of_lists(xs, ys):
    rows = [[3, xs], [1, ys], [2, xs]]
    rows.sort(key=lambda row: row[0])
    return [row[0] for row in rows], sorted([[2, 1], [1, 5], [1, 2]])


def sort_failure(xs, ys):
    mixed = [1, "a", 2]
    mixed.sort()


def sort_modified(xs, ys):
    def key(x):
        xs.append(x)
        return x

    xs.sort(key=key)


def index_errors(xs, ys):
    return xs[10]


def assignment_errors(xs, ys):
    xs[10] = 1


def pop_errors(xs, ys):
    [].pop()


def remove_errors(xs, ys):
    xs.remove("missing")


def type_errors(xs, ys):
    xs["a"]


def concat_errors(xs, ys):
    return xs + (1,)


def extended_slice_errors(xs, ys):
    xs[::2] = [1, 2, 3, 4, 5]


def unpack_errors(xs, ys):
    a, b = xs + ys + [1]


def comparison_errors(xs, ys):
    return [xs, 1] < [xs, "a"]


def caught_errors(xs, ys):
    try:
        xs[100]
    except IndexError as error:
        return str(error), xs
    return None


def tuples(xs, ys):
    t = (xs, 1, *ys)
    return (
        t[0],
        t[1:],
        t + (2,),
        t * 2,
        len(t),
        t.index(1),
        t.count(1),
        t == (xs, 1, *ys),
        t < (xs, 2),
    )


def tuple_hash(xs, ys):
    return hash((1, 2, "x")) == hash((1, 2, "x")), {(1, x): x for x in ys}


def text(xs, ys):
    return repr(xs), str(ys), f"{xs!r} {ys}", repr((xs, 1)), repr({"a": xs})


LISTS = [
    value
    for name, value in list(globals().items())
    if getattr(value, "__code__", None)
    and value.__module__ == __name__
    and value.__code__.co_varnames[:2] == ("xs", "ys")
]


@pytest.mark.parametrize("function", LISTS, ids=lambda f: f.__name__)
def test_lists(function):
    check(function, [1, 2, 3], [5, 4])
    check_each(function, ([1, 2, 3], [5, 4]), ([3, 1], [2]), ([1, 2, 3, 4], [0, 9, 8]), ([1], [1]))


def dict_changes(d, e):
    d["new"] = 1
    d["a"] = 10
    removed = d.pop("b", None)
    d.setdefault("c", []).append(removed)
    d.update(e, z=26)
    del d["a"]
    d["a"] = "again"
    return d, d.get("nothing"), d.get("a", 5), "new" in d, "q" in d, len(d)


def dict_order_after_reinsertion(d, e):
    d["b"] = d.pop("b", 0)
    first = next(iter(d))
    value = d.pop(first)
    d[first] = value
    return list(d), list(d.items())


def dict_views(d, e):
    return (
        list(d.keys()),
        list(d.values()),
        list(d.items()),
        d.keys() & e.keys(),
        d.keys() | {"w"},
        d.keys() - e.keys(),
        d.keys() == {"a", "b"},
        ("a", 1) in d.items(),
        len(d.items()),
    )


def dict_views_live(d, e):
    keys = d.keys()
    d["late"] = 1
    return list(keys), len(keys), "late" in keys


def dict_comprehension(d, e):
    return {k: [v] for k, v in d.items()}, {v: k for k, v in e.items() if isinstance(v, int)}


def dict_operators(d, e):
    merged = d | e
    d |= {"m": 1}
    d |= [("n", 2)]
    return merged, d, d == e, d != e, d == dict(d)


def dict_copies(d, e):
    f = d.copy()
    f["x"] = 1
    g = dict(d, y=2)
    h = dict([("p", 1), ["q", 2]])
    return f, g, h, dict.fromkeys("aba", 0), d


def dict_popitem(d, e):
    out = []
    while d:
        out.append(d.popitem())
    return out


def dict_clear(d, e):
    d.clear()
    d["only"] = 1
    return d


def dict_reversed(d, e):
    return list(reversed(d)), list(reversed(d.values())), list(reversed(d.items()))


def dict_keys_of_many_kinds(d, e):
    table = {1: "int", 1.0: "float", True: "bool", (1, "a"): "tuple", None: "none", "s": "str"}
    table[(1, ("a", 2))] = 3
    return table, table[1], table[(1, "a")], table.get((1, "b"))


def dict_changed_size(d, e):
    for key in d:
        d[key + "x"] = 1


def dict_deleted_in_iteration(d, e):
    for key in d:
        del d[key]


def dict_missing(d, e):
    return d["missing"]


def dict_missing_tuple(d, e):
    return d[(1, 2)]


def dict_unhashable(d, e):
    d[[1]] = 2


def dict_unhashable_tuple(d, e):
    return (1, [2]) in d


def dict_delete_missing(d, e):
    del d["missing"]


def dict_pop_missing(d, e):
    d.pop("missing")


def dict_popitem_empty(d, e):
    d.clear()
    d.popitem()


def dict_bad_update(d, e):
    d.update([(1, 2, 3)])


def dict_worse_update(d, e):
    d.update([1])


def dict_caught(d, e):
    try:
        return d["missing"]
    except KeyError as error:
        return error.args, str(error)


def only_one_key(d, e):
    return d["a"]


def absent_key(d, e):
    return d.get("only_in_e", "default"), "only_in_e" in e


DICTS = [
    value
    for value in list(globals().values())
    if getattr(value, "__code__", None)
    and value.__module__ == __name__
    and value.__code__.co_varnames[:2] == ("d", "e")
]


@pytest.mark.parametrize("function", DICTS, ids=lambda f: f.__name__)
def test_dicts(function):
    check(function, {"a": 1, "b": 2}, {"a": 3, "f": "g"})
    check_each(
        function,
        ({"a": 1, "b": 2}, {"a": 3, "f": "g"}),
        ({"b": 1, "a": 2}, {}),
        ({"a": 5, "only_in_e": 1}, {"only_in_e": 2}),
        ({"c": [1], "a": 2, "b": 3}, {"b": 1}),
    )


def ordered_changes(o):
    o.move_to_end("a")
    o.move_to_end("c", last=False)
    o["d"] = 4
    first = o.popitem(last=False)
    return o, first, list(o), o == {"b": 2}, o == collections.OrderedDict(b=2)


def ordered_made(o):
    p = collections.OrderedDict([("x", 1), ("y", 2)])
    p.update(o)
    p.move_to_end("x")
    return p, list(p.keys()), repr(p), collections.OrderedDict.fromkeys("ab")


@pytest.mark.parametrize("function", [ordered_changes, ordered_made])
def test_ordered_dicts(function):
    o = collections.OrderedDict
    check(function, o(a=1, b=2, c=3))
    check_each(function, (o(a=1, b=2, c=3),), (o(c=1, b=2, a=3),), (o(a=1, c=3),))


def test_moving_each_key_of_a_large_ordered_dict_walks_over_no_others():
    def entry(o):
        made = collections.OrderedDict.fromkeys(o)
        for key in list(o)[::-2]:
            o.move_to_end(key)
            made.move_to_end(len(o) - 1 - key)
            made.move_to_end(0)
        del o[0]
        made.move_to_end(1, last=False)
        return list(o), list(made)

    def existing():
        return collections.OrderedDict.fromkeys(range(10_000))

    o = existing()
    assert armature.compile(entry)(o) == entry(existing())
    assert list(o) == entry(existing())[0]


def ordered_read(o):
    return list(o), next(iter(o.values())), o.get("b")


def test_order_of_ordered_dicts_is_guarded():
    def moved(*keys):
        o = collections.OrderedDict(a=1, b=2, c=3)
        for key in keys:
            o.move_to_end(key)
        return (o,)

    check_each(ordered_read, moved(), moved("a"), moved("b"), moved("a", "b"), moved())
    check_each(ordered_read, moved("a"), moved(), moved("c"))

    compiled = armature.compile(ordered_read)
    (o,) = moved()
    for key in "abca":
        assert compiled(o) == ordered_read(o)
        o.move_to_end(key)


def default_changes(t):
    t["x"].append(1)
    t["y"].append(2)
    return t, "z" in t, t.get("w"), t.default_factory


def default_made(t):
    counts = collections.defaultdict(int)
    for word in "a b a c a".split():
        counts[word] += 1
    groups = collections.defaultdict(list, k=[0])
    groups["k"].append(1)
    return dict(counts), dict(groups), sorted(counts)


@pytest.mark.parametrize("function", [default_changes, default_made])
def test_default_dicts(function):
    check(function, collections.defaultdict(list, x=[0]))


def set_changes(s, t):
    s.add(10)
    s.discard(1)
    s |= {20, 30}
    return 10 in s, 1 in s, len(s), s == {2, 3, 10, 20, 30}


def set_algebra(s, t):
    a = {1, 2, 3, 4}
    b = {3, 4, 5}
    return a & b, a | b, a - b, a ^ b, a <= b, {3} < a, a.isdisjoint({9}), a.union([7], (8,))


def set_order(s, t):
    words = {"pear", "fig", "apple", "kiwi", "plum", "date"}
    words.discard("fig")
    words.update(["zoo", "fig"])
    return list(words), [w for w in words], max(words), sorted(words), words.pop(), words


def set_comprehension(s, t):
    return {x % 3 for x in range(10)}, frozenset([1, 2, 1]), set("hello") == {"h", "e", "l", "o"}


def set_membership(s, t):
    return 2 in s, 7 in s, s == t, s != t, s.issubset(t), s >= {2}


def set_missing(s, t):
    s.remove("missing")


def set_pop_empty(s, t):
    set().pop()


def set_unhashable(s, t):
    s.add([1])


SETS = [
    value
    for value in list(globals().values())
    if getattr(value, "__code__", None)
    and value.__module__ == __name__
    and value.__code__.co_varnames[:2] == ("s", "t")
]


@pytest.mark.parametrize("function", SETS, ids=lambda f: f.__name__)
def test_sets(function):
    check(function, {1, 2, 3}, {2, 3})
    check_each(function, ({1, 2, 3}, {2, 3}), ({2}, {2}), ({1, 2, 3, 4}, {9, 2}))


Point = collections.namedtuple("Point", "x y", defaults=[7])


def named_tuples(p):
    q = Point(p.x + 1, y=[1])
    r = q._replace(x=5)
    return (
        q,
        r,
        q.x,
        q[1],
        len(q),
        Point(1),
        p == (1, 2),
        q._fields,
        r._asdict(),
        list(q),
        repr(Point(1, 2)),
    )


def named_tuple_error(p):
    p.x = 1


def named_tuple_missing(p):
    return p.z


@pytest.mark.parametrize("function", [named_tuples, named_tuple_error, named_tuple_missing])
def test_named_tuples(function):
    check(function, Point(1, 2))


def enumerate_zip(xs, d):
    out = []
    for i, (x, (k, v)) in enumerate(zip(xs, d.items()), 5):
        out.append((i, x, k, v))
    return out, list(zip(xs, "abc", range(2))), list(enumerate("xy", start=1)), dict(zip("ab", xs))


def zip_strict(xs, d):
    return list(zip(xs, [1], strict=True))


def zip_strict_longer(xs, d):
    return list(zip([1], xs, [1, 2, 3, 4], strict=True))


def map_filter(xs, d):
    return (
        list(map(lambda x: x * 2, xs)),
        list(filter(None, [0, 1, "", "a"])),
        list(filter(lambda x: x > 1, xs)),
        list(map(lambda a, b: a + b, xs, xs)),
        list(map(str, xs)),
        list(map(len, ["a", "bc"])),
    )


def generators(xs, d):
    return (
        sum(x * 2 for x in xs),
        max(x for x in xs),
        any(x > 2 for x in xs),
        list(x for x in d),
        [*(x + 1 for x in xs)],
        sorted(-x for x in xs),
        dict((x, x) for x in xs),
        ",".join(str(x) for x in xs),
    )


def next_default(xs, d):
    iterator = iter(xs)
    out = []
    while (x := next(iterator, None)) is not None:
        out.append(x)
    return out


def next_raises(xs, d):
    next(iter([]))


def str_and_range(xs, d):
    return (
        [c for c in "héllo"],
        list(range(10, 0, -3)),
        [b for b in b"ab"],
        list(reversed(range(3))),
        list(reversed("abc")),
        [i for i in range(2**70, 2**70 + 2)],
    )


ITERATORS = [
    value
    for value in list(globals().values())
    if getattr(value, "__code__", None)
    and value.__module__ == __name__
    and value.__code__.co_varnames[:2] == ("xs", "d")
]


@pytest.mark.parametrize("function", ITERATORS, ids=lambda f: f.__name__)
def test_iterators(function):
    check(function, [1, 2, 3], {"a": 1, "b": 2})
    check_each(function, ([1, 2, 3], {"a": 1, "b": 2}), ([2], {"a": 1, "b": 2}), ([3, 1], {"b": 0}))


def test_unasked_keys_are_not_guarded():
    def f(d):
        return d["a"]

    compiled = check(f, {"a": 1, "b": 2})
    import armature

    assert compiled({"a": 1, "b": 3}) == 1
    del armature


def loop_over_large(n):
    total = 0
    table = {}
    out = []
    for i in range(n):
        table[i % 7] = table.get(i % 7, 0) + i
        out.append(i)
        total += len(out)
    return total, table


def test_loops():
    check(loop_over_large, 1000)


# --- The order of sets from outside.

NAMES = {"query", "key", "value", "out"}
COLLIDING = {8, 0, 16}


def items_in_order(given):
    return [item for item in given], list(given), repr(given)


def joined(x):
    total = x
    for i, name in enumerate(NAMES):
        total = total * (i + len(name))
    return total, "-".join(NAMES)


def changed_then_iterated(given):
    given.add(99)
    return list(given)


def iterated_then_changed(given):
    order = list(given)
    given.discard(8)
    return order, len(given), sorted(given)


def changed_amid(given):
    try:
        for item in given:
            given.add(item + 1000)
    except RuntimeError as error:
        return str(error), len(given)


def test_sets_from_outside_are_iterated_in_their_order():
    check_calls(items_in_order, {8, 0}, more=(({0, 8},), ({8, 0, 16},), ({16, 0, 8},)), breaks=0)
    check_calls(lambda s: list(s), frozenset(["a", "b", "c"]), breaks=0)
    check_calls(lambda s: [c.__name__ for c in s], {int, str, float}, breaks=0)
    check_calls(joined, 3, breaks=0)
    check_calls(iterated_then_changed, {8, 0}, more=(({0, 8},), ({8, 1, 0},)))
    check_calls(changed_then_iterated, {8, 0}, more=(({0, 8},), ({8, 1, 0},)))
    check_calls(changed_amid, {8, 0}, more=(({0, 8},),))


def test_the_order_of_a_global_set_is_guarded():
    compiled = armature.compile(lambda: (list(COLLIDING), max(COLLIDING)))
    for items in ([8, 0, 16], [16, 8, 0], [0, 16, 8], [0, 8, 3], [8]):
        COLLIDING.clear()
        COLLIDING.update(items)
        for _ in range(2):
            assert compiled() == (list(COLLIDING), max(COLLIDING))

"""Functions of C that a trace does in Python: as they are, and unseen."""

import bisect
import builtins
import collections
import functools
import inspect
import json
import logging
import traceback
import types

import armature
import pytest
import torch


class Weighed:
    def __init__(self, weight):
        self.weight = weight

    def __lt__(self, other):
        return self.weight < other.weight


class OnlyLength:
    def __len__(self):
        return 2


class OnlyItems:
    def __getitem__(self, place):
        return place


class Listed(list):
    def insert(self, place, item):
        super().insert(place, ("inserted", item))


def descending(a, b):
    return b - a


def failing(a, b):
    raise LookupError(f"{a} and {b}")


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        lines = [(each.name, each.line) for each in traceback.extract_tb(error.__traceback__)[1:]]
        return type(error).__name__, str(error), lines


PROGRAMS = {
    "insort": lambda xs: bisect.insort(xs, 2) or xs,
    "insort_left": lambda xs: bisect.insort_left(xs, 2.0) or xs,
    "insort_key": lambda xs: bisect.insort_right(xs, -2, key=abs) or xs,
    "insort_limits": lambda xs: bisect.insort(xs, 0, 1, hi=2) or xs,
    "insort_into_a_subclass": lambda xs: bisect.insort(made := Listed(xs), 2) or list(made),
    "bisect_key": lambda xs: bisect.bisect_left(xs, -2, key=lambda x: -x),
    "bisect_keyword_names": lambda xs: bisect.bisect_right(a=xs, x=2, lo=0, hi=None),
    "bisect_negative": lambda xs: bisect.bisect(xs, 2, -1),
    "bisect_minus_one": lambda xs: bisect.bisect(xs, 2, 0, -1),
    "bisect_of_no_index": lambda xs: bisect.bisect(xs, 2, 0.5),
    "bisect_of_a_tuple": lambda xs: bisect.bisect_left((1, 2, 2, 3), 2),
    "bisect_of_a_range": lambda xs: bisect.bisect_left(range(10), 4),
    "bisect_objects": lambda xs: bisect.bisect([Weighed(1), Weighed(3)], Weighed(2)),
    "bisect_of_other_types": lambda xs: bisect.bisect(xs, "x"),
    "bisect_of_a_dict": lambda xs: bisect.bisect({}, 1),
    "bisect_of_an_ordered_dict": lambda xs: bisect.bisect(collections.OrderedDict(), 1, 0, 3),
    "insort_into_a_dict": lambda xs: bisect.insort({}, None),
    "bisect_of_nothing_in_a_dict": lambda xs: bisect.bisect({}, 1, 0, 0),
    "bisect_of_a_set": lambda xs: bisect.bisect({Weighed(1)}, 1),
    "bisect_of_an_empty_set": lambda xs: bisect.bisect(set(), 1),
    "bisect_without_items": lambda xs: bisect.bisect(OnlyLength(), 1),
    "bisect_without_length": lambda xs: bisect.bisect(OnlyItems(), 1),
    "bisect_up_to": lambda xs: bisect.bisect(OnlyItems(), 1, hi=3),
    "bisect_up_to_no_index": lambda xs: bisect.bisect([Weighed(1)], 1, hi="a"),
    "bisect_up_to_too_much": lambda xs: bisect.bisect(xs, 1, hi=2**70),
    "bisect_from_too_much": lambda xs: bisect.bisect(xs, 1, 2**70),
    "insort_limits_before_key": lambda xs: bisect.insort(xs, 1, "a", key=lambda x: 1 // 0),
    "bisect_without_x": lambda xs: bisect.bisect(xs),
    "bisect_of_too_many": lambda xs: bisect.bisect(xs, 1, 2, 3, 4),
    "bisect_of_an_unknown_name": lambda xs: bisect.bisect(xs, 1, y=4),
    "cmp_to_key": lambda xs: sorted(xs, key=functools.cmp_to_key(descending)),
    "cmp_to_key_max": lambda xs: max(xs, key=functools.cmp_to_key(descending)),
    "cmp_to_key_in_place": lambda xs: xs.sort(key=functools.cmp_to_key(descending)) or xs,
    "cmp_to_key_compared": lambda xs: [
        (k(1) < k(2), k(1) <= k(1), k(1) > k(2), k(1) >= k(3), k(1) == k(1), k(1) != k(1))
        for k in [functools.cmp_to_key(mycmp=descending)]
    ],
    "cmp_to_key_of_another": lambda xs: functools.cmp_to_key(descending)(1) < 2,
    "cmp_to_key_hash": lambda xs: hash(functools.cmp_to_key(descending)(1)),
    "cmp_to_key_raises": lambda xs: sorted(xs, key=functools.cmp_to_key(failing)),
    "cmp_to_key_obj": lambda xs: functools.cmp_to_key(descending)(5).obj,
    "cmp_to_key_without": lambda xs: functools.cmp_to_key(),
    "dumps": lambda xs: json.dumps({"a": [1, 2.5, None, True], "b": {"c": "ä\n"}, "d": ()}),
    "dumps_of_arguments": lambda xs: json.dumps({"xs": xs, "n": len(xs)}, sort_keys=True),
    "dumps_floats": lambda xs: json.dumps([1e400, -1e400, 0.1, 1e-7]),
    "dumps_no_floats": lambda xs: json.dumps([1e400], allow_nan=False),
    "dumps_separators": lambda xs: json.dumps([1, {"a": 2}], separators=(",", ":")),
    "dumps_default": lambda xs: json.dumps({"w": Weighed(3)}, default=lambda o: o.weight),
    "dumps_nothing": lambda xs: json.dumps([Weighed(3)]),
    "dumps_keys": lambda xs: json.dumps({1: 2, None: 3, 2.5: 4}),
    "dumps_wrong_keys": lambda xs: json.dumps({(1, 2): 2}),
    "dumps_skipped_keys": lambda xs: json.dumps({(1, 2): 2, "a": 1}, skipkeys=True),
    "static_attribute": lambda xs: inspect.getattr_static(Weighed(1), "weight"),
    "static_method": lambda xs: inspect.getattr_static(Weighed(1), "__lt__").__name__,
    "static_of_a_class": lambda xs: inspect.getattr_static(Listed, "insert").__qualname__,
    "static_of_nothing": lambda xs: inspect.getattr_static(Weighed(1), "nothing", None),
    "order_of_bases": lambda xs: type.__dict__["__mro__"].__get__(Listed),
    "order_of_no_class": lambda xs: type.__dict__["__mro__"].__get__(3),
    "prepared": lambda xs: type.__prepare__("A", (), x=3),
    "new_class": lambda xs: types.new_class("A", (Listed,)).__mro__[1:],
    "logger": lambda xs: logging.getLogger("armature"),
    "logger_made": lambda xs: logging.getLogger(f"armature.made.{len(xs)}"),
    "root_logger": lambda xs: logging.getLogger(),
    "logger_of_no_name": lambda xs: logging.getLogger(3),
    "loads": lambda xs: json.loads('{"a": [1, 2.5, null, true, -Infinity], "b": {"c": "\\u00e4"}}'),
    "loads_again": lambda xs: [json.loads("[[]]"), json.loads("[[]]")][0].append(1),
    "loads_wrongly": lambda xs: json.loads('{"a": }'),
    "loads_behind": lambda xs: json.loads("[1] 2"),
    "loads_with_a_hook": lambda xs: json.loads('{"a": 1}', object_hook=lambda d: sorted(d)),
}
# Python has an error for what is called wrongly, which the real call raises.
WHOLE = [name for name in PROGRAMS if not name.endswith(("_x", "_many", "_name", "_without"))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_the_real_function(name):
    def function(x, xs):
        return PROGRAMS[name](xs), x + 1

    x = torch.ones(2)
    compiled = armature.compile(function, backend="eager")
    for items in ([1, 2, 2, 3], [3, 1], [], [1, 2, 2, 3]):
        mine, yours = list(items), list(items)
        expected = outcome(function, x, mine)
        result = outcome(compiled, x, yours)
        assert repr(result) == repr(expected)
        assert mine == yours


@pytest.mark.parametrize("name", ["insort_key", "bisect_key", "loads"])
def test_in_one_graph(name):
    def function(x, xs):
        return PROGRAMS[name](xs), x + 1

    compiled = armature.compile(function, backend="eager", fullgraph=True)
    compiled(torch.ones(2), [1, 2, 3])


def decodes(x, decoder, text):
    return decoder.decode(text), x + 1


def encodes(x, encoder, value):
    return encoder.encode(value), x + 1


class Described(json.JSONEncoder):
    def default(self, value):
        return f"a {type(value).__name__}"


@pytest.mark.parametrize(
    ("function", "subjects", "values"),
    [
        (
            decodes,
            [
                json.JSONDecoder(),
                json.JSONDecoder(object_hook=sorted),
                json.JSONDecoder(object_pairs_hook=list),
                json.JSONDecoder(parse_float=str),
                json.JSONDecoder(parse_int=float),
                json.JSONDecoder(parse_constant={"NaN": 3}.__getitem__),
                json.JSONDecoder(strict=False),
            ],
            ['{"a": [1, NaN, 2.5]}', '["\t"]'],
        ),
        (
            encodes,
            [
                json.JSONEncoder(),
                json.JSONEncoder(sort_keys=True, separators=(",", ":")),
                json.JSONEncoder(indent=2),
                json.JSONEncoder(ensure_ascii=False, allow_nan=False),
                json.JSONEncoder(skipkeys=True, check_circular=False),
                Described(),
            ],
            [{"b": [1, (2.5,)], "a": "ä"}, {(1,): float("nan")}, [len]],
        ),
    ],
)
def test_one_after_the_other(function, subjects, values):
    compiled = armature.compile(function, backend="eager")
    x = torch.ones(2)
    for subject in [*subjects, *reversed(subjects)]:
        for value in values:
            expected = outcome(function, x, subject, value)
            result = outcome(compiled, x, subject, value)
            assert repr(result) == repr(expected)


def test_constants_of_a_decoder_that_change():
    constants = {"NaN": 3}
    decoder = json.JSONDecoder(parse_constant=constants.__getitem__)
    compiled = armature.compile(decodes, backend="eager")
    assert compiled(torch.ones(2), decoder, "[NaN]")[0] == [3]
    constants["NaN"] = 4
    assert compiled(torch.ones(2), decoder, "[NaN]")[0] == [4]


def test_no_frame_of_theirs_is_seen():
    def key(item):
        if item == 2:
            raise ValueError("two")
        return item

    def function(x, xs):
        x = x + 1
        try:
            bisect.insort(xs, 1, key=key)
            bisect.bisect(xs, 2, key=key)
        except ValueError as error:
            names = []
            entry = error.__traceback__
            while entry is not None:
                names.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
                entry = entry.tb_next
            return names, x
        return None

    x = torch.ones(2)
    expected = function(x, [1, 2, 3])[0]
    compiled = armature.compile(function, backend="eager")
    assert compiled(x, [1, 2, 3])[0] == expected
    assert [name for name, _ in expected] == ["function", "key"]


def test_a_break_inside_belongs_to_the_call(capsys):
    def key(item):
        print(item)
        return item

    def function(x, xs):
        x = x + 1
        return bisect.bisect(xs, 2, key=key), x * 2

    x = torch.ones(2)
    expected, told = function(x, [1, 2, 3]), capsys.readouterr().out
    compiled = armature.compile(function, backend="eager")
    for _ in range(2):
        result = compiled(x, [1, 2, 3])
        assert result[0] == expected[0] and torch.equal(result[1], expected[1])
        assert capsys.readouterr().out == told
    assert len(armature.explain(function)(x, [1, 2, 3]).break_reasons) == 1


def test_builtins_of_the_program_are_its_own(monkeypatch):
    def function(x, xs):
        return bisect.bisect(xs, 2), x + 1

    x, real, asked = torch.ones(2), len, []
    compiled = armature.compile(function, backend="eager")
    given = [1, 2, 3]
    monkeypatch.setattr(builtins, "len", lambda o: asked.append(o is given) or real(o))
    assert compiled(x, given)[0] == 2
    assert True not in asked


def test_the_function_is_replaced(monkeypatch):
    def function(x, xs):
        return bisect.bisect(xs, 2), x + 1

    x = torch.ones(2)
    compiled = armature.compile(function, backend="eager")
    assert compiled(x, [1, 2, 3])[0] == 2
    monkeypatch.setattr(bisect, "bisect", lambda xs, x: "other")
    assert compiled(x, [1, 2, 3])[0] == "other"

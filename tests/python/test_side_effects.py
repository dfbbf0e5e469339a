"""What traced code changes outside of itself."""

import collections
import sys
import types

import armature
import pytest
import torch
from differential import Cases, check

cases = Cases()
X = torch.arange(1.0, 4.0)


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_case(fn, args, options):
    check(fn, *args, **options)


@cases.add([1, 2, 3], X, breaks=0)
def lists(a, x):
    a.append(x)
    a[0] = [x + 1]
    a.insert(1, "i")
    del a[2]
    a.extend(v for v in (7, 8))
    a[0].append(a[0])
    b = a
    b += [x * 2]
    return b is a, a[0][0]


@cases.add({"a": 1, "b": 2, "c": 3}, X, breaks=0)
def dict_order(d, x):
    d["b"] = x
    del d["a"]
    d["a"] = 10
    d["d"] = d.pop("c")
    d.setdefault("e", []).append(1)
    d["f"] = d
    return list(d)


@cases.add({"a": 1, "b": 2}, breaks=0)
def dict_cleared_and_refilled(d):
    d.clear()
    d["b"] = 3
    d["a"] = 4
    d.update({"z": 0})


@cases.add(collections.OrderedDict(a=1, b=2, c=3))
def ordered_dicts(d):
    d.move_to_end("a")
    d["b"] = 5
    d.move_to_end("c", last=False)
    d.popitem(last=False)
    new = collections.OrderedDict(x=1)
    new["y"] = d
    return new


@cases.add(collections.defaultdict(list, a=[1]))
def default_dicts(d):
    d["b"].append(2)
    d["a"].append(3)
    return d["c"], len(d)


@cases.add(collections.deque([1, 2], maxlen=3), collections.Counter("aab"))
def other_containers(q, c):
    q.append(3)
    q.append(4)
    q.appendleft(0)
    c["a"] += 2
    c.update("zz")
    return list(q), c.most_common(1)


@cases.add({1, 2}, breaks=0)
def sets(s):
    s.add(3)
    s.discard(1)
    s |= {9}


class Box:
    shared = []

    def __init__(self, value=None):
        self.value = value


@cases.add(Box(1), X, breaks=0)
def attributes(b, x):
    b.value = x
    b.first = b
    b.second = Box(b)
    del b.value
    b.value = 5
    b.second.value.third = [b.second]
    return b.second


@cases.add(Box([1]))
def instance_dict(b):
    b.__dict__["added"] = 1
    vars(b)["other"] = 2
    return sorted(b.__dict__)


@cases.add(Box(1), Box(2), breaks=0)
def links(a, b):
    a.other, b.other = b, a
    a.other.value += 10
    b.other.value += 20
    return a.other.other is a, b.value


@cases.add([1, 2], breaks=0)
def list_in_itself(a):
    a.append(a)
    a[2][2].append(3)
    return a[2] is a, len(a)


def same_list_twice(a, b):
    a.append(1)
    b.append(2)
    return a is b, len(a), a == b


def test_same_list_passed_twice():
    def twice(a):
        return same_list_twice(a, a)

    compiled = armature.compile(same_list_twice)
    for first, second in [([], []), ([0], [0]), ([], [])]:
        assert compiled(first, second) == (False, len(first), False)
    one = [5]
    assert compiled(one, one) == (True, 3, True)
    assert one == [5, 1, 2]
    assert compiled([], []) == (False, 1, False)
    assert compiled(one, one) == (True, 5, True)
    check(twice, [])


def test_aliasing_inside_arguments():
    def f(box, items):
        items.append(1)
        box.value.append(2)
        return len(items), len(box.value)

    compiled = armature.compile(f)
    shared = []
    assert compiled(Box([]), []) == (1, 1)
    assert compiled(Box(shared), shared) == (2, 2)
    assert shared == [1, 2]
    assert compiled(Box([]), []) == (1, 1)


@cases.add(X, [X, {"k": X}], breaks=0)
def tensor_mutated_in_place(x, items):
    y = x.view(3, 1)
    x.add_(1)
    x += 1
    x[0] = 50
    torch.mul(x, 2, out=x)
    box = Box((x, [x]))
    x.sub_(1)
    return y, box, items[0] + 1, items[1]["k"] is items[0]


def test_tensor_mutated_under_another_name():
    def f(x, y, items):
        x.add_(1)
        z = y * 2
        items[0].mul_(3)
        return z, y + 1, x + 0

    compiled = armature.compile(f)
    for make in (lambda: (torch.ones(2), torch.ones(2)), lambda: (torch.ones(2),) * 2):
        for _ in range(2):
            a, b = make()
            c, d = make()
            expected = f(a, b, [a])
            actual = compiled(c, d, [c])
            assert all(torch.equal(p, q) for p, q in zip(expected, actual, strict=True))
            assert torch.equal(a, c) and torch.equal(b, d)


@cases.add(X, [], breaks=0)
def results_that_are_arguments(x, items):
    x += 1
    items.append(x)
    return x, items, x is items[0]


@cases.add(X, breaks=0)
def out_argument(x):
    out = torch.empty(3)
    keep = [out]
    torch.add(x, 1, out=out)
    return keep, out * 2


module = types.ModuleType("armature_test_module")
module.value = 1
sys.modules["armature_test_module"] = module


def restore_module():
    vars(module).pop("added", None)
    module.value = 1


@cases.add(X, watch=vars(module).get, restore=restore_module)
def module_attributes(x):
    module.value += 1
    module.added = x
    return module.value, module.added * 2


def test_module_attribute_is_written():
    compiled = armature.compile(module_attributes)
    for _ in range(3):
        restore_module()
        compiled(X)
        assert module.value == 2 and module.added is X


def test_class_attribute_is_written():
    def f(n):
        Box.shared = [n]
        Box.shared.append(1)
        return Box.shared

    compiled = armature.compile(f)
    before = Box.shared
    for n in (1, 1, 2):
        assert compiled(n) == [n, 1] and Box.shared == [n, 1]
    Box.shared = before


def test_effects_before_an_exception_are_kept():
    def f(items, table, x):
        items.append(x + 1)
        table["k"] = items
        raise ValueError("after effects")

    check(f, [], {}, X)


def test_mutated_default_argument():
    def f(x, seen=[]):  # noqa: B006
        seen.append(len(seen))
        return x + len(seen), seen

    compiled = armature.compile(f)
    for n in range(1, 4):
        result, seen = compiled(X)
        assert seen is f.__defaults__[0] and len(seen) == n
        assert torch.equal(result, X + n)


@cases.add([3, 1, 2], breaks=0)
def sorted_in_place(a):
    b = a
    a.sort()
    a.reverse()
    b.append(a[0])
    return b


@cases.add([[1], [2]], breaks=0)
def nested_containers(rows):
    for row in rows:
        row.append(len(row))
    rows[0], rows[1] = rows[1], rows[0]
    first = rows[0]
    rows[0][0] = 100
    return first, rows[-1]


@cases.add({"a": [1]}, breaks=0)
def replaced_value_still_mutated(d):
    old = d["a"]
    d["a"] = [5]
    old.append(2)
    d["a"].append(6)
    return old


@cases.add([1, 2, 3], breaks=0)
def iterator_over_a_growing_list(a):
    out = []
    for v in a:
        out.append(v)
        if len(a) < 6:
            a.append(v * 10)
    return out


@cases.add({"a": 1})
def dict_changed_while_iterated(d):
    for _ in d:
        d["new"] = 1


@cases.add({"a": 1, "b": 2, "c": 3})
def dict_changed_after_a_break_while_iterated(d):
    for key, value in d.items():
        d[key] = value + 1
        print(key)
        if value == 2:
            d["new"] = 1


@cases.add({"a": 1})
def break_while_iterating_a_dict_with_a_new_key(d):
    d["new"] = 2
    for key in d:
        print(key)
    return d


@cases.add([X, X], breaks=0)
def aliases_in_the_result(items):
    y = items[0] + 1
    pair = (y, [y])
    return pair, pair[1], y, items[0] is items[1]


@cases.add(bytearray(b"abc"), iter([1, 2, 3]), X)
def objects_that_are_not_modelled(b, it, x):
    b.append(100)
    first = next(it)
    return bytes(b), first, list(it), x + 1

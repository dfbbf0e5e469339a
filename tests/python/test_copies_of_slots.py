"""copy.copy and copy.deepcopy of instances that have slots, and object.__getstate__ of them."""

import copy

import armature
import pytest
import torch
from changing_world import check_world

SOURCE = """
import copy
class S:
    __slots__ = ("a", "__b", "c")
    def __init__(self): self.a = [1]; self.__b = {"k": self.a}
    def all(self): return self.a, self.__b, getattr(self, "c", None)
class _T(S):
    __slots__ = ["d", "__dict__", "__weakref__"]
    def __init__(self): super().__init__(); self.d = self.a; self.q = 7
    def all(self): return *super().all(), self.d, self.d is self.a, self.__dict__
class U(_T): pass
class __(_T): __slots__ = "__x"
class L(list):
    __slots__ = "z"
    def __init__(self, *items): super().__init__(items); self.z = [3]
    def all(self): return list(self), self.z
class D(dict):
    __slots__ = ("z",)
    def __init__(self): self["k"] = 1; self.z = 2
    def all(self): return dict(self), self.z
class I(int):
    __slots__ = ()
    def all(self): return self + 1
class Odd:
    __slots__ = ("a", "names")
    def __init__(self): self.a = 1
    def __getattr__(self, name):
        if name == "names":
            NAMED.append(name); return 5
        raise AttributeError(name)
    def all(self): return self.a, NAMED[:]
NAMED = []
class Stated:
    __slots__ = ("a", "b")
    def __init__(self): self.a = 1; self.b = [2]
    def __getstate__(self): return {"a": self.a}
    def __setstate__(self, state): self.a = state
    def all(self): return self.a, hasattr(self, "b")
def entry(x, name):
    made = globals()[name]() if LOOKED else CLASSES[name]()
    first, second = copy.copy(made), copy.deepcopy(made)
    return type(first) is type(made), made.all(), first.all(), second.all(), x + 1
LOOKED = False
CLASSES = {c.__name__: c for c in (S, _T, U, __, L, D, I, Odd, Stated)}
"""


@pytest.mark.parametrize("name", ["S", "_T", "U", "__", "L", "D", "I", "Odd", "Stated"])
@pytest.mark.parametrize(
    "change",
    [
        "",
        "del S.__slotnames__",
        "S.__slotnames__.remove('a')",
        "_T.__slotnames__.append('q')",
        "S.__slotnames__ = ['c']",
        "S.__slots__ = ('c',)",
        "S.__getstate__ = lambda self: (None, {'a': 9})",
        "Odd.__slotnames__.append(3)",
    ],
)
def test_as_in_python(name, change):
    step = f"entry(torch.ones(2), {name!r})"
    guarded = f"try:\n    {change or 'pass'}\nexcept (AttributeError, ValueError): pass"
    check_world(SOURCE, step, guarded, step)


def test_state():
    check_world(
        SOURCE + "def entry(x, o): return o.__getstate__(), o.__reduce_ex__(4)[1:3], x + 1",
        "entry(torch.ones(2), S())",
        "entry(torch.ones(2), _T())",
        "entry(torch.ones(2), S.__new__(S))",
        "entry(torch.ones(2), object())",
    )


class Place:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def test_one_graph():
    def program(x, place):
        moved = copy.copy(place)
        moved.x = x + 1
        return moved, copy.deepcopy(Place(2, place.y))

    compiled = armature.compile(program, fullgraph=True)
    x = torch.ones(2)
    place = Place(x, [1])
    moved, copied = compiled(x, place)
    assert place.x is x and torch.equal(moved.x, x + 1)
    assert moved.y is place.y and copied.y == [1] and copied.y is not place.y


def test_what_has_parts_without_names_cannot_be_copied():
    class Hidden:
        __slots__ = ("a",)

    del Hidden.__slots__

    def program(x):
        return copy.copy(Hidden()), x + 1

    for function in (program, armature.compile(program)):
        with pytest.raises(TypeError, match="cannot pickle 'Hidden' object"):
            function(torch.ones(1))

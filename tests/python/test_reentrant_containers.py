"""Containers that change while they are asked: by an __index__, an __eq__ or a generator."""

import itertools

import armature
import pytest

HEAD = """
import collections, heapq, operator

class Acting:
    act = None
    def __init__(self, value): self.value = value
    def now(self):
        if Acting.act: Acting.act()
        return self.value

class Place(Acting):
    def __index__(self): return self.now()

class Equal(Acting):
    def __eq__(self, other):
        self.now()
        return self.value == getattr(other, "value", other)
    def __lt__(self, other):
        self.now()
        return self.value < getattr(other, "value", other)
    __hash__ = None
    def __repr__(self): return f"Equal({self.value})"

def giving(values):
    for value in values:
        if Acting.act: Acting.act()
        yield value
"""
EXPRESSIONS = """
c[Place(2)]
c[Place(-1)]
c[Place(1):]
c[Place(0):Place(3)]
c[::Place(2)]
c.__setitem__(Place(2), 5)
c.__delitem__(Place(2))
c.__setitem__(slice(Place(1), None), giving([7, 8]))
c.__delitem__(slice(Place(0), None, 2))
c * Place(2)
c.__imul__(Place(2))
c.insert(Place(-1), 4)
c.pop(Place(-1))
c.index(Equal(3), Place(-2))
c.index(Equal(3), Place(0), Place(-1))
c.count(Equal(1))
c.remove(Equal(2))
Equal(2) in c
c == [Equal(1), Equal(2), Equal(3)]
c < [Equal(1), Equal(2), Equal(4)]
c >= [Equal(1), Equal(2), Equal(4)]
operator.countOf(c, Equal(2))
operator.indexOf(c, Equal(3))
c.extend(giving([7, 8]))
c.__setitem__(slice(1, 2), giving([7, 8]))
sorted(c)
max(c)
d[Place(2)]
d.__setitem__(Place(-1), 5)
d.insert(Place(-1), 4)
d.rotate(Place(1))
d * Place(2)
d.index(Equal(3), Place(-2))
d.index(Equal(3), 0, Place(-1))
"""
CHANGES = {
    "pop": "c.pop() if c else 0; d.pop() if d else 0",
    "clear": "c.clear(); d.clear()",
    "append": "c.append(9); d.append(9)",
    "insert": "c.insert(0, 5); d.insert(0, 5)",
    "replace": "c[:] = [Equal(1)] * 4",
    "grow_and_shrink": "c.append(7), c.pop()",
}


@pytest.mark.parametrize("change", CHANGES)
def test_as_in_python(change):
    for expression, is_made in itertools.product(EXPRESSIONS.strip().splitlines(), (True, False)):
        source = f"""{HEAD}
def function(given, turns):
    c = [Equal(1), Equal(2), Equal(3)] if {is_made} else given[0]
    d = collections.deque(c) if {is_made} else given[1]
    left = [turns]
    def act():
        if left[0]:
            left[0] -= 1
            {CHANGES[change]}
    Acting.act = act
    try:
        result = {expression}
    except (IndexError, ValueError, TypeError, RuntimeError) as error:
        result = type(error).__name__, str(error)
    Acting.act = None
    return repr(result), repr(c), repr(d)
"""

        def outcomes(capture, source=source):
            names = {}
            exec(source, names)
            function = capture(names["function"])
            equal, deque = names["Equal"], names["collections"].deque
            found = []
            for turns in (1, 2, 1):
                items = [equal(1), equal(2), equal(3)]
                found.append(function((items, deque(items)), turns))
            return found

        expected = outcomes(lambda function: function)
        assert outcomes(armature.compile) == expected, (expression, is_made)

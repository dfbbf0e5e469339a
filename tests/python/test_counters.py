"""A counter that goes up at each call does not turn a function off, wherever it is kept."""

import collections
import functools
import textwrap
import types

import armature
import pytest
import torch
from differential import compilations

PLACES = {
    "an attribute of a function": """
        def counted(x): return x
        counted.n = 0
        def entry(x):
            counted.n += 1
            return x + counted.n
    """,
    "an attribute of a wrapper": """
        def count(function):
            @functools.wraps(function)
            def wrapper(*arguments):
                wrapper.n += 1
                return function(*arguments) + wrapper.n
            wrapper.n = 0
            return wrapper
        @count
        def entry(x): return x * 2
    """,
    "an attribute of a class": """
        class A: n = 0
        def entry(x):
            A.n += 1
            return x + A.n
    """,
    "what its instances are numbered by": """
        class A:
            n = 0
            def __init__(self):
                type(self).n += 1
                self.number = A.n
        def entry(x): return x + A().number
    """,
    "a Counter": """
        counter = collections.Counter()
        def entry(x):
            counter["calls"] += 1
            return x + counter["calls"]
    """,
    "a defaultdict": """
        counter = collections.defaultdict(int)
        def entry(x):
            counter["calls"] += 1
            return x + counter["calls"]
    """,
    "a module": """
        module = types.ModuleType("module")
        module.n = 0
        def entry(x):
            module.n += 1
            return x + module.n
    """,
    "a list whose length it is": """
        log = []
        def entry(x):
            log.append({"step": len(log)})
            if len(log) > 1000: del log[:10]
            return x + log[-1]["step"]
    """,
    "a text that grows": """
        class A: log = ""
        def entry(x):
            A.log += f"[{len(A.log)}]"
            return x
    """,
}


@pytest.mark.parametrize("place", PLACES)
def test_counters(place):
    namespaces = []
    for _ in range(2):
        namespaces.append(
            {
                "__name__": "counters",
                "collections": collections,
                "functools": functools,
                "types": types,
            }
        )
        exec(textwrap.dedent(PLACES[place]), namespaces[-1])
    plain, captured = namespaces[0]["entry"], armature.compile(namespaces[1]["entry"])
    x = torch.arange(3.0)
    with compilations() as made:
        for _ in range(30):
            assert captured(x).equal(plain(x))
    assert len(made) <= 4

"""`is` between what an operation has returned as it was and another object: the next call may pass
one object twice."""

import weakref

import armature
import pytest
import torch
import torch.nn.functional as F

RESULTS = {
    "method": lambda a, b: a.float() is b,
    "contiguous": lambda a, b: a.contiguous() is b.contiguous(),
    "function": lambda a, b: torch.atleast_1d(a) is torch.atleast_1d(b),
    "module function": lambda a, b: F.dropout(a, training=False) is b,
    "in place": lambda a, b: F.relu(a, inplace=True) is b,
    "weak references": lambda a, b: weakref.ref(a) is weakref.ref(b),
    "addresses": lambda a, b: id(a.float()) == id(b),
    "branch": lambda a, b: "other" if a.float() is not b else "same",
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_result(name, first):
    ask = RESULTS[name]

    def function(x, a, b):
        return ask(a, b), x + 1

    compiled = armature.compile(function)
    for same in (first, not first, first, not first):
        a, b = torch.ones(2), torch.ones(2)
        given = (torch.ones(1), a, a if same else b)
        assert compiled(*given)[0] == function(*given)[0]


def raised_again(x, fresh):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2), TypeError()])
    except* ValueError as part:
        if fresh:
            raise part
        raise
    except* TypeError:
        armature.graph_break()


@pytest.mark.parametrize("first", [False, True])
def test_a_part_of_a_group_is_known_by_its_traceback(first):
    def raised(call, fresh):
        with pytest.raises(ExceptionGroup) as caught:
            call(torch.ones(1), fresh)
        return repr(caught.value)

    compiled = armature.compile(raised_again)
    for fresh in (first, not first, first):
        assert raised(compiled, fresh) == raised(raised_again, fresh)

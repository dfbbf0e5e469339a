"""Calls that a translation is found for, traced once more: would the same come of it?"""

import armature
import pytest
import torch
from armature import _C
from armature.exc import InternalError


@pytest.fixture(autouse=True)
def _verified(own_translations):
    _C.set_verifies_translations(True)
    yield
    _C.set_verifies_translations(False)


def test_what_is_guarded_is_not_reported():
    class Model:
        def __init__(self):
            self.step, self.seen = 0, []

        def run(self, x, scale):
            self.step += 1
            self.seen.append(f"{scale}, {len(self.seen)}")
            print(end="")
            return torch.relu(x) * scale + self.step

    model, plain = Model(), Model()
    compiled = armature.compile(model.run)
    for call in range(40):
        x, scale = torch.ones(1 + call % 3), call % 5 + (0.5 if call % 7 == 0 else 0)
        assert torch.equal(compiled(x, scale), plain.run(x, scale))
    assert model.seen == plain.seen


def test_what_is_done_in_another_way_is_reported():
    """Arrays that are only read may meet: no guard says that they do not."""

    def program(x, y):
        return x + y

    compiled = armature.compile(program)
    x = torch.ones(2)
    compiled(x, torch.ones(2))
    with pytest.raises(InternalError, match=r"is not its own: the graph was(.|\n)*l_x_ \+ l_x_"):
        compiled(x, x)


def test_a_break_is_not_reported():
    def program(x, flag):
        print(end="")
        return x + 1 if flag else x - 1

    compiled = armature.compile(program)
    for flag in (True, False, [], [1], True, None):
        expected = program(torch.ones(1), flag)
        assert torch.equal(compiled(torch.ones(1), flag), expected)

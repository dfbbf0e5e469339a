"""What fails in a compilation, wherever it fails, leaves the program as plain Python runs it.

A fixed sample of the sites; ARMATURE_FAULT_STRIDE=1 tries all. fault_injection.py is the command.
"""

import os

import armature
import fault_injection
import pytest
import torch
from armature import _C
from differential import break_reasons, check

STRIDE = int(os.environ.get("ARMATURE_FAULT_STRIDE", "17"))
COLD_STRIDE = 100 * STRIDE


@pytest.mark.parametrize("kind", fault_injection.KINDS)
@pytest.mark.parametrize("program", fault_injection.PROGRAMS, ids=lambda program: program.name)
def test_every_site_may_fail(program, kind):
    # Frames that are left and entered by exceptions are where a step can fall between two states.
    stride = 1 if program.name in ("raises", "contexts") else STRIDE
    assert list(fault_injection.try_program(program, kind, stride)) == []


@pytest.mark.parametrize("kind", fault_injection.KINDS)
@pytest.mark.parametrize("name", ["breaks", "classes", "module_call", "arrays"])
def test_in_a_process_that_never_captured_anything(name, kind):
    (program,) = (p for p in fault_injection.PROGRAMS if p.name == name)
    assert list(fault_injection.try_program(program, kind, COLD_STRIDE, cold=True)) == []


@pytest.mark.parametrize("kind", fault_injection.KINDS)
def test_programs_have_many_sites(kind):
    with fault_injection.lenient():
        sites = [fault_injection.count_sites(p, kind) for p in fault_injection.PROGRAMS]
    assert min(sites) >= 20 and sum(sites) > 1500


def test_a_fault_happens_once_at_its_site():
    with fault_injection.lenient():
        compiled = armature.compile(lambda x: (x + 1) * 2)
        _C.inject_fault("break", 15)
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
        assert _C.clear_fault() == (True, 16)
    assert [reason["gb_type"] for reason in break_reasons(compiled)] == ["Injected fault"]


def test_what_is_no_fault_is_refused():
    with pytest.raises(ValueError, match="no fault 'other'"):
        _C.inject_fault("other", 0)
    with pytest.raises(TypeError):
        _C.inject_fault("break")


def test_a_coroutine_of_a_closure_is_left_to_python():
    def f(x):
        async def inner():
            return x

        y = x + 1
        try:
            inner().send(None)
        except StopIteration as stop:
            return stop.value, y

    check(f, torch.ones(2))

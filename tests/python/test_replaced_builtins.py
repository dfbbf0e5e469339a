"""Builtin functions that a program has replaced, before and after the first trace."""

import subprocess
import sys
import textwrap
import types

import armature
from changing_world import check_world


def test_replaced_before_the_first_trace():
    source = """
        import builtins, math, operator
        import armature

        def entry(x):
            return abs(x), max(x, 1), sorted([x]), type(zip([x])), math.prod([2]), operator.neg(x)

        compiled = armature.compile(entry)
        originals = {}
        for module, names in (builtins, "abs max sorted zip"), (math, "prod"), (operator, "neg"):
            for name in names.split():
                originals[module, name] = getattr(module, name)
                setattr(module, name, lambda *arguments: "mine")
        assert compiled(-3) == entry(-3) == ("mine", "mine", "mine", str, "mine", "mine")
        for (module, name), original in originals.items():
            setattr(module, name, original)
        assert compiled(-3) == entry(-3) == (3, 1, [-3], zip, 2, 3)
        assert not armature.explain(entry)(-3).break_reasons
        setattr(builtins, "abs", len)
        assert armature.compile(originals[builtins, "abs"], fullgraph=True)(-3) == 3
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(source)], check=True)


def test_the_import_function():
    check_world(
        """
        import builtins, math
        real = builtins.__import__
        def noting(name, *rest):
            print('import', name)
            return real(name, *rest)
        def entry():
            import math
            from math import floor
            return floor(math.pi)
        """,
        "entry()",
        "builtins.__import__ = noting",
        "entry()",
        "builtins.__import__ = real",
        "entry()",
    )


def test_functions_of_torch_replaced_before_the_first_trace():
    source = """
        import torch
        import armature

        class Mode:
            def __enter__(self): print("enter")
            def __exit__(self, *error): print("exit")

        def entry(x):
            with torch.no_grad():
                y = x * 2
            return y.requires_grad, torch.is_grad_enabled(), torch.relu(x)

        compiled = armature.compile(entry)
        x = torch.ones(1, requires_grad=True)
        originals = torch.no_grad, torch.is_grad_enabled, torch.relu
        torch.no_grad, torch.is_grad_enabled, torch.relu = Mode, lambda: "mine", lambda x: "mine"
        assert compiled(x) == entry(x) == (True, "mine", "mine")
        torch.no_grad, torch.is_grad_enabled, torch.relu = originals
        assert compiled(x)[:2] == entry(x)[:2] == (False, True)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(source)], check=True)


def test_a_function_keeps_the_builtins_that_it_was_made_with():
    def body(x):
        return abs(x), len([x])

    def caller(function, x):
        armature.graph_break()
        return function(x), abs(x)

    names = {}
    early = types.FunctionType(body.__code__, names)
    captured_early = armature.compile(early)
    assert captured_early(-1) == early(-1) == (1, 1)
    names["__builtins__"] = {"abs": lambda value: "mine", "len": len}
    late = types.FunctionType(body.__code__, names)
    captured_late = armature.compile(late)
    calls = armature.compile(caller)
    for _ in range(2):
        assert captured_late(-1) == late(-1) == ("mine", 1)
        assert captured_early(-1) == early(-1) == (1, 1)
        assert armature.compile(early)(-1) == (1, 1)
        for function in (late, early, late):
            assert calls(function, -2) == caller(function, -2)
    del names["__builtins__"]
    for function in (early, late):
        assert armature.compile(function)(-1) == function(-1)
    assert (captured_early(-1), captured_late(-1)) == (early(-1), late(-1))

"""Functions of torch's whose code a program replaces, classes whose methods it replaces, and
functions that it makes with the globals of torch's modules. Each program has its own process."""

import re
import subprocess
import sys
import textwrap

import pytest

SETUP = """
import types
import armature, torch
import torch.nn.functional as F
X = torch.tensor([1.0, -2.0])
class M(torch.nn.Module):
    def forward(self, x): return x + 1
module = M()
layer = torch.nn.LayerNorm(2)
LOG = []
def take(function): return lambda: function
"""

# What is called, and what changes: before any capture, and between two calls.
PROGRAMS = {
    "call_impl_code": (
        "def entry(x): return module(x)",
        "torch.nn.Module._call_impl.__code__ = (lambda self, *a, **k: a[0] * 7).__code__",
    ),
    "getattr_code": (
        "module.register_buffer('b', torch.ones(2))\ndef entry(x): return module.b + x",
        "torch.nn.Module.__getattr__.__code__ = (lambda self, name: 9).__code__",
    ),
    "layer_norm_code": (
        "def entry(x): return layer(x)",
        "F.layer_norm.__code__ = (lambda input, normalized_shape, weight=None, bias=None, eps=1:"
        " input * 77).__code__",
    ),
    "dropout_code": (
        "def entry(x): return F.dropout(x, 0.5, False)",
        "F.dropout.__code__ = (lambda input, p=0.5, training=True, inplace=False: input * 5)"
        ".__code__",
    ),
    "relu_code": (
        "def entry(x): return F.relu(x), F.relu(x).shape",
        "F.relu.__code__ = (lambda input, inplace=False: input[None] * 2).__code__",
    ),
    "einsum_code": (
        "def entry(x): return type(torch.einsum('i->', x))",
        "torch.functional.einsum.__code__ = (lambda *a: 5).__code__",
    ),
    "enter": (
        "def entry(x):\n    with torch.no_grad(): return x + 1",
        "torch.no_grad.__enter__ = lambda self: LOG.append('enter')",
    ),
    "exit": (
        "def entry(x):\n    with torch.enable_grad(): return x + 1",
        "torch.enable_grad.__exit__ = lambda self, *a: LOG.append('exit')",
    ),
    "exit_code": (
        "def entry(x):\n    with torch.set_grad_enabled(True): return x + 1",
        "def out(self, *a): LOG.append('exit')\n"
        "torch.set_grad_enabled.__exit__.__code__ = out.__code__",
    ),
    "exit_of_c": (
        "def entry(x):\n    with torch.enable_grad(): return x + 1",
        "torch.enable_grad.__exit__ = LOG.append",
    ),
    "exit_of_autocast": (
        "def entry(x):\n    with torch.autocast('cpu', torch.bfloat16): return x + 1",
        "torch.autocast.__exit__ = lambda self, *a: LOG.append('exit') or torch.amp.autocast_mode"
        ".torch.set_autocast_enabled('cpu', False)",
    ),
    "init": (
        "def entry(x):\n    with torch.set_grad_enabled(False): return x + 1",
        "torch.set_grad_enabled.__init__ = lambda self, mode: setattr(self, 'prev', True)",
    ),
    "global_hooks": (
        "def entry(x): return module(x)",
        "torch.nn.modules.module._global_forward_hooks = {1: lambda m, i, o: o * 3}",
    ),
    "function_in_torchs_globals": (
        "def entry(x):\n    LOG.append('a'); r = F.foo(x) + 1; LOG.append('b'); return r",
        "def foo(x): note('foo'); return 3\n"
        "F.note = LOG.append\n"
        "F.foo = types.FunctionType(foo.__code__, F.__dict__, 'foo')",
    ),
    "function_from_text_in_torchs_globals": (
        "F.note = LOG.append\nF.foo = lambda x: 0\ndef entry(x): return F.foo(x)",
        "exec('def foo(x): note(1); return relu(x) * 2', F.__dict__)",
    ),
}

RUN = """
def outcome(function):
    del LOG[:]
    try: return repr(function(X)), list(LOG)
    except Exception as error: return type(error).__name__, str(error), list(LOG)
compiled = armature.compile(entry)
EARLY = {early}
if not EARLY: outcome(compiled)
exec(CHANGE)
expected, found = outcome(entry), outcome(compiled)
assert found == expected, (found, expected)
assert outcome(compiled) == expected
"""


@pytest.mark.parametrize("early", [True, False], ids=["before", "between"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name, early):
    entry, change = PROGRAMS[name]
    text = f"{SETUP}\n{entry}\nCHANGE = {change!r}\n{RUN.format(early=early)}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_functions_at_addresses_of_those_that_are_gone():
    text = SETUP + textwrap.dedent("""
        compiled = armature.compile(module)
        for _ in range(50):
            torch.nn.Module._call_impl = lambda self, x: x * 7
        assert torch.equal(compiled(X), X * 7)
    """)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


CALLS = [
    "torch.set_grad_enabled(1)",
    "torch.set_grad_enabled(None)",
    "torch.set_grad_enabled('a')",
    "torch.set_grad_enabled(mode=0)",
    "torch.set_grad_enabled()",
    "torch.set_grad_enabled(True, False)",
    "torch.set_grad_enabled(mod=1)",
    "torch.no_grad(None)",
    "torch.no_grad(1, 2)",
    "torch.no_grad(orig_func=len)([1])",
    "torch.enable_grad(None)",
    "torch.is_grad_enabled(1)",
    "torch.compiler.is_compiling(1)",
    "torch.set_grad_enabled(False).mode",
    "torch.no_grad(len)([1])",
]


@pytest.mark.parametrize("call", CALLS)
def test_arguments_of_modes(call):
    import armature
    import torch

    def outcome(function, x):
        try:
            return re.sub("0x[0-9a-f]+", "", repr(function(x))), torch.is_grad_enabled()
        except Exception as error:
            return type(error), str(error), torch.is_grad_enabled()
        finally:
            torch.set_grad_enabled(True)

    program = eval(f"lambda x: ({call}, x + 1)", {"torch": torch})
    x = torch.ones(2)
    assert outcome(armature.compile(program), x) == outcome(program, x)

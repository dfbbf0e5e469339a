"""Objects whose class derives from the class of modules: torch.ops, lazy modules of packages."""

import types

import armature
import torch
from changing_world import check_world
from differential import check


def test_operators_of_torch_ops():
    def f(x):
        y = torch.ops.aten.add(x, x)
        return torch.ops.aten.relu.default(y), torch.ops.aten.mul.Tensor(y, x)

    x = torch.tensor([1.0, -1.0])
    f(x)  # Which binds them.
    check(f, x, breaks=0)


def test_another_operator_of_the_kind():
    operators = {"f": torch.ops.aten.sin}
    compiled = armature.compile(lambda x: operators["f"](x))
    x = torch.tensor([1.0, -1.0])
    for name in ("sin", "cos", "sin"):
        operators["f"] = getattr(torch.ops.aten, name)
        assert torch.equal(compiled(x), getattr(torch, name)(x))


def test_an_operator_that_is_not_bound_yet():
    def f(x):
        return torch.ops.aten.leaky_relu_.default(x.clone())

    torch.ops.aten.__dict__.pop("leaky_relu_", None)
    check(f, torch.tensor([1.0, -1.0]))


def test_a_lazy_module():
    check_world(
        """
        import types
        class Lazy(types.ModuleType):
            made = 0
            def __getattr__(self, name):
                if name == 'missing':
                    raise AttributeError(f'no {name}')
                value = [name]
                setattr(self, name, value)
                return value
        MODULE = Lazy('lazy')
        def entry(name='missing'):
            try:
                return MODULE.a, MODULE.__name__, MODULE.made, getattr(MODULE, name)
            except AttributeError as error:
                return str(error)
        """,
        "entry('b')",
        "entry()",
        "MODULE.a = 3",
        "entry('b')",
        "Lazy.made = 1",
        "del MODULE.b",
        "entry('b')",
        "del Lazy.__getattr__",
        "entry('b')",
        "del MODULE.a",
        "entry('b')",
        "MODULE.__dict__['__getattr__'] = lambda name: name",
        "entry('b')",
        "MODULE.__class__ = types.ModuleType",
        "entry('b')",
        """
        def own(self, name):
            return 5 if name == 'a' else types.ModuleType.__getattribute__(self, name)
        Lazy.__getattribute__ = own
        """,
        "MODULE.__class__ = Lazy",
        "entry('b')",
        repeat=False,  # a call may change the module itself
    )


def test_a_module_whose_class_was_assigned():
    check_world(
        """
        import sys, types
        module = types.ModuleType('m')
        exec('x = 1\\ndef get(): return x, y()\\ndef y(): return x + 1', module.__dict__)
        class Own(types.ModuleType):
            @property
            def z(self):
                return self.x * 2
        def entry():
            module.x += 1
            return module.get(), module.x, getattr(module, 'z', None)
        """,
        "entry()",
        "module.__class__ = Own",
        "entry()",
        "module.x = 10",
        "entry()",
        repeat=False,
    )


def test_the_class_of_modules_itself():
    module = types.ModuleType("plain")
    module.a = 1

    def f():
        return module.a, module.__name__

    check(f, breaks=0)

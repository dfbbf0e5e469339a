"""Changes of the world between two calls."""

from __future__ import annotations

from fuzz.grammar.objects import _DYNAMIC_METHODS, new_method, special_method
from fuzz.grammar.writer import Writer, change


def added(w: Writer, target: str, definition: str) -> str:
    """Source that gives a class what a ``def`` defines."""
    name = definition.split("def ", 1)[1].split("(")[0]
    return f"{definition}\n{target}.{name} = {name}\ndel {name}"


# --- Classes


@change(weight=4)
def replace_method(w: Writer) -> str:
    return added(w, w.class_name(), new_method(w, w.pick(*w.names.methods), False))


@change("special_methods", weight=8)
def add_special_method(w: Writer) -> str:
    return added(w, w.class_name(), special_method(w))


@change(weight=2)
def add_any_special_method(w: Writer) -> str:
    return added(w, w.class_name(), special_method(w))


@change("attributes", weight=4)
def add_dynamic_method(w: Writer) -> str:
    return added(w, w.class_name(), special_method(w, _DYNAMIC_METHODS))


@change(weight=3)
def delete_from_class(w: Writer) -> str:
    name = w.pick(*w.names.methods, *w.names.attributes, "__init__", "__eq__", "__len__", "made")
    kind = w.class_name()
    return f"if '{name}' in vars({kind}):\n    del {kind}.{name}"


@change(weight=3)
def class_attribute(w: Writer) -> str:
    name = w.pick(*w.names.attributes, *w.names.methods, *w.names.properties, "made")
    return f"{w.class_name()}.{name} = {w.pick('3', '4', '[]', 'None', 'abs', 'OBJ')}"


@change("attributes", weight=4)
def add_property(w: Writer) -> str:
    name = w.pick(*w.names.properties, *w.names.attributes)
    kind = w.class_name()
    return w.pick(
        f"{kind}.{name} = property(lambda self: 5)",
        f"{kind}.{name} = property(lambda self: self.x + 1, lambda self, v: LOG.append(v))",
        f"{kind}.{name} = Constant(3)",
        "Constant.__set__ = lambda self, instance, value: LOG.append(value)",
        "Constant.__get__ = lambda self, instance, owner: 9",
        "if hasattr(Constant, '__set__'): del Constant.__set__",
    )


@change(weight=1)
def rename_class(w: Writer) -> str:
    return f"{w.class_name()}.{w.pick('__name__', '__qualname__')} = '{w.pick('Z', 'Y')}'"


@change("names", weight=3)
def rename_class_again(w: Writer) -> str:
    return rename_class(w)


@change("inheritance", weight=3)
def change_bases(w: Writer) -> str:
    kind = w.class_name()
    other = w.class_name()
    return w.pick(
        f"{kind}.__bases__ = ({other},)",
        f"class Mixin:\n    def m0(self, v=1):\n        return 50\n{kind}.__bases__ = (Mixin,)",
        f"class Mixin:\n    def m1(self, v=1):\n        return 60\n"
        f"{kind}.__bases__ = (*{kind}.__bases__, Mixin)",
        f"{kind}.make = classmethod(lambda cls, v=1: v)",
        f"{kind}.__new__ = lambda cls, *args: object.__new__(cls)",
    )


@change("metaclasses", weight=4)
def change_metaclass(w: Writer) -> str:
    kind = w.class_name()
    return w.pick(
        "Meta.__call__ = lambda cls, *args: type.__call__(cls, *args)",
        "Meta.__instancecheck__ = lambda cls, instance: True",
        "Meta.__getattr__ = lambda cls, name: 8",
        "Meta.x = 4",
        "Meta.made = property(lambda cls: 6)",
        f"{kind}.register(int)",
        f"{kind}.register(list)",
        f"{kind}.register(type('Fresh', (), {{}}))",
        "if '__getattr__' in vars(Meta): del Meta.__getattr__",
    )


@change("builtin_bases", weight=4)
def change_builtin_subclass(w: Writer) -> str:
    kind = w.class_name()
    return w.pick(
        added(w, kind, "def __missing__(self, key):\n    return 11"),
        added(w, kind, "def get(self, key, default=None):\n    return 12"),
        added(w, kind, "def append(self, item):\n    LOG.append(item)"),
        added(w, kind, "def __getitem__(self, key):\n    return 13"),
        added(w, kind, "def __contains__(self, key):\n    return True"),
        added(w, kind, "def __len__(self):\n    return 14"),
        added(w, kind, "def __iter__(self):\n    return iter([15])"),
        added(w, kind, "def __eq__(self, other):\n    return True"),
        added(w, kind, "def keys(self):\n    return ['a']"),
        added(w, kind, "def __str__(self):\n    return 'text'"),
    )


# --- Instances


@change(weight=4)
def set_attribute(w: Writer) -> str:
    name = w.pick(*w.names.attributes, *w.names.attributes, *w.names.methods, "extra")
    value = w.pick("1", "4", "2.5", "'t'", "[7]", "OBJ", "OTHER", "lambda v=1: 40")
    return f"{w.pick('OBJ', 'OTHER')}.{name} = {value}"


@change(weight=2)
def delete_attribute(w: Writer) -> str:
    return f"vars({w.pick('OBJ', 'OTHER')}).pop('{w.attribute()}', None)"


@change(weight=2)
def reorder_attributes(w: Writer) -> str:
    name = w.attribute()
    return w.pick(
        "TABLE['a'] = TABLE.pop('a', 1)",
        f"vars(OBJ)['{name}'] = vars(OBJ).pop('{name}', 1)",
        "vars(OBJ).clear()",
        "vars(OBJ)[1] = 2",
        "LOG.reverse()",
    )


@change(weight=2)
def change_class_of_instance(w: Writer) -> str:
    return f"{w.pick('OBJ', 'OTHER')}.__class__ = {w.class_name()}"


@change("attributes", weight=3)
def share_dicts(w: Writer) -> str:
    return w.pick(
        "OBJ.__dict__ = OTHER.__dict__",
        "OBJ.__dict__ = TABLE",
        "TABLE = vars(OBJ)",
        "OBJ.__dict__ = OBJ",
        "OBJ.__dict__ = dict(vars(OBJ))",
    )


# --- Globals and aliasing


@change(weight=3)
def change_global(w: Writer) -> str:
    return w.pick(
        "N = 5",
        "N = 2.5",
        "N += 1",
        "M = N",
        "N = True",
        "M = 'm'",
        "LOG = [4, 5]",
        "LOG = [6]",
        "TABLE = {'b': 2}",
        "OBJ = OTHER",
        "OBJ, OTHER = OTHER, OBJ",
        f"OBJ = {w.class_name()}(4)",
        f"OTHER = {w.class_name()}(2)",
        "LOG.append(3)",
        "LOG.clear()",
        "TABLE['x'] = 9",
        "TABLE.pop('a', None)",
        "TABLE[(1, 2)] = 1",
        "del N",
        "abs = lambda v: 77",
        "len = lambda v: 3",
    )


@change("identity", weight=6)
def alias(w: Writer) -> str:
    return w.pick(
        "OTHER = OBJ",
        "OBJ.peer = OTHER",
        "OBJ.peer = OBJ",
        "OBJ.x = LOG",
        "OBJ.y = OBJ.x = LOG",
        "TABLE['a'] = LOG",
        "TABLE['a'] = TABLE",
        "LOG.append(LOG)",
        "OBJ.x = OBJ",
        "M = N",
        "OBJ.x = TABLE",
        "OTHER.x = OBJ.x",
        "LOG = [LOG, LOG]",
        "TABLE = globals()",
        "LOG[:] = [N, N]",
    )


@change("containers", weight=2)
def deep_data(w: Writer) -> str:
    return w.pick(
        "LOG = functools.reduce(lambda v, _: [v], range(3000), [])",
        "TABLE['a'] = functools.reduce(lambda v, _: (v,), range(3000), ())",
        "LOG.append(LOG)",
        "LOG = list(range(2000))",
        "TABLE.update({i: i for i in range(500)})",
        "LOG = [(LOG,)]",
        "TABLE['x'] = {'x': TABLE}",
    )


# --- Functions


@change(weight=4)
def change_function(w: Writer) -> str:
    name = w.pick(*w.names.functions)
    return w.pick(
        f"{name} = twin({name}, {{**globals(), 'N': 70}})",
        f"{name} = twin({name}, globals(), defaults=(30, 40))",
        f"{name} = twin({name}, globals(), name='twin')",
        f"{name}.__defaults__ = (8, 9)",
        f"{name}.__kwdefaults__ = {{'k': 6}}",
        f"{name}.__code__ = (lambda v=1, *rest, k=1, **more: 90).__code__",
        f"{name}.__name__ = 'renamed'",
        f"{name}.tag = 1",
        f"{name} = lambda v=1, *rest, k=1, **more: v",
        f"{name} = functools.partial({name}, 2)",
        f"def {name}(v=1, *rest, k=3, **more):\n    LOG.append(k)\n    return v",
    )


@change(weight=2)
def change_method(w: Writer) -> str:
    kind, name = w.class_name(), w.pick(*w.names.methods)
    method = f"vars({kind})['{name}']"
    changed = w.pick(
        f"{method}.__defaults__ = (21,)",
        f"{method}.__code__ = (lambda self, v=1: 91).__code__",
        f"{kind}.{name} = twin({method}, {{**globals(), 'N': 71}})",
        f"{kind}.{name} = staticmethod(lambda v=1: 92)",
        f"{kind}.{name} = classmethod(lambda cls, v=1: 93)",
    )
    return f"if '{name}' in vars({kind}):\n    {changed}"


@change("closures", weight=3)
def change_cell(w: Writer) -> str:
    return w.pick("adder = lambda n: abs", "adder.__code__ = (lambda n: (lambda v=1: n)).__code__")


# --- The library and the interpreter


@change("arrays", weight=6)
def library_state(w: Writer) -> str:
    return w.pick(
        "torch.set_grad_enabled(False)",
        "torch.set_grad_enabled(True)",
        "torch.set_default_dtype(torch.float64)",
        "torch.set_default_dtype(torch.float32)",
        "W = torch.tensor([[1.0, 2.0]])",
        "W = torch.tensor([1, 2])",
        "W.requires_grad_()",
        "W = V",
        "OBJ.x = W",
        "V = np.array([4, 5])",
        "W = torch.nn.Parameter(torch.ones(3))",
        "torch.use_deterministic_algorithms(True)",
    )


@change(weight=1)
def collect(w: Writer) -> str:
    return "gc.collect()"


@change("lifetimes", weight=2)
def drop(w: Writer) -> str:
    return w.pick("WATCHED.clear()", "LOG.clear()", "OBJ.x = None", "gc.collect()")

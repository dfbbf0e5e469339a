"""Classes and their instances: attributes, methods, special methods, inheritance."""

from __future__ import annotations

from fuzz.grammar.writer import Class, Writer, produces, statement

# --- Using objects


@produces("number", weight=5)
def attribute(w: Writer) -> str:
    return f"{w.expression('object')}.{w.attribute()}"


@produces("number", weight=4)
def method_call(w: Writer) -> str:
    methods = w.methods()
    if not methods:
        return attribute(w)
    return f"{w.expression('object')}.{w.pick(*methods)}({w.expression('number')})"


@produces("number", "attributes", weight=3)
def reflected_attribute(w: Writer) -> str:
    thing, name = w.expression("object"), w.attribute()
    return w.pick(
        f"getattr({thing}, '{name}', {w.leaf('number')})",
        f"getattr({thing}, '{name}')",
        f"vars({thing})['{name}']",
        f"{thing}.__dict__.get('{name}', 0)",
        f"object.__getattribute__({thing}, '{name}')",
    )


@produces("number", "attributes", weight=2)
def property_value(w: Writer) -> str:
    return f"{w.expression('object')}.{w.pick(*w.names.properties)}"


@produces("number", "inheritance", weight=2)
def class_attribute(w: Writer) -> str:
    return f"{w.expression('class')}.{w.pick(*w.names.attributes, 'made')}"


@produces("number", "special_methods", weight=3)
def special_number(w: Writer) -> str:
    thing, value = w.expression("object"), w.expression("number")
    return w.pick(
        f"len({thing})",
        f"{thing}({value})",
        f"{thing}[{value}]",
        f"({thing} + {value})",
        f"({value} + {thing})",
        f"(lambda o: int(hash(o) == hash(o)))({thing})",
        f"int({thing})",
        f"sum({thing})",
    )


@produces("truth", "special_methods", weight=4)
def special_truth(w: Writer) -> str:
    thing, other = w.expression("object"), w.expression("object")
    return w.pick(
        f"({thing} == {other})",
        f"({thing} != {other})",
        f"bool({thing})",
        f"(not {thing})",
        f"({w.leaf('number')} in {thing})",
        f"({thing} < {other})",
        f"({thing} == 1)",
        f"({thing} in [{other}, 1])",
    )


@produces("truth", weight=2)
def type_test(w: Writer) -> str:
    thing, kind = w.expression("object"), w.expression("class")
    return w.pick(
        f"isinstance({thing}, {kind})",
        f"isinstance({thing}, {kind})",
        f"issubclass(type({thing}), {kind})",
        f"(type({thing}) is {kind})",
        f"callable({thing})",
    )


@produces("truth", "attributes", weight=3)
def has_attribute(w: Writer) -> str:
    name = w.pick(*w.names.attributes, *w.names.properties, "extra")
    return f"hasattr({w.expression('object')}, '{name}')"


@produces("list", "special_methods", weight=2)
def iterated(w: Writer) -> str:
    return w.pick(f"list({w.expression('object')})", f"[v for v in {w.expression('object')}]")


@produces("dict", "attributes", weight=3)
def instance_dict(w: Writer) -> str:
    return w.pick(f"vars({w.expression('object')})", f"{w.expression('object')}.__dict__")


@produces("object", weight=4)
def made(w: Writer) -> str:
    kind = w.exact_class()
    return f"{kind.name}({', '.join(w.expression('number') for _ in range(kind.takes))})"


@produces("object", "inheritance", weight=1)
def made_of_type(w: Writer) -> str:
    return f"type({w.leaf('object')})({w.expression('number')})"


@produces("object", "identity", weight=2)
def peer(w: Writer) -> str:
    return f"{w.leaf('object')}.peer"


@produces("class", weight=2)
def class_of(w: Writer) -> str:
    return w.pick(f"type({w.leaf('object')})", w.class_name(), f"{w.leaf('object')}.__class__")


@statement(weight=4)
def set_attribute(w: Writer) -> None:
    thing, name = w.leaf("object"), w.attribute()
    value = w.expression(w.pick("number", "number", "list", "object"))
    w.line(w.pick(f"{thing}.{name} = {value}", f"{thing}.{name} += {w.expression('number')}"))


@statement("attributes", weight=3)
def set_attribute_otherwise(w: Writer) -> None:
    thing, name, value = w.leaf("object"), w.attribute(), w.expression("number")
    w.line(
        w.pick(
            f"setattr({thing}, '{name}', {value})",
            f"vars({thing})['{name}'] = {value}",
            f"{thing}.__dict__.update({name}={value})",
            f"del {thing}.{name}",
            f"{thing}.{w.pick(*w.names.properties)} = {value}",
            f"object.__setattr__({thing}, '{name}', {value})",
            f"{w.class_name()}.made = {value}",
        )
    )


@statement("identity", weight=2)
def link(w: Writer) -> None:
    w.line(f"{w.leaf('object')}.peer = {w.leaf('object')}")


@statement("special_methods", weight=2)
def set_item_of_object(w: Writer) -> None:
    w.line(f"{w.leaf('object')}[{w.leaf('key')}] = {w.expression('number')}")


@statement("lifetimes", weight=3)
def watch(w: Writer) -> None:
    name = w.fresh("o")
    w.line(f"{name} = watch({made(w)})")
    w.bind("object", name)


@statement("lifetimes", weight=1)
def forget(w: Writer) -> None:
    local = [name for name in w.scope["object"] if name.startswith("o") and name[1:].isdigit()]
    if local:
        w.line(f"{w.pick(*local)} = None")


# --- Defining classes

_SPECIAL_METHODS = {
    "__len__": ("", ("abs(int(self.x))", "2", "len(LOG)")),
    "__bool__": ("", ("self.x > 1", "False", "bool(N)")),
    "__eq__": (", other", ("self is other", "True", "type(other) is type(self)")),
    "__hash__": ("", ("1", "5")),
    "__call__": (", v=1", ("v + self.x", "N")),
    "__getitem__": (", key", ("[4, 5][key]", "(4, 5)[key]")),
    "__setitem__": (", key, value", ("LOG.append(key)",)),
    "__iter__": ("", ("iter([1, self.x])", "iter((3, 4))")),
    "__contains__": (", item", ("item == self.x", "True")),
    "__add__": (", other", ("self.x + 1", "NotImplemented", "self")),
    "__radd__": (", other", ("other + self.x", "NotImplemented")),
    "__lt__": (", other", ("True", "NotImplemented")),
    "__int__": ("", ("int(self.x)", "3")),
    "__index__": ("", ("1",)),
    "__repr__": ("", ("f'<{self.x}>'", "'K'")),
}
_DYNAMIC_METHODS = {
    "__getattr__": (", name", ("len(name)", "LOG.append(name)")),
    "__getattribute__": (", name", ("object.__getattribute__(self, name)",)),
    "__setattr__": (", name, value", ("object.__setattr__(self, name, value)",)),
    "__delattr__": (", name", ("LOG.append(name)",)),
    "__init_subclass__": ("", ("LOG.append('subclass')",)),
}


def special_method(w: Writer, names: dict[str, tuple[str, tuple[str, ...]]] | None = None) -> str:
    """The text of a special method, whose body stays simple: Python calls it from anywhere."""
    table = names or (
        {**_SPECIAL_METHODS, **_DYNAMIC_METHODS} if w.chance(0.3) else _SPECIAL_METHODS
    )
    name = w.pick(*table)
    parameters, results = table[name]
    noted = f"    LOG.append('{name.strip('_')}')\n" if w.chance(0.2) else ""
    return f"def {name}(self{parameters}):\n{noted}    return {w.pick(*results)}"


def new_method(w: Writer, name: str, inherited: bool) -> str:
    """The text of a method for a class that may have a base with the same method."""
    results = [
        "v",
        "v + self.x",
        "self.x",
        "self.y - v",
        "N + v",
        f"{w.pick('1', '2', '3')} + v",
    ]
    if inherited:
        results += [f"super().{name}(v) + 1", "v"] + [f"super().{name}(v)"] * 2
    lines = []
    if w.chance(0.3):
        lines.append(w.pick("self.x = v", "self.size += 1", "LOG.append(v)", "self.y = self.x"))
    if w.chance(0.15) and w.wants("exceptions"):
        lines.append("if v == 2:\n        raise ValueError(v)")
    body = "".join(f"    {line}\n" for line in lines)
    return f"def {name}(self, v=1):\n{body}    return {w.pick(*results)}"


def write_class(w: Writer, name: str, base: Class | None) -> Class:
    """Writes a class and says what is known of it."""
    parent = base.name if base else ""
    metaclass = ""
    if base is None and w.wants("builtin_bases") and w.chance(0.5):
        parent = w.pick("dict", "list", "dict", "int", "str", "Exception", "tuple")
    elif base is None and w.wants("metaclasses") and w.chance(0.7):
        metaclass = w.pick("metaclass=Meta", "metaclass=abc.ABCMeta")
    header = ", ".join(part for part in (parent, metaclass) if part)
    made = Class(name, parent)
    with w.block(f"class {name}({header}):"):
        if w.chance(0.4):
            w.line(f"{w.attribute()} = {w.pick('1', '2', '[]')}")
        w.line(f"made = {w.pick('0', '1')}") if base is None else None
        write_init(w, made, base)
        for method in w.names.methods:
            if w.chance(0.8 if base is None else 0.4):
                w.line(new_method(w, method, base is not None))
        if w.wants("attributes"):
            write_properties(w)
        if w.wants("special_methods"):
            for _ in range(w.pick(1, 2, 3)):
                w.line(special_method(w))
        elif w.chance(0.1):
            w.line(special_method(w))
        if w.wants("builtin_bases") and parent == "dict" and w.chance(0.5):
            w.line("def __missing__(self, key):\n    return N")
        if w.wants("inheritance") and w.chance(0.3):
            w.line(
                f"@classmethod\ndef make(cls, v=1):\n    return {w.pick('cls(v)', 'cls.made + v')}"
            )
    return made


def write_init(w: Writer, made: Class, base: Class | None) -> None:
    builtin = made.base in ("int", "str", "tuple")
    if builtin:
        return
    if base is None or w.chance(0.3):
        with w.block("def __init__(self, x=1):"):
            if base is not None:
                w.line("super().__init__(x)")
            w.line(w.pick("self.x = x", "self.x = x + 1" if base else "self.x = x"))
            if w.chance(0.6):
                w.line(f"self.y = {w.pick('2', 'x', 'N', '[]')}")
            if base is None:
                w.line("self.size = 0")
            if base is None and w.wants("identity"):
                w.line("self.peer = self")


def write_properties(w: Writer) -> None:
    for name in w.names.properties:
        if not w.chance(0.6):
            continue
        result = w.pick("self.x * 2", "self.size", "N", "len(self.__dict__)")
        if w.chance(0.3):
            w.line(f"{name} = Constant({w.pick('1', '2')})")
            continue
        w.line(f"@property\ndef {name}(self):\n    return {result}")
        if w.chance(0.5):
            w.line(f"@{name}.setter\ndef {name}(self, value):\n    self.{w.attribute()} = value")

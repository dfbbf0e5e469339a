"""Numbers, text and truth."""

from __future__ import annotations

from fuzz.grammar.writer import Writer, produces, statement


@produces("number", weight=4)
def arithmetic(w: Writer) -> str:
    operator = w.pick("+", "-", "*", "+", "-", "//", "%")
    return f"({w.expression('number')} {operator} {w.expression('number')})"


@produces("number")
def chosen_number(w: Writer) -> str:
    return f"({w.expression('number')} if {w.expression('truth')} else {w.expression('number')})"


@produces("number")
def builtin_number(w: Writer) -> str:
    a, b = w.expression("number"), w.expression("number")
    return w.pick(f"max({a}, {b})", f"min({a}, {b})", f"abs({a})", f"int({a})", f"round({a})")


@produces("number", weight=1)
def text_number(w: Writer) -> str:
    text = w.expression("text")
    return w.pick(f"len({text})", f"{text}.count('a')", f"int({text} or 4)")


@produces("truth", weight=4)
def comparison(w: Writer) -> str:
    operator = w.pick("<", "<=", "==", "!=", ">", ">=")
    return f"{w.expression('number')} {operator} {w.expression('number')}"


@produces("truth")
def logic(w: Writer) -> str:
    a, b = w.expression("truth"), w.expression("truth")
    return w.pick(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"bool({a})")


@produces("truth", "identity", weight=4)
def identical(w: Writer) -> str:
    kind = w.pick("object", "list", "dict", "number", "text")
    return f"({w.expression(kind)} {w.pick('is', 'is not')} {w.expression(kind)})"


@produces("truth", weight=1)
def text_test(w: Writer) -> str:
    a, b = w.expression("text"), w.expression("text")
    return w.pick(f"({a} == {b})", f"({a} in {b})", f"{a}.startswith({b})", f"{a}.isdigit()")


@produces("text", weight=3)
def formatted(w: Writer) -> str:
    value = w.expression("number")
    return w.pick(f"str({value})", f"f'<{{{value}}}>'", f"repr({value})", f"'%s' % ({value},)")


@produces("text")
def joined(w: Writer) -> str:
    return f"({w.expression('text')} + {w.expression('text')})"


@produces("text", weight=1)
def transformed(w: Writer) -> str:
    return f"{w.expression('text')}.{w.pick('upper()', 'strip()', 'title()', 'zfill(2)')}"


@produces("text", "names", weight=4)
def name_of(w: Writer) -> str:
    return w.pick(
        f"{w.expression('function')}.__name__",
        f"{w.leaf('class')}.__name__",
        f"{w.leaf('class')}.__qualname__",
        f"type({w.expression('object')}).__name__",
    )


@produces("key", weight=4)
def text_key(w: Writer) -> str:
    return w.leaf("text")


@produces("key")
def number_key(w: Writer) -> str:
    return w.leaf("number")


@statement(weight=6)
def assign(w: Writer) -> None:
    kinds = ["number", "number", "text", "list", "dict", "object", "truth"]
    if w.wants("arrays"):
        kinds += ["array", "array", "array"]
    kind = w.pick(*kinds)
    value = w.expression(kind)  # type: ignore[arg-type]
    known = [n for n in w.scope[kind] if n.islower() and n[-1].isdigit()]
    name = w.pick(*known) if known and w.chance(0.3) else w.fresh(kind[0])
    w.line(f"{name} = {value}")
    w.bind(kind, name)


@statement(weight=6)
def record(w: Writer) -> None:
    kinds = ["number", "number", "text", "truth", "list", "dict", "object"]
    if w.wants("arrays"):
        kinds += ["array", "array"]
    w.line(f"out.append({w.expression(w.pick(*kinds))})")  # type: ignore[arg-type]


@statement("names", weight=2)
def change_global(w: Writer) -> None:
    name = w.pick(*w.names.numbers)
    w.line(f"{name} {w.pick('=', '+=')} {w.expression('number')}")


@statement("names", weight=1)
def globals_item(w: Writer) -> None:
    name = w.pick(*w.names.numbers)
    w.line(w.pick(f"globals()['{name}'] = {w.leaf('number')}", f"out.append(globals()['{name}'])"))


@statement("output", weight=3)
def output(w: Writer) -> None:
    a, b = w.expression(w.pick("number", "text", "list")), w.expression("number")
    w.line(w.pick(f"print({a}, {b})", f"print({a}, end=';')", f"print({a}, sep='-')"))


@statement("output", weight=1)
def pause(w: Writer) -> None:
    w.line("graph_break()")

"""Functions of the module, closures, defaults, keywords and generators."""

from __future__ import annotations

from fuzz.grammar.writer import Writer, produces, statement


@produces("number", weight=4)
def call(w: Writer) -> str:
    functions = w.functions()
    if not functions:
        return w.leaf("number")
    value = w.expression("number")
    function = w.pick(*functions)
    return w.pick(
        f"{function}({value})",
        f"{function}({value}, {w.expression('number')})",
        f"{function}({value}, k={w.expression('number')})",
        f"{function}(*({value}, {w.leaf('number')}))",
        f"{function}(*[{value}], **{{'k': {w.leaf('number')}}})",
        f"{function}(**{w.expression('dict')})",
        f"{function}()",
    )


@produces("number", "closures", weight=3)
def call_of_closure(w: Writer) -> str:
    return f"{w.expression('function')}({w.expression('number')})"


@produces("function", weight=3)
def function_made(w: Writer) -> str:
    return w.pick(
        f"(lambda v=1, k={w.leaf('number')}: v + k)",
        f"(lambda v, *rest: {w.expression('number')})",
        *(f"{w.leaf('object')}.{method}" for method in w.methods()),
    )


@produces("function", "closures", weight=2)
def wrapped(w: Writer) -> str:
    return w.pick(
        f"functools.partial({w.leaf('function')}, {w.expression('number')})",
        f"adder({w.expression('number')})",
    )


@produces("list", "generators", weight=4)
def generated(w: Writer) -> str:
    generator = w.generator()
    return w.pick(
        f"list({generator}({w.leaf('number')}))",
        f"[v for v in {generator}(2)]",
        f"list(v for v in {w.leaf('list')})",
        f"[*{generator}()]",
    )


@produces("number", "generators", weight=3)
def taken(w: Writer) -> str:
    return f"next({w.generator()}({w.expression('number')}), {w.leaf('number')})"


@produces("truth", "generators")
def any_of(w: Writer) -> str:
    return f"{w.pick('any', 'all')}(v for v in {w.expression('list')})"


@statement("closures", weight=4)
def closure(w: Writer) -> None:
    name, cell = w.fresh("f"), w.fresh("c")
    w.line(f"{cell} = {w.expression('number')}")
    with w.block(f"def {name}(v=1, k={w.leaf('number')}):"):
        if w.chance(0.6):
            w.line(f"nonlocal {cell}")
            w.line(f"{cell} {w.pick('+=', '=')} {w.pick('v', '1', 'k')}")
        w.scope["number"] += ["v", "k", cell]
        w.line(f"return {w.expression('number')} + {cell}")
    w.bind("function", name)
    w.bind("number", cell)


@statement("generators", weight=2)
def step_generator(w: Writer) -> None:
    name = w.fresh("g")
    w.line(f"{name} = {w.generator()}({w.expression('number')})")
    w.line(f"out.append(next({name}, None))")
    if w.chance(0.4):
        w.line(w.pick(f"out.append({name}.send(2))", f"{name}.close()", f"out.extend({name})"))


@statement("generators", weight=1)
def returned_generator(w: Writer) -> None:
    w.line(f"out.append({w.generator()}({w.leaf('number')}))")


def write_function(w: Writer, number: int) -> None:
    """A function of the module, which calls those of lower levels."""
    w.level = 2 * number + 1
    keyword = w.pick("k=2", "*, k=2", "k=N", "*rest, k=1", "k=1, **more")
    if w.chance(0.15):
        w.line("@disable(recursive=False)")
    with w.block(f"def f{number}(v=1, {keyword}):"):
        w.line("global N, M")
        w.scope["number"] += ["v", "k"]
        if w.chance(0.3):
            w.line(w.pick("N += 1", "LOG.append(v)", "TABLE['a'] = v", "OBJ.x = k", "M = v"))
        if w.chance(0.3):
            with w.block(f"if {w.expression('truth')}:"):
                w.line(f"return {w.expression('number')}")
        w.line(f"return {w.expression('number')}")
    w.names.functions.append(f"f{number}")


def write_generator(w: Writer, number: int) -> None:
    name = f"g{number}"
    w.level = 3
    with w.block(f"def {name}(v=1):"):
        w.scope["number"].append("v")
        body = w.pick(0, 1, 2, 3)
        if body == 0:
            w.line(f"yield {w.expression('number')}\nyield {w.expression('number')}")
        elif body == 1:
            with w.block("for i in range(3):"):
                w.line(f"got = yield i + {w.expression('number')}")
                w.line("LOG.append(got)")
        elif body == 2:
            with w.block("try:"):
                w.line(f"yield {w.expression('number')}\nyield v")
            with w.block("finally:"):
                w.line("LOG.append('closed')")
        else:
            w.line(f"yield from [v, {w.expression('number')}]\nreturn v")
    w.names.generators.append(name)

"""Branches, loops, exceptions and context managers."""

from __future__ import annotations

from fuzz.grammar.writer import Writer, produces, statement

_CAUGHT = (
    "Exception",
    "ValueError",
    "(TypeError, AttributeError)",
    "LookupError",
    "KeyError",
    "AttributeError",
    "ZeroDivisionError",
)


def body(w: Writer, most: int = 2) -> None:
    w.statements(w.random.randint(1, most) if w.blocks < 4 else 0)


@statement(weight=4)
def branch(w: Writer) -> None:
    with w.block(f"if {w.expression(w.pick('truth', 'truth', 'number', 'object', 'list'))}:"):
        body(w)
    if w.chance(0.4):
        with w.block("else:"):
            body(w)


@statement(weight=3)
def loop(w: Writer) -> None:
    if w.loops == 2:
        return branch(w)
    kind, name = w.pick(("number", w.fresh("i")), ("text", w.fresh("k")))
    if kind == "number":
        items = w.pick("range(2)", "range(3)", f"list({w.expression('list')})[:3]")
    else:
        items = f"list({w.expression('dict')})[:3]"
    w.loops += 1
    with w.block(f"for {name} in {items}:"):
        w.bind(kind, name)
        body(w)
        if w.chance(0.2):
            with w.block(f"if {w.expression('truth')}:"):
                w.line(w.pick("break", "continue"))
    w.loops -= 1


@statement("containers", weight=1)
def live_loop(w: Writer) -> None:
    """Over a container of the world itself, which the body may change."""
    if w.loops == 2:
        return branch(w)
    name = w.fresh("i")
    w.loops += 1
    with w.block(f"for {name} in {w.leaf(w.pick('list', 'dict'))}:"):
        w.bind("number", name)
        body(w, 1)
        with w.block("if len(out) > 6:"):
            w.line("break")
        w.line("out.append(0)")
    w.loops -= 1


@statement(weight=1)
def count_down(w: Writer) -> None:
    if w.loops == 2:
        return branch(w)
    name = w.fresh("n")
    w.line(f"{name} = {w.pick('2', '3')}")
    w.loops += 1
    with w.block(f"while {name} > 0:"):
        w.line(f"{name} -= 1")
        body(w)
    w.loops -= 1


@statement(weight=2)
def attempt(w: Writer) -> None:
    with w.block("try:"):
        body(w)
    with w.block(f"except {w.pick(*_CAUGHT)} as error:"):
        w.line("out.append(type(error).__name__)")


@statement("exceptions", weight=6)
def attempt_with_more(w: Writer) -> None:
    with w.block("try:"):
        body(w)
        if w.chance(0.3):
            raising(w)
    caught = w.chance(0.8)
    if caught:
        with w.block(f"except {w.pick(*_CAUGHT)} as error:"):
            w.line(w.pick("out.append(error)", "out.append(error.args)", "LOG.append(str(error))"))
            body(w, 1)
            if w.chance(0.25):
                w.line(w.pick("raise", "raise KeyError('k') from error", "raise TypeError('t')"))
        if w.chance(0.2):
            with w.block("else:"):
                body(w, 1)
    if not caught or w.chance(0.3):
        with w.block("finally:"):
            body(w, 1)


@statement("exceptions", weight=2)
def raising(w: Writer) -> None:
    with w.block(f"if {w.expression('truth')}:"):
        value = w.expression(w.pick("number", "text"))
        w.line(
            w.pick(
                f"raise ValueError({value})",
                f"raise KeyError({value}) from None",
                f"raise Problem({value}, 1)",
                f"assert {w.expression('truth')}, {value}",
            )
        )


MODES = (
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.set_grad_enabled(False)",
    "torch.autocast('cpu')",
    "torch.autocast('cpu', torch.float16, cache_enabled=False)",
    "torch.autocast('cpu', enabled=False)",
)


@statement("contexts", weight=5)
def managed(w: Writer) -> None:
    manager = w.pick(
        *(f"{name}({w.leaf('number')})" for name in w.names.managers),
        "contextlib.suppress(ValueError, KeyError)",
        "contextlib.nullcontext(3)",
        *(MODES if w.wants("arrays") else ()),
    )
    name = w.fresh("n")
    with w.block(f"with {manager} as {name}:"):
        body(w)
        if w.chance(0.3):
            raising(w)


@statement(weight=1)
def early_return(w: Writer) -> None:
    with w.block(f"if {w.expression('truth')}:"):
        w.line(f"return {w.expression(w.pick('number', 'list', 'object'))}")


@produces("number", "exceptions", weight=1)
def failing(w: Writer) -> str:
    return w.pick(f"int({w.leaf('text')})", f"({w.leaf('number')} / {w.leaf('number')})")


@statement("exceptions", weight=1)
def suppressed(w: Writer) -> None:
    with w.block("with contextlib.suppress(Exception):"):
        body(w, 2)

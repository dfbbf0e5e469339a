"""Tensors of torch and arrays of NumPy with small whole numbers, so that results are exact."""

from __future__ import annotations

from fuzz.grammar.writer import Writer, produces, statement


@produces("array", weight=5)
def combined(w: Writer) -> str:
    other = w.expression(w.pick("array", "number"))
    return f"({w.expression('array')} {w.pick('+', '-', '*')} {other})"


@produces("array", weight=3)
def of_method(w: Writer) -> str:
    array = w.expression("array")
    return f"{array}.{w.pick('sum()', 'reshape(-1)', 'max()', 'clip(0, 2)', 'cumsum(0)')}"


@produces("array", weight=2)
def of_function(w: Writer) -> str:
    a = w.expression("array")
    return w.pick(
        f"torch.relu({a})",
        f"torch.abs({a})",
        f"torch.stack([{a}, {a}])",
        "torch.zeros(2)",
        f"torch.where({a} > 1, {a}, {a} * 2)",
        f"torch.cat([{a}, W])",
        f"torch.ones_like({a})",
    )


@produces("array", weight=1)
def part(w: Writer) -> str:
    return f"{w.expression('array')}[{w.pick('0', '1:', '-1', '..., 0', 'None', ':2')}]"


@produces("array", weight=1)
def of_numpy(w: Writer) -> str:
    return w.pick("V", "(V + 1)", "V.sum()", "np.maximum(V, 2)", f"np.add(V, {w.leaf('number')})")


@produces("number", "arrays", weight=2)
def described(w: Writer) -> str:
    array = w.expression("array")
    return w.pick(
        f"{array}.shape[0]",
        f"{array}.ndim",
        f"len({array})",
        f"{array}.numel()",
        f"int({array}.sum())",
        f"{array}.sum().item()",
    )


@produces("truth", "arrays", weight=1)
def asked(w: Writer) -> str:
    array = w.expression("array")
    return w.pick(f"bool({array}.sum() > 2)", f"{array}.requires_grad", "torch.is_grad_enabled()")


@statement("arrays", weight=2)
def change_array(w: Writer) -> None:
    array = w.leaf("array")
    w.line(
        w.pick(
            f"{array}.add_({w.leaf('number')})",
            f"{array}[0] = {w.leaf('number')}",
            f"{array} += 1" if array.isidentifier() and array not in ("W", "V") else "W.mul_(2)",
            f"V[0] = {w.leaf('number')}",
            "W.zero_()",
        )
    )


@statement("arrays", weight=1)
def store_array(w: Writer) -> None:
    array = w.expression("array")
    w.line(
        w.pick(
            f"{w.leaf('object')}.{w.attribute()} = {array}",
            f"{w.leaf('list')}.append({array})",
            f"{w.leaf('dict')}[{w.leaf('key')}] = {array}",
        )
    )

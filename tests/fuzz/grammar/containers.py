"""Lists, dicts, tuples and sets: from outside, made anew, aliased."""

from __future__ import annotations

from fuzz.grammar.writer import Writer, produces, statement


@produces("number", weight=3)
def measured(w: Writer) -> str:
    return f"len({w.expression(w.pick('list', 'dict'))})"


@produces("number", weight=2)
def reduced(w: Writer) -> str:
    items = w.expression("list")
    return w.pick(f"sum({items})", f"max({items}, default=0)", f"{items}.count(1)")


@produces("number", weight=3)
def looked_up(w: Writer) -> str:
    table, key, default = w.expression("dict"), w.expression("key"), w.leaf("number")
    return w.pick(f"{table}.get({key}, {default})", f"{table}[{key}]", f"{table}.pop({key}, 0)")


@produces("number", weight=2)
def indexed(w: Writer) -> str:
    return f"{w.expression('list')}[{w.pick('0', '-1', '1', w.leaf('number'))}]"


@produces("number", "containers")
def unpacked(w: Writer) -> str:
    return f"(lambda first=0, *rest: first)(*{w.expression('list')})"


@produces("truth", weight=2)
def contained(w: Writer) -> str:
    return w.pick(
        f"({w.expression('number')} in {w.expression('list')})",
        f"({w.expression('key')} in {w.expression('dict')})",
    )


@produces("truth", "containers")
def compared(w: Writer) -> str:
    kind = w.pick("list", "dict")
    return f"({w.expression(kind)} {w.pick('==', '!=')} {w.expression(kind)})"


@produces("truth", "containers", weight=1)
def in_set(w: Writer) -> str:
    items = w.pick("{1, 2, 3}", "frozenset((1, 'a'))", "(1, 'a', None)", f"set({w.leaf('list')})")
    return f"({w.expression(w.pick('number', 'text', 'object', 'list'))} in {items})"


@produces("list", weight=3)
def list_display(w: Writer) -> str:
    items = [w.expression(w.pick("number", "number", "text", "object")) for _ in range(2)]
    return w.pick(f"[{', '.join(items)}]", f"[*{w.expression('list')}, {items[0]}]")


@produces("list", weight=2)
def derived_list(w: Writer) -> str:
    items = w.expression("list")
    return w.pick(
        f"list({items})",
        f"{items}[1:]",
        f"({items} + {items})",
        f"{items}[::-1]",
        f"sorted({items}, key=str)",
        f"{items}.copy()",
        f"list(reversed({items}))",
    )


@produces("list", weight=2)
def comprehension(w: Writer) -> str:
    items = w.expression("list")
    w.scope["number"].append("v")
    result, condition = w.expression("number"), w.expression("truth")
    w.scope["number"].remove("v")
    return w.pick(f"[{result} for v in {items}]", f"[v for v in {items} if {condition}]")


@produces("list", weight=2)
def list_of_dict(w: Writer) -> str:
    table = w.expression("dict")
    return w.pick(f"list({table})", f"list({table}.items())", f"list({table}.values())")


@produces("list", "containers")
def paired(w: Writer) -> str:
    a, b = w.expression("list"), w.expression("list")
    return w.pick(f"list(zip({a}, {b}))", f"list(enumerate({a}))", f"list(map(str, {a}))")


@produces("dict", weight=3)
def dict_display(w: Writer) -> str:
    key, value = w.expression("key"), w.expression(w.pick("number", "list", "object"))
    return w.pick(f"{{{key}: {value}}}", f"{{**{w.expression('dict')}, {key}: {value}}}")


@produces("dict", weight=2)
def derived_dict(w: Writer) -> str:
    table = w.expression("dict")
    return w.pick(
        f"dict({table})",
        f"dict({table}, k=1)",
        f"({table} | {table})",
        f"{table}.copy()",
        f"{{k: v for k, v in {table}.items()}}",
    )


@produces("object", "containers", weight=1)
def object_from_container(w: Writer) -> str:
    return w.pick(f"{w.leaf('dict')}.get('o', OBJ)", f"[{w.leaf('object')}, OTHER][0]")


@statement(weight=4)
def change_list(w: Writer) -> None:
    items, value = w.leaf("list"), w.expression(w.pick("number", "number", "object", "list"))
    w.line(
        w.pick(
            f"{items}.append({value})",
            f"{items}.append({value})",
            f"{items}.insert(0, {value})",
            f"{items}.extend([{value}])",
            f"out.append({items}.pop())",
            f"{items}[0] = {value}",
            f"del {items}[-1:]",
            f"{items}.reverse()",
            f"{items}[:1] = [{value}]",
            f"{items}.clear()",
        )
    )


@statement(weight=4)
def change_dict(w: Writer) -> None:
    table, key = w.leaf("dict"), w.expression("key")
    value = w.expression(w.pick("number", "number", "object", "list"))
    w.line(
        w.pick(
            f"{table}[{key}] = {value}",
            f"{table}[{key}] = {value}",
            f"out.append({table}.setdefault({key}, {value}))",
            f"{table}.pop({key}, None)",
            f"del {table}[{key}]",
            f"{table}.update({w.leaf('dict')})",
            f"{table}.update(k={value})",
            f"out.append({table}.popitem())",
            f"{table}.setdefault({key}, []).append({value})",
            f"{table}.clear()",
        )
    )


@statement("containers")
def augmented_item(w: Writer) -> None:
    w.line(
        w.pick(
            f"{w.leaf('dict')}[{w.leaf('key')}] += {w.expression('number')}",
            f"{w.leaf('list')}[0] += {w.expression('number')}",
            f"{w.leaf('list')}[-1] = {w.leaf('list')}",
        )
    )


@statement("containers")
def unpack(w: Writer) -> None:
    first, rest = w.fresh("n"), w.fresh("l")
    w.line(f"{first}, *{rest} = {w.expression('list')}")
    w.bind("number", first)
    w.bind("list", rest)


@statement("containers", weight=1)
def change_set(w: Writer) -> None:
    w.line(f"TAGS.{w.pick('add', 'discard', 'remove')}({w.expression('key')})")


@statement("containers", weight=1)
def change_queue(w: Writer) -> None:
    value = w.expression("number")
    w.line(
        w.pick(
            f"QUEUE.append({value})",
            f"QUEUE.appendleft({value})",
            "out.append(QUEUE.popleft())",
            f"COUNTS[{w.leaf('key')}] += 1",
            f"GROUPS[{w.leaf('key')}].append({value})",
            f"ORDERED.move_to_end({w.leaf('key')})",
            f"ORDERED[{w.leaf('key')}] = {value}",
        )
    )

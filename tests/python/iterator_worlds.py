"""Programs over iterators that existed before a trace, run plainly and captured and compared.

A world is a dict of a program's arguments, made anew by a function for each call. What remains of
it after the call, the items that iterators still give above all, is compared as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import armature
from differential import compare, compilations, observe

World = dict[str, Any]


@armature.disable
def opaque(value: Any) -> Any:
    return value


def next_of(iterator: Any, expected: type[Exception] = Exception) -> Any:
    """Its next item, or "ended", or the text of an error that is expected."""
    try:
        return next(iterator, "ended")
    except expected as error:
        return repr(error)


def check(
    remains: Callable[[World], Any],
    fn: Callable[..., Any],
    *worlds: Callable[[], World],
    repeat: int = 2,
) -> Any:
    """Calls ``fn(**world())`` plainly and captured, each world ``repeat`` times."""
    compiled = armature.compile(fn)
    for make in worlds * repeat:
        plain, captured = make(), make()
        expected = observe(fn, (), plain, None)
        actual = observe(compiled, (), captured, None)
        expected.state, actual.state = remains(plain), remains(captured)
        compare(expected, actual)
    return compiled


def translations(
    remains: Callable[[World], Any], fn: Callable[..., Any], *worlds: Callable[[], World]
) -> int:
    """How often ``fn`` and its resume functions are translated in a check over the worlds."""
    with compilations() as finished:
        check(remains, fn, *worlds)
    assert not [each for each in finished if each.get("error")]
    return len(finished)


def random_program(
    random: Any,
    statements: str,
    counts: range,
    parameters: str,
    *,
    log: str,
    result: str,
    **names: Any,
) -> tuple[Callable[..., Any], str]:
    """A function of so many of the statements, and its text. What is raised goes into ``log``."""
    lines = [line.replace("\\n", "\n") for line in statements.strip().splitlines()]
    count = random.randrange(counts.start, counts.stop)
    chosen = [random.choice(lines) for _ in range(count)]
    body = "\n".join(chosen).replace("\n", "\n        ")
    text = (
        f"def program({parameters}):\n"
        f"    try:\n        {body}\n"
        f"    except Exception as error:\n        {log}.append(repr(error))\n"
        f"    return {result}\n"
    )
    names["opaque"] = opaque
    exec(text, names)
    return names["program"], text

# ruff: noqa: F821 (odd code is what is tested here)
"""Graph breaks: what Python runs, what goes on after it, and in which order."""

import contextlib
import logging

import armature
import pytest
import torch
from differential import Cases, break_reasons, check, translations

cases = Cases()
X = torch.arange(1.0, 7.0).reshape(2, 3)


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_case(fn, args, options):
    check(fn, *args, **options)


@cases.add(X, breaks=1)
def print_in_the_middle(x):
    y = x + 1
    print("middle", x.shape[0])
    return y * 2, x


@cases.add(X, breaks=3)
def several_prints(x):
    a = [x]
    print("one")
    a.append(x + 1)
    print("two", len(a))
    b = {"a": a}
    print("three")
    return a, b, b["a"] is a


@cases.add(X)
def rows_with_a_break(x):
    seen = []
    for row in x + 1:
        print(row.shape)
        seen.append(row * 2)
    rest = iter(x)
    seen.append(next(rest))
    print("between")
    return seen, list(rest), type(iter(x)).__name__


def level_one(x, log):
    y = x + 1
    log.append("before")
    print("level one", len(log))
    log.append("after")
    return y * 2


def level_two(x, log, k=3):
    local = [k]
    result = level_one(x, log) + local[0]
    local.append(result)
    return local


def level_three(x, log):
    kept = {"x": x}
    for i in range(2):
        kept[i] = level_two(x * i, log, k=i)
    return kept, log


def level_four(x, log):
    return (x - 1, [*level_three(x, log)], log)


@cases.add(X, [], breaks=1)
def nested_one(x, log):
    z = x * 3
    return level_one(z, log) + z, log


@cases.add(X, [])
def nested_two(x, log):
    z = x * 3
    return level_two(z, log, k=z.shape[0]), z, log


@cases.add(X, [])
def nested_four(x, log):
    z = x + 10
    result = "text", z, level_four(z, log), len(log)
    return result


@cases.add(X)
def values_on_the_stack(x):
    a = [x]
    return (x + 1, a, [print("here"), x * 2], a[0] + len(str(print("there"))), {"k": a, "x": x - 1})


@cases.add(X)
def in_call_arguments(x):
    def join(*args, **kwargs):
        return args, kwargs

    return join(x, print("a"), x + 1, k=print("b"), m=x * 2)


LOOPS = {
    "list": "for i in [1, 2, 3]:",
    "input list": "for i in items:",
    "range": "for i in range(3):",
    "dict": "for i in table:",
    "values": "for i in table.values():",
    "items": "for _, i in table.items():",
    "enumerate": "for j, i in enumerate(items, 1):",
    "zip": "for i, j in zip(items, range(5)):",
    "reversed": "for i in reversed(items):",
    "map": "for i in map(lambda v: v * 2, items):",
    "filter": "for i in filter(lambda v: v != 2, items):",
    "generator expression": "for i in (v + 1 for v in items):",
    "generator": "for i in generated(items):",
    "tensor": "for i in x:",
    "tuple": "for i in (1, x, 3):",
    "set": "for i in {5}:",
    "string": "for i in 'abc':",
    "nested": "for i in [v for v in items for _ in range(2)]:",
    "sorted": "for i in sorted(items):",
    "input set": "for i in set(items):",
    "iter": "it = iter(items)\n    next(it)\n    for i in it:",
    "zip of input": "for (i, k), j in zip(table.items(), items):",
    "while": "n = 0\n    while n < 3:\n        n += 1\n        i = n",
}


def generated(items):
    for v in items:
        yield v * 10


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS.keys())
@pytest.mark.parametrize("position", ["every", "second", "last"])
def test_loops(loop, position):
    when = {"every": "True", "second": "count == 2", "last": "count == 3"}[position]
    indent = "        "
    source = f"""
def f(x, items, table):
    out = []
    count = 0
    {loop}
        count += 1
        out.append((i, x + count))
        if {when}:
            print("at", count, len(out))
        x = x * 2
    else:
        out.append("else")
    return out, count, x
"""
    namespace = {"generated": generated}
    exec(source, namespace)
    assert indent
    check(namespace["f"], X, [3, 1, 2], {"a": 5, 6: 7, "c": 8})


class Counter:
    def __init__(self, start):
        self.count = start
        self.log = []

    def step(self, x):
        self.count += 1
        self.log.append(("before", self.count))
        print("step", self.count)
        self.count += 1
        self.log.append(("after", self.count))
        return x + self.count

    @property
    def noisy(self):
        print("noisy", self.count)
        return self.count


@cases.add(Counter(3), X)
def in_a_method(c, x):
    y = c.step(x)
    z = c.step(y)
    return z, c.count, c.log


@cases.add(X)
def in_a_method_of_a_new_object(x):
    c = Counter(0)
    other = c
    y = c.step(x)
    return y, c, other is c


@cases.add(Counter(3))
def in_a_property(c):
    c.count += 1
    value = c.noisy + 1
    return value, c


@cases.add(X)
def in_a_constructor(x):
    class_ = Noisy(x, 5)
    return class_, class_.kept[0] is x


class Noisy:
    def __init__(self, x, n):
        self.kept = [x]
        print("making", n)
        self.n = n

    def __add__(self, other):
        print("adding", other)
        return self.n + other

    def __getitem__(self, key):
        print("item", key)
        return key

    def __bool__(self):
        print("truth")
        return self.n > 3

    def __enter__(self):
        print("enter")
        return self.kept

    def __exit__(self, kind, value, traceback):
        print("exit", kind, value)
        return kind is KeyError

    def __iter__(self):
        print("iter")
        yield 1
        print("between")
        yield 2

    def __len__(self):
        print("len")
        return 2

    def __contains__(self, item):
        print("contains")
        return item == 1

    def __eq__(self, other):
        print("eq")
        return other == 1

    __hash__ = None

    def __call__(self, *args):
        print("call", args)
        return args

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        print("getattr", name)
        return name

    def __setitem__(self, key, value):
        print("setitem", key)

    def __repr__(self):
        print("repr")
        return "Noisy"


@cases.add(Noisy(0, 5), X)
def in_special_methods(n, x):
    y = x + 1
    a = n + 2
    b = n[a]
    if n:
        y = y * 2
    while not n:
        pass
    first, second = n
    out = [
        *n,
        len(n),
        1 in n,
        2 not in n,
        n == 1,
        n != 1,
        n(1, 2),
        n.other,
        f"{n}",
        n and 5,
        n or 6,
    ]
    n[1] = 2
    return y, a, b, first, second, out, list(n), sum(n), n.kept


@cases.add(Noisy(0, 5), X)
def in_with(n, x):
    y = x + 1
    with n as kept:
        kept.append(y)
        print("inside", len(kept))
        y = y * 2
    with n, contextlib.suppress(ValueError):
        {}["k"]
    return y, kept


@cases.add(torch.ones(2, requires_grad=True))
def in_no_grad(x):
    y = x * 2
    with torch.no_grad():
        z = x * 3
        print("inside", torch.is_grad_enabled())
        w = x * 4
    print("outside", torch.is_grad_enabled())
    return y, z, w, x * 5


@cases.add(torch.ones(2, requires_grad=True))
def in_enable_grad_in_no_grad(x):
    with torch.no_grad():
        with torch.enable_grad():
            print("inside", torch.is_grad_enabled())
            w = x * 4
        print("between", torch.is_grad_enabled())
        z = x * 2
    return w, z, torch.is_grad_enabled()


def prints_without_grad(x):
    with torch.no_grad():
        y = x * 2
        print("deep", torch.is_grad_enabled(), y.requires_grad)
        return y * 2


@cases.add(torch.ones(2, requires_grad=True))
def in_no_grad_of_a_callee(x):
    y = x * 3
    z = prints_without_grad(x)
    return y, z, x * 4, torch.is_grad_enabled()


@cases.add(torch.ones(2, requires_grad=True))
def call_in_no_grad_that_breaks(x):
    with torch.no_grad():
        y = level_one(x, [])
    return y, x * 2, torch.is_grad_enabled()


@cases.add(torch.ones(2, requires_grad=True))
def set_grad_enabled_and_break(x):
    torch.set_grad_enabled(False)
    y = x * 2
    print("off", torch.is_grad_enabled())
    z = x * 3
    torch.set_grad_enabled(True)
    print("on", torch.is_grad_enabled())
    return y, z, x * 4


@cases.add(X)
def in_try_finally(x):
    log = []
    try:
        y = x + 1
        log.append("try")
        print("in try")
        y = y * 2
    finally:
        log.append("finally")
        print("in finally")
    return y, log


@cases.add(X)
def in_handlers(x):
    log = []
    for i in range(4):
        try:
            print("try", i)
            if i == 1:
                raise ValueError(f"value {i}")
            if i == 2:
                {}["k"]
            log.append(i)
        except ValueError as error:
            print("handler", error)
            log.append(error.args)
            continue
        except KeyError:
            print("key")
            break
        else:
            print("else")
        finally:
            print("finally", i)
    return x * len(log), log


def raises_after_print(x):
    print("about to")
    raise RuntimeError("raised", x.shape[0])


@cases.add(X)
def exception_of_a_broken_callee(x):
    log = []
    try:
        log.append(raises_after_print(x))
    except RuntimeError as error:
        log.append(error.args)
    return log


@cases.add(X, [])
def uncaught_exception_of_a_broken_callee(x, log):
    log.append(x + 1)
    raises_after_print(x)
    log.append("never")


@cases.add(X, more=((-X,), (X * 0,)), breaks=1)
def branch_on_a_tensor(x):
    y = x * 2
    if x.sum() > 0:
        y = y + 1
    elif x.sum() < 0:
        y = y - 1
    return y


@cases.add(X, more=((-X,),))
def branches_in_expressions(x):
    s = x.sum() > 0
    a = 1 if s else 2
    b = s and "yes"
    c = s or "no"
    d = not s
    return a, b, c, d, [v for v in x[0] if v > 2], bool(s), x.sum().item(), float(x[0, 0])


@cases.add(X, more=((-X,),))
def while_on_a_tensor(x):
    count = 0
    while x.sum() < 100:
        x = x * 2 + 1
        count += 1
        if count > 20:
            break
    return x, count


@cases.add(X, {"n": 1}, [1])
def effects_in_order(x, table, items):
    items.append("before")
    table["n"] += 1
    print(items, table)
    items.append("after")
    table["m"] = items
    print(items, sorted(table))
    items[0] = table["n"]
    del table["n"]
    return items, table


@cases.add(X)
def tensor_mutated_around_a_break(x):
    y = x.view(-1)
    x += 1
    items = [x, y]
    print(x[0, 0].item(), y[0].item())
    x.mul_(2)
    y[0] = 100
    return x, y, items


@cases.add(3)
def generator_alive(n):
    g = generated(range(n))
    first = next(g)
    print("between")
    return first, next(g), list(g)


@cases.add(3)
def generator_that_breaks(n):
    def noisy():
        for i in range(n):
            print("yielding", i)
            yield i

    out = []
    for v in noisy():
        out.append(v)
    return out, [*noisy()], sum(noisy()), max(noisy())


@cases.add(X)
def closures_across_breaks(x):
    count = 0
    fs = []

    def bump():
        nonlocal count
        count += 1
        return x + count

    for i in range(3):
        fs.append(lambda i=i: (i, count))
        bump()
        print("count", count)
    a = bump()
    count += 10
    return a, count, [f() for f in fs], bump


@cases.add(X)
def cell_changed_by_the_broken_callee(x):
    total = 0

    def callee():
        nonlocal total
        total += 1
        print("in callee", total)
        total += 1
        return total

    a = callee() + callee()
    return a, total, x + total


@cases.add(X)
def comprehension_that_breaks(x):
    return (
        [print(i) or x * i for i in range(3)],
        {i: print(i) for i in "ab"},
        {print("s") for i in range(2)},
    )


@cases.add(X)
def lambda_that_breaks(x):
    return sorted([3, 1, 2], key=lambda v: print("key", v) or -v), list(
        map(lambda v: print(v), [1, 2])
    )


@cases.add(X)
def inlined_star_arguments(x):
    def show(*args, **kwargs):
        print(len(args), sorted(kwargs))
        return args, kwargs

    args = [x, 1]
    return show(*args, **{"k": 2}), show(*args, 5, m=args)


@cases.add(X)
def with_default_and_nested_functions(x):
    def outer(a, b=[x]):  # noqa: B006
        def inner():
            print("inner", len(b))
            b.append(a)
            return a + 1

        return inner() * 2, b

    return outer(x), outer(x + 1)


@cases.add(X)
def logging_and_warnings(x):
    logging.getLogger("armature.test").debug("x is %s", x)
    y = x + 1
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("careful", stacklevel=1)
    return y * 2


def deep(x, n):
    if n == 0:
        print("bottom")
        return x
    return deep(x + 1, n - 1) * 2


@cases.add(X)
def deep_nesting(x):
    return deep(x, 30)


@cases.add(X)
def recursion_that_breaks_at_each_level(x):
    def walk(n):
        print("down", n)
        result = walk(n - 1) + n if n else 0
        print("up", n)
        return result

    return walk(5), x + 1


@cases.add(X)
def unpacking_after_a_break(x):
    a, (b, *c) = x + 1, print("p") or [1, 2, 3]
    return a, b, c


@cases.add(X)
def locals_and_eval(x):
    y = 5
    z = eval("y + 1")
    return sorted(locals()), z, x


@cases.add(X)
def super_call_after_break(x):
    class Base:
        def run(self, x):
            print("base")
            return x + 1

    class Derived(Base):
        def run(self, x):
            print("derived")
            return super().run(x) * 2

    return Derived().run(x)


@cases.add(X)
def delete_across_a_break(x):
    y = x + 1
    del x
    print("deleted")
    try:
        return x
    except UnboundLocalError as error:
        return str(error), y


@cases.add(X)
def string_building(x):
    return f"{x.shape[0]}{print('a')}{x.sum().item():.2f}" + str(print("b"))


@cases.add(X)
def backend_that_is_not_eager(x):
    y = x.relu()
    print("break")
    return y.sigmoid()


# --- Law 4: what was traced is not traced again.


def test_one_translation_for_each_piece():
    def f(x):
        y = x + 1
        print("one")
        z = y * 2
        print("two")
        return y + z

    compiled = check(f, X, breaks=2)
    assert translations(compiled) == 3
    pieces = [entry["operations"] for entry in armature._C.entries(compiled)]
    assert sorted(pieces) == [1, 1, 1]


def test_a_loop_with_a_break_is_translated_a_bounded_number_of_times():
    def f(x, n):
        for i in range(n):
            x = x + i
            if i % 2 == 0:
                print(i)
        return x

    compiled = armature.compile(f)
    with contextlib.redirect_stdout(None):
        compiled(X, 6)
        first = translations(compiled)
        compiled(X, 6)
    assert translations(compiled) == first


def test_instructions_are_interpreted_once():
    def f(x):
        total = 0
        for i in range(1000):
            total += i
        print(total)
        for i in range(1000):
            total -= i
        return x + total

    compiled = check(f, X, breaks=1)
    counts = [entry["instructions"] for entry in armature._C.entries(compiled)]
    assert sum(counts) < 20_000 and max(counts) < 11_000


def test_break_reason_names_the_place():
    def f(x):
        y = x + 1
        print(y.shape)
        return y

    compiled = armature.compile(f)
    with contextlib.redirect_stdout(None):
        compiled(X)
    (reason,) = break_reasons(compiled)
    assert reason["filename"] == __file__
    assert reason["line"] == f.__code__.co_firstlineno + 2
    assert "print" in reason["context"]


def test_traceback_lines_point_into_the_function():
    def f(x):
        x = x + 1
        print("break")
        raise ValueError("here", x)

    compiled = armature.compile(f)
    for _ in range(2):
        with contextlib.redirect_stdout(None), pytest.raises(ValueError, match="here") as caught:
            compiled(X)
        lines = [
            entry.lineno + 1
            for entry in caught.traceback
            if str(entry.path) == __file__ and entry.name == "f"
        ]
        assert f.__code__.co_firstlineno + 3 in lines


class Leaving:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        NOTES.append("left")


NOTES = []


def leaves_through_with(x):
    with Leaving():
        NOTES.append(x)
        1 / x


def leaves_through_finally(x):
    try:
        NOTES.append(x)
        [][x]
    finally:
        NOTES.append("finally")


def leaves_past_a_handler(x):
    try:
        NOTES.append(x)
        raise KeyError(x)
    except ValueError:
        NOTES.append("no")


@pytest.mark.parametrize(
    "function", [leaves_through_with, leaves_through_finally, leaves_past_a_handler]
)
def test_an_exception_bears_the_line_that_raised_it(function):
    lines = []
    for run in (function, armature.compile(function)):
        with pytest.raises(Exception) as caught:
            run(0)
        own = [entry.lineno + 1 for entry in caught.traceback if entry.name == function.__name__]
        lines.append(own[-1] if run is function else own)
    assert lines[0] in lines[1]


ELSEWHERE: dict[str, object] = {}
exec(  # another module's code: not of the globals in which the trace begins
    """
def annotated(scale):
    def inner(x: "Tensor", *, by: int = 2) -> float:
        return x * by * scale
    print(sorted(inner.__code__.co_varnames))
    return inner
""",
    ELSEWHERE,
)


def test_an_annotated_function_of_another_module_is_rebuilt():
    annotated = ELSEWHERE["annotated"]

    def f(x):
        inner = annotated(3)
        return inner(x), inner

    compiled = armature.compile(f)
    for fn in (f, compiled, compiled):
        value, inner = fn(torch.ones(2))
        assert value.tolist() == [6, 6] and inner(1, by=1) == 3
        assert inner.__annotations__ == {"x": "Tensor", "by": int, "return": float}
        assert inner.__kwdefaults__ == {"by": 2} and inner.__globals__ is ELSEWHERE

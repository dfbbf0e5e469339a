"""torch.autocast in a graph: as TorchDynamo's graphs have it, with plain PyTorch's results, and a
thread whose state is what plain Python leaves behind."""

import threading

import armature
import pytest
import torch
from differential import break_reasons, check, compare, observe, report

X = torch.arange(9.0).reshape(3, 3)


def state():
    nested = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    devices = [
        (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
        for device in ("cpu", "cuda")
    ]
    return devices, torch.is_autocast_cache_enabled(), nested, torch.is_grad_enabled()


def plain_region(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        return y, y.dtype, y + 1, y.float() @ x


def default_dtype(x):
    with torch.autocast(device_type="cpu"):
        return x @ x


def nested_regions(x):
    y = x @ x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ x
        with torch.autocast("cpu", enabled=False):
            b = x @ x
            with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
                c = x @ x
        d = x @ x
    return y, y.dtype, a.dtype, b.dtype, c.dtype, d.dtype, a, b, c, d


def with_grad_modes(x):
    with torch.no_grad(), torch.amp.autocast("cpu", cache_enabled=False):
        a = x @ x
        with torch.enable_grad():
            b = x @ x
    return a, b, a.requires_grad, b.requires_grad, x @ x


def in_a_loop(x):
    total = x.new_zeros(())
    for i in range(3):
        with torch.autocast("cpu", enabled=i % 2 == 0):
            total = total + (x @ x).sum()
    return total


def shapes_decide(x):
    with torch.autocast("cpu"):
        y = torch.nn.functional.linear(x, x)
        return y.float().sum() if y.dtype is torch.bfloat16 else y


FUNCTIONS = [
    plain_region,
    default_dtype,
    nested_regions,
    with_grad_modes,
    in_a_loop,
    shapes_decide,
]


def check_calls(fn, *others):
    compiled = armature.compile(fn)
    for _ in range(2):
        for outer in (False, True):
            with torch.autocast("cpu", enabled=outer):
                before = state()
                for grad in (False, True):
                    x = X.clone().requires_grad_(grad)
                    actual = observe(compiled, (x, *others), {}, state())
                    assert state() == before
                    x = X.clone().requires_grad_(grad)
                    compare(observe(fn, (x, *others), {}, state()), actual)
    return compiled


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_does_what_plain_python_does(fn):
    assert not break_reasons(check_calls(fn))


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_has_the_operations_of_torchdynamo(fn, backend):
    def targets_of(compile):
        torch._dynamo.reset()
        targets = []

        def count(graph, inputs):
            nodes = [node for node in graph.graph.nodes if node.op.startswith("call")]
            targets.extend(getattr(node.target, "__name__", node.target) for node in nodes)
            return graph.forward

        result = compile(fn, backend=count)(X)
        return targets, result

    (ours, our_result), (theirs, their_result) = map(targets_of, (armature.compile, torch.compile))
    assert ours == theirs
    compare(observe(lambda: their_result, (), {}, None), observe(lambda: our_result, (), {}, None))
    compare(
        observe(fn, (X,), {}, None), observe(armature.compile(fn, backend=backend), (X,), {}, None)
    )


def test_gradients_flow():
    w = torch.ones(3, 3, requires_grad=True)

    def f(x):
        with torch.autocast("cpu"):
            y = (x @ w).sum()
        return y.float()

    results = []
    for fn in (f, armature.compile(f)):
        w.grad = None
        fn(X).backward()
        results.append(w.grad.clone())
    assert torch.equal(*results)


def fails_on_data(x, i):
    log = []
    try:
        with torch.autocast("cpu"):
            y = x @ x
            log.append("before")
            z = x[i]
            log.append("behind")
            return y, z, log
    except IndexError as error:
        return str(error), log, (x @ x).dtype


def fails_in_the_graph(x, i):
    with torch.autocast("cpu"):
        x.add_(1)
        return (x @ x)[i]


# A foreign backend does not say where it failed: what the graph changed before is done.
@pytest.mark.parametrize(
    ("fn", "backend"),
    [(fails_on_data, "eager"), (fails_on_data, "aot_eager"), (fails_in_the_graph, "eager")],
)
def test_a_failing_operation_leaves_the_region(fn, backend):
    compiled = armature.compile(fn, backend=backend)
    for index in (0, 7, 1, 9):
        before = state()
        arguments = [(X.clone(), torch.tensor([index])) for _ in range(2)]
        actual = observe(compiled, arguments[0], {}, None)
        assert state() == before
        compare(observe(fn, arguments[1], {}, None), actual)


def breaks_inside(x):
    with torch.autocast("cpu", torch.bfloat16) as region:
        a = x @ x
        armature.graph_break()
        b = x @ x
        seen = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        with torch.autocast("cpu", enabled=False):
            armature.graph_break()
            c = x @ x
    return a, b, c, x @ x, seen, region.prev, region.prev_fastdtype, region.fast_dtype


def breaks_between(x):
    region = torch.autocast("cpu", torch.float16)
    armature.graph_break()
    with region:
        y = x @ x
    return y


def raises_inside(x):
    try:
        with torch.autocast("cpu"):
            y = x @ x
            raise ValueError(y.dtype)
    except ValueError as error:
        return y, str(error), x @ x


def entered_twice(x):
    region = torch.autocast("cpu")
    with region:
        a = x @ x
    with region:
        b = x @ x
    return a, b, x @ x


@pytest.mark.parametrize("fn", [breaks_inside, breaks_between, raises_inside, entered_twice])
def test_breaks_and_exceptions_keep_the_state(fn):
    check_calls(fn)


def test_an_argument_that_varies():
    def f(x, dtype, enabled):
        with torch.autocast("cpu", dtype, enabled):
            return x @ x

    compiled = armature.compile(f)
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        for enabled in (True, False):
            assert compiled(X, dtype, enabled).dtype is f(X, dtype, enabled).dtype


@pytest.mark.parametrize(
    "arguments", [(), ("moon",), (3,), ("cpu", "no dtype"), ("cpu", torch.int8)]
)
def test_wrong_arguments(arguments):
    def f(x):
        with torch.autocast(*arguments):
            return x @ x

    with pytest.warns() if arguments == ("cpu", torch.int8) else pytest.raises(Exception) as plain:
        f(X)
    compiled = armature.compile(f)
    before = state()
    if arguments == ("cpu", torch.int8):
        with pytest.warns():
            assert compiled(X).dtype is torch.float32
    else:
        with pytest.raises(plain.type) as ours:
            compiled(X)
        assert str(ours.value) == str(plain.value)
    assert state() == before


def test_a_replaced_method_is_called(monkeypatch):
    def f(x):
        with torch.autocast("cpu"):
            return x @ x

    compiled = armature.compile(f)
    assert compiled(X).dtype is torch.bfloat16
    monkeypatch.setattr(torch.autocast, "__enter__", lambda self: self)
    monkeypatch.setattr(torch.autocast, "__exit__", lambda self, *error: None)
    assert compiled(X).dtype is torch.float32


def test_threads_have_their_own():
    compiled = armature.compile(plain_region)
    with torch.autocast("cpu", torch.float16):
        compiled(X)
        seen = []
        thread = threading.Thread(target=lambda: seen.append((compiled(X)[0].dtype, state())))
        thread.start()
        thread.join()
    assert seen[0][0] is torch.bfloat16 and seen[0][1][0][0][0] is False


REGION = torch.autocast("cpu", dtype=torch.bfloat16)


@torch.autocast("cpu")
def decorated(x):
    return x @ x, torch.is_autocast_enabled("cpu")


@torch.autocast("cpu", dtype=torch.bfloat16, enabled=False, cache_enabled=False)
def decorated_without(x):
    return x @ x, torch.is_autocast_enabled("cpu")


def calls_decorated(x):
    product, inside = decorated(x)
    return product + 1, inside, decorated_without(x), torch.is_autocast_enabled("cpu")


def existing_region(x):
    with REGION as region:
        y = x @ x
    return y, region is REGION, torch.is_autocast_enabled("cpu"), sorted(vars(REGION))


def existing_region_broken(x):
    with REGION:
        y = x @ x
        print("inside")
        z = x @ x
    return y, z, torch.is_autocast_enabled("cpu")


def existing_region_left_by_an_error(x):
    try:
        with REGION:
            y = x @ x
            raise ValueError("left")
    except ValueError:
        return y, torch.is_autocast_enabled("cpu")


def existing_region_in_itself(x):
    with REGION:
        with REGION:
            y = x @ x
        z = x @ x
    enabled = torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", False)
    return y, z, enabled


def method_of_a_holder(x, holder):
    with holder.region:
        return x @ x


class Holder:
    def __init__(self, dtype):
        self.region = torch.autocast("cpu", dtype=dtype)


@pytest.mark.parametrize(
    "fn",
    [
        calls_decorated,
        existing_region,
        existing_region_broken,
        existing_region_left_by_an_error,
        existing_region_in_itself,
    ],
    ids=lambda fn: fn.__name__,
)
def test_managers_from_before(fn):
    check(fn, torch.ones(3, 3), more=((torch.ones(2, 2),),))
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("fn", [decorated, calls_decorated, existing_region])
def test_managers_from_before_are_in_the_graph(fn):
    compiled = armature.compile(fn, backend="eager")
    compiled(torch.ones(3, 3))
    assert not break_reasons(compiled), report(compiled)


def test_what_a_manager_from_before_holds_is_asked():
    holder, other = Holder(torch.bfloat16), Holder(torch.float16)
    compiled = armature.compile(method_of_a_holder, backend="eager")
    for each in (holder, other, holder):
        assert compiled(torch.ones(3, 3), each).dtype == each.region.fast_dtype
    holder.region.fast_dtype = torch.float16
    assert compiled(torch.ones(3, 3), holder).dtype == torch.float16
    holder.region._enabled = False
    assert compiled(torch.ones(3, 3), holder).dtype == torch.float32


def test_parameters_are_parameters():
    """The stand-in for one is none."""

    def fn(x, module):
        with torch.autocast("cpu"):
            module.weight = torch.nn.Parameter(torch.zeros(3))
            made = torch.nn.Parameter(x)
        return type(made), type(module.weight), made, module.weight

    module = torch.nn.Linear(2, 2)
    compiled = armature.compile(fn, backend="eager")
    for _ in range(2):
        found, expected = compiled(torch.ones(2), module), fn(torch.ones(2), module)
        assert found[:2] == expected[:2] == (torch.nn.Parameter,) * 2
        assert [type(made) for made in found[2:]] == [torch.nn.Parameter] * 2

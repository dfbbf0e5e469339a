"""Operations that may fail on data, inside of try and with, behind operations that change arrays.

A graph that raises there is forgotten, and Python runs all of it again, where the graph has changed
nothing but arrays of its own and the state of random numbers, which is put back; elsewhere, "eager"
goes on with what the graph has computed, and for other backends the graph breaks.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import armature
import numpy as np
import pytest
import torch
from differential import break_reasons
from torch.nn import functional

TABLE = torch.arange(6.0).reshape(3, 2)

Prepare = Callable[[torch.Tensor], torch.Tensor]


def changed(array: torch.Tensor, index: Any = 0) -> torch.Tensor:
    array[index] = 7
    return array


def filled(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.add(x, 1, out=out)
    return out


def inverse(x: torch.Tensor) -> torch.Tensor:
    order = x[:, 0].argsort()
    result = torch.empty_like(order)
    result[order] = torch.arange(order.size(0))
    return x[result]


def in_inference(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        changed(x.clone()[1:])
    return x + 1


OWN: list[Prepare] = [
    lambda x: changed(torch.zeros_like(x)),
    lambda x: changed(torch.zeros(1, 3)),
    lambda x: changed(x.clone()),
    lambda x: changed(x + 1),
    lambda x: changed((x + 1).t()),
    lambda x: changed((x + 1).view(-1)).view_as(x),
    lambda x: changed(torch.cat([x, x])[1:])[:1],
    lambda x: changed((x * 2).chunk(2)[0]).sum() + x,
    lambda x: changed((x * 2).detach()),
    lambda x: torch.zeros_like(x).copy_(x[..., -3:]),
    lambda x: (x + 1).add_(x[0]).clamp_(min=0),
    lambda x: functional.relu(x - 1, inplace=True),
    lambda x: functional.batch_norm(x, torch.zeros(3), torch.ones(3), training=False),
    inverse,
    filled,
    lambda x: x + torch.rand(1),
    lambda x: functional.dropout(x, 0.5, True),
]

OTHERS: list[Prepare] = [
    lambda x: changed(x),
    lambda x: changed(x[1:]),
    lambda x: changed(x.view(-1)).view_as(x),
    lambda x: changed(x.reshape(-1)).reshape(-1, 3),
    lambda x: changed(x.contiguous()),
    lambda x: changed(x.float()),
    lambda x: changed(x.detach()),
    lambda x: changed(x.data),
    lambda x: changed(torch.unsafe_chunk(x, 2)[1]).sum() + x,
    lambda x: changed(torch.unsafe_split(x, 1)[0]).sum() + x,
    lambda x: changed(functional.dropout(x, training=False)),
    lambda x: changed(torch.broadcast_tensors(x, torch.ones(3))[0]),
    lambda x: changed(torch.atleast_2d(x)),
    lambda x: changed(torch.einsum("ij->ji", x)).t(),
    lambda x: torch.add(x, 1, out=x),
    lambda x: functional.relu(x, inplace=True),
    lambda x: functional.batch_norm(x, x[0].zero_(), torch.ones(3), training=True),
]

# What begins before the operation, and breaks the graph.
BREAKING: list[Prepare] = [
    lambda x: x.uniform_(),
    lambda x: x.mul_(torch.ones(3, requires_grad=True)),
    lambda x: x + torch.rand(3, generator=torch.default_generator),
    lambda x: x.resize_(2, 3),
    lambda x: changed(torch.tensor(x.tolist())),
]


def foreign(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    return module.forward


def around(prepare: Prepare) -> Callable[..., Any]:
    def caught(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
        try:
            log.append("begun")
            y = prepare(x)
            log.append(y.shape)
            return functional.embedding(index, TABLE).sum() + y
        except IndexError as error:
            log.append(str(error))
            return prepare(x)
        finally:
            log.append("over")

    return caught


def compare(function: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    for number, rows in [(1, 2), (5, 2), (0, 2), (5, 2), (7, 4), (2, 4)]:
        outcomes = []
        for run in (function, compiled):
            torch.manual_seed(3)
            x = torch.arange(6.0 * rows).reshape(rows * 2, 3)[rows:]
            if rows == 2:
                x = torch.arange(6.0).reshape(2, 3)
            log: list[Any] = []
            try:
                result: Any = run(x, torch.tensor([number]), log)
            except (RuntimeError, IndexError) as error:
                result = str(error)
            outcomes.append(repr((result, x, log, torch.rand(1))))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("backend", ["eager", foreign])
@pytest.mark.parametrize("prepare", OWN)
def test_arrays_of_the_graph_may_be_changed_before(prepare: Prepare, backend: Any) -> None:
    function = around(prepare)
    compiled = armature.compile(function, backend=backend)
    compare(function, compiled)
    assert break_reasons(compiled) == []


@pytest.mark.parametrize("backend", ["eager", foreign])
@pytest.mark.parametrize("prepare", OTHERS)
def test_other_arrays_are_changed_once(prepare: Prepare, backend: Any) -> None:
    function = around(prepare)
    compiled = armature.compile(function, backend=backend)
    compare(function, compiled)
    assert bool(break_reasons(compiled)) == (backend is foreign)


@pytest.mark.parametrize("backend", ["eager", foreign])
@pytest.mark.parametrize("prepare", BREAKING)
def test_what_breaks_before(prepare: Prepare, backend: Any) -> None:
    function = around(prepare)
    compiled = armature.compile(function, backend=backend)
    compare(function, compiled)
    assert break_reasons(compiled)


def test_views_of_inference_mode_are_known() -> None:
    function = around(in_inference)
    compare(function, armature.compile(function, backend=foreign))

    def inference(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
        with torch.inference_mode():
            return around(lambda array: changed(array.t()))(x, index, log)

    compare(inference, armature.compile(inference, backend=foreign))


def drawn(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        y = functional.dropout(x, 0.5, training=True)
        return y[index], torch.rand(2)
    except IndexError:
        return "failed", torch.rand(2), functional.dropout(x, 0.5, training=True)


def drawn_and_changed(x: torch.Tensor, index: torch.Tensor) -> Any:
    total = torch.zeros(3)
    try:
        y = functional.dropout(x, 0.5, training=True)
        z = y[index]
    except IndexError:
        return "failed", torch.rand(2), total
    total.add_(torch.rand(3))
    x.mul_(torch.rand(3))
    return z, total.sum(), x[index]


def drawn_from_another(x: torch.Tensor, index: torch.Tensor) -> Any:
    generator = torch.Generator().manual_seed(1)
    try:
        return (x + torch.rand(3, generator=generator))[index]
    except IndexError:
        return torch.rand(3, generator=generator)


@pytest.mark.parametrize(
    "function, backend",
    [
        (drawn, "eager"),
        (drawn, foreign),
        (drawn_and_changed, "eager"),
        (drawn_and_changed, foreign),
        (drawn_from_another, "eager"),
        (drawn_from_another, foreign),
    ],
)
def test_random_numbers_before_an_operation_that_fails(function: Any, backend: Any) -> None:
    compiled = armature.compile(function, backend=backend)
    x = torch.ones(3, 3)
    inside, outside = torch.tensor([0, 2]), torch.tensor([0, 7])
    for index in (inside, inside, outside, inside, outside):
        found = []
        for call in (function, compiled):
            torch.manual_seed(5)
            argument = x.clone()
            result = call(argument, index)
            found.append([*result, argument, torch.rand(1)])
        for a, b in zip(*found, strict=True):
            assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_random_numbers_do_not_break() -> None:
    assert not armature.explain(drawn)(torch.ones(3, 3), torch.tensor([0])).break_reasons


def changed_behind(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        y = x.view(-1)[index]
    except IndexError:
        log.append("failed")
        y = x.view(-1)[:1]
    x.mul_(2)
    log.append("changed")
    return y + x.view(-1)[index]


@pytest.mark.parametrize("backend", ["eager", foreign])
def test_a_failure_before_a_change_is_caught(backend: Any) -> None:
    compare(changed_behind, armature.compile(changed_behind, backend=backend))


def test_a_change_behind_a_handler() -> None:
    for backend, kinds in [
        ("eager", []),
        (foreign, ["Change behind an operation in an exception handler"]),
    ]:
        compiled = armature.compile(changed_behind, backend=backend)
        compiled(torch.arange(4.0), torch.tensor([1]), [])
        assert [reason["gb_type"] for reason in break_reasons(compiled)] == kinds


class Holder:
    value: Any = None


def needed_by_the_handler_only(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    holder, before, inside = Holder(), x * 2, None
    try:
        inside = x + 5
        holder.value = x - 1
        x.mul_(3)
        log.append("changed")
        y = TABLE[index]
        log.append("over")
    except IndexError as error:
        log.append(str(error))
        return before, inside, holder.value, x + 1
    return y.sum() + x


def with_an_outer_handler(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        with torch.no_grad():
            x.add_(1)
            y = x * 2
            z = TABLE[index]
        return z + 1
    except IndexError:
        return y, torch.is_grad_enabled()


def behind_a_handler_with_an_outer_one(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    y = None
    try:
        try:
            raise KeyError
        except KeyError as error:
            log.append(type(error))
            x.add_(1)
            y = x * 2
            return TABLE[index]
    except IndexError as error:
        log.append(type(error.__context__))
        return y


def with_clean_up(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    total = x.sum()
    try:
        x.sub_(1)
        return TABLE[index] + total
    finally:
        log.append(total)


def of_nested_frames(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    y = x.exp()
    try:
        return with_clean_up(x, index, log)
    except IndexError as error:
        return y, str(error)


def in_a_loop(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    results: list[Any] = []
    for number in range(4):
        y = x * number
        try:
            x.add_(number)
            z = x * y
            results.append(functional.embedding(index - number, TABLE))
            x.mul_(2)
        except IndexError:
            results.append((number, y, z))
    return results


def of_generator(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    def items() -> Any:
        y = x * 3
        try:
            x.add_(1)
            yield y
            yield TABLE[index]
        except IndexError:
            yield y + 1
        finally:
            log.append("over")

    return list(items())


@contextlib.contextmanager
def resumed() -> Any:
    armature.graph_break()
    try:
        yield
    finally:
        armature.graph_break()


def in_a_frame_that_goes_on(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        with resumed():
            x.add_(1)
            y = x * 2
            z = TABLE[index]
    except IndexError:
        return y
    return z


def with_random_numbers(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        x.add_(1)
        drawn = torch.rand(3), torch.rand(2)
        y = TABLE[index]
    except IndexError:
        return drawn, torch.rand(3)
    return y, drawn[0]


def suppressed(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    class Manager:
        def __enter__(self) -> torch.Tensor:
            return x * 5

        def __exit__(self, *error: Any) -> bool:
            log.append(error[0])
            x.add_(4)
            return True

    x.mul_(2)
    with Manager() as given:
        y = x + 1
        y = TABLE[index].sum()
    return given, y


def that_changes_by_itself(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        x[index] = x[index] * 2
        log.append(1)
        x.add_(1)
        x[index + 1] = 5
        log.append(2)
    except IndexError as error:
        log.append(str(error))
    return x.sum()


@pytest.mark.parametrize(
    "function",
    [
        needed_by_the_handler_only,
        with_an_outer_handler,
        behind_a_handler_with_an_outer_one,
        with_clean_up,
        of_nested_frames,
        in_a_loop,
        of_generator,
        in_a_frame_that_goes_on,
        with_random_numbers,
        suppressed,
        that_changes_by_itself,
    ],
    ids=lambda function: function.__name__,
)
def test_handlers_find_what_was_computed(function: Any) -> None:
    compiled = armature.compile(function)
    compare(function, compiled)
    kinds = {reason["gb_type"] for reason in break_reasons(compiled)}
    if function is that_changes_by_itself:  # and would do so twice
        kinds.remove("Operation inside an exception handler")
    # Where the program breaks, and behind the failure, as it leaves.
    assert kinds <= {"Call of graph_break()", "Observed exception"}


def whose_result_nobody_needs(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        TABLE[index]
        log.append("in range")
    except IndexError:
        log.append("out of range")
    return x + 1


def that_changes_what_nobody_needs(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        y = x.view(-1).clone()
        y[index] = 1
        log.append("in range")
    except IndexError:
        log.append("out of range")
    return x + 1


@pytest.mark.parametrize("function", [whose_result_nobody_needs, that_changes_what_nobody_needs])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_drop_no_failure(function: Any, backend: str) -> None:
    compare(function, armature.compile(function, backend=backend))


def test_backends_have_graphs_of_handlers() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def counted(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(module)
        return module.forward

    def function(x: torch.Tensor, index: torch.Tensor) -> Any:
        try:
            y = x.clone()
            y.add_(1)
            return TABLE[index].sum() + y
        except IndexError:
            return x

    compiled = armature.compile(function, backend=counted)
    compiled(torch.ones(3), torch.tensor([1]))
    assert len(graphs) == 1


# --- Handlers that let pass what operations raise because of data.


def written(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> None:
    x.add_(1)
    log.append("added")
    x.index_copy_(0, index, torch.ones(1, 3))


def other_error(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        written(x, index, log)
    except NotImplementedError:
        log.append("caught")
    return x * 2


def several_others(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        try:
            written(x, index, log)
        except (KeyError, AttributeError) as error:
            log.append(error)
        except ImportError:
            log.append("caught")
    except StopIteration:
        return None
    return x * 2


def its_error(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        written(x, index, log)
    except (NotImplementedError, IndexError):
        log.append("caught")
    return x * 2


def its_base(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        try:
            written(x, index, log)
        except KeyError:
            log.append("caught")
    except LookupError:
        log.append("caught outside")
    return x * 2


def at_last(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        written(x, index, log)
    except KeyError:
        log.append("caught")
    finally:
        log.append("at last")
    return x * 2


PASSING = [other_error, several_others]
CATCHING = [its_error, its_base, at_last]


def compare_writes(function: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    for number in (1, 0, 5, 1, 7):
        outcomes = []
        for run in (function, compiled):
            x, log = torch.arange(6.0).reshape(2, 3), list[Any]()
            try:
                result: Any = run(x, torch.tensor([number]), log)
            except Exception as error:
                result = repr(error)
            outcomes.append(repr((result, x, log)))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("function", PASSING)
def test_clauses_of_other_errors_break_nothing(function: Callable[..., Any]) -> None:
    compiled = armature.compile(function)
    compiled(torch.ones(2, 3), torch.tensor([1]), [])
    assert break_reasons(compiled) == []
    compare_writes(function, compiled)


@pytest.mark.parametrize("function", CATCHING)
def test_clauses_that_may_catch_break(function: Callable[..., Any]) -> None:
    compiled = armature.compile(function)
    compiled(torch.ones(2, 3), torch.tensor([1]), [])
    assert break_reasons(compiled)
    compare_writes(function, compiled)


def test_what_the_name_of_an_error_means(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = armature.compile(other_error)
    compare_writes(other_error, compiled)
    monkeypatch.setitem(globals(), "NotImplementedError", IndexError)
    compare_writes(other_error, compiled)


@torch.library.custom_op("handlers::raises_for_data", mutates_args=())
def raises_for_data(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    if int(index) > 1:
        raise KeyError("too large")
    return x * 2


@raises_for_data.register_fake
def _(x, index):
    return x * 2


def of_the_program(x: torch.Tensor, index: torch.Tensor, log: list[Any]) -> Any:
    try:
        x.add_(1)
        log.append("added")
        return raises_for_data(x, index)
    except KeyError:
        log.append("caught")
    return x * 2


def test_operators_of_the_program_raise_what_they_like() -> None:
    compare_writes(of_the_program, armature.compile(of_the_program))


def leaves_a_handler(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        armature.graph_break()
    except IndexError:
        return "caught what was not raised there"
    x += 1
    return x[index]


def leaves_a_handler_by_exception(x: torch.Tensor, index: torch.Tensor) -> Any:
    try:
        [][armature.graph_break() or 0]
    except IndexError:
        pass
    x += 1
    return x[index]


def leaves_a_context(x: torch.Tensor, index: torch.Tensor) -> Any:
    with contextlib.suppress(IndexError):
        armature.graph_break()
    x += 1
    return x[index]


def leaves_clean_up(x: torch.Tensor, index: torch.Tensor) -> Any:
    done = []
    try:
        armature.graph_break()
    finally:
        done.append(1)
        assert done == [1]
    x += 1
    return x[index]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "function",
    [leaves_a_handler, leaves_a_handler_by_exception, leaves_a_context, leaves_clean_up],
)
def test_a_failure_behind_a_handler_is_not_its(function: Callable[..., Any], backend: str) -> None:
    compiled = armature.compile(function, backend=backend)
    wrong = torch.tensor([9])
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            compiled(torch.arange(3.0), wrong)
        assert caught.value.__context__ is None
        lines = [
            entry.lineno
            for entry in caught.traceback
            if entry.frame.code.raw.co_name == function.__name__
        ]
        assert lines and all(line is not None for line in lines)
        assert sys.exc_info() == (None, None, None)
    assert torch.equal(compiled(torch.arange(3.0), torch.tensor([2])), torch.tensor([3.0]))


def test_what_is_handled_while_tracing_is_not_what_fails() -> None:
    log: list[Any] = []

    def program(x: torch.Tensor, index: torch.Tensor) -> Any:
        made = x + 1
        log.append("effect")
        for sizes in ((2, 2), (2, 3)):
            try:
                made.view(sizes)
            except RuntimeError as error:
                log.append(str(error))
        made = torch.cat([made, made])
        made.add_(1)
        try:
            log.append(made[index])
        except IndexError as error:
            log.append(str(error))
        x.clamp_(-1, 1)
        return made

    def outcome(function: Callable[..., Any], x: torch.Tensor, index: torch.Tensor) -> Any:
        log.clear()
        try:
            result = function(x, index)
        except RuntimeError as error:
            result = error
        return repr(result), repr(log)

    compiled = armature.compile(program)
    for requires_grad in (True, False):
        for index in (torch.tensor([1]), torch.tensor([17])):
            arguments = [torch.ones(3, 4, requires_grad=requires_grad) for _ in range(2)]
            expected = outcome(program, arguments[0], index)
            assert outcome(compiled, arguments[1], index) == expected


@pytest.mark.parametrize("change", [lambda c: c.mul_(0.5), lambda c: c.detach().mul_(0.5)])
@pytest.mark.parametrize("first", [torch.ones(3, 4), torch.ones(1, 4).expand(3, 4)])
def test_kernels_refuse_expanded_arrays(change: Any, first: torch.Tensor) -> None:
    log: list[Any] = []

    def program(x: torch.Tensor) -> None:
        view = x.view_as(x)
        computed = view.narrow(0, 0, 2).pow(2).mul_(2)
        try:
            change(view)
        except RuntimeError as error:
            log.append(str(error))
        if computed.shape[0] == 2:
            x.data = view.data
        x.view(5)

    def outcome(function: Callable[..., Any], x: torch.Tensor) -> Any:
        log.clear()
        with pytest.raises(RuntimeError) as raised:
            function(x)
        return str(raised.value), list(log)

    compiled = armature.compile(program)
    for x in (first, torch.ones(1, 4).expand(3, 4)):
        expected = outcome(program, x.clone() if x is first else x)
        assert outcome(compiled, x.clone() if x is first else x) == expected


# What stands for NumPy's number in a trace must not be taken for it.
@pytest.mark.parametrize("number", (np.int64(2), np.int64(0), np.float64(0.5), np.array([2, 3, 1])))
@pytest.mark.parametrize(
    "operation",
    (
        lambda x, n: x // n,
        lambda x, n: x % n,
        lambda x, n: torch.div(x, n, rounding_mode="floor"),
        lambda x, n: torch.remainder(x, n),
        lambda x, n: x**n,
    ),
)
def test_numbers_of_numpy(operation, number):
    def handled(x, n):
        try:
            return operation(x, n)
        except (RuntimeError, ZeroDivisionError, TypeError) as error:
            return type(error), str(error)

    def in_a_context(x, n):
        with torch.no_grad():
            return operation(x, n)

    def outcome(function, *arguments):
        try:
            return repr(function(*arguments))
        except Exception as error:
            return repr((type(error), str(error)))

    for function in (handled, in_a_context):
        compiled = armature.compile(function)
        for n in (number, number, number + 1):
            x = torch.arange(3)
            assert outcome(compiled, x, n) == outcome(function, x, n)

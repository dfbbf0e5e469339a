"""error_on_graph_break: breaks that are errors, or none, by region; beside TorchDynamo's. And what
an error of fullgraph=True tells."""

from __future__ import annotations

import gc
import inspect
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import armature
import pytest
import torch
from armature import _C
from differential import check

X = torch.ones(2)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    yield
    assert not _C.is_error_on_graph_break()


def in_region(x: Any, on_break: Any, breaks: Any, outer: bool, inner: bool, where: str) -> Any:
    """A program with a break before, in, between and behind two nested regions."""

    def at(place: str) -> None:
        if where == place:
            breaks()

    at("before")
    x = x + 1
    with on_break(outer):
        at("outer")
        x = x * 2
        with on_break(inner):
            at("inner")
            x = x + 3
        at("again")
        x = x * 4
    at("behind")
    return x - 1


REGIONS = [
    (outer, inner, where)
    for outer in (True, False)
    for inner in (True, False)
    for where in ("before", "outer", "inner", "again", "behind", "nowhere")
]


def raises(call: Callable[[], Any], error: type[BaseException]) -> bool:
    try:
        call()
    except error:
        return True
    return False


# In a process of its own: after an error, TorchDynamo stays between Python and its frames.
DYNAMO = f"""
import json, torch, torch._dynamo
from typing import Any

{inspect.getsource(in_region)}

def raises(outer, inner, where):
    torch._dynamo.reset()
    compiled = torch.compile(in_region, backend="eager")
    regions, breaks = torch._dynamo.error_on_graph_break, torch._dynamo.graph_break
    try:
        compiled(torch.ones(2), regions, breaks, outer, inner, where)
    except torch._dynamo.exc.Unsupported:
        return True
    return False

print(json.dumps([raises(*region) for region in {REGIONS}]))
"""


@pytest.fixture(scope="module")
def raised_by_dynamo(tmp_path_factory: pytest.TempPathFactory) -> list[bool]:
    file = tmp_path_factory.mktemp("dynamo") / "regions.py"
    file.write_text(DYNAMO)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("outer", "inner", "where"), REGIONS)
def test_nested_regions_as_in_dynamo(
    raised_by_dynamo: list[bool], outer: bool, inner: bool, where: str
) -> None:
    ours = armature.compile(in_region)
    expected = raised_by_dynamo[REGIONS.index((outer, inner, where))]
    arguments = (X, armature.error_on_graph_break, armature.graph_break, outer, inner, where)
    for _ in range(2):
        assert raises(lambda: ours(*arguments), armature.Unsupported) == expected
    if not expected:
        check(in_region, *arguments, breaks=None)


def test_what_the_error_tells() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break("because")
        return x

    def outer(x: torch.Tensor) -> torch.Tensor:
        with armature.error_on_graph_break(True):
            return inner(x + 1)

    with pytest.raises(armature.Unsupported, match="because") as caught:
        armature.compile(outer)(X)
    first = outer.__code__.co_firstlineno
    assert caught.value.reason["stack"] == [
        (__file__, first + 2, "outer"),
        (__file__, inner.__code__.co_firstlineno + 1, "inner"),
    ]


def test_around_the_call() -> None:
    def breaking(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        return x + 1

    compiled, whole = armature.compile(breaking), armature.compile(lambda x: x + 1)
    for _ in range(2):  # whatever was compiled before
        assert compiled(X).tolist() == [2, 2]
        with armature.error_on_graph_break(True):
            assert whole(X).tolist() == [2, 2]
            with pytest.raises(armature.Unsupported):
                compiled(X)
            with armature.error_on_graph_break(False):
                assert compiled(X).tolist() == [2, 2]
    assert len(_C.entries(whole)) == 1
    assert [entry["resumes_at"] > 0 for entry in _C.entries(compiled)] == [False, True]


def test_what_python_calls_is_in_the_region() -> None:
    def breaking(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        return x + 1

    @armature.disable(recursive=False)
    def between(x: torch.Tensor) -> torch.Tensor:
        return breaking(x)

    def f(x: torch.Tensor, inside: bool) -> torch.Tensor:
        with armature.error_on_graph_break(False):
            if inside:
                with armature.error_on_graph_break(True):
                    x = x + 1
            return between(x)

    with armature.error_on_graph_break(True):
        assert armature.compile(f)(X, True).tolist() == [3, 3]
        with pytest.raises(armature.Unsupported):
            armature.compile(breaking)(X)


def test_as_a_decorator() -> None:
    @armature.error_on_graph_break(True)
    def strict(x: torch.Tensor, breaks: bool = False) -> torch.Tensor:
        """Strict."""
        if breaks:
            armature.graph_break()
        return x * 2

    @armature.error_on_graph_break(False)
    def lenient(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        return x * 3

    def f(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        return strict(x) + lenient(x)

    assert strict.__name__ == "strict" and strict.__doc__ == "Strict."
    check(f, X, breaks=None)
    with pytest.raises(armature.Unsupported):
        armature.compile(lambda x: strict(x, breaks=True))(X)
    with armature.error_on_graph_break(True):
        assert armature.compile(lambda x: strict(x) + lenient(x))(X).tolist() == [5, 5]
        with pytest.raises(armature.Unsupported):
            armature.compile(f)(X)
    assert armature.compile(lenient)(X).tolist() == [3, 3]


def test_fullgraph_comes_first() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        with armature.error_on_graph_break(False):
            armature.graph_break()
        return x

    with pytest.raises(armature.Unsupported):
        armature.compile(f, fullgraph=True)(X)


def test_raised_where_the_program_sees_it() -> None:
    """An error behind a break leaves the with statements that the program is in, and no more."""
    log: list[Any] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        with armature.error_on_graph_break(True):
            try:
                with armature.error_on_graph_break(False):
                    armature.graph_break()
                    x = x + 1
                armature.graph_break()
            except armature.Unsupported:
                log.append(_C.is_error_on_graph_break())
            finally:
                log.append(_C.is_error_on_graph_break())
        return x

    armature.compile(f)(X)
    assert log == [True, True]


def test_exceptions_and_returns_leave_the_region() -> None:
    manager = armature.error_on_graph_break(False)

    def f(x: torch.Tensor, way: str) -> Any:
        for _ in range(3):
            with manager, armature.error_on_graph_break(True), manager:
                if way == "return":
                    return _C.is_error_on_graph_break(), x + 1
                if way == "raise":
                    raise ValueError(way)
                if way == "break":
                    break
                armature.graph_break()
                x = x + 1
        return _C.is_error_on_graph_break(), x

    for way in ("return", "raise", "break", "none"):
        check(f, X, way, breaks=None)
        with armature.error_on_graph_break(True):
            expected: Any = None
            if way != "raise":
                expected = f(X, way)
                found = armature.compile(f)(X, way)
                assert found[0] == expected[0] and torch.equal(found[1], expected[1])


def test_entered_without_a_with_statement() -> None:
    def enter(x: torch.Tensor, manager: Any) -> torch.Tensor:
        manager.__enter__()
        return x + 1

    compiled = armature.compile(enter)
    for _ in range(2):
        manager = armature.error_on_graph_break(True)
        compiled(X, manager)
        assert _C.is_error_on_graph_break()
        manager.__exit__(None, None, None)
        assert not _C.is_error_on_graph_break()


def test_one_manager_inside_itself() -> None:
    def f(x: torch.Tensor) -> Any:
        manager = armature.error_on_graph_break(True)
        seen = []
        with manager:
            with manager:
                seen.append(_C.is_error_on_graph_break())
            seen.append(_C.is_error_on_graph_break())
        seen.append(_C.is_error_on_graph_break())
        armature.graph_break()
        with armature.error_on_graph_break(False) as entered:
            armature.graph_break()
            seen.append(entered)
        return seen, x + 1

    check(f, X, breaks=None)
    assert f(X)[0] == [True, True, False, None]


def test_in_place_operations_in_a_region() -> None:
    def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        with armature.error_on_graph_break(True):
            x.add_(1)
            return torch.linalg.inv(m) + x

    check(f, X, torch.eye(2) * 2, breaks=None)
    with pytest.raises(RuntimeError, match="singular"):
        armature.compile(f)(X.clone(), torch.zeros(2, 2))


def test_threads_have_their_own() -> None:
    def breaking(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        return x + 1

    found: list[Any] = []
    with armature.error_on_graph_break(True):
        thread = threading.Thread(target=lambda: found.append(armature.compile(breaking)(X)))
        thread.start()
        thread.join()
    assert found[0].tolist() == [2, 2]


def test_wrong_arguments() -> None:
    for wrong in ((), (1, 2)):
        with pytest.raises(TypeError):
            armature.error_on_graph_break(*wrong)

    def f(x: torch.Tensor) -> Any:
        with armature.error_on_graph_break(error_on_graph_break=x.ndim):
            return _C.is_error_on_graph_break()

    assert armature.compile(f)(X) is True


def test_a_result_that_cannot_be_rebuilt_is_an_error_there() -> None:
    def suspended(x: torch.Tensor) -> Any:
        def numbers() -> Any:
            try:
                yield x
            finally:
                pass

        iterator = numbers()
        next(iterator)
        return iterator

    with armature.error_on_graph_break(True):
        if raises(lambda: armature.compile(suspended, fullgraph=True)(X), armature.Unsupported):
            with pytest.raises(armature.Unsupported):
                armature.compile(suspended)(X)


def test_nothing_is_kept_alive() -> None:
    class Thing:
        pass

    def call() -> weakref.ref[Thing]:
        thing = Thing()

        def f(x: torch.Tensor) -> torch.Tensor:
            assert thing
            with armature.error_on_graph_break(True):
                armature.graph_break()
            return x

        with pytest.raises(armature.Unsupported):
            armature.compile(f)(X)
        return weakref.ref(thing)

    reference = call()
    gc.collect()
    assert reference() is None


# --- What fullgraph=True tells.


def test_fullgraph_tells_place_chain_and_remedy() -> None:
    class Layer(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return helper(x)

    def helper(x: torch.Tensor) -> torch.Tensor:
        print("in the helper")
        return x

    layer = Layer()

    def entry(x: torch.Tensor) -> torch.Tensor:
        return layer(x + 1)

    with pytest.raises(armature.Unsupported) as caught:
        armature.compile(entry, fullgraph=True)(X)
    reason = caught.value.reason
    names = [function for _, _, function in reason["stack"]]
    assert names[0] == "entry" and names[-2:] == ["forward", "helper"]
    assert reason["stack"][-1][1] == reason["line"] == helper.__code__.co_firstlineno + 1
    text = str(caught.value)
    assert "Hint: " in text and f'At: File "{__file__}", line {reason["line"]}, in helper' in text
    assert "most recent call last" in text
    assert "    return helper(x)" in text and '    print("in the helper")' in text
    assert text.index("in entry") < text.index("in forward") < text.rindex("in helper")


def test_the_chain_of_a_generator_and_of_a_special_method() -> None:
    class Thing:
        def __eq__(self, other: object) -> bool:
            print("compared")
            return True

        __hash__ = None  # type: ignore[assignment]

    def numbers(thing: Thing) -> Any:
        yield thing == 1

    def entry(thing: Thing) -> list[Any]:
        return list(numbers(thing))

    with pytest.raises(armature.Unsupported) as caught:
        armature.compile(entry, fullgraph=True)(Thing())
    names = [function for _, _, function in caught.value.reason["stack"]]
    assert names == ["entry", "numbers", "__eq__"]


def test_explain_and_the_logs_tell_the_chain(capsys: pytest.CaptureFixture[str]) -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        armature.graph_break()
        return x

    def outer(x: torch.Tensor) -> torch.Tensor:
        return inner(x + 1)

    armature.set_logs("graph_breaks")
    try:
        found = armature.explain(outer)(X)
    finally:
        armature.set_logs()
    (reason,) = found.break_reasons
    first = outer.__code__.co_firstlineno
    assert reason.stack[0] == armature.FrameLine(__file__, first + 1, "outer")
    assert [frame.function for frame in reason.stack] == ["outer", "inner"]
    for text in (str(found), capsys.readouterr().err, str(reason)):
        assert f'File "{__file__}", line {first + 1}, in outer' in text
        assert "return inner(x + 1)" in text

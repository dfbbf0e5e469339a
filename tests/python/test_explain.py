"""explain() and the logs."""

import os
import subprocess
import sys

import armature
import pytest
import torch


def breaking(x, flag=True):
    y = x * 2
    print("here")
    if flag:
        y = y + 1
    return y.relu()


LINE = breaking.__code__.co_firstlineno


def test_explanation(capsys):
    found = armature.explain(breaking)(torch.ones(2))
    assert capsys.readouterr().out == "here\n"
    assert found.result.tolist() == [3, 3]
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 3)
    (reason,) = found.break_reasons
    assert reason.gb_type == "Unsupported builtin"
    assert (reason.filename, reason.line, reason.function) == (__file__, LINE + 2, "breaking")
    assert reason.hints
    first, second = found.translations
    assert "y = x * 2" in first.graph and "relu" in second.graph
    assert first.line == LINE and second.line == LINE + 3
    assert "CALL" in first.bytecode
    assert any("TENSOR_MATCH: L['x']" in guard for guard in found.guards)
    assert 0 < found.compile_seconds < 10
    assert all(isinstance(m, torch.fx.GraphModule) for m in found.graph_modules)
    assert len(found.graph_modules) == 2


def test_text(capsys):
    text = str(armature.explain(breaking)(torch.ones(2)))
    assert text.startswith("Graph Count: 2\nGraph Break Count: 1\nOp Count: 3\nBreak Reasons:\n")
    assert f'At: File "{__file__}", line {LINE + 2}, in breaking' in text
    assert "y = l_x_ * 2" in text
    assert "\nGuards:\n  " in text and "\nCompile Times: trace " in text


def test_explains_modules_methods_and_compiled_functions():
    module = torch.nn.Linear(2, 2)
    x = torch.ones(2)
    assert armature.explain(module)(x).op_count == 1
    assert armature.explain(module.forward)(x).op_count == 1
    compiled = armature.compile(lambda x: x + 1)
    assert armature.explain(compiled)(x).op_count == 1
    assert not armature.guard_check(compiled, x)  # Nothing was compiled for the function itself.


def test_explains_what_is_not_captured():
    def numbers():
        yield 1

    found = armature.explain(numbers)()
    assert found.translations == [] and list(found.result) == [1]
    assert "Graph Count: 0" in str(found)


def test_explain_with_a_backend():
    found = armature.explain(lambda x: x + 1, backend=lambda m, inputs: m.forward)(torch.ones(2))
    assert found.translations[0].backend_seconds > 0
    assert any("[2]" in guard for guard in found.guards)


@pytest.fixture
def logs():
    yield armature.set_logs
    armature.set_logs()


def test_logs(logs, capsys):
    compiled = armature.compile(breaking)
    logs("recompiles", "graph_breaks")
    compiled(torch.ones(2))
    text = capsys.readouterr().err
    assert f"[armature:graph_breaks] {__file__}:{LINE + 2} in breaking: Unsupported builtin" in text
    assert "recompiles" not in text
    logs(recompiles=True, graph_breaks=False)
    compiled(torch.ones(2), flag=False)
    text = capsys.readouterr().err
    assert "[armature:recompiles] breaking" in text
    assert "flag" in text and "graph_breaks" not in text
    logs("all")
    armature.reset()
    compiled(torch.ones(2))
    text = capsys.readouterr().err
    for artifact in ("graph_code", "guards", "guard_program", "bytecode", "compiles"):
        assert f"[armature:{artifact}]" in text
    logs()
    compiled(torch.ones(2, 2))
    assert capsys.readouterr().err == ""


def test_unknown_log(logs):
    with pytest.raises(ValueError, match="no log 'nonsense'; logs: graph_breaks"):
        logs("nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        logs(nonsense=False)


def test_logs_from_the_environment():
    program = "import armature; armature.compile(lambda n: print(n))(1)"

    def run(logs):
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ARMATURE_LOGS": logs, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
        )

    assert (
        "[armature:graph_breaks] <string>:1 in <lambda>" in run("graph_breaks, recompiles").stderr
    )
    done = run("nonsense")
    assert "ARMATURE_LOGS names no such logs: nonsense" in done.stderr
    assert done.stdout == "1\n"

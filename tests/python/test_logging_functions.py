"""Calls that tell people something: they break the graph once, are left out, or made behind it."""

import io
import logging
import traceback
import warnings

import armature
import pytest
import torch
from differential import compilations

LOGGER = logging.getLogger("armature_test_logging")
OTHER = logging.getLogger("armature_test_logging.other")


@pytest.fixture(autouse=True)
def heard():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(lineno)d %(funcName)s %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    yield stream
    LOGGER.removeHandler(handler)


def kinds_of_breaks(function, *args):
    names = {kind.gb_type: kind.name for kind in armature.graph_break_kinds()}
    return [names[reason.gb_type] for reason in armature.explain(function)(*args).break_reasons]


def taken(stream):
    text = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    return text


def logs(x):
    x = x + 1
    LOGGER.warning("size %s", x.shape[0])
    return x * 2


def logs_inside(x):
    return logs(x - 1) + 1


def warns(x):
    x = x + 1
    warnings.warn("careful", stacklevel=1)
    return x * 2


def prints(x):
    x = x + 1
    print("now", x.shape[0], sep=":")
    return x * 2


@pytest.mark.parametrize("function", [logs, logs_inside])
def test_a_logged_line_is_one_break(function, heard):
    x = torch.ones(3)
    expected, told = function(x), taken(heard)
    assert kinds_of_breaks(function, x) == ["LoggingCall"]
    taken(heard)
    compiled = armature.compile(function, backend="eager")
    for _ in range(3):
        assert torch.equal(compiled(x), expected)
        assert taken(heard) == told


def test_a_warning_is_one_break():
    x = torch.ones(3)
    with pytest.warns(UserWarning, match="careful"):
        assert kinds_of_breaks(warns, x) == ["LoggingCall"]


def test_what_no_level_lets_through_is_no_break(heard):
    def function(x, logger):
        logger.debug("nothing %s", x)
        if logger.isEnabledFor(logging.DEBUG):
            return x
        return x + 1

    x = torch.ones(3)
    compiled = armature.compile(function, backend="eager", fullgraph=True)
    for name in ("fresh", "fresher"):  # neither has its cache filled
        logger = logging.getLogger(f"armature_test_logging.{name}")
        assert torch.equal(compiled(x, logger), x + 1)
    # The cache of the logger is asked, and the levels behind it.
    LOGGER.setLevel(logging.DEBUG)
    armature.compile(function, backend="eager")(x, logger)
    assert "nothing" in taken(heard)
    LOGGER.setLevel(logging.INFO)
    assert torch.equal(compiled(x, logger), x + 1)
    logging.disable(logging.CRITICAL)
    try:
        assert torch.equal(compiled(x, logger), x + 1)
    finally:
        logging.disable(logging.NOTSET)
    assert taken(heard) == ""


@pytest.mark.parametrize(
    ("function", "named"),
    [(logs, logging.Logger.warning), (logs, LOGGER.warning), (prints, print)],
)
def test_ignored(function, named, heard, capsys):
    x = torch.ones(3)
    with armature.config.patch(ignore_logging_functions=(named,)):
        compiled = armature.compile(function, backend="eager", fullgraph=True)
        assert torch.equal(compiled(x), (x + 1) * 2)
        assert torch.equal(compiled(x), (x + 1) * 2)
    assert taken(heard) == "" and capsys.readouterr().out == ""


def test_a_change_of_the_setting_is_seen(heard):
    x = torch.ones(3)
    compiled = armature.compile(logs, backend="eager")
    compiled(x)
    assert taken(heard)
    with armature.config.patch(ignore_logging_functions=[LOGGER.warning]):
        compiled(x)
        assert not taken(heard)
    compiled(x)
    assert taken(heard)


def test_of_one_logger():
    def function(x):
        OTHER.warning("other")
        return x + 1

    with armature.config.patch(ignore_logging_functions=[LOGGER.warning]):
        assert kinds_of_breaks(function, torch.ones(3)) == ["LoggingCall"]


def test_of_one_logger_after_the_other(heard):
    def function(x, logger):
        logger.warning("told")
        return x + 1

    x = torch.ones(3)
    with armature.config.patch(ignore_logging_functions=[LOGGER.warning]):
        compiled = armature.compile(function, backend="eager")
        for logger in (LOGGER, OTHER, LOGGER, OTHER):
            assert torch.equal(compiled(x, logger), x + 1)
            assert ("told" in taken(heard)) == (logger is OTHER)


def test_kept_in_order_with_the_other_effects(heard, capsys):
    seen = []

    class Told:
        def __init__(self):
            self.count = 0

        def __repr__(self):
            return f"Told({self.count})"

    told = Told()

    def function(x):
        y = x + 1
        print("first", y, told)
        told.count += 1
        seen.append(1)
        print("second", (y.shape[0], "x"), told, seen, sep="|", end="!\n")
        LOGGER.warning("third %s", told.count)
        return y * 2

    x = torch.ones(2)
    result, expected = function(x), capsys.readouterr().out
    logged = [line.split(" ", 2)[2] for line in taken(heard).splitlines()]
    told.count = 0
    seen.clear()
    kept = [print, logging.Logger.warning]
    with armature.config.patch(reorderable_logging_functions=kept):
        compiled = armature.compile(function, backend="eager", fullgraph=True)
        for _ in range(3):
            assert torch.equal(compiled(x), result)
            assert capsys.readouterr().out == expected
            assert [line.split(" ", 2)[2] for line in taken(heard).splitlines()] == logged
            told.count = 0
            seen.clear()


def test_what_may_change_is_not_kept(capsys):
    def function(x):
        made = [1]
        print(made)
        made.append(2)
        return x + len(made)

    x = torch.ones(3)
    with armature.config.patch(reorderable_logging_functions=[print]):
        assert kinds_of_breaks(function, x) == ["LoggingCall"]
        capsys.readouterr()
        assert torch.equal(armature.compile(function, backend="eager")(x), x + 2)
    assert capsys.readouterr().out == "[1]\n"


def test_what_a_kept_call_raises():
    def function(x):
        y = x + 1
        warnings.warn("careful", stacklevel=1)
        return y

    with armature.config.patch(reorderable_logging_functions=[warnings.warn]):
        compiled = armature.compile(function, backend="eager", fullgraph=True)
        with pytest.warns(UserWarning, match="careful"):
            compiled(torch.ones(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="careful"):
                compiled(torch.ones(3))


def test_ignored_goes_before_kept(capsys):
    with armature.config.patch(
        ignore_logging_functions=[print], reorderable_logging_functions=[print]
    ):
        armature.compile(prints, backend="eager", fullgraph=True)(torch.ones(3))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["ignore_logging_functions", "reorderable_logging_functions"])
def test_wrong_settings(name):
    with pytest.raises(TypeError, match=f"{name} takes functions and methods, not int"):
        setattr(armature.config, name, [3])
    assert getattr(armature.config, name) == ()


def shows_a_traceback(divisor):
    try:
        1 // divisor
    except ZeroDivisionError:
        armature.graph_break()
        text = traceback.format_exc()
        armature.graph_break()
        return text


def test_tracebacks_are_shown_by_python():
    """By one call, whatever exception it is: nothing of it is compiled."""
    compiled = armature.compile(shows_a_traceback)
    for turn in range(3):
        with compilations() as made:
            text = compiled(0)
        assert text.splitlines()[1:] == shows_a_traceback(0).splitlines()[1:]
        assert "in shows_a_traceback" in text
        assert len(made) == (4 if turn == 0 else 0)
    assert kinds_of_breaks(shows_a_traceback, 0) == [
        "GraphBreakCall",
        "SkippedFunction",
        "GraphBreakCall",
    ]

"""os.fspath and what builds on it: captured against plain."""

import os
import pathlib

import pytest
import torch
from differential import Cases, check

cases = Cases()


class Path:
    def __init__(self, text):
        self.text = text

    def __fspath__(self):
        return self.text


class Text(str):
    def __fspath__(self):
        return "never asked"


class Unbound:
    @property
    def __fspath__(self):
        raise ValueError("unbound")


class Raising:
    def __fspath__(self):
        raise ValueError("no path")


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


@cases.add("a", Path("b"), torch.ones(2), breaks=0)
def paths(text, path, x):
    return (
        os.fspath(text),
        os.fspath(path),
        os.fspath(b"bytes"),
        os.fspath(Path(b"c")),
        os.fspath(Text("d")) == "d",
        os.path.join(text, path, "e.py"),
        os.path.basename("x/y"),
        os.path.splitext(path),
        os.path.dirname(Path("x/y")),
        os.path.isabs("/x"),
        x + 1,
    )


@cases.add(Path(3), torch.ones(2), breaks=0)
def wrong_paths(path, x):
    return (
        outcome(os.fspath, path),
        outcome(os.fspath, 3),
        outcome(os.fspath, None),
        outcome(os.fspath, Unbound()),
        outcome(os.fspath, Raising()),
        outcome(os.path.join, "a", 3),
        x + 1,
    )


@cases.add(pathlib.PurePosixPath("a/b"), torch.ones(2))
def objects_of_pathlib(path, x):
    return os.fspath(path), os.path.join(path, "c"), x + 1


@pytest.mark.parametrize(("fn", "args", "options"), cases)
def test_path(fn, args, options):
    check(fn, *args, **options)

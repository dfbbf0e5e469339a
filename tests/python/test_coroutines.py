"""Coroutine functions run as plain Python; what they call, and what calls them, is captured."""

import asyncio
import inspect
import types
import warnings

import armature
import pytest
import torch
from differential import compilations

X = torch.arange(1.0, 4.0)


def twice(x):
    return x.sin() * 2


class Manager:
    async def __aenter__(self):
        return twice(X)

    async def __aexit__(self, *error):
        return error[0] is KeyError


async def items(x):
    for i in range(2):
        yield twice(x) + i


async def main(x):
    y = twice(x)
    await asyncio.sleep(0)
    async with Manager() as z:
        y = y + z
        raise KeyError
    async for item in items(y):
        y = y + item
    return [y + part async for part in items(x)]


def operations(found):
    counts = {}
    for entry in found:
        counts[entry["name"]] = counts.get(entry["name"], 0) + entry["operations"]
    return counts


def equal(one, other):
    return len(one) == len(other) and all(map(torch.equal, one, other))


def test_a_coroutine_function_is_compiled():
    compiled = armature.compile(main)
    assert inspect.iscoroutinefunction(compiled)
    expected = asyncio.run(main(X))
    with compilations() as found:
        for _ in range(3):
            assert equal(asyncio.run(compiled(X)), expected)
    assert operations(found) == {"twice": 2}


def test_a_generator_function_is_compiled():
    def generate(x, count):
        for _ in range(count):
            sent = yield twice(x)
            x = x if sent is None else sent

    compiled = armature.compile(generate)
    assert inspect.isgeneratorfunction(compiled)
    with compilations() as found:
        generator = compiled(X, 3)
        assert torch.equal(next(generator), twice(X))
        assert torch.equal(generator.send(X * 2), twice(X * 2))
        assert torch.equal(next(generator), twice(X * 2))
        assert next(generator, None) is None
    assert operations(found) == {"twice": 2}


def runs_a_loop_of_events(x):
    y = x + 1
    results = asyncio.run(main(y))
    return [result * 3 for result in results], y - 1


def test_its_call_costs_itself():
    expected = runs_a_loop_of_events(X)
    compiled = armature.compile(runs_a_loop_of_events)
    with compilations() as found:
        for _ in range(3):
            results, y = compiled(X)
            assert equal(results, expected[0]) and torch.equal(y, expected[1])
    counts = operations(found)
    assert counts["runs_a_loop_of_events"] == 4
    assert counts["twice"] == 2


def test_a_coroutine_that_nobody_awaits():
    def program(x):
        y = x + 1
        main(y)
        return y * 2

    compiled = armature.compile(program)
    for function in program, compiled, compiled:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert torch.equal(function(X), (X + 1) * 2)
        assert [(w.lineno - program.__code__.co_firstlineno) for w in found] == [2]


def test_a_coroutine_that_is_driven():
    def program(x):
        coroutine = main(x + 1)
        waits = []
        try:
            while True:
                waits.append(coroutine.send(None))
        except StopIteration as end:
            return len(waits), end.value, x * 2

    compiled = armature.compile(program)
    expected = program(X)
    for _ in range(3):
        count, values, y = compiled(X)
        assert count == expected[0]
        assert equal(values, expected[1]) and torch.equal(y, expected[2])


def test_whole_graphs_are_refused():
    with pytest.raises(armature.exc.Unsupported) as raised:
        armature.compile(main, fullgraph=True)(X)
    assert "Compile the functions that it calls" in str(raised.value)


@pytest.mark.parametrize("mark", [types.coroutine, lambda function: function])
def test_a_coroutine_in_a_generator(mark):
    async def answer():
        return "answer"

    def program():
        @mark
        def generator():
            return (yield from coroutine)

        coroutine = answer()
        awaited = generator()
        try:
            return awaited.send(None)
        except StopIteration as stop:
            return stop.value
        except TypeError as error:
            return str(error)
        finally:
            coroutine.close()

    expected = program()
    captured = armature.compile(program)
    for _ in range(3):
        assert captured() == expected

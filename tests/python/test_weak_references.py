"""Calls of weak references in traced code."""

import weakref

import armature
import pytest
import torch
from differential import break_reasons, check


class Node:
    def __init__(self, value):
        self.value = value


def test_a_referent_is_read():
    node = Node(torch.ones(2))
    reference = weakref.ref(node)

    def program(x):
        return reference().value + x, reference() is node, reference() is not None

    check(program, torch.ones(2), breaks=0)


def test_a_referent_that_is_gone():
    node = Node(1)
    reference = weakref.ref(node)

    def program(x):
        target = reference()
        return x if target is None else x + target.value

    compiled = armature.compile(program)
    assert compiled(1) == program(1) == 2
    del node
    assert reference() is None
    assert compiled(1) == program(1) == 1
    assert not break_reasons(compiled)


def test_another_referent():
    nodes = {"node": Node(1)}
    references = [weakref.ref(nodes["node"])]

    def program():
        return references[0]().value

    compiled = armature.compile(program)
    assert compiled() == 1
    nodes["node"].value = 2
    assert compiled() == 2
    nodes["node"] = Node(5)
    references[0] = weakref.ref(nodes["node"])
    assert compiled() == program() == 5
    assert armature.explain(program)().graph_break_count == 0


def test_a_referent_that_the_program_lets_go_of():
    def dropped_from_a_dict(nodes, reference):
        nodes.pop("node")
        return reference() is None

    def replaced(nodes, reference):
        nodes["node"] = None
        return reference() is None

    def made(nodes, reference):
        node = Node(1)
        own = weakref.ref(node)
        armature.graph_break()
        del node
        return own() is None

    def asked_before_and_after(nodes, reference):
        before = reference() is None
        del nodes["node"]
        return before, reference() is None

    for program in (dropped_from_a_dict, replaced, made, asked_before_and_after):
        compiled = armature.compile(program)
        for _ in range(3):
            results = []
            for function in (program, compiled):
                nodes = {"node": Node(1)}
                results.append(function(nodes, weakref.ref(nodes["node"])))
            assert results[0] == results[1]


def test_an_argument_of_the_call_lives():
    def program(node, reference):
        found = reference()
        del node
        return found is reference()

    compiled = armature.compile(program)
    for _ in range(2):
        node = Node(1)
        assert compiled(node, weakref.ref(node))


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_modules(kind):
    torch.manual_seed(0)
    module = kind(3, 4, num_layers=2)

    def program(x):
        output, state = module(x)
        return output * 2, state

    check(program, torch.randn(5, 2, 3))

"""Calls of weak references in traced code."""

import weakref

import armature
import pytest
import torch
from changing_world import Cases, check_world
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


def hook_table():
    return {"node": Node(1)}


def test_references_to_what_is_there():
    def program(x, node):
        reference = weakref.ref(node)
        again = weakref.ref(x)
        return reference() is node, again() * 2, reference, reference is weakref.ref(node)

    compiled = armature.compile(program, fullgraph=True)
    for _ in range(3):
        x, node = torch.ones(2), Node(1)
        is_node, doubled, reference, same = compiled(x, node)
        assert is_node and same and reference is weakref.ref(node)
        assert torch.equal(doubled, x * 2)

    def compared(node, other):
        first, second = weakref.ref(node), weakref.ref(other)
        return first == second, first != second, first == 1, bool(first), type(first)

    node = Node(1)
    for pair in ((Node(1), Node(2)), (node, node)):
        assert armature.compile(compared)(*pair) == compared(*pair)


def test_a_reference_that_was_there_and_a_new_one():
    node = Node(1)
    reference = weakref.ref(node)

    def program():
        return weakref.ref(node) is reference, weakref.ref(node) == reference

    check(program)


def test_references_to_what_the_trace_makes():
    def held(value):
        node = Node(value)
        reference = weakref.ref(node)
        return reference().value, reference() is node

    def returned(value):
        node = Node(value)
        node.reference = weakref.ref(node)
        return node

    def kept_in_a_list(value):
        nodes = [Node(value)]
        reference = weakref.ref(nodes[0])
        return reference() is nodes[0], nodes, reference

    compiled = armature.compile(returned)
    for _ in range(3):
        node = compiled(3)
        assert node.reference() is node
    check(held, 4)
    check(kept_in_a_list, 5)


def test_what_nobody_holds_is_gone():
    def never_held():
        return weakref.ref(Node(1))

    def let_go_of():
        node = Node(1)
        reference = weakref.ref(node)
        del node
        return reference

    def asked_when_gone():
        node = Node(1)
        reference = weakref.ref(node)
        node = None
        return reference() is node

    def asked_behind_a_break():
        node = Node(1)
        reference = weakref.ref(node)
        del node
        armature.graph_break()
        return reference() is None

    def given_to_a_callee():
        def callee(node):
            reference = weakref.ref(node)
            del node
            return reference() is None

        return callee(Node(1))

    def only_its_dict():
        node = Node(1)
        reference, names = weakref.ref(node), node.__dict__
        del node
        return reference() is None, names

    def stored_in_what_is_dropped(table):
        node = Node(2)
        table["node"].other = node
        reference = weakref.ref(node)
        del node
        table.clear()
        return reference() is None

    for program in (never_held, let_go_of):
        compiled = armature.compile(program)
        for _ in range(3):
            assert program()() is None
            assert compiled()() is None
    for program in (asked_when_gone, asked_behind_a_break, given_to_a_callee, only_its_dict):
        compiled = armature.compile(program)
        for _ in range(3):
            assert compiled() == program(), program.__name__
    compiled = armature.compile(stored_in_what_is_dropped)
    for _ in range(3):
        assert compiled(hook_table()) == stored_in_what_is_dropped(hook_table()) is True


def test_a_compiled_function_keeps_no_referent():
    def program(node):
        return weakref.ref(node), weakref.ref(node)().value

    compiled = armature.compile(program, fullgraph=True)
    for value in range(3):
        node = Node(value)
        reference, found = compiled(node)
        assert found == value and reference() is node
        del node
        assert reference() is None


def test_asked_behind_a_change():
    def program(node, reference, x):
        node.count = node.count + 1
        found = reference()
        found.count += 10
        return found is node, x + 1

    compiled = armature.compile(program)
    for _ in range(3):
        node = Node(1)
        node.count = 0
        assert compiled(node, weakref.ref(node), torch.ones(2))[0]
        assert node.count == 11

    def dropped(table):
        reference = weakref.ref(table["node"])
        table["other"] = 1
        table.pop("node")
        return reference() is None

    compiled = armature.compile(dropped)
    for _ in range(3):
        assert compiled(hook_table()) is dropped(hook_table()) is True


def test_what_has_no_references():
    def program(value):
        try:
            return weakref.ref(value)
        except TypeError as error:
            return str(error)

    for value in (1, "text", None, [1], (1, 2), {1: 2}):
        check(program, value)


def test_a_callback_is_called():
    def program(node, heard):
        reference = weakref.ref(node, heard.append)
        del node
        return reference

    for function in (program, armature.compile(program)):
        heard = []
        reference = function(Node(1), heard)
        assert reference() is None and heard == [reference]


def test_many_references():
    def program(n):
        nodes, references = [], []
        for value in range(n):
            nodes.append(Node(value))
            references.append(weakref.ref(nodes[-1]))
        return nodes, references

    nodes, references = armature.compile(program)(1500)
    assert [reference() for reference in references] == nodes
    del nodes
    assert all(reference() is None for reference in references)


def test_many_references_to_what_was_there():
    def program(nodes):
        return [weakref.ref(node) for node in nodes]

    nodes = [Node(value) for value in range(1500)]
    references = armature.compile(program, fullgraph=True)(nodes)
    assert references == program(nodes)
    del nodes
    assert all(reference() is None for reference in references)


def test_a_reference_in_a_local_that_nothing_reads_counts():
    class Held:
        pass

    def program(x):
        held = Held()
        reference = weakref.ref(held)  # noqa: F841
        y = x + 1
        armature.graph_break()
        return y, weakref.getweakrefcount(held)

    assert armature.compile(program)(torch.ones(1))[1] == program(torch.ones(1))[1] == 1


# --- What a frame of the program has, lives, whatever has been let go of.

CASES = Cases("weak references")
NODES = """
    import weakref
    import armature
    class Node:
        def __init__(self, value):
            self.value = value
    LOG = []
    A, B = Node(1), Node(2)
    REFERENCES = [weakref.ref(A)]
    def asks(reference):
        LOG.append(1)
        node = reference()
        return node if node is None else node.value
    def breaks_and_asks(reference):
        armature.graph_break()
        return asks(reference)
"""
for name, body in (
    ("a_local", "node = table.pop()\n        return asks(weakref.ref(node))"),
    ("a_callers_local", "node = table.pop()\n        return breaks_and_asks(weakref.ref(node))"),
    ("a_deleted_local", "node = table.pop(); own = weakref.ref(node)\n        del node\n"
     "        return asks(own)"),
    ("a_local_bound_anew", "node = table.pop(); own = weakref.ref(node)\n        node = None\n"
     "        return asks(own), node"),
    ("an_argument_bound_anew", "own = weakref.ref(table[0])\n        table = table.clear()\n"
     "        return asks(own)"),
    ("a_cell", "node = table.pop(); own = weakref.ref(node)\n        inner = lambda: node.value\n"
     "        return asks(own), inner()"),
    ("an_emptied_cell", "node = table.pop(); own = weakref.ref(node)\n"
     "        def drop():\n            nonlocal node\n            node = None\n"
     "        drop()\n        return asks(own), node"),
    ("the_stack", "own = weakref.ref(table[0])\n        return (table.pop(), asks(own))[1]"),
    ("the_stack_no_more", "own = weakref.ref(table[0])\n        table.pop().value\n"
     "        return asks(own)"),
    ("a_handler", "own = weakref.ref(table[0])\n        try:\n"
     "            raise KeyError(table.pop())\n        except KeyError as error:\n"
     "            return asks(own), error.args[0].value"),
    ("a_generator", "node = table.pop(); own = weakref.ref(node)\n"
     "        found = (asks(own) for _ in range(2))\n        first = next(found)\n"
     "        del node\n        return first, next(found)"),
):  # fmt: skip
    for broken in "", "armature.graph_break()\n        ":
        CASES.add(
            f"held_by_{name}{'_behind_a_break' if broken else ''}",
            f"""{NODES}
    def entry(table):
        {broken}{body}
""",
            "entry([Node(1)])",
            "entry([A])",
            "entry([Node(3)])",
        )
CASES.add(
    "the_local_is_another_object",
    f"""{NODES}
    def entry(node, reference):
        armature.graph_break()
        LOG.clear()
        found = reference()
        return found is node, found is None or found.value
""",
    "entry(A, weakref.ref(A))",
    "entry(A, weakref.ref(B))",
    "entry(B, weakref.ref(B))",
    "entry(B, weakref.ref(Node(1)))",
)
CASES.add(
    "the_attribute_and_its_reference_part",
    f"""{NODES}
    def entry():
        armature.graph_break()
        LOG.append(len(LOG))
        node = A.value
        return REFERENCES[0]() is node, REFERENCES[0]() is None
    A.value = Node(4)
    REFERENCES[0] = weakref.ref(A.value)
""",
    "entry()",
    "A.value = Node(5)",
    "entry()",
    "REFERENCES[0] = weakref.ref(A.value)",
    "entry()",
    "A.value = B",
    "entry()",
)


@pytest.mark.parametrize(("source", "steps"), CASES.parameters)
def test_held_by_frames(source, steps):
    check_world(source, *steps)


def test_behind_a_change():
    node = Node(1)
    reference = weakref.ref(node)

    def program(x, log, held):
        log.append(1)
        return x + 1 if reference() is held else x

    x = torch.ones(2)
    assert torch.equal(armature.compile(program, fullgraph=True)(x, [], node), x + 1)
    compiled = armature.compile(program)
    assert torch.equal(compiled(x, [], node), x + 1)
    assert not break_reasons(compiled)
    assert torch.equal(compiled(x, [], Node(1)), x)
    assert break_reasons(compiled)


def test_a_step_whose_calls_a_scheduler_counts():
    def make():
        torch.manual_seed(0)
        module = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

        def program(x):
            module(x).sum().backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            return module.weight.detach().clone()

        return program

    x = torch.ones(2)
    plain, compiled = make(), armature.compile(make())
    for _ in range(3):
        assert torch.equal(compiled(x), plain(x))
    assert not [r for r in break_reasons(compiled) if "weakref" in str(r)]

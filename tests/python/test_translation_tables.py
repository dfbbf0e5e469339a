"""str.maketrans and bytes.maketrans, whose tables are dicts and bytes of the trace's."""

import armature
import pytest
import torch
from changing_world import check_world

EXPRESSIONS = {
    "two_texts": "str.maketrans('ab', 'xy')",
    "three_texts": "str.maketrans('ab', 'xy', 'c')",
    "a_dict": "str.maketrans({'a': 1, 98: 'q', 'c': None})",
    "existing": "str.maketrans(TABLE)",
    "translated": "'abc'.translate(str.maketrans('a', TEXT))",
    "of_another_class": "Text.maketrans('a', 'b')",
    "of_an_instance": "'x'.maketrans('a', 'b')",
    "of_instances": "str.maketrans(Text('a'), Text('b'))",
    "bytes": "b'abc'.translate(bytes.maketrans(b'a', b'z'))",
    "changed": "change(str.maketrans('a', 'b'))",
    "new_each_time": "str.maketrans('a', 'b') is str.maketrans('a', 'b')",
    "lengths": "str.maketrans('a', 'bc')",
    "no_dict": "str.maketrans('a')",
    "long_key": "str.maketrans({'ab': 1})",
    "nothing": "str.maketrans()",
    "keyword": "str.maketrans(x='a')",
    "objects": "str.maketrans({'a': OBJECT}) == {97: OBJECT}",
    "a_dict_that_differs": "str.maketrans(Mapping(a=1))",
}
SOURCE = """
TABLE, TEXT, OBJECT = {"a": "b"}, "q", object()
class Text(str): pass
class Mapping(dict):
    def items(self): return [("b", 2)]
def change(table): table[98] = 5; return table, "abc".translate(table)
def entry(x): return EXPRESSION, x + 1
"""


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_as_in_python(name):
    step = "entry(torch.ones(2))"
    check_world(
        SOURCE.replace("EXPRESSION", EXPRESSIONS[name]),
        *(step, "TABLE['c'] = 'd'", step, "TEXT = 'rr'", step, "TABLE = {'cc': 1}", step),
    )


def test_one_graph():
    def program(x, text):
        return x + 1, text.translate(str.maketrans("ab", "ba", " "))

    compiled = armature.compile(program, fullgraph=True)
    assert [compiled(torch.ones(1), text)[1] for text in ("a b", "ba")] == ["ba", "ab"]

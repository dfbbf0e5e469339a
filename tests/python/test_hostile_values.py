"""Values that are deep, cyclic or lie about themselves."""

import pytest
from changing_world import Cases, check_world, quick_collections

HOSTILE = Cases("hostile")


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    with quick_collections():
        yield


# --- Hostile values and bounded walks

DEEP = """
import functools, torch
def deep(n, v=None):
    for _ in range(n):
        v = [v]
    return v
LOOP = [1]
LOOP.append(LOOP)
TABLE = {}
TABLE['self'] = TABLE
def caught(f):
    try:
        return f()
    except Exception as error:
        return type(error).__name__
"""
for name, body, argument in (
    ("a_deep_list_is_returned", "v", "deep(20000)"),
    ("a_deep_list_is_stored", "KEPT.append(v)", "deep(20000)"),
    ("a_deep_list_is_compared_with_itself", "v == v", "deep(20000)"),
    ("two_deep_lists_are_compared", "caught(lambda: v == w)", "deep(20000)"),
    ("a_deep_list_is_printed", "caught(lambda: len(str(v)))", "deep(20000)"),
    ("a_deep_list_is_stacked", "caught(lambda: torch.stack(v))", "deep(20000)"),
    ("a_deep_list_is_unpacked", "[*v, 1]", "deep(20000)"),
    ("a_deep_list_is_copied", "v.copy() is v", "deep(20000)"),
    ("a_cyclic_list_is_returned", "v", "LOOP"),
    ("a_cyclic_list_is_printed", "str(v), repr(v), f'{v}', ascii(v)", "LOOP"),
    ("a_cyclic_dict_is_printed", "str(v), ascii(v)", "TABLE"),
    ("a_cyclic_list_is_compared", "caught(lambda: v == [1, v])", "LOOP"),
    ("two_cyclic_lists_are_compared", "caught(lambda: v == CYCLE)", "LOOP"),
    ("a_cyclic_list_is_stacked", "caught(lambda: torch.stack(v))", "LOOP"),
    ("a_cyclic_list_is_searched", "(v in v, v.index(1), v.count(1))", "LOOP"),
    ("a_cyclic_list_becomes_a_tuple", "tuple(v)", "LOOP"),
    ("a_cycle_through_a_tuple", "v[0][0] is v", "(lambda a: a.append((a,)) or a)([])"),
    ("a_cycle_through_an_iterator", "v", "(lambda a: a.append(iter(a)) or a)([])"),
    ("a_cycle_through_a_view", "v", "(lambda a: a.update(k=a.values()) or a)({})"),
    ("a_cycle_through_a_slice", "v", "(lambda a: a.append(slice(a)) or a)([])"),
):
    HOSTILE.add(
        name,
        f"{DEEP}\nKEPT = []\nCYCLE = [1]\nCYCLE.append(CYCLE)\n"
        f"{'w = deep(20000)' if 'w' in body else ''}\n"
        f"def entry(v):\n    return {body}",
        f"entry({argument})",
    )
for name, body in (
    ("a_tuple", "a = []; t = (a,); a.append(t); return t"),
    ("a_default", "a = []\n    def f(v=a): return v\n    a.append(f)\n    return f"),
    ("an_iterator", "a = []; a.append(iter(a)); return a"),
    ("a_slice", "a = []; s = slice(a, 1); a.append(s); return s"),
    ("a_view", "a = {}; a['k'] = a.keys(); return a"),
    ("a_method", "a = []; a.append(a.append); return a"),
    ("a_cell", "def f(): return f\n    return f"),
    ("a_dict_of_an_instance", "o = K(); o.me = o; o.d = vars(o); return o"),
    ("a_tuple_in_an_instance", "o = K(); o.t = (o, (o,)); return o.t"),
    ("a_partial", "a = []; a.append(functools.partial(max, a)); return a"),
    ("a_frozen_set", "o = K(); o.s = frozenset([o]); return o"),
):
    HOSTILE.add(
        f"a_cycle_made_inside_through_{name}",
        f"import functools\nclass K: pass\ndef entry():\n    {body}",
        "entry()",
    )
HOSTILE.add(
    "one_tuple_given_twice",
    """
    def entry(a, b):
        return a is b, (a, b), [a, b, a]
    """,
    "entry(*[([],)] * 2)",
    "entry(([],), ([],))",
)
HOSTILE.add(
    "one_tuple_made_inside_twice",
    "def entry(v):\n    t = ([v],)\n    return t, t, [t]",
    "entry(1)",
)
HOSTILE.add(
    "a_linked_list",
    """
    class Node:
        def __init__(self, next): self.next = next
    def linked(n):
        node = None
        for _ in range(n):
            node = Node(node)
        return node
    HEAD = linked(20000)
    def entry(head):
        return head, head.next.next is head
    """,
    "entry(HEAD)",
)
for name, body in (
    ("a_set_of_lists", "set([[1]])"),
    ("a_set_of_plain_objects", "len({y for y in it})"),
    ("a_dict_of_lists", "{v: 1 for v in [[1]]}"),
    ("an___iter___that_returns_no_iterator", "list(o)"),
    ("an_iteration_that_returns_no_iterator", "[v for v in o]"),
    ("an_unpacking_that_returns_no_iterator", "(lambda *a: a)(*o)"),
    ("a___format___that_returns_no_text", "f'{o}'"),
    ("a___str___that_returns_no_text", "str(o)"),
    ("a___repr___that_returns_no_text", "repr(o)"),
    ("a___hash___that_returns_no_number", "hash(o)"),
    ("a_key_whose___hash___returns_no_number", "{o: 1}"),
    ("an___index___that_returns_no_number", "[1, 2][o]"),
    ("a_slice_of_an___index___that_returns_no_number", "[1, 2][o:]"),
    ("a_range_of_an___index___that_returns_no_number", "range(o)"),
    ("a___len___that_returns_no_number", "len(o)"),
    ("a_truth_of_a___len___that_returns_no_number", "bool(o)"),
    ("a___bool___that_returns_no_truth", "bool(b)"),
    ("a_branch_on_a___bool___that_returns_no_truth", "1 if b else 2"),
    ("a___len___beyond_64_bits", "len(big)"),
    ("a_truth_of_a___len___beyond_64_bits", "bool(big)"),
    ("a_negative___len__", "len(negative)"),
    ("a_hash_beyond_64_bits", "hash(big)"),
    ("an_index_beyond_64_bits", "[1][big]"),
    ("a_repetition_beyond_64_bits", "[1] * (1 << 70)"),
    ("a_shift_without_end", "1 << (1 << 70)"),
    ("an_attribute_name_that_is_no_text", "getattr(o, 1)"),
    ("an_attribute_name_set_that_is_no_text", "setattr(o, 1, 2)"),
    ("an_attribute_name_asked_that_is_no_text", "hasattr(o, 1)"),
    ("a_surrogate_attribute", "setattr(o, '\\udc80', 1) or getattr(o, '\\udc80')"),
    ("a_missing_surrogate_attribute", "getattr(o, '\\udc80')"),
    ("an_attribute_name_with_nul", "setattr(o, 'a\\0b', 1) or vars(o)['a\\0b']"),
    ("a_keyword_that_is_no_identifier", "(lambda **more: more)(**{'a b': 1, 'x)+(': 2})"),
    ("a_keyword_to_a_class", "dict(**{'not an identifier': 1, 'def': 2})"),
    ("a_keyword_that_is_no_text", "(lambda **more: more)(**{1: 2})"),
    ("a_keyword_that_is_a_surrogate", "(lambda **more: more)(**{'\\udc80': 2})"),
    ("__length_hint___by_name", "iter([1, 2]).__length_hint__()"),
    ("__reversed___by_name", "list([1, 2].__reversed__())"),
    ("__reversed___of_a_dict_by_name", "list({'a': 1}.__reversed__())"),
    ("__getitem___by_name", "[1].__getitem__('a')"),
    ("__contains___by_name", "{'a': 1}.__contains__([])"),
    ("__class_getitem___by_name", "list.__class_getitem__(int)"),
    ("__sizeof___by_name", "[1].__sizeof__() > 0"),
    ("__reduce_ex___by_name", "[1].__reduce_ex__(2)[1]"),
    ("__init___by_name", "[1].__init__([2])"),
    ("__setattr___by_name", "[1].__setattr__('a', 1)"),
    ("__dir___by_name", "'append' in [1].__dir__()"),
    ("__init_subclass___by_name", "list.__init_subclass__()"),
    ("methods_of_a_subclass_of_str",
     "S('ab').upper(), S('ab') + 'c', S('ab')[0], S('ab').join('xy')"),
    ("methods_of_a_subclass_of_int", "I(3) + 1, I(3).bit_length(), -I(3), I(3).real"),
    ("methods_of_a_subclass_of_tuple",
     "T((1, 2)) + (3,), T((1, 2))[0], T((1,)).count(1), T() == ()"),
    ("methods_of_a_subclass_of_float", "F(1.5) * 2, F(1.5).is_integer(), round(F(1.5))"),
    ("methods_of_a_subclass_of_list",
     "L([2, 1]) + [1], sorted(L([2, 1])), L([1])[:], L([1]) * 2"),
    ("methods_of_a_subclass_of_dict", "D(a=1) | {'b': 2}, D(a=1).copy(), D.fromkeys('ab')"),
    ("methods_of_a_subclass_of_set", "Z([1]) | {2}, Z([1]).union([3]), 1 in Z([1])"),
    ("ascii_of_a_cycle", "ascii(loop)"),
    ("a_merge_of_dicts_with_all_keys", "{**strange}"),
    ("deepcopy_with_all_keys", "copy.deepcopy(strange)"),
    ("a_sort_that_compares_nothing", "sorted([o, o, 1])"),
    ("a_sort_by_no_function", "sorted([1, 2], key=1)"),
    ("max_of_nothing", "max([])"),
    ("sum_of_texts", "sum(['a'], '')"),
    ("a_star_of_no_iterable", "[*1]"),
    ("a_double_star_of_no_mapping", "{**1}"),
    ("a_call_of_no_callable", "1(2)"),
    ("an_int_of_no_number", "int([])"),
    ("a_long_text_as_a_number", "int('1' * 5000)"),
    ("a_long_number_as_a_text", "len(str(10 ** 5000))"),
    ("chr_out_of_range", "chr(1 << 40)"),
    ("an_isinstance_of_no_class", "isinstance(1, 2)"),
    ("an_isinstance_of_deep_tuples", "isinstance(1, nested)"),
    ("super_of_strangers", "super(int, 'a')"),
    ("type_of_three_wrong_things", "type('A', 1, {})"),
    ("a_slice_step_of_zero", "[1][::0]"),
    ("a_format_of_nonsense", "format(1, 'nonsense')"),
    ("a_percent_format_of_nonsense", "'%d' % 'a'"),
    ("a_str_format_of_nonsense", "'{a.b}'.format(a=1)"),
    ("a_zip_that_is_strict", "list(zip([1], [], strict=True))"),
    ("bytes_of_big_numbers", "bytes([300])"),
    ("a_huge_exponent", "2.0 ** 100000"),
    ("a_negative_shift", "1 << -1"),
    ("a_pow_of_three", "pow(2, -1, 4)"),
    ("a_divmod_by_zero", "divmod(1, 0)"),
    ("an_eval_of_a_name", "eval('body_local')"),
    ("an_exec", "exec('x = 1')"),
    ("locals_of_a_function", "sorted(locals())"),
    ("an_import_of_nothing", "__import__('no_such_module')"),
):  # fmt: skip
    HOSTILE.add(
        name,
        f"""
import copy
class Bad:
    def __iter__(self): return 1
    def __format__(self, spec): return 1
    def __str__(self): return 1
    def __repr__(self): return 1
    def __hash__(self): return 'a'
    def __index__(self): return 'a'
    def __len__(self): return 'a'
class BadTruth:
    def __bool__(self): return 1
class Big:
    def __len__(self): return 1 << 70
    def __hash__(self): return 1 << 70
    def __index__(self): return 1 << 70
class Negative:
    def __len__(self): return -1
class K: pass
class S(str): pass
class I(int): pass
class T(tuple): pass
class F(float): pass
class L(list): pass
class D(dict): pass
class Z(set): pass
o, b, big, negative = Bad(), BadTruth(), Big(), Negative()
it = [K(), K()]
loop = []
loop.append(loop)
KEY = K()
strange = {{1: 2, None: 3, (1, KEY): 4, KEY: 5, 1.5: 6, b'b': 7, int: 8, len: 9, True: 10}}
nested = int
for _ in range(1000):
    nested = (nested,)
def entry():
    body_local = 1
    try:
        return {body}
    except Exception as error:
        return type(error), str(error)
""",
        "entry()",
    )
HOSTILE.add(
    "a_captured_exception_variable",
    """
    def entry():
        try:
            raise ValueError(1)
        except ValueError as e:
            f = lambda: e
            first = f().args
        try:
            return first, f()
        except NameError as error:
            return first, str(error)
    """,
    "entry()",
)
HOSTILE.add(
    "a_function_without_builtins",
    """
    import types
    def f(v): return v + 1
    def g(v): return len(v)
    BARE = types.FunctionType(f.__code__, {})
    NONE = types.FunctionType(g.__code__, {'__builtins__': {}})
    def entry():
        try:
            return BARE(1), NONE([1])
        except NameError as error:
            return str(error)
    """,
    "entry()",
)
HOSTILE.add(
    "keys_that_are_objects_in_an_instance_dict",
    """
    class K: pass
    OBJ, KEY = K(), K()
    vars(OBJ)[KEY] = 1
    def entry(o):
        o.x = 1
        vars(o)[KEY] += 1
        return vars(o)[KEY], len(vars(o))
    """,
    "entry(OBJ)",
)
HOSTILE.add(
    "a_finalizer_that_resets",
    """
    import armature, gc
    class K:
        def __del__(self):
            armature.reset()
            print('del')
    def make():
        k = K()
        def f(v=1): return v if k else 0
        return f
    F = make()
    def entry(f): return f()
    """,
    "entry(F)",
    "F = make(); gc.collect()",
    "entry(F)",
    "F = None; gc.collect()",
)
HOSTILE.add(
    "a_set_that_changes_in_its_iteration",
    """
    def entry(d):
        try:
            for k in d:
                d[k + 1] = 1
                if k > 5: break
        except RuntimeError as error:
            return str(error)
    """,
    "entry({1: 1})",
)


@pytest.mark.parametrize(("source", "steps"), HOSTILE.parameters)
def test_hostile(source, steps):
    check_world(source, *steps)

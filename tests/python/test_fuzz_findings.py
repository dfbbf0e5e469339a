"""What ``./dev fuzz`` has found: the smallest program of each, named by what it shows."""

import pytest
from changing_world import check_world, quick_collections


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    with quick_collections():
        yield


def test_arguments_that_reach_the___init___of_object():
    check_world(
        """
        class K:
            def __init__(self, *args, **more):
                super().__init__(*args, **more)
        def entry(*args, **more):
            return K(*args, **more)
        """,
        "entry()",
        "entry(1)",
        "entry(k=1)",
        "del K.__init__",
        "entry()",
        "entry(1)",
        "K.__new__ = lambda cls, *args, **more: object.__new__(cls)",
        "entry(1)",
    )


def test_a_suspended_generator_is_closed_when_it_is_dropped():
    check_world(
        """
        LOG = []
        def g(v):
            try:
                yield v
            finally:
                LOG.append('closed')
        def entry():
            h = g(1)
            return next(h), next(g(next(g(2))))
        """,
        "entry()",
    )


@pytest.mark.parametrize(
    "operation", ["OBJ.y", "1 - OBJ", "-OBJ", "OBJ[1]", "len(OBJ)", "for v in OBJ: pass", "OBJ()"]
)
def test_texts_name_a_class_as_it_is_called_now(operation):
    check_world(
        f"""
        class A:
            pass
        OBJ = A()
        def entry():
            try:
                {operation}
            except (TypeError, AttributeError) as error:
                return str(error)
        """,
        "entry()",
        "A.__name__ = 'Z'",
        "entry()",
        "A.__name__ = 'A'",
        "entry()",
    )


def test_an_unpacking_with_a_star_of_what_is_not_iterable():
    check_world(
        """
        def entry(x):
            try:
                *l, = x
            except TypeError as error:
                return str(error)
            return l
        """,
        "entry(1)",
        "entry([1, 2])",
    )


@pytest.mark.parametrize("call", ["f()", "f(1)", "f(1, 2)", "f(1, 2, 3)", "f(b=5)", "f(1, 2, k=3)"])
def test_more_defaults_than_parameters(call):
    check_world(
        f"""
        def f(a, b, *, k=0): return a, b, k
        def entry():
            try:
                return {call}
            except TypeError as error:
                return str(error)
        """,
        "entry()",
        "f.__defaults__ = (7, 8, 9)",
        "entry()",
        "f.__defaults__ = (7, 8, 9, 10, 11)",
        "entry()",
        "f.__defaults__ = (7,)",
        "entry()",
    )


def test_a_function_without_parameters_that_has_defaults():
    check_world(
        """
        def f(): return 1
        def entry(*args):
            try:
                return f(*args)
            except TypeError as error:
                return str(error)
        """,
        "f.__defaults__ = (9,)",
        "entry()",
        "entry(1, 2)",
    )


@pytest.mark.parametrize("container", ["D()", "(1, 2)", "'ab'", "5", "None", "{1}", "D", "len"])
@pytest.mark.parametrize("key", ["0", "None", "'a'", "1 << 80", "True", "I()", "Bad()", "1.5"])
def test_items_of_what_takes_none(container, key):
    check_world(
        f"""
        class D: pass
        class I:
            def __index__(self): return 1
        class Bad:
            def __index__(self): raise KeyError(3)
        def entry():
            outcomes = []
            for deletes in (True, False):
                o, k = {container}, {key}
                try:
                    if deletes:
                        del o[k]
                    else:
                        o[k] = 1
                except Exception as error:
                    outcomes.append((type(error).__name__, str(error)))
            return outcomes
        """,
        "entry()",
    )


def test_a_free_variable_that_is_not_bound():
    check_world(
        """
        LOG = []
        def entry(which, *values):
            def read():
                LOG.append("read")
                return late
            def delete():
                nonlocal late
                del late
                LOG.append("deleted")
                del late
            if which == "comprehension":
                return [late for value in values]
            if which == "read":
                return read()
            if which == "delete":
                late = 1
                return delete()
            if which == "square":
                return Square().area(*values)
            late = values
            return late, read()
        class Base:
            def area(self):
                return 1
        class Square(Base):
            def area(self, late=False):
                def inner():
                    return side
                if late:
                    inner()
                side = super().area() + 1
                print(side)
                return inner(), super().area(), __class__.__name__
        """,
        "entry('comprehension')",
        "entry('comprehension', 1)",
        "entry('read')",
        "entry('delete')",
        "entry('other', 2)",
        "entry('read')",
        "entry('square')",
        "entry('square', True)",
        "entry('square')",
    )

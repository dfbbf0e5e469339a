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

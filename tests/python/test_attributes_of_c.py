"""What C's types give and do of which Python code asks in passing."""

import weakref

import armature
import pytest


def test_references_are_made_by_classes():
    class Reference(weakref.ref):
        __slots__ = ("key",)

        def __new__(cls, value, callback, key):
            self = super().__new__(cls, value, callback)
            self.key = key
            return self

        def __init__(self, value, callback, key):
            super().__init__(value, callback)

    class Value:
        pass

    initialize = armature.compile(Reference.__init__, fullgraph=True)
    value = Value()
    for key in range(5):
        reference = Reference(value, None, key)
        assert initialize(reference, value, None, key) is None
        assert reference() is value
    with pytest.raises(TypeError):
        armature.compile(lambda r: weakref.ref.__init__(r))(reference)


def test_documentation_of_methods():
    class Documented:
        def method(self):
            """Says so."""

        def silent(self):
            pass

    def program(x):
        return x.method.__doc__, x.silent.__doc__, getattr(x.method, "__doc__", 1)

    captured = armature.compile(program, fullgraph=True)
    assert captured(Documented()) == program(Documented())
    Documented.method.__doc__ = "Another."
    assert captured(Documented()) == program(Documented())

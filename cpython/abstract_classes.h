// What _abc.c, the C part of abstract base classes, knows. It keeps its data in the classes under a
// private type, and shows them by functions of its own.
#pragma once

#include <cstdint>

#include "core/ref.h"

namespace armature::cpython {

// abc.get_cache_token(): counts the classes that were registered with abstract base classes; a
// negative answer of a class check stands as long as it stays. -1 if it cannot be had.
int64_t abcCacheToken();

// Is the answer that `derived` is a subclass kept with the abstract base class `type`? Then nothing
// but the end of one of them changes it. An exact registration is asked for anew each time, behind
// the __subclasshook__.
bool isKeptSubclass(PyTypeObject* derived, PyTypeObject* type);

// Is an answer kept, be it positive or negative, that _abc_subclasscheck gives at once?
bool keepsAnswer(PyTypeObject* derived, PyTypeObject* type);

// The classes registered with an abstract base class: a set of weak references; null, without an
// exception, if the class has none of _abc's data.
Ref<> registeredClasses(PyTypeObject* type);

// type.__subclasses__(), a list, past any override of a metaclass. Null without an exception on
// failure.
Ref<> subclasses(PyTypeObject* type);

// ABCMeta.__subclasscheck__ of the two classes, with its caches. -1 with the exception set; runs
// the __subclasshook__ of the class and of those that it asks.
int isAbstractSubclass(PyTypeObject* derived, PyTypeObject* type);

}  // namespace armature::cpython

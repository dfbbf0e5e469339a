// The subclasses of a class that are alive.
#pragma once

#include "core/ref.h"

namespace armature {

// type.__subclasses__(), past any metaclass, as a tuple: what `field` reads, too. Null with an
// exception set.
Ref<> subclassesOf(BorrowedRef<PyTypeObject> type);
// A descriptor of type by which guards and generated code read them: no version of the class says
// that they are still the same.
PyObject* subclassesField();

}  // namespace armature

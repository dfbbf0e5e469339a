// Classes that are made without running a line of the program's, and such as nobody sees but their
// maker.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// type.__new__(type, name, bases, namespace); null with an exception set. The metaclass of all
// bases is type, none of them has an __init_subclass__ other than object's, and no value of the
// namespace has a __set_name__: then nothing of the program's runs.
Ref<> makeClass(BorrowedRef<> name, BorrowedRef<> bases, BorrowedRef<> classNamespace);

// type.__setattr__ and, for a null `value`, type.__delattr__, past any metaclass. False with an
// exception set.
bool setClassAttribute(BorrowedRef<> type, BorrowedRef<> name, PyObject* value);

// Takes a class that has just been made out of the __subclasses__() of its bases and out of the
// garbage collector's sight.
void hideClass(BorrowedRef<PyTypeObject> type);
// Ends a hidden class that has no instances left: a class refers to itself, and the garbage
// collector does not know this one.
void endHiddenClass(Ref<> type);

// Does all this hold in this interpreter?
bool classesAreHidden();

}  // namespace armature::cpython

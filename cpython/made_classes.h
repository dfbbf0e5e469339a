// Classes that are made without running a line of the program's, and such as nobody sees but their
// maker.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// type.__new__(metaclass, name, bases, namespace), but for the call of __init_subclass__; null with
// an exception set. The metaclass is below those of all bases and has the mro() of type, and no
// value of the namespace has a __set_name__: then nothing of the program's runs. `tellsBases`: one
// of the bases has an __init_subclass__ that is not object's, and canBeAdopted() is true of them.
Ref<> makeClass(BorrowedRef<PyTypeObject> metaclass, BorrowedRef<> name, BorrowedRef<> bases,
                BorrowedRef<> classNamespace, bool tellsBases);
// Can a class that has been made without these bases (tuple) get them later, and be as if it had
// been made with them?
bool canBeAdopted(BorrowedRef<> bases);

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

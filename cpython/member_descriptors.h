// Member descriptors: the fields of C structs that types show (__slots__, slice.start, the named
// fields of struct sequences, …), read at their offset.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

inline bool isMember(BorrowedRef<> object) { return Py_TYPE(object.get()) == &PyMemberDescr_Type; }
// A member that is a PyObject, as opposed to a number or a C string.
bool isObjectMember(BorrowedRef<> descriptor);
// Can the member not be assigned to?
bool isReadOnly(BorrowedRef<> descriptor);
// What an object member holds, borrowed; null if unset or if the object is not of its type. A field
// that shows None when it is unset holds None.
PyObject* memberValue(BorrowedRef<> object, BorrowedRef<> descriptor);
// The field's offset from the object. `descriptor` is a member descriptor.
Py_ssize_t memberOffset(BorrowedRef<> descriptor);

// The index of the tuple item that a member of a struct sequence (os.stat_result, …) shows; -1 for
// one that lies before the items.
Py_ssize_t tupleItemIndex(BorrowedRef<> descriptor);

}  // namespace armature::cpython

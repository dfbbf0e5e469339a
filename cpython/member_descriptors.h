// Member descriptors: the fields of C structs that types show (__slots__, slice.start, the named
// fields of struct sequences, …), read at their offset. And what else a class's own descriptors are
// made of.
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

// What a descriptor of a class (a member, getset or method descriptor, a slot wrapper) describes: a
// structure in the memory of the class or of its C code. Null for all other objects.
const void* definitionOf(BorrowedRef<> descriptor);

// Does the descriptor keep a class alive that can die, and is its definition there for as long as
// that class? Of getters that only we know (made_descriptors.h) it is not.
bool belongsToClass(BorrowedRef<> descriptor);

// A descriptor that reads and writes what this one does, a member or getset descriptor, but leaves
// its class alone: to be used only while the class, to which it belongs, lives. Whoever has made it
// calls forgetClass() before the last reference goes, after which it is of no use. Null with an
// exception set.
Ref<> copyWithoutClass(BorrowedRef<> descriptor);
void forgetClass(BorrowedRef<> copy);

}  // namespace armature::cpython

#include "cpython/member_descriptors.h"

#include <structmember.h>

#include <cstddef>

namespace armature::cpython {

namespace {

const PyMemberDef& member(BorrowedRef<> descriptor) {
  return *reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member;
}

}  // namespace

bool isObjectMember(BorrowedRef<> descriptor) {
  if (!isMember(descriptor)) return false;
  int type = member(descriptor).type;
  return type == T_OBJECT || type == T_OBJECT_EX;
}

bool isReadOnly(BorrowedRef<> descriptor) { return member(descriptor).flags & READONLY; }

PyObject* memberValue(BorrowedRef<> object, BorrowedRef<> descriptor) {
  if (!PyObject_TypeCheck(object.get(), PyDescr_TYPE(descriptor.get()))) return nullptr;
  const PyMemberDef& field = member(descriptor);
  PyObject* value =
      *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object.get()) + field.offset);
  return value || field.type == T_OBJECT_EX ? value : Py_None;
}

Py_ssize_t memberOffset(BorrowedRef<> descriptor) { return member(descriptor).offset; }

Py_ssize_t tupleItemIndex(BorrowedRef<> descriptor) {
  constexpr Py_ssize_t first = offsetof(PyTupleObject, ob_item);
  Py_ssize_t offset = memberOffset(descriptor) - first;
  return offset < 0 ? -1 : offset / static_cast<Py_ssize_t>(sizeof(PyObject*));
}

}  // namespace armature::cpython

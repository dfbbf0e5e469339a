#include "cpython/member_descriptors.h"

#include <structmember.h>

#include <cstddef>

#include "cpython/type_lookup.h"

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

const void* definitionOf(BorrowedRef<> descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor.get());
  PyObject* object = descriptor.get();
  if (type == &PyMemberDescr_Type) return reinterpret_cast<PyMemberDescrObject*>(object)->d_member;
  if (type == &PyGetSetDescr_Type) return reinterpret_cast<PyGetSetDescrObject*>(object)->d_getset;
  if (type == &PyWrapperDescr_Type) return reinterpret_cast<PyWrapperDescrObject*>(object)->d_base;
  if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
    return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  return nullptr;
}

bool belongsToClass(BorrowedRef<> descriptor) {
  if (!definitionOf(descriptor)) return false;
  PyTypeObject* owner = PyDescr_TYPE(descriptor.get());
  return isHeapType(owner) &&
         ownAttribute(owner, PyDescr_NAME(descriptor.get())) == descriptor.get();
}

Ref<> copyWithoutClass(BorrowedRef<> descriptor) {
  PyTypeObject* owner = PyDescr_TYPE(descriptor.get());
  auto* definition = const_cast<void*>(definitionOf(descriptor));
  PyObject* copy = isMember(descriptor)
                       ? PyDescr_NewMember(owner, static_cast<PyMemberDef*>(definition))
                       : PyDescr_NewGetSet(owner, static_cast<PyGetSetDef*>(definition));
  if (!copy) return nullptr;
  // The collector would count a reference that there is not.
  PyObject_GC_UnTrack(copy);
  Py_DECREF(owner);
  return Ref<>::steal(copy);
}

void forgetClass(BorrowedRef<> copy) {
  reinterpret_cast<PyDescrObject*>(copy.get())->d_type = nullptr;
  // As descr_dealloc wants it.
  PyObject_GC_Track(copy.get());
}

}  // namespace armature::cpython

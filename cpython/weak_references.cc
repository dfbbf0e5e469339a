#include "cpython/weak_references.h"

namespace armature::cpython {

namespace {

// Null if there is none.
PyWeakReference* firstReference(BorrowedRef<> object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object.get()))) return nullptr;
  return *reinterpret_cast<PyWeakReference**>(PyObject_GET_WEAKREFS_LISTPTR(object.get()));
}

}  // namespace

bool anyWeakReferenceCallback(BorrowedRef<> object, bool (*visit)(BorrowedRef<> callback)) {
  for (PyWeakReference* reference = firstReference(object); reference;
       reference = reference->wr_next) {
    if (reference->wr_callback && visit(reference->wr_callback)) return true;
  }
  return false;
}

bool hasWeakReference(BorrowedRef<> object) { return firstReference(object) != nullptr; }

PyTypeObject* weakReferenceType() { return &_PyWeakref_RefType; }

}  // namespace armature::cpython

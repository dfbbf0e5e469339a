#include "cpython/weak_references.h"

namespace armature::cpython {

bool anyWeakReferenceCallback(BorrowedRef<> object, bool (*visit)(BorrowedRef<> callback)) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object.get()))) return false;
  auto** list = reinterpret_cast<PyWeakReference**>(PyObject_GET_WEAKREFS_LISTPTR(object.get()));
  for (PyWeakReference* reference = *list; reference; reference = reference->wr_next) {
    if (reference->wr_callback && visit(reference->wr_callback)) return true;
  }
  return false;
}

PyTypeObject* weakReferenceType() { return &_PyWeakref_RefType; }

}  // namespace armature::cpython

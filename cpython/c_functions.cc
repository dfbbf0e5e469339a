#include "cpython/c_functions.h"

#include "cpython/type_lookup.h"

namespace armature::cpython {

PyObject* descriptorOf(BorrowedRef<> boundMethod) {
  PyObject* self = PyCFunction_GET_SELF(boundMethod.get());
  const PyMethodDef* definition = methodDefinition(boundMethod);
  if (!self || !definition) return nullptr;
  Ref<> name = Ref<>::steal(PyUnicode_InternFromString(definition->ml_name));
  if (!name) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* found = lookup(staticBase(Py_TYPE(self)), name);
  bool matches =
      found && Py_TYPE(found) == &PyMethodDescr_Type && methodDefinition(found) == definition;
  return matches ? found : nullptr;
}

}  // namespace armature::cpython

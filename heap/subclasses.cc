#include "heap/subclasses.h"

#include "core/checked.h"
#include "cpython/type_lookup.h"

namespace armature {

Ref<> subclassesOf(BorrowedRef<PyTypeObject> type) {
  static PyObject* const method = cpython::lookup(&PyType_Type, staticName("__subclasses__"));
  auto* object = reinterpret_cast<PyObject*>(type.get());
  Ref<> list = Ref<>::steal(PyObject_CallOneArg(method, object));
  return list ? Ref<>::steal(PyList_AsTuple(list.get())) : Ref<>();
}

PyObject* subclassesField() {
  static PyGetSetDef definition = {
      "subclasses",
      [](PyObject* type, void*) {
        return subclassesOf(reinterpret_cast<PyTypeObject*>(type)).release();
      },
      nullptr, nullptr, nullptr};
  static PyObject* const field = checked(PyDescr_NewGetSet(&PyType_Type, &definition)).release();
  return field;
}

}  // namespace armature

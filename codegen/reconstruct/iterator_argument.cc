#include "codegen/reconstruct/iterator_argument.h"

#include "core/checked.h"
#include "variables/objects/user_defined.h"

namespace armature {

namespace {

// Gives whoever asks it for an iterator the one that it was made of.
struct IteratorArgument {
  PyObject_HEAD PyObject* iterator;
};

PyObject* iteratorOf(PyObject* self) {
  return Py_NewRef(reinterpret_cast<IteratorArgument*>(self)->iterator);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<IteratorArgument*>(self)->iterator);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(reinterpret_cast<IteratorArgument*>(self)->iterator);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyTypeObject* argumentType() {
  static PyType_Slot slots[] = {{Py_tp_iter, reinterpret_cast<void*>(iteratorOf)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "armature.iterator_argument", sizeof(IteratorArgument), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static auto* const type =
      reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  return type;
}

PyObject* makeArgument(PyObject*, PyObject* iterator) {
  auto* argument = PyObject_GC_New(IteratorArgument, argumentType());
  if (!argument) return nullptr;
  argument->iterator = Py_NewRef(iterator);
  PyObject_GC_Track(argument);
  return reinterpret_cast<PyObject*>(argument);
}

PyMethodDef makeMethod = {"iterator_argument", makeArgument, METH_O, nullptr};

}  // namespace

void loadIteratorArgument(PyCodegen& codegen, const Value& iterator) {
  if (!trackerOf<UserObjectVariable>(iterator)) return codegen.load(iterator);
  static PyObject* const function = checked(PyCFunction_New(&makeMethod, nullptr)).release();
  codegen.prepareCall(function);
  codegen.load(iterator);
  codegen.call(1);
}

}  // namespace armature

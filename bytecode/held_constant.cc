#include "bytecode/held_constant.h"

#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "cpython/special_slots.h"

namespace armature {

namespace {

struct HeldConstant {
  PyObject_HEAD PyObject* object;
};

PyObject* invert(PyObject* self) {
  return Py_NewRef(reinterpret_cast<HeldConstant*>(self)->object);
}

void deallocate(PyObject* self) {
  Py_DECREF(reinterpret_cast<HeldConstant*>(self)->object);
  PyObject_Free(self);
}

PyNumberMethods numberMethods = {.nb_invert = invert};

// The garbage collector does not see it: it does not see the code objects that have it.
PyTypeObject HeldConstantType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.HeldConstant",
    .tp_basicsize = sizeof(HeldConstant),
    .tp_dealloc = deallocate,
    .tp_as_number = &numberMethods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An object that generated code loads, which gets it by ~.",
};

}  // namespace

bool mayBeConstantOfCode(BorrowedRef<> object) {
  bool isPlain = cpython::goesByIdentity(Py_TYPE(object.get())) || PyCFunction_Check(object.get());
  if (isPlain) return true;
  if (!isConstant(object)) return false;
  SetException kept;
  bool isHashable = PyObject_Hash(object.get()) != -1;
  clearException();
  return isHashable;
}

Ref<> holdConstant(BorrowedRef<> object) {
  static const bool isReady = PyType_Ready(&HeldConstantType) == 0;
  if (!isReady) return nullptr;
  auto* held = PyObject_New(HeldConstant, &HeldConstantType);
  if (held) held->object = Py_NewRef(object.get());
  return Ref<>::steal(reinterpret_cast<PyObject*>(held));
}

}  // namespace armature

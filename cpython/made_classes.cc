#include "cpython/made_classes.h"

namespace armature::cpython {

Ref<> makeClass(BorrowedRef<> name, BorrowedRef<> bases, BorrowedRef<> classNamespace) {
  Ref<> arguments = Ref<>::steal(PyTuple_Pack(3, name.get(), bases.get(), classNamespace.get()));
  if (!arguments) return nullptr;
  return Ref<>::steal(PyType_Type.tp_new(&PyType_Type, arguments.get(), nullptr));
}

bool setClassAttribute(BorrowedRef<> type, BorrowedRef<> name, PyObject* value) {
  return PyType_Type.tp_setattro(type, name, value) == 0;
}

void hideClass(BorrowedRef<PyTypeObject> type) {
  PyObject_GC_UnTrack(type.get());
  Ref<> key = Ref<>::steal(PyLong_FromVoidPtr(type.get()));
  for (Py_ssize_t i = 0; key && i < PyTuple_GET_SIZE(type->tp_bases); ++i) {
    // A dict from addresses to weak references (typeobject.c, add_subclass).
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_bases, i));
    if (base->tp_subclasses && PyDict_GetItem(base->tp_subclasses, key.get())) {
      PyDict_DelItem(base->tp_subclasses, key.get());
    }
  }
  PyErr_Clear();
}

void endHiddenClass(Ref<> type) {
  PyObject_GC_Track(type.get());
  PyType_Type.tp_clear(type.get());
}

bool classesAreHidden() {
  auto* object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  auto make = [](PyObject* base) {
    Ref<> name = Ref<>::steal(PyUnicode_FromString("Hidden"));
    Ref<> bases = Ref<>::steal(PyTuple_Pack(1, base));
    Ref<> names = Ref<>::steal(PyDict_New());
    return name && bases && names ? makeClass(name, bases, names) : Ref<>();
  };
  Ref<> base = make(object), seen = base ? make(base.get()) : Ref<>();
  Ref<> hidden = seen ? make(base.get()) : Ref<>();
  Ref<> reference = Ref<>::steal(hidden ? PyWeakref_NewRef(hidden.get(), nullptr) : nullptr);
  if (!reference) return false;
  hideClass(reinterpret_cast<PyTypeObject*>(hidden.get()));
  Ref<> subclasses = Ref<>::steal(PyObject_CallMethod(base.get(), "__subclasses__", nullptr));
  bool isHidden = subclasses && PyList_GET_SIZE(subclasses.get()) == 1 &&
                  PyList_GET_ITEM(subclasses.get(), 0) == seen.get() &&
                  !PyObject_GC_IsTracked(hidden.get());
  endHiddenClass(std::move(hidden));
  return isHidden && PyWeakref_GetObject(reference.get()) == Py_None;
}

}  // namespace armature::cpython

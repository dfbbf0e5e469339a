#include "cpython/made_classes.h"

namespace armature::cpython {

namespace {

// A class without anything, over which one can be made that gets its bases later.
PyTypeObject* plainBase() {
  static auto* const base = [] {
    auto* made = reinterpret_cast<PyTypeObject*>(
        PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "Plain"));
    if (made) hideClass(made);
    return made;
  }();
  return base;
}

Ref<> newClass(BorrowedRef<PyTypeObject> metaclass, BorrowedRef<> name, BorrowedRef<> bases,
               BorrowedRef<> classNamespace) {
  Ref<> arguments = Ref<>::steal(PyTuple_Pack(3, name.get(), bases.get(), classNamespace.get()));
  if (!arguments) return nullptr;
  return Ref<>::steal(PyType_Type.tp_new(metaclass, arguments.get(), nullptr));
}

}  // namespace

bool canBeAdopted(BorrowedRef<> bases) {
  PyTypeObject* plain = plainBase();
  if (!plain) return PyErr_Clear(), false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases.get()); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases.get(), i));
    bool isPlain = base->tp_flags & Py_TPFLAGS_HEAPTYPE && base->tp_dealloc == plain->tp_dealloc &&
                   base->tp_basicsize == plain->tp_basicsize && base->tp_itemsize == 0 &&
                   base->tp_dictoffset == plain->tp_dictoffset &&
                   base->tp_weaklistoffset == plain->tp_weaklistoffset;
    // What a class takes over from its bases when it is made, and never again.
    bool isMarked = base->tp_flags & (Py_TPFLAGS_SEQUENCE | Py_TPFLAGS_MAPPING);
    if (!isPlain || isMarked) return false;
  }
  return true;
}

Ref<> makeClass(BorrowedRef<PyTypeObject> metaclass, BorrowedRef<> name, BorrowedRef<> bases,
                BorrowedRef<> classNamespace, bool tellsBases) {
  if (!tellsBases) return newClass(metaclass, name, bases, classNamespace);
  // type_set_bases does all that type_new does, but for telling the bases.
  Ref<> plain = Ref<>::steal(PyTuple_Pack(1, plainBase()));
  Ref<> made = plain ? newClass(metaclass, name, plain, classNamespace) : Ref<>();
  if (!made) return nullptr;
  static PyObject* const field = PyUnicode_InternFromString("__bases__");
  return PyType_Type.tp_setattro(made.get(), field, bases) < 0 ? Ref<>() : std::move(made);
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
    return name && bases && names ? makeClass(&PyType_Type, name, bases, names, false) : Ref<>();
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

#include "cpython/type_lookup.h"

namespace armature::cpython {

namespace {

// The search from the given place in the MRO on.
MroAttribute lookupFrom(PyTypeObject* type, Py_ssize_t first, BorrowedRef<> name) {
  PyObject* order = mro(type);
  if (!order) return {};
  for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(order); ++i) {
    auto* owner = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    if (PyObject* object = ownAttribute(owner, name)) return {object, owner, i};
  }
  return {};
}

}  // namespace

PyObject* lookup(PyTypeObject* type, BorrowedRef<> name) { return _PyType_Lookup(type, name); }

MroAttribute lookupPlace(PyTypeObject* type, BorrowedRef<> name) {
  return lookupFrom(type, 0, name);
}

MroAttribute lookupAfter(PyTypeObject* type, PyTypeObject* after, BorrowedRef<> name) {
  PyObject* order = mro(type);
  if (!order) return {};
  Py_ssize_t i = 0, count = PyTuple_GET_SIZE(order);
  while (i < count && PyTuple_GET_ITEM(order, i) != reinterpret_cast<PyObject*>(after)) ++i;
  return lookupFrom(type, i + 1, name);
}

PyObject* ownAttribute(const PyTypeObject* type, BorrowedRef<> name) {
  PyObject* own = dict(type);
  if (!own) return nullptr;
  Py_hash_t hash = PyObject_Hash(name);  // of an exact str: never fails
  PyObject* found = _PyDict_GetItem_KnownHash(own, name, hash);
  if (!found) PyErr_Clear();
  return found;
}

PyObject* ownAttribute(const PyTypeObject* type, const char* name) {
  Ref<> key = Ref<>::steal(PyUnicode_InternFromString(name));
  return key ? ownAttribute(type, key) : nullptr;
}

PyObject* mro(PyTypeObject* type) { return type->tp_mro; }

#if PY_VERSION_HEX < 0x030C0000

PyObject* bases(PyTypeObject* type) { return type->tp_bases; }
PyObject* dict(const PyTypeObject* type) { return type->tp_dict; }

#else

// Static builtin types keep both in the interpreter's state, which outlives every use here.
PyObject* bases(PyTypeObject* type) {
  Ref<> found =
      Ref<>::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__bases__"));
  return found.get();
}
PyObject* dict(const PyTypeObject* type) {
  return Ref<>::steal(PyType_GetDict(const_cast<PyTypeObject*>(type))).get();
}

#endif

PyTypeObject* base(PyTypeObject* type) { return type->tp_base; }

unsigned long flags(const PyTypeObject* type) { return type->tp_flags; }
bool isHeapType(const PyTypeObject* type) { return flags(type) & Py_TPFLAGS_HEAPTYPE; }
bool isImmutable(const PyTypeObject* type) { return flags(type) & Py_TPFLAGS_IMMUTABLETYPE; }

bool isMatchedWhole(const PyTypeObject* type) { return flags(type) & _Py_TPFLAGS_MATCH_SELF; }

bool hasBuiltinNew(PyTypeObject* type) { return type->tp_new == staticBase(type)->tp_new; }

PyTypeObject* staticBase(PyTypeObject* type) {
  while (type && isHeapType(type)) type = base(type);
  return type;
}

const char* nameOf(const PyTypeObject* type) { return type->tp_name; }

PyObject* qualifiedName(const PyTypeObject* heapType) {
  return reinterpret_cast<const PyHeapTypeObject*>(heapType)->ht_qualname;
}

PyObject* shortName(const PyTypeObject* heapType) {
  return reinterpret_cast<const PyHeapTypeObject*>(heapType)->ht_name;
}

}  // namespace armature::cpython

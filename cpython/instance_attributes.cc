#include "cpython/instance_attributes.h"

#include "cpython/internal_dict.h"

namespace armature::cpython {

PyObject* materializedInstanceDict(BorrowedRef<> object) {
  PyObject** place = _PyObject_GetDictPtr(object);
  if (place && !*place) {
    Ref<> created = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
    if (!created) PyErr_Clear();
  }
  return place ? *place : nullptr;
}

#if PY_VERSION_HEX < 0x030C0000

PyObject* inlineValue(BorrowedRef<> object, BorrowedRef<> name) {
  // pycore_object.h, _PyObject_ValuesPointer.
  constexpr int valuesWord = -4;
  PyTypeObject* type = Py_TYPE(object.get());
  if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return nullptr;
  auto* values = reinterpret_cast<PyDictValues**>(object.get())[valuesWord];
  if (!values) return nullptr;
  PyDictKeysObject* keys = reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  // At most SHARED_KEYS_MAX_SIZE (30) of them, nearly always interned like `name`.
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (entries[i].me_key == name.get()) return values->values[i];
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (PyUnicode_Compare(entries[i].me_key, name) == 0) return values->values[i];
  return nullptr;
}

#else

PyObject* inlineValue(BorrowedRef<>, BorrowedRef<>) { return nullptr; }

#endif

bool deletionErrorNamesObject() {
  static const bool namesObject = [] {
    Ref<> object = Ref<>::steal(PyObject_CallNoArgs(PyExc_Exception));  // its attributes are a dict
    if (!object || PyObject_SetAttrString(object.get(), "absent", nullptr) == 0) return true;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Ref<> text = Ref<>::steal(value ? PyObject_Str(value) : nullptr);
    bool isName = text && PyUnicode_CompareWithASCIIString(text.get(), "absent") == 0;
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
    PyErr_Clear();
    return !isName;
  }();
  return namesObject;
}

}  // namespace armature::cpython

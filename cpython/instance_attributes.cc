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

}  // namespace armature::cpython

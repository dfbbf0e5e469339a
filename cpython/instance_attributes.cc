#include "cpython/instance_attributes.h"

#include "cpython/internal_dict.h"
#include "cpython/type_lookup.h"

namespace armature::cpython {

using AttributeVisitor = llvm::function_ref<void(PyObject* name, PyObject* value)>;

PyObject* materializedInstanceDict(BorrowedRef<> object) {
  PyObject** place = _PyObject_GetDictPtr(object);
  if (place && !*place) {
    Ref<> created = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
    if (!created) PyErr_Clear();
  }
  return place ? *place : nullptr;
}

bool setOwnAttribute(BorrowedRef<> object, BorrowedRef<> name, BorrowedRef<> value) {
  PyTypeObject* type = Py_TYPE(object.get());
  if (keepsInlineValues(type) && PyUnicode_CheckExact(name.get())) {
    PyObject* inType = lookup(type, name);
    bool isHidden = inType && Py_TYPE(inType)->tp_descr_set;
    if (!isHidden) return PyObject_GenericSetAttr(object, name, value) == 0;
  }
  Ref<> dict = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
  return dict && PyDict_SetItem(dict.get(), name, value) == 0;
}

#if PY_VERSION_HEX < 0x030C0000

namespace {

// pycore_object.h, _PyObject_ValuesPointer. Null if it has a dict, or is not of that kind.
PyDictValues* valuesOf(BorrowedRef<> object) {
  constexpr int valuesWord = -4;
  if (!keepsInlineValues(Py_TYPE(object.get()))) return nullptr;
  return reinterpret_cast<PyDictValues**>(object.get())[valuesWord];
}

}  // namespace

PyObject* inlineValue(BorrowedRef<> object, BorrowedRef<> name) {
  PyDictValues* values = valuesOf(object);
  if (!values) return nullptr;
  PyDictKeysObject* keys =
      reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(object.get()))->ht_cached_keys;
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  // At most SHARED_KEYS_MAX_SIZE (30) of them, nearly always interned like `name`.
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (entries[i].me_key == name.get()) return values->values[i];
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (PyUnicode_Compare(entries[i].me_key, name) == 0) return values->values[i];
  return nullptr;
}

void visitInlineValues(BorrowedRef<> object, AttributeVisitor visit) {
  PyDictValues* values = valuesOf(object);
  if (!values) return;
  PyDictKeysObject* keys =
      reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(object.get()))->ht_cached_keys;
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i) {
    if (values->values[i]) visit(DK_UNICODE_ENTRIES(keys)[i].me_key, values->values[i]);
  }
}

#else

PyObject* inlineValue(BorrowedRef<>, BorrowedRef<>) { return nullptr; }

void visitInlineValues(BorrowedRef<>, AttributeVisitor) {}

#endif

void visitAttributes(BorrowedRef<> object, AttributeVisitor visit) {
  visitInlineValues(object, visit);
  PyObject** place = instanceDictPlace(object);
  PyObject *name, *value;
  for (Py_ssize_t i = 0; place && *place && PyDict_Next(*place, &i, &name, &value);) {
    if (PyUnicode_CheckExact(name)) visit(name, value);
  }
}

bool hasMoreParts(const PyTypeObject* type, size_t slots) {
  if (type->tp_itemsize) return true;
  bool hasPlaceOfDict = type->tp_dictoffset != 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
  size_t pointers = slots + hasPlaceOfDict + (type->tp_weaklistoffset > 0);
  return static_cast<size_t>(type->tp_basicsize) >
         static_cast<size_t>(PyBaseObject_Type.tp_basicsize) + pointers * sizeof(PyObject*);
}

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

bool hasOwnAttribute(BorrowedRef<> object, BorrowedRef<> name) {
  PyObject** place = instanceDictPlace(object);
  if (!place || !*place) return false;
  int found = PyDict_Contains(*place, name.get());
  if (found < 0) PyErr_Clear();
  return found > 0;
}

}  // namespace armature::cpython

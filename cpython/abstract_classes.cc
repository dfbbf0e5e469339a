#include "cpython/abstract_classes.h"

#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"

namespace armature::cpython {

namespace {

Ref<> callAbc(const char* name, std::initializer_list<PyTypeObject*> types) {
  Ref<> module = Ref<>::steal(PyImport_ImportModule("_abc"));
  Ref<> function = module ? Ref<>::steal(PyObject_GetAttrString(module.get(), name)) : module;
  if (!function) return function;
  PyObject* arguments[2] = {};
  size_t count = 0;
  for (PyTypeObject* type : types) arguments[count++] = reinterpret_cast<PyObject*>(type);
  return Ref<>::steal(PyObject_Vectorcall(function.get(), arguments, count, nullptr));
}

// One of the sets of weak references that _abc keeps with a class, by its place in what _get_dump
// gives; null, without an exception, if the class has none.
Ref<> weakSet(PyTypeObject* type, Py_ssize_t place) {
  Ref<> parts = callAbc("_get_dump", {type});
  if (!parts) {
    PyErr_Clear();
    return parts;
  }
  bool isKnown = PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) > place &&
                 PyAnySet_Check(PyTuple_GET_ITEM(parts.get(), place));
  return isKnown ? Ref<>::create(PyTuple_GET_ITEM(parts.get(), place)) : nullptr;
}

}  // namespace

int64_t abcCacheToken() {
  Ref<> token = callAbc("get_cache_token", {});
  int64_t value = token ? PyLong_AsLongLong(token.get()) : -1;
  if (value == -1) PyErr_Clear();
  return value;
}

Ref<> registeredClasses(PyTypeObject* type) { return weakSet(type, 0); }

bool isKeptSubclass(PyTypeObject* derived, PyTypeObject* type) {
  Ref<> kept = weakSet(type, 1);
  for (SetEntry entry; kept && nextEntry(kept, entry);) {
    if (PyWeakref_GetObject(entry.element) == reinterpret_cast<PyObject*>(derived)) return true;
  }
  return false;
}

Ref<> subclasses(PyTypeObject* type) {
  PyObject* function = ownAttribute(&PyType_Type, "__subclasses__");
  Ref<> list = Ref<>::steal(
      function ? PyObject_CallOneArg(function, reinterpret_cast<PyObject*>(type)) : nullptr);
  if (!list) PyErr_Clear();
  return list && PyList_Check(list.get()) ? list : nullptr;
}

int isAbstractSubclass(PyTypeObject* derived, PyTypeObject* type) {
  Ref<> answer = callAbc("_abc_subclasscheck", {type, derived});
  return answer ? PyObject_IsTrue(answer.get()) : -1;
}

}  // namespace armature::cpython

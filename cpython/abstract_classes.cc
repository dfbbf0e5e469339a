#include "cpython/abstract_classes.h"

#include <utility>

#include "cpython/imported_modules.h"
#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"

namespace armature::cpython {

namespace {

Ref<> callAbc(const char* name, std::initializer_list<PyTypeObject*> types) {
  Ref<> module = Ref<>::steal(importModule("_abc"));
  Ref<> function = module ? Ref<>::steal(PyObject_GetAttrString(module.get(), name)) : module;
  if (!function) return function;
  PyObject* arguments[2] = {};
  size_t count = 0;
  for (PyTypeObject* type : types) arguments[count++] = reinterpret_cast<PyObject*>(type);
  return Ref<>::steal(PyObject_Vectorcall(function.get(), arguments, count, nullptr));
}

// What _get_dump gives: three sets of weak references, of the registered classes and of those with
// a positive and a negative answer, and the token that the negative ones are good for. Null,
// without an exception, if the class has none of it.
Ref<> dumpOf(PyTypeObject* type) {
  Ref<> parts = callAbc("_get_dump", {type});
  if (!parts) PyErr_Clear();
  bool isKnown = parts && PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) == 4;
  for (Py_ssize_t i = 0; isKnown && i < 3; ++i) {
    isKnown = PyAnySet_Check(PyTuple_GET_ITEM(parts.get(), i));
  }
  return isKnown ? std::move(parts) : nullptr;
}

enum WeakSet : Py_ssize_t { kRegistered, kPositive, kNegative, kToken };

bool holds(BorrowedRef<> dump, WeakSet set, PyTypeObject* type) {
  if (!dump) return false;
  BorrowedRef<> references = PyTuple_GET_ITEM(dump.get(), set);
  for (SetEntry entry; nextEntry(references, entry);) {
    if (PyWeakref_GetObject(entry.element) == reinterpret_cast<PyObject*>(type)) return true;
  }
  return false;
}

}  // namespace

int64_t abcCacheToken() {
  Ref<> token = callAbc("get_cache_token", {});
  int64_t value = token ? PyLong_AsLongLong(token.get()) : -1;
  if (value == -1) PyErr_Clear();
  return value;
}

Ref<> registeredClasses(PyTypeObject* type) {
  Ref<> dump = dumpOf(type);
  return dump ? Ref<>::create(PyTuple_GET_ITEM(dump.get(), kRegistered)) : nullptr;
}

bool isKeptSubclass(PyTypeObject* derived, PyTypeObject* type) {
  return holds(dumpOf(type), kPositive, derived);
}

bool keepsAnswer(PyTypeObject* derived, PyTypeObject* type) {
  Ref<> dump = dumpOf(type);
  if (holds(dump, kPositive, derived)) return true;
  if (!holds(dump, kNegative, derived)) return false;
  int64_t token = PyLong_AsLongLong(PyTuple_GET_ITEM(dump.get(), kToken));
  PyErr_Clear();
  return token >= 0 && token == abcCacheToken();
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

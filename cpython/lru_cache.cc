#include "cpython/lru_cache.h"

#include <utility>

#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"

namespace armature::cpython {

namespace {

// Where an instance holds the only reference to `function` that lies in it; 0 if not in one place.
Py_ssize_t placeOf(BorrowedRef<> function, BorrowedRef<> wrapper) {
  Py_ssize_t place = 0;
  constexpr auto step = static_cast<Py_ssize_t>(sizeof(PyObject*));
  auto* bytes = reinterpret_cast<char*>(wrapper.get());
  for (auto at = static_cast<Py_ssize_t>(sizeof(PyObject));
       at + step <= lruCacheType()->tp_basicsize; at += step) {
    if (*reinterpret_cast<PyObject**>(bytes + at) != function.get()) continue;
    if (place) return 0;
    place = at;
  }
  return place;
}

// Modules/_functoolsmodule.c says nothing of its struct, so that an example has to tell.
Py_ssize_t findPlace() {
  Ref<> list = Ref<>::steal(PyList_New(0));
  Ref<> function = Ref<>::steal(list ? PyObject_GetAttrString(list.get(), "append") : nullptr);
  auto* type = reinterpret_cast<PyObject*>(lruCacheType());
  Ref<> wrapper =
      Ref<>::steal(function ? PyObject_CallFunction(type, "OOOO", function.get(), Py_None, Py_False,
                                                    reinterpret_cast<PyObject*>(&PyTuple_Type))
                            : nullptr);
  if (wrapper) return placeOf(function, wrapper);
  PyErr_Clear();
  return 0;
}

// The place of the function in an instance; null where it cannot be found.
PyObject** functionIn(BorrowedRef<> wrapper) {
  if (!lruCacheType() || !PyObject_TypeCheck(wrapper.get(), lruCacheType())) return nullptr;
  static const Py_ssize_t place = findPlace();
  if (!place) return nullptr;
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(wrapper.get()) + place);
}

// What stands in the place of a wrapper's function while its cache is asked. Meanwhile no code of
// the program's runs, in whatever thread: no collection begins, and once the cache has called what
// stands there, because it has no answer, the function is back in its place.
struct Standing {
  PyObject** place = nullptr;
  PyObject* function = nullptr;

  void end() {
    if (place) *std::exchange(place, nullptr) = function;
  }
};
Standing standing;

// Stands for the function where the cache has no answer.
PyObject* raiseNoAnswer(PyObject*, PyObject*, PyObject*) {
  standing.end();
  PyErr_SetNone(PyExc_LookupError);
  return nullptr;
}
PyObject* noAnswer() {
  static PyMethodDef method = {"no_answer", asMethod(raiseNoAnswer), METH_VARARGS | METH_KEYWORDS,
                               nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

}  // namespace

PyTypeObject* lruCacheType() {
  static PyTypeObject* const type = []() -> PyTypeObject* {
    Ref<> module = Ref<>::steal(importModule("_functools"));
    Ref<> found =
        Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "_lru_cache_wrapper") : nullptr);
    PyErr_Clear();
    bool isOwn = found && PyType_Check(found.get()) &&
                 isImmutable(reinterpret_cast<PyTypeObject*>(found.get()));
    return isOwn ? reinterpret_cast<PyTypeObject*>(found.release()) : nullptr;
  }();
  return type;
}

PyObject* cachedFunction(BorrowedRef<> wrapper) {
  PyObject** place = functionIn(wrapper);
  return place ? *place : nullptr;
}

namespace {

// A call of the wrapper while `stand` is in the place of the function.
Ref<> callWith(BorrowedRef<> wrapper, PyObject* stand, BorrowedRef<> arguments,
               PyObject* keywords) {
  PyObject** place = functionIn(wrapper);
  if (!place || !stand) return nullptr;
  int collected = PyGC_Disable();
  standing = {place, std::exchange(*place, stand)};
  Ref<> result = Ref<>::steal(lruCacheType()->tp_call(wrapper.get(), arguments.get(), keywords));
  standing.end();
  if (collected) PyGC_Enable();
  return result;
}

PyObject* giveResult(PyObject* result, PyObject*, PyObject*) {
  standing.end();
  return Py_NewRef(result);
}

}  // namespace

Ref<> remembered(BorrowedRef<> wrapper, BorrowedRef<> arguments, PyObject* keywords) {
  Ref<> found = callWith(wrapper, noAnswer(), arguments, keywords);
  if (!found) PyErr_Clear();
  return found;
}

bool remember(BorrowedRef<> wrapper, BorrowedRef<> arguments, PyObject* keywords,
              BorrowedRef<> result) {
  static PyMethodDef method = {"give_result", asMethod(giveResult), METH_VARARGS | METH_KEYWORDS,
                               nullptr};
  Ref<> stand = Ref<>::steal(PyCFunction_New(&method, result.get()));
  return stand && callWith(wrapper, stand.get(), arguments, keywords);
}

Py_ssize_t roomIn(BorrowedRef<> wrapper) {
  if (Py_TYPE(wrapper.get()) != lruCacheType()) return 0;
  static PyObject* const method = lookup(lruCacheType(), PyUnicode_InternFromString("cache_info"));
  // hits, misses, maxsize, currsize
  Ref<> info = Ref<>::steal(method ? PyObject_CallOneArg(method, wrapper.get()) : nullptr);
  Ref<> size = Ref<>::steal(info ? PySequence_GetItem(info.get(), 2) : nullptr);
  Ref<> used = Ref<>::steal(info ? PySequence_GetItem(info.get(), 3) : nullptr);
  Py_ssize_t room = 0;
  if (size && used) {
    room = size.get() == Py_None ? PY_SSIZE_T_MAX
                                 : PyLong_AsSsize_t(size.get()) - PyLong_AsSsize_t(used.get());
  }
  if (PyErr_Occurred()) PyErr_Clear();
  return room;
}

}  // namespace armature::cpython

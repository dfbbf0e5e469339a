#include "libraries/torch/allowed_functions.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/function_layout.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/callable_names.h"

namespace armature {

namespace {

// The addresses that TorchDynamo has written down, a set; null before it has any.
PyObject* allowedIds() {
  static PyObject* ids = nullptr;
  if (ids) return ids;
  BorrowedRef<> registry =
      cpython::importedAttribute("torch._dynamo.trace_rules", "_allowed_callable_ids");
  Ref<> found =
      Ref<>::steal(registry ? PyObject_GetAttrString(registry.get(), "function_ids") : nullptr);
  clearException();
  if (found && PySet_Check(found.get())) ids = found.release();
  return ids;
}

// apply(*arguments, **keywords), of a class.
PyObject* callApply(PyObject* type, PyObject* arguments, PyObject* keywords) {
  Ref<> apply = Ref<>::steal(PyObject_GetAttrString(type, "apply"));
  return apply ? PyObject_Call(apply.get(), arguments, keywords) : nullptr;
}

bool isWrittenDown(PyObject* callable) {
  if (!allowedIds()) return false;
  Ref<> id = checked(PyLong_FromVoidPtr(callable));
  return PySet_Contains(allowedIds(), id.get()) == 1;
}

}  // namespace

bool isAllowedClass(BorrowedRef<PyTypeObject> type) {
  return isWrittenDown(reinterpret_cast<PyObject*>(type.get()));
}

Ref<> applyOfAllowed(BorrowedRef<PyTypeObject> type) {
  static PyMethodDef definition = {"apply_autograd_function", cpython::asMethod(callApply),
                                   METH_VARARGS | METH_KEYWORDS, nullptr};
  static PyObject* const module = checked(PyUnicode_InternFromString("armature")).release();
  PyObject* self = reinterpret_cast<PyObject*>(type.get());
  return checked(PyCFunction_NewEx(&definition, self, module));
}

bool isAllowedInGraph(BorrowedRef<> callable) {
  if (PyCFunction_Check(callable.get())) {
    return PyCFunction_GET_FUNCTION(callable.get()) == cpython::asMethod(callApply);
  }
  if (!PyFunction_Check(callable.get()) || !isWrittenDown(callable.get())) return false;
  // Of torch's own functions more is known.
  return callableNames().of(callable).name.empty();
}

}  // namespace armature

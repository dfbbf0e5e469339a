#include "libraries/torch/allowed_functions.h"

#include "core/checked.h"
#include "cpython/function_layout.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/imported_attribute.h"

namespace armature {

namespace {

// The addresses that TorchDynamo has written down, a set; null before it has any.
PyObject* allowedIds() {
  static PyObject* ids = nullptr;
  if (ids) return ids;
  BorrowedRef<> registry = importedAttribute("torch._dynamo.trace_rules", "_allowed_callable_ids");
  Ref<> found =
      Ref<>::steal(registry ? PyObject_GetAttrString(registry.get(), "function_ids") : nullptr);
  PyErr_Clear();
  if (found && PySet_Check(found.get())) ids = found.release();
  return ids;
}

}  // namespace

bool isAllowedInGraph(BorrowedRef<> callable) {
  if (!PyFunction_Check(callable.get()) || !allowedIds()) return false;
  Ref<> id = checked(PyLong_FromVoidPtr(callable.get()));
  if (PySet_Contains(allowedIds(), id.get()) != 1) return false;
  // Of torch's own functions more is known.
  return callableNames().of(callable).name.empty();
}

}  // namespace armature

#include "sources/computation.h"

#include <algorithm>
#include <cstring>

#include <llvm/ADT/SmallVector.h>

#include "core/checked.h"
#include "core/constant.h"
#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

// Behind the function and the place.
constexpr Py_ssize_t kFirstArgument = 2;

PyObject* functionOf(BorrowedRef<> computation) { return PyTuple_GET_ITEM(computation.get(), 0); }

Py_ssize_t placeOf(BorrowedRef<> computation) {
  return PyLong_AsSsize_t(PyTuple_GET_ITEM(computation.get(), 1));
}

llvm::SmallVector<PyObject*, 4> othersOf(BorrowedRef<> computation) {
  llvm::SmallVector<PyObject*, 4> others;
  for (Py_ssize_t i = kFirstArgument; i < PyTuple_GET_SIZE(computation.get()); ++i)
    others.push_back(PyTuple_GET_ITEM(computation.get(), i));
  return others;
}

// A C slot of the type, as a method.
bool isSlotOf(PyObject* function, PyTypeObject* type) {
  return Py_TYPE(function) == &PyWrapperDescr_Type && PyDescr_TYPE(function) == type;
}

std::string functionText(PyObject* function) {
  if (Py_TYPE(function) == &PyMethodDescr_Type || Py_TYPE(function) == &PyWrapperDescr_Type)
    return std::string(PyDescr_TYPE(function)->tp_name) + "." + printable(PyDescr_NAME(function));
  if (PyCFunction_Check(function)) return cpython::methodDefinition(function)->ml_name;
  return describe(function);
}

}  // namespace

Ref<> makeComputation(BorrowedRef<> function, size_t place, llvm::ArrayRef<PyObject*> others) {
  Ref<> computation = checked(PyTuple_New(kFirstArgument + static_cast<Py_ssize_t>(others.size())));
  PyTuple_SET_ITEM(computation.get(), 0, Py_NewRef(function.get()));
  PyTuple_SET_ITEM(computation.get(), 1, checked(PyLong_FromSize_t(place)).release());
  for (size_t i = 0; i < others.size(); ++i)
    PyTuple_SET_ITEM(computation.get(), kFirstArgument + static_cast<Py_ssize_t>(i),
                     Py_NewRef(others[i]));
  return computation;
}

bool sameComputation(BorrowedRef<> a, BorrowedRef<> b) {
  llvm::SmallVector<PyObject*, 4> left = othersOf(a), right = othersOf(b);
  return functionOf(a) == functionOf(b) && placeOf(a) == placeOf(b) &&
         std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](PyObject* one, PyObject* other) { return sameConstant(one, other); });
}

bool isComputedOf(PyTypeObject* type) {
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type) return true;
  // A static type is C's own, whatever it is called.
  return !cpython::isHeapType(type) && std::strcmp(type->tp_name, "decimal.Decimal") == 0;
}

Ref<> lengthComputation(PyTypeObject* type) {
  if (cpython::isHeapType(type)) return nullptr;
  PyObject* function = cpython::ownAttribute(type, "__len__");
  return function && isSlotOf(function, type) ? makeComputation(function, 0, {}) : nullptr;
}

Ref<> compute(BorrowedRef<> computation, BorrowedRef<> value) {
  PyTypeObject* type = Py_TYPE(value.get());
  if (!isComputedOf(type) && !isSlotOf(functionOf(computation), type)) return nullptr;
  llvm::SmallVector<PyObject*, 4> arguments = othersOf(computation);
  arguments.insert(arguments.begin() + placeOf(computation), value.get());
  Ref<> result = Ref<>::steal(
      PyObject_Vectorcall(functionOf(computation), arguments.data(), arguments.size(), nullptr));
  if (!result) clearException();
  return result;
}

std::string textBefore(BorrowedRef<> computation) {
  std::string text = functionText(functionOf(computation)) + "(";
  llvm::SmallVector<PyObject*, 4> others = othersOf(computation);
  for (PyObject* other : llvm::ArrayRef<PyObject*>(others).take_front(placeOf(computation)))
    text += describe(other) + ", ";
  return text;
}

std::string textBehind(BorrowedRef<> computation) {
  std::string text;
  llvm::SmallVector<PyObject*, 4> others = othersOf(computation);
  for (PyObject* other : llvm::ArrayRef<PyObject*>(others).drop_front(placeOf(computation)))
    text += ", " + describe(other);
  return text + ")";
}

}  // namespace armature

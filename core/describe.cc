#include "core/describe.h"

#include "core/constant.h"

#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/function_layout.h"
#include "cpython/integers.h"
#include "cpython/type_lookup.h"

namespace armature {
namespace {

constexpr Py_ssize_t maximumElements = 16;
constexpr int maximumDepth = 4;

std::string describeAtDepth(BorrowedRef<> object, int depth);

std::string describeSequence(BorrowedRef<> sequence, const char* open, const char* close,
                             int depth) {
  std::string text = open;
  Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence.get());
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (i) text += ", ";
    if (i == maximumElements) {
      text += "...";
      break;
    }
    text += describeAtDepth(PySequence_Fast_GET_ITEM(sequence.get(), i), depth + 1);
  }
  if (size == 1 && PyTuple_Check(sequence.get())) text += ",";
  return text + close;
}

std::string describeDict(BorrowedRef<> dict, int depth) {
  std::string text = "{";
  Py_ssize_t position = 0, count = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (count) text += ", ";
    if (count++ == maximumElements) {
      text += "...";
      break;
    }
    text += describeAtDepth(key, depth + 1) + ": " + describeAtDepth(value, depth + 1);
  }
  return text + "}";
}

// A set's order follows hashes, which vary from run to run for strings: only its size is printed.
std::string describeSet(BorrowedRef<> set) {
  return "<" + typeName(Py_TYPE(set.get())) + " of " + std::to_string(PySet_GET_SIZE(set.get())) +
         ">";
}

std::string describeAtDepth(BorrowedRef<> object, int depth) {
  PyObject* o = object;
  if (!o) return "<nothing>";
  if (depth >= maximumDepth && !isConstant(o)) return "...";
  if (isConstant(o)) return constantText(o);
  if (PyTuple_CheckExact(o)) return describeSequence(o, "(", ")", depth);
  if (PyList_CheckExact(o)) return describeSequence(o, "[", "]", depth);
  if (PyDict_CheckExact(o)) return describeDict(o, depth);
  if (PyAnySet_CheckExact(o)) return describeSet(o);
  if (PyType_Check(o)) return "<class " + typeName(reinterpret_cast<PyTypeObject*>(o)) + ">";
  if (PyFunction_Check(o))
    return "<function " + printable(cpython::read(o, cpython::FunctionField::QualifiedName)) + ">";
  if (PyCFunction_Check(o))
    return std::string("<built-in function ") + cpython::methodDefinition(o)->ml_name + ">";
  if (Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyClassMethodDescr_Type)
    return "<method " + typeName(PyDescr_TYPE(o)) + "." + printable(PyDescr_NAME(o)) + ">";
  if (PyMethod_Check(o))
    return "<method " + describeAtDepth(PyMethod_GET_FUNCTION(o), depth + 1) + " of " +
           describeAtDepth(PyMethod_GET_SELF(o), depth + 1) + ">";
  if (PyModule_Check(o)) {
    PyObject* name = PyDict_GetItemString(PyModule_GetDict(o), "__name__");
    if (name && PyUnicode_CheckExact(name)) return "<module " + constantText(name) + ">";
  }
  return "<" + typeName(Py_TYPE(o)) + " object>";
}

}  // namespace

std::string describe(BorrowedRef<> object) { return describeAtDepth(object, 0); }

std::string typeName(const PyTypeObject* type) {
  if (!cpython::isHeapType(type)) return cpython::nameOf(type);
  std::string name = printable(cpython::qualifiedName(type));
  PyObject* module = cpython::ownAttribute(type, "__module__");
  if (!module || !PyUnicode_CheckExact(module)) return name;
  std::string prefix = printable(module);
  return prefix == "builtins" ? name : prefix + "." + name;
}

}  // namespace armature

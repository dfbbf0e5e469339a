#include "python/binding/bytecode_binding.h"

#include "bytecode/code.h"

namespace armature {
namespace {

BorrowedRef<PyCodeObject> asCode(PyObject* object) {
  if (PyCode_Check(object)) return reinterpret_cast<PyCodeObject*>(object);
  PyErr_Format(PyExc_TypeError, "a code object is needed, not %s", Py_TYPE(object)->tp_name);
  return nullptr;
}

Ref<PyCodeObject> roundTripped(BorrowedRef<PyCodeObject> code) {
  const CodePtr lifted = lift(code);
  if (!lifted) return nullptr;
  Code copy = *lifted;
  if (Py_EnterRecursiveCall(" in round_trip")) return nullptr;
  for (Ref<>& constant : copy.constants) {
    if (!PyCode_Check(constant.get())) continue;
    Ref<PyCodeObject> inner = roundTripped(reinterpret_cast<PyCodeObject*>(constant.get()));
    if (!inner) {
      Py_LeaveRecursiveCall();
      return nullptr;
    }
    constant = Ref<>::steal(reinterpret_cast<PyObject*>(inner.release()));
  }
  Py_LeaveRecursiveCall();
  return lower(copy);
}

PyObject* roundTrip(PyObject*, PyObject* argument) {
  const BorrowedRef<PyCodeObject> code = asCode(argument);
  if (!code) return nullptr;
  return reinterpret_cast<PyObject*>(roundTripped(code).release());
}

PyObject* disassemble(PyObject*, PyObject* argument) {
  const BorrowedRef<PyCodeObject> code = asCode(argument);
  if (!code) return nullptr;
  const CodePtr lifted = lift(code);
  if (!lifted) return nullptr;
  const std::string text = toString(*lifted);
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyMethodDef functions[] = {
    {"round_trip", roundTrip, METH_O,
     PyDoc_STR("The code object, and those among its constants, lifted and lowered again.")},
    {"disassemble", disassemble, METH_O, PyDoc_STR("The canonical form of the code object.")},
    {},
};

}  // namespace

int addBytecodeFunctions(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace armature

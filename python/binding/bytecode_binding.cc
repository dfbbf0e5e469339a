#include "python/binding/bytecode_binding.h"

#include "bytecode/code.h"
#include "cpython/c_functions.h"

namespace armature {
namespace {

// The same code at greater length: before the constants (but for the first, which may be the
// docstring) and the names stand 256 that nobody uses, and before many instructions stands a NOP.
// No jump, table row or EXTENDED_ARG is where it was, and behaviour must not care.
Code stretched(const Code& code) {
  constexpr int32_t added = 256;
  Code result = code;
  if (!code.constants.empty()) {
    result.constants.insert(result.constants.begin() + 1, added, Ref<>::create(Py_None));
  }
  const auto unused = Ref<>::steal(PyUnicode_InternFromString("unused"));
  result.names.insert(result.names.begin(), added, unused);
  const auto constant = [](int32_t index) { return index > 0 ? index + added : index; };
  // What starts a frame, delegates to a generator or passes keywords must stay together.
  const auto takesNop = [](Opcode opcode) {
    return opcode == Opcode::LOAD_FAST || opcode == Opcode::LOAD_GLOBAL ||
           opcode == Opcode::LOAD_ATTR || opcode == Opcode::STORE_FAST;
  };
  std::vector<int32_t> moved;
  result.instructions.clear();
  result.positions.clear();
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    Instruction instruction = code.instructions[i];
    moved.push_back(static_cast<int32_t>(result.instructions.size()));
    if (argumentKind(instruction.opcode) == ArgumentKind::Name) instruction.argument += added;
    if (argumentKind(instruction.opcode) == ArgumentKind::Const) {
      instruction.argument = constant(instruction.argument);
    }
    instruction.names = constant(instruction.names);
    if (takesNop(instruction.opcode)) {
      result.instructions.push_back({Opcode::NOP});
      result.positions.push_back(code.positions[i]);
    }
    result.instructions.push_back(instruction);
    result.positions.push_back(code.positions[i]);
  }
  moved.push_back(static_cast<int32_t>(result.instructions.size()));
  for (Instruction& instruction : result.instructions) {
    if (isJump(instruction.opcode)) instruction.argument = moved[instruction.argument];
  }
  for (ExceptionRegion& region : result.regions) {
    region.start = moved[region.start];
    region.end = moved[region.end];
    region.target = moved[region.target];
  }
  result.indexRegions();
  return result;
}

Ref<PyCodeObject> roundTripped(BorrowedRef<PyCodeObject> code, bool stretch);

bool roundTripConstants(Code& code, bool stretch) {
  for (Ref<>& constant : code.constants) {
    if (!PyCode_Check(constant.get())) continue;
    auto* inner = reinterpret_cast<PyCodeObject*>(constant.get());
    constant = Ref<>::steal(reinterpret_cast<PyObject*>(roundTripped(inner, stretch).release()));
    if (!constant) return false;
  }
  return true;
}

Ref<PyCodeObject> roundTripped(BorrowedRef<PyCodeObject> code, bool stretch) {
  const CodePtr lifted = lift(code);
  if (!lifted) return nullptr;
  Code copy = stretch ? stretched(*lifted) : *lifted;
  if (Py_EnterRecursiveCall(" in round_trip")) return nullptr;
  const bool done = roundTripConstants(copy, stretch);
  Py_LeaveRecursiveCall();
  return done ? lower(copy) : nullptr;
}

PyObject* roundTrip(PyObject*, PyObject* arguments, PyObject* keywords) {
  const char* names[] = {"code", "stretch", nullptr};
  PyObject* code = nullptr;
  int stretch = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!|p", const_cast<char**>(names),
                                   &PyCode_Type, &code, &stretch)) {
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(
      roundTripped(reinterpret_cast<PyCodeObject*>(code), stretch != 0).release());
}

PyObject* disassemble(PyObject*, PyObject* argument) {
  if (!PyCode_Check(argument)) {
    return PyErr_Format(PyExc_TypeError, "a code object is needed, not %s",
                        Py_TYPE(argument)->tp_name);
  }
  const CodePtr lifted = lift(reinterpret_cast<PyCodeObject*>(argument));
  if (!lifted) return nullptr;
  const std::string text = toString(*lifted);
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyMethodDef functions[] = {
    {"round_trip", cpython::asMethod(roundTrip), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("The code object, and those among its constants, lifted and lowered again;\n"
               "with `stretch`, at greater length, but to the same effect.")},
    {"disassemble", disassemble, METH_O, PyDoc_STR("The canonical form of the code object.")},
    {},
};

}  // namespace

int addBytecodeFunctions(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace armature

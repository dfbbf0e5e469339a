// A function that goes on in the middle of another, in plain Python: the original instructions
// behind a prologue that puts the stack and the locals in place.
#include "codegen/py_codegen.h"
#include "core/checked.h"

namespace armature {

namespace {

// Renumbers what refers to instructions or locals for a prologue of `shift` instructions and
// `parameters` locals in front.
Instruction shifted(Instruction instruction, int32_t shift, int32_t parameters) {
  // The closure's cells arrive as inputs.
  if (instruction.opcode == Opcode::COPY_FREE_VARS) return {Opcode::NOP, 0};
  switch (argumentKind(instruction.opcode)) {
    case ArgumentKind::Label:
      instruction.argument += shift;
      break;
    case ArgumentKind::Local:
      instruction.argument += parameters;
      break;
    default:
      break;
  }
  return instruction;
}

// The input that holds the cell of __class__, or -1: zero-argument super() looks for it among the
// free variables of the function that calls it.
int32_t classCellInput(const EntryPoint& entry) {
  auto stackInputs = static_cast<int32_t>(entry.inputCount() - entry.locals.size());
  for (size_t i = 0; i < entry.locals.size(); ++i) {
    const LocalVariable& local = entry.code->locals[entry.locals[i]];
    if (local.kind == LocalKind::Free &&
        PyUnicode_CompareWithASCIIString(local.name.get(), "__class__") == 0) {
      return stackInputs + static_cast<int32_t>(i);
    }
  }
  return -1;
}

Code emptyLike(const Code& original) {
  Code code;
  code.name = original.name;
  code.qualifiedName = original.qualifiedName;
  code.filename = original.filename;
  code.firstLine = original.firstLine;
  code.flags = CO_OPTIMIZED | CO_NEWLOCALS;
  return code;
}

// Locals for the inputs, which are the parameters, or come behind one that is their list.
void addInputs(Code& code, const EntryPoint& entry) {
  auto count = static_cast<int32_t>(entry.inputCount());
  code.argumentCount = code.positionalOnlyCount = entry.movesInputs ? 1 : count;
  auto add = [&](const std::string& name) {
    code.locals.push_back(
        {Ref<>::steal(PyUnicode_InternFromString(name.c_str())), LocalKind::Local});
  };
  if (entry.movesInputs) add("___inputs");
  for (int32_t i = 0; i < count; ++i) add("___input" + std::to_string(i));
}

// Takes the inputs out of their list, so that nothing else holds them.
void takeInputs(Code& code, const EntryPoint& entry, std::vector<Instruction>& instructions) {
  auto count = static_cast<int32_t>(entry.inputCount());
  instructions.push_back({Opcode::LOAD_FAST, 0});
  instructions.push_back({Opcode::UNPACK_SEQUENCE, count});
  for (int32_t i = 0; i < count; ++i) instructions.push_back({Opcode::STORE_FAST, 1 + i});
  instructions.push_back({Opcode::LOAD_FAST, 0});
  instructions.push_back({Opcode::LOAD_CONST, static_cast<int32_t>(code.constants.size())});
  code.constants.push_back(checked(PySlice_New(nullptr, nullptr, nullptr)));
  instructions.push_back({Opcode::DELETE_SUBSCR, 0});
}

// A function that calls `inner` with its own arguments, of which the input `cell` is the cell of
// inner's only free variable.
Ref<PyCodeObject> withClosure(const EntryPoint& entry, Ref<PyCodeObject> inner, int32_t cell) {
  const Code& original = *entry.code;
  Code code = emptyLike(original);
  addInputs(code, entry);
  code.constants.push_back(Ref<>::steal(reinterpret_cast<PyObject*>(inner.release())));
  code.constants.push_back(checked(PyLong_FromLong(cell)));
  code.instructions = {{Opcode::RESUME, 0}, {Opcode::PUSH_NULL, 0}};
  if (entry.movesInputs) {
    code.instructions.push_back({Opcode::LOAD_FAST, 0});
    code.instructions.push_back({Opcode::LOAD_CONST, 1});
    code.instructions.push_back({Opcode::BINARY_SUBSCR, 0});
  } else {
    code.instructions.push_back({Opcode::LOAD_FAST, cell});
  }
  code.instructions.push_back({Opcode::BUILD_TUPLE, 1});
  code.instructions.push_back({Opcode::LOAD_CONST, 0});
  code.instructions.push_back({Opcode::MAKE_FUNCTION, 0x08});
  int32_t parameters = code.argumentCount;
  for (int32_t i = 0; i < parameters; ++i) code.instructions.push_back({Opcode::LOAD_FAST, i});
  code.instructions.push_back({Opcode::CALL, parameters});
  code.instructions.push_back({Opcode::RETURN_VALUE, 0});
  code.positions.assign(code.instructions.size(), original.positions[0]);
  code.indexRegions();
  return lower(code);
}

}  // namespace

Ref<> plainFunction(const EntryPoint& entry, BorrowedRef<> globals) {
  const Code& original = *entry.code;
  Code code = emptyLike(original);
  code.constants = original.constants;
  code.names = original.names;
  addInputs(code, entry);
  auto parameters = static_cast<int32_t>(code.locals.size());
  int32_t firstInput = entry.movesInputs;
  // Cells arrive as cell objects, whatever kind of local they were.
  for (const LocalVariable& local : original.locals) {
    code.locals.push_back({local.name, LocalKind::Local});
  }

  int32_t classCell = classCellInput(entry);
  std::vector<Instruction> prologue;
  if (classCell >= 0) {
    code.locals.push_back({Ref<>::steal(PyUnicode_InternFromString("__class__")), LocalKind::Free});
    prologue.push_back({Opcode::COPY_FREE_VARS, 1});
  }
  prologue.push_back({Opcode::RESUME, 0});
  if (entry.movesInputs) takeInputs(code, entry, prologue);
  auto move = [&](int32_t input) {
    prologue.push_back({Opcode::LOAD_FAST, firstInput + input});
    prologue.push_back({Opcode::DELETE_FAST, firstInput + input});
  };
  auto stackInputs = static_cast<int32_t>(entry.inputCount() - entry.locals.size());
  for (size_t i = 0; i < entry.locals.size(); ++i) {
    move(stackInputs + static_cast<int32_t>(i));
    prologue.push_back({Opcode::STORE_FAST, parameters + entry.locals[i]});
  }
  int32_t input = 0;
  for (bool isNull : entry.stackIsNull) {
    if (isNull) {
      prologue.push_back({Opcode::PUSH_NULL, 0});
    } else {
      move(input++);
    }
  }
  // super() takes the first local of its caller, which nothing else needs any more.
  if (classCell >= 0 && entry.locals[0] == 0) {
    prologue.push_back({entry.localIsCell[0] ? Opcode::LOAD_DEREF : Opcode::LOAD_FAST, parameters});
    prologue.push_back({Opcode::STORE_FAST, 0});
  }
  auto shift = static_cast<int32_t>(prologue.size()) + 1;
  prologue.push_back({Opcode::JUMP, entry.start + shift});

  code.instructions = std::move(prologue);
  for (const Instruction& instruction : original.instructions) {
    code.instructions.push_back(shifted(instruction, shift, parameters));
  }
  code.positions.assign(shift, original.positions[entry.start]);
  code.positions.insert(code.positions.end(), original.positions.begin(), original.positions.end());
  for (ExceptionRegion region : original.regions) {
    region.start += shift;
    region.end += shift;
    region.target += shift;
    code.regions.push_back(region);
  }
  code.indexRegions();
  Ref<PyCodeObject> lowered = lower(code);
  if (lowered && classCell >= 0) {
    lowered = withClosure(entry, std::move(lowered), classCell);
  }
  if (!lowered) return nullptr;
  return Ref<>::steal(PyFunction_New(reinterpret_cast<PyObject*>(lowered.get()), globals));
}

}  // namespace armature

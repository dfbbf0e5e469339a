// A function that goes on in the middle of another, in plain Python: the original instructions
// behind a prologue that puts the stack and the locals in place.
#include "codegen/py_codegen.h"

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

}  // namespace

Ref<> plainFunction(const EntryPoint& entry, BorrowedRef<> globals) {
  const Code& original = *entry.code;
  Code code;
  code.name = original.name;
  code.qualifiedName = original.qualifiedName;
  code.filename = original.filename;
  code.firstLine = original.firstLine;
  code.flags = CO_OPTIMIZED | CO_NEWLOCALS;
  code.constants = original.constants;
  code.names = original.names;
  code.argumentCount = code.positionalOnlyCount = static_cast<int32_t>(entry.inputCount());

  auto parameters = static_cast<int32_t>(entry.inputCount());
  for (int32_t i = 0; i < parameters; ++i) {
    std::string name = "___input" + std::to_string(i);
    code.locals.push_back({Ref<>::steal(PyUnicode_InternFromString(name.c_str())),
                           LocalKind::Local});
  }
  // Cells arrive as cell objects, whatever kind of local they were.
  for (const LocalVariable& local : original.locals) {
    code.locals.push_back({local.name, LocalKind::Local});
  }

  std::vector<Instruction> prologue;
  prologue.push_back({Opcode::RESUME, 0});
  auto stackInputs = static_cast<int32_t>(entry.inputCount() - entry.locals.size());
  for (size_t i = 0; i < entry.locals.size(); ++i) {
    prologue.push_back({Opcode::LOAD_FAST, stackInputs + static_cast<int32_t>(i)});
    prologue.push_back({Opcode::STORE_FAST, parameters + entry.locals[i]});
  }
  int32_t input = 0;
  for (bool isNull : entry.stackIsNull) {
    if (isNull) {
      prologue.push_back({Opcode::PUSH_NULL, 0});
    } else {
      prologue.push_back({Opcode::LOAD_FAST, input++});
    }
  }
  auto shift = static_cast<int32_t>(prologue.size()) + 1;
  prologue.push_back({Opcode::JUMP, entry.start + shift});

  code.instructions = std::move(prologue);
  for (const Instruction& instruction : original.instructions) {
    code.instructions.push_back(shifted(instruction, shift, parameters));
  }
  code.positions.assign(shift, original.positions[entry.start]);
  code.positions.insert(code.positions.end(), original.positions.begin(),
                        original.positions.end());
  for (ExceptionRegion region : original.regions) {
    region.start += shift;
    region.end += shift;
    region.target += shift;
    code.regions.push_back(region);
  }
  code.indexRegions();
  Ref<PyCodeObject> lowered = lower(code);
  if (!lowered) return nullptr;
  return Ref<>::steal(PyFunction_New(reinterpret_cast<PyObject*>(lowered.get()), globals));
}

}  // namespace armature

// A function that goes on in the middle of another, in plain Python: the original instructions
// behind a prologue that puts the stack and the locals in place.
#include "codegen/plain_function.h"

#include "codegen/call_rewriting.h"
#include "cpython/tracebacks.h"

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
  auto firstLocal = static_cast<int32_t>(entry.firstLocalInput());
  for (size_t i = 0; i < entry.locals.size(); ++i) {
    const LocalVariable& local = entry.code->locals[entry.locals[i]];
    if (local.kind == LocalKind::Free &&
        PyUnicode_CompareWithASCIIString(local.name.get(), "__class__") == 0) {
      return firstLocal + static_cast<int32_t>(i);
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

// Locals for the inputs and for what else holds them: the parameters.
void addInputs(Code& code, const EntryPoint& entry) {
  auto count = static_cast<int32_t>(entry.inputCount());
  code.argumentCount = code.positionalOnlyCount = count + entry.movesInputs;
  auto add = [&](const std::string& name) {
    code.locals.push_back(
        {Ref<>::steal(PyUnicode_InternFromString(name.c_str())), LocalKind::Local});
  };
  for (int32_t i = 0; i < count; ++i) add("___input" + std::to_string(i));
  if (entry.movesInputs) add("___inputs");
}

}  // namespace

PlainCode plainCode(const EntryPoint& entry, BorrowedRef<> caller) {
  const Code& original = *entry.code;
  Code code = emptyLike(original);
  code.constants = original.constants;
  code.names = original.names;
  addInputs(code, entry);
  auto parameters = static_cast<int32_t>(code.locals.size());
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
  code.flags |= original.flags & (CO_GENERATOR | CO_ITERABLE_COROUTINE);
  if (original.isGenerator()) {
    prologue.push_back({Opcode::RETURN_GENERATOR, 0});
    prologue.push_back({Opcode::POP_TOP, 0});
  }
  // Of another kind than at the start of a function: CPython does not look for signals there, where
  // the program does nothing.
  prologue.push_back({Opcode::RESUME, original.isGenerator() ? 0 : 2});
  if (entry.movesInputs) {
    prologue.push_back({Opcode::LOAD_FAST, parameters - 1});
    prologue.push_back({Opcode::UNARY_INVERT, 0});
    prologue.push_back({Opcode::POP_TOP, 0});
    prologue.push_back({Opcode::DELETE_FAST, parameters - 1});
  }
  if (entry.isShown) {
    auto shown = static_cast<int32_t>(entry.shownInput());
    prologue.push_back({Opcode::PUSH_NULL, 0});
    prologue.push_back({Opcode::LOAD_CONST, static_cast<int32_t>(code.constants.size())});
    code.constants.push_back(Ref<>::create(cpython::continueFrameFunction()));
    prologue.push_back({Opcode::LOAD_FAST, shown});
    prologue.push_back({Opcode::DELETE_FAST, shown});
    prologue.push_back({Opcode::CALL, 1});
    prologue.push_back({Opcode::POP_TOP, 0});
  }
  if (entry.isGenerator) {
    prologue.push_back({Opcode::DELETE_FAST, static_cast<int32_t>(entry.generatorInput())});
  }
  auto move = [&](int32_t input) {
    prologue.push_back({Opcode::LOAD_FAST, input});
    prologue.push_back({Opcode::DELETE_FAST, input});
  };
  auto firstLocal = static_cast<int32_t>(entry.firstLocalInput());
  for (size_t i = 0; i < entry.locals.size(); ++i) {
    move(firstLocal + static_cast<int32_t>(i));
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
  if (entry.handlesException() && original.isGenerator()) {
    // What a generator handles is its own; what it gives up by that is what its caller handles.
    move(input);
    prologue.push_back({Opcode::PUSH_EXC_INFO, 0});
    prologue.push_back({Opcode::POP_TOP, 0});
    prologue.push_back({Opcode::POP_TOP, 0});
  } else if (entry.handlesException()) {
    prologue.push_back({Opcode::DELETE_FAST, static_cast<int32_t>(entry.handledInput())});
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
  return {lower(caller ? rewriteCalls(code, caller) : code), classCell};
}

Ref<> plainFunction(const PlainCode& plain, BorrowedRef<> globals, PyObject* const* inputs) {
  Ref<> function =
      Ref<>::steal(PyFunction_New(reinterpret_cast<PyObject*>(plain.code.get()), globals.get()));
  if (!function || plain.classCell < 0) return function;
  Ref<> closure = Ref<>::steal(PyTuple_Pack(1, inputs[plain.classCell]));
  if (!closure || PyFunction_SetClosure(function.get(), closure.get()) < 0) return nullptr;
  return function;
}

}  // namespace armature

// A function that goes on in the middle of another, in plain Python: the original instructions
// behind a prologue that puts the stack and the locals in place.
#include "codegen/plain_function.h"

#include <llvm/ADT/STLExtras.h>

#include <utility>

#include "codegen/call_rewriting.h"
#include "codegen/runnable_code.h"
#include "cpython/function_layout.h"
#include "cpython/tracebacks.h"

namespace armature {

namespace {

// Renumbers what refers to instructions or locals for a prologue of `shift` instructions and
// `parameters` locals in front.
Instruction shifted(const Code& original, Instruction instruction, int32_t shift,
                    int32_t parameters) {
  // The prologue has done that.
  if (instruction.opcode == Opcode::COPY_FREE_VARS) return {Opcode::NOP, 0};
  switch (argumentKind(instruction.opcode)) {
    case ArgumentKind::Label:
      instruction.argument += shift;
      break;
    case ArgumentKind::Local:
      instruction.argument = plainSlot(original, instruction.argument, parameters);
      break;
    default:
      break;
  }
  return instruction;
}

// The inputs that are the cells of the free variables, in their order.
std::vector<int32_t> freeVariables(const EntryPoint& entry) {
  std::vector<int32_t> inputs;
  auto firstLocal = static_cast<int32_t>(entry.firstLocalInput());
  for (size_t local = 0; local < entry.code->locals.size(); ++local) {
    if (entry.code->locals[local].kind != LocalKind::Free) continue;
    auto found = llvm::find(entry.locals, static_cast<int32_t>(local));
    bool isInput = found != entry.locals.end();
    inputs.push_back(isInput ? firstLocal + static_cast<int32_t>(found - entry.locals.begin())
                             : -1);
  }
  return inputs;
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

int32_t plainSlot(const Code& original, int32_t local, int32_t parameters) {
  // super() takes what stands in the first slot of the frame that calls it, however often that was
  // bound anew.
  bool staysFirst = local == 0 && original.argumentCount > 0 && original.classCell() >= 0;
  return staysFirst ? 0 : parameters + local;
}

PlainCode plainCode(const EntryPoint& entry, BorrowedRef<> caller) {
  const Code& original = *entry.code;
  Code code = emptyLike(original);
  code.constants = original.constants;
  code.names = original.names;
  addInputs(code, entry);
  auto parameters = static_cast<int32_t>(code.locals.size());
  // Cells arrive as cell objects. Those of free variables are the closure's again, by which CPython
  // knows what to say of one that is not bound.
  for (const LocalVariable& local : original.locals) {
    bool isFree = local.kind == LocalKind::Free;
    code.locals.push_back({local.name, isFree ? LocalKind::Free : LocalKind::Local});
  }
  // The input that came in the first slot is gone when the local takes it. A cell is known as one
  // there, as super() looks into it.
  if (!original.locals.empty() && plainSlot(original, 0, parameters) != parameters) {
    std::swap(code.locals[0].name, code.locals[parameters].name);
    code.locals[0].kind = original.locals[0].kind;
  }

  std::vector<int32_t> free = freeVariables(entry);
  std::vector<Instruction> prologue;
  if (!free.empty()) {
    prologue.push_back({Opcode::COPY_FREE_VARS, static_cast<int32_t>(free.size())});
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
  auto placeLocal = [&](size_t i) {
    move(firstLocal + static_cast<int32_t>(i));
    prologue.push_back({Opcode::STORE_FAST, plainSlot(original, entry.locals[i], parameters)});
  };
  // One that takes the slot of an input waits until that is gone.
  bool lastIsFirst = !entry.locals.empty() && plainSlot(original, entry.locals[0], parameters) == 0;
  for (size_t i = lastIsFirst; i < entry.locals.size(); ++i) {
    if (original.locals[entry.locals[i]].kind == LocalKind::Free) {
      prologue.push_back({Opcode::DELETE_FAST, firstLocal + static_cast<int32_t>(i)});
    } else {
      placeLocal(i);
    }
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
  if (lastIsFirst) placeLocal(0);
  auto shift = static_cast<int32_t>(prologue.size()) + 1;
  prologue.push_back({Opcode::JUMP, entry.start + shift});

  code.instructions = std::move(prologue);
  for (const Instruction& instruction : original.instructions) {
    code.instructions.push_back(shifted(original, instruction, shift, parameters));
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
  return {runnableCode(caller ? rewriteCalls(code, caller) : code, original.original),
          std::move(free), Ref<>::create(entry.builtins)};
}

Ref<> plainFunction(const PlainCode& plain, BorrowedRef<> globals, PyObject* const* inputs) {
  Ref<> function =
      cpython::makeFunction(reinterpret_cast<PyObject*>(plain.code.get()), globals, plain.builtins);
  if (!function || plain.freeVariables.empty()) return function;
  Ref<> closure = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(plain.freeVariables.size())));
  for (size_t i = 0; closure && i < plain.freeVariables.size(); ++i) {
    int32_t input = plain.freeVariables[i];
    PyObject* cell = input >= 0 ? Py_NewRef(inputs[input]) : PyCell_New(nullptr);
    if (!cell) return nullptr;
    PyTuple_SET_ITEM(closure.get(), static_cast<Py_ssize_t>(i), cell);
  }
  if (!closure || PyFunction_SetClosure(function.get(), closure.get()) < 0) return nullptr;
  return function;
}

}  // namespace armature

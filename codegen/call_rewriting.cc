#include "codegen/call_rewriting.h"

#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"

namespace armature {

namespace {

// For each instruction: what comes in its place.
enum class Rewriting : uint8_t {
  None,
  Caller,
  CallerAndMethod,
  CallOfMade,
  Starred,
};

}  // namespace

int32_t beginningOfCall(const Code& code, const std::vector<int32_t>& depths, int32_t call) {
  int32_t slot = depths[call] - code.instructions[call].argument - 2;
  for (int32_t pc = call - 1; pc >= 0; --pc) {
    if (depths[pc] < 0) continue;
    const Instruction& instruction = code.instructions[pc];
    auto before = static_cast<int32_t>(stackUse(instruction.opcode, instruction.argument).before);
    if (depths[pc] - before > slot) continue;
    // It is this one that has left what is there.
    bool isBeginning = (instruction.opcode == Opcode::PUSH_NULL && depths[pc] == slot) ||
                       (instruction.opcode == Opcode::LOAD_METHOD && depths[pc] - 1 == slot) ||
                       (instruction.opcode == Opcode::MAKE_FUNCTION && depths[pc] - before == slot);
    return isBeginning ? pc : -1;
  }
  return -1;
}

Ref<> starredCaller(BorrowedRef<> caller) {
  return checked(PyObject_GetAttrString(caller.get(), "starred"));
}

Code rewriteCalls(const Code& code, BorrowedRef<> caller) {
  Code rewritten = code;
  std::vector<int32_t> depths = stackDepths(code, nullptr);
  if (depths.empty()) return rewritten;
  auto size = static_cast<int32_t>(code.instructions.size());
  std::vector<Rewriting> rewritings(size, Rewriting::None);
  for (int32_t pc = 0; pc < size; ++pc) {
    Opcode opcode = code.instructions[pc].opcode;
    if (opcode == Opcode::CALL_FUNCTION_EX && depths[pc] >= 0) rewritings[pc] = Rewriting::Starred;
    if (opcode != Opcode::CALL || depths[pc] < 0) continue;
    int32_t beginning = beginningOfCall(code, depths, pc);
    if (beginning < 0) continue;
    if (code.instructions[beginning].opcode == Opcode::MAKE_FUNCTION) {
      if (code.instructions[pc].argument == 0) rewritings[pc] = Rewriting::CallOfMade;
      continue;
    }
    rewritings[beginning] = code.instructions[beginning].opcode == Opcode::PUSH_NULL
                                ? Rewriting::Caller
                                : Rewriting::CallerAndMethod;
  }

  auto constant = static_cast<int32_t>(rewritten.constants.size());
  rewritten.constants.push_back(Ref<>::create(caller));
  auto starred = static_cast<int32_t>(rewritten.constants.size());
  if (llvm::is_contained(rewritings, Rewriting::Starred)) {
    rewritten.constants.push_back(starredCaller(caller));
  }
  rewritten.instructions.clear();
  rewritten.positions.clear();
  std::vector<int32_t> moved(size + 1);  // where the code of an instruction begins
  for (int32_t pc = 0; pc < size; ++pc) {
    moved[pc] = static_cast<int32_t>(rewritten.instructions.size());
    const Instruction& instruction = code.instructions[pc];
    auto emit = [&](Instruction made) {
      rewritten.instructions.push_back(made);
      rewritten.positions.push_back(code.positions[pc]);
    };
    switch (rewritings[pc]) {
      case Rewriting::None:
        emit(instruction);
        break;
      case Rewriting::Caller:
        emit({Opcode::LOAD_CONST, constant});
        break;
      case Rewriting::CallerAndMethod:
        emit({Opcode::LOAD_ATTR, instruction.argument});
        emit({Opcode::LOAD_CONST, constant});
        emit({Opcode::SWAP, 2});
        break;
      case Rewriting::CallOfMade:
        emit({Opcode::LOAD_CONST, constant});
        emit({Opcode::SWAP, 3});
        emit({Opcode::SWAP, 2});
        emit({Opcode::CALL, 1});
        break;
      case Rewriting::Starred: {
        // The callable, the tuple and the dict go up by one place each, over the NULL.
        int32_t keywords = instruction.argument & 1;
        emit({Opcode::LOAD_CONST, starred});
        for (int32_t place = 3 + keywords; place >= 2; --place) emit({Opcode::SWAP, place});
        emit({Opcode::CALL, 2 + keywords});
        break;
      }
    }
  }
  moved[size] = static_cast<int32_t>(rewritten.instructions.size());
  for (Instruction& instruction : rewritten.instructions) {
    if (isJump(instruction.opcode)) instruction.argument = moved[instruction.argument];
  }
  for (ExceptionRegion& region : rewritten.regions) {
    region.start = moved[region.start];
    region.end = moved[region.end];
    region.target = moved[region.target];
  }
  rewritten.indexRegions();
  return rewritten;
}

}  // namespace armature

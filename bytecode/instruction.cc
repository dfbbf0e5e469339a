#include "bytecode/instruction.h"

#include <cstddef>

namespace armature {
namespace {

struct OpcodeInformation {
  std::string_view name;
  ArgumentKind argument;
};

constexpr OpcodeInformation opcodes[] = {
#define OPCODE(name, kind) {#name, ArgumentKind::kind},
#include "bytecode/opcodes.def"
};

const OpcodeInformation& information(Opcode opcode) { return opcodes[static_cast<size_t>(opcode)]; }

}  // namespace

std::string_view opcodeName(Opcode opcode) { return information(opcode).name; }

ArgumentKind argumentKind(Opcode opcode) { return information(opcode).argument; }

bool needsItsFrame(Opcode opcode) {
  switch (opcode) {
    case Opcode::RESUME:
    case Opcode::LOAD_FAST:
    case Opcode::LOAD_NAME:
    case Opcode::STORE_NAME:
    case Opcode::DELETE_NAME:
    case Opcode::MAKE_CELL:
    case Opcode::COPY_FREE_VARS:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_DEREF:
    case Opcode::STORE_DEREF:
    case Opcode::DELETE_DEREF:
    case Opcode::LOAD_CLASSDEREF:
    case Opcode::IMPORT_STAR:
    case Opcode::SETUP_ANNOTATIONS:
    case Opcode::JUMP:
    case Opcode::RETURN_VALUE:
    case Opcode::RETURN_GENERATOR:
    case Opcode::YIELD_VALUE:
    case Opcode::SEND:
    case Opcode::ASYNC_GEN_WRAP:
    case Opcode::GET_AWAITABLE:
    case Opcode::GET_AITER:
    case Opcode::GET_ANEXT:
    case Opcode::END_ASYNC_FOR:
    case Opcode::BEFORE_ASYNC_WITH:
    // They may leave a NULL, which no variable can hold.
    case Opcode::PUSH_NULL:
    case Opcode::COPY:
    case Opcode::SWAP:
    // They change which exception is being handled.
    case Opcode::PUSH_EXC_INFO:
    case Opcode::POP_EXCEPT:
      return true;
    default:
      return false;
  }
}

bool isTerminator(Opcode opcode) {
  switch (opcode) {
    case Opcode::JUMP:
    case Opcode::RETURN_VALUE:
    case Opcode::RAISE_VARARGS:
    case Opcode::RERAISE:
      return true;
    default:
      return false;
  }
}

}  // namespace armature

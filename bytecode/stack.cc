// Stack effects of the canonical opcodes, and the flow of stack depths through a code.
#include <algorithm>

#include "bytecode/code.h"

namespace armature {

namespace {

int64_t bitCount(int32_t bits) { return __builtin_popcount(static_cast<uint32_t>(bits)); }

}  // namespace

StackUse stackUse(Opcode opcode, int32_t argument) {
  const int64_t count = argument;
  switch (opcode) {
    case Opcode::NOP:
    case Opcode::RESUME:
    case Opcode::DELETE_FAST:
    case Opcode::DELETE_GLOBAL:
    case Opcode::DELETE_NAME:
    case Opcode::DELETE_DEREF:
    case Opcode::MAKE_CELL:
    case Opcode::COPY_FREE_VARS:
    case Opcode::JUMP:
    case Opcode::SETUP_ANNOTATIONS:
      return {0, 0};
    case Opcode::PUSH_NULL:
    case Opcode::LOAD_CONST:
    case Opcode::LOAD_FAST:
    case Opcode::LOAD_GLOBAL:
    case Opcode::LOAD_NAME:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_DEREF:
    case Opcode::LOAD_CLASSDEREF:
    case Opcode::LOAD_BUILD_CLASS:
    case Opcode::LOAD_ASSERTION_ERROR:
    case Opcode::RETURN_GENERATOR:  // what is sent to start the generator
      return {0, 1};
    case Opcode::POP_TOP:
    case Opcode::STORE_FAST:
    case Opcode::STORE_GLOBAL:
    case Opcode::STORE_NAME:
    case Opcode::STORE_DEREF:
    case Opcode::DELETE_ATTR:
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::POP_JUMP_IF_NOT_NONE:
    case Opcode::RETURN_VALUE:
    case Opcode::POP_EXCEPT:
    case Opcode::IMPORT_STAR:
    case Opcode::PRINT_EXPR:
      return {1, 0};
    case Opcode::LOAD_ATTR:
    case Opcode::UNARY_POSITIVE:
    case Opcode::UNARY_NEGATIVE:
    case Opcode::UNARY_NOT:
    case Opcode::UNARY_INVERT:
    case Opcode::LIST_TO_TUPLE:
    case Opcode::GET_ITER:
    case Opcode::GET_YIELD_FROM_ITER:
    case Opcode::YIELD_VALUE:
    case Opcode::ASYNC_GEN_WRAP:
    case Opcode::GET_AWAITABLE:
    case Opcode::GET_AITER:
      return {1, 1};
    case Opcode::LOAD_METHOD:
    case Opcode::GET_LEN:
    case Opcode::GET_ANEXT:
    case Opcode::BEFORE_WITH:
    case Opcode::BEFORE_ASYNC_WITH:
    case Opcode::PUSH_EXC_INFO:
    case Opcode::MATCH_MAPPING:
    case Opcode::MATCH_SEQUENCE:
    case Opcode::IMPORT_FROM:
      return {1, 2};
    case Opcode::STORE_ATTR:
    case Opcode::DELETE_SUBSCR:
    case Opcode::END_ASYNC_FOR:
      return {2, 0};
    case Opcode::BINARY_SUBSCR:
    case Opcode::BINARY_OP:
    case Opcode::COMPARE_OP:
    case Opcode::IS_OP:
    case Opcode::CONTAINS_OP:
    case Opcode::PREP_RERAISE_STAR:
    case Opcode::IMPORT_NAME:
      return {2, 1};
    case Opcode::CHECK_EXC_MATCH:
    case Opcode::CHECK_EG_MATCH:
      return {2, 2};
    case Opcode::MATCH_KEYS:
      return {2, 3};
    case Opcode::STORE_SUBSCR:
      return {3, 0};
    case Opcode::MATCH_CLASS:
      return {3, 1};
    case Opcode::WITH_EXCEPT_START:
      return {4, 5};
    case Opcode::COPY:
      return {count, count + 1};
    case Opcode::SWAP:
      return {count, count};
    case Opcode::BUILD_TUPLE:
    case Opcode::BUILD_LIST:
    case Opcode::BUILD_SET:
    case Opcode::BUILD_STRING:
    case Opcode::BUILD_SLICE:
      return {count, 1};
    case Opcode::BUILD_MAP:
      return {2 * count, 1};
    case Opcode::BUILD_CONST_KEY_MAP:
      return {count + 1, 1};
    case Opcode::FORMAT_VALUE:
      return {(argument & 4) != 0 ? 2 : 1, 1};
    case Opcode::LIST_APPEND:
    case Opcode::LIST_EXTEND:
    case Opcode::SET_ADD:
    case Opcode::SET_UPDATE:
    case Opcode::DICT_UPDATE:
      return {count + 1, count};
    case Opcode::MAP_ADD:
      return {count + 2, count};
    case Opcode::DICT_MERGE:  // looks at the callable for its error message
      return {count + 3, count + 2};
    case Opcode::UNPACK_SEQUENCE:
      return {1, count};
    case Opcode::UNPACK_EX:
      return {1, (argument & 0xff) + (argument >> 8) + 1};
    case Opcode::FOR_ITER:
      return {1, 2, 0};
    case Opcode::SEND:
      return {2, 2, 1};
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::JUMP_IF_FALSE_OR_POP:
      return {1, 0, 1};
    case Opcode::CALL:
      return {count + 2, 1};
    case Opcode::CALL_FUNCTION_EX:
      return {3 + (argument & 1), 1};
    case Opcode::MAKE_FUNCTION:
      return {1 + bitCount(argument & 0xf), 1};
    case Opcode::RAISE_VARARGS:
      return {count, 0};
    case Opcode::RERAISE:
      return {count + 1, count};
  }
  return {0, 0};  // not reached: the switch is complete
}

namespace {

// Entries that the instruction looks at and leaves where they are, below those that it takes.
int64_t borrowedBy(const Instruction& instruction, const StackUse& use) {
  switch (instruction.opcode) {
    case Opcode::LIST_APPEND:
    case Opcode::LIST_EXTEND:
    case Opcode::SET_ADD:
    case Opcode::SET_UPDATE:
    case Opcode::MAP_ADD:
    case Opcode::DICT_UPDATE:
    case Opcode::DICT_MERGE:
    case Opcode::RERAISE:
      return use.next;
    case Opcode::GET_LEN:
    case Opcode::IMPORT_FROM:
    case Opcode::MATCH_MAPPING:
    case Opcode::MATCH_SEQUENCE:
    case Opcode::MATCH_KEYS:
    case Opcode::WITH_EXCEPT_START:
      return use.before;
    case Opcode::CHECK_EXC_MATCH:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

Operands operandsOf(const Instruction& instruction) {
  StackUse use = stackUse(instruction.opcode, instruction.argument);
  int64_t borrowed = borrowedBy(instruction, use);
  return {static_cast<int32_t>(use.before - borrowed), static_cast<int32_t>(use.next - borrowed),
          static_cast<int32_t>(borrowed)};
}

namespace {

// More than CPython's own compiler would ever ask for; keeps all arithmetic far from overflow.
constexpr int64_t maximumDepth = 1 << 24;

class DepthAnalysis {
 public:
  explicit DepthAnalysis(const Code& code)
      : code_(code),
        depths_(code.instructions.size(), -1),
        regionOf_(code.instructions.size(), -1) {}

  // Empty if the code is consistent, else what is wrong.
  std::string run() {
    if (code_.instructions.empty()) return "there are no instructions";
    if (!indexRegions()) return error_;
    reach(0, 0, "the entry");
    while (!pending_.empty() && error_.empty()) {
      int32_t index = pending_.back();
      pending_.pop_back();
      step(index);
    }
    return error_;
  }

  std::vector<int32_t> takeDepths() { return std::move(depths_); }

 private:
  int32_t size() const { return static_cast<int32_t>(code_.instructions.size()); }

  bool indexRegions() {
    for (size_t i = 0; i < code_.regions.size(); ++i) {
      const ExceptionRegion& region = code_.regions[i];
      if (region.start < 0 || region.end > size() || region.start > region.end ||
          region.target < 0 || region.target >= size() || region.depth < 0) {
        error_ = "exception region " + std::to_string(i) + " is out of range";
        return false;
      }
      std::fill(regionOf_.begin() + region.start, regionOf_.begin() + region.end,
                static_cast<int32_t>(i));
    }
    return true;
  }

  void fail(int32_t index, const std::string& message) {
    if (!error_.empty()) return;
    error_ = "instruction " + std::to_string(index) + " (" +
             std::string(opcodeName(code_.instructions[index].opcode)) + ") " + message;
  }

  void reach(int32_t target, int64_t depth, const char* how) {
    if (depth > maximumDepth) return fail(target, "is reached with too deep a stack");
    if (depths_[target] == -1) {
      depths_[target] = static_cast<int32_t>(depth);
      pending_.push_back(target);
    } else if (depths_[target] != depth) {
      fail(target, "is reached with " + std::to_string(depths_[target]) + " and, by " + how +
                       ", with " + std::to_string(depth) + " stack entries");
    }
  }

  void step(int32_t index) {
    const Instruction& instruction = code_.instructions[index];
    if (instruction.argument < 0) return fail(index, "has a negative argument");
    const int64_t depth = depths_[index];
    const StackUse use = stackUse(instruction.opcode, instruction.argument);
    if (use.before > depth) {
      return fail(index, "needs " + std::to_string(use.before) + " stack entries, there are " +
                             std::to_string(depth));
    }
    const int64_t next = depth + use.next - use.before;
    if (regionOf_[index] != -1) {
      const ExceptionRegion& region = code_.regions[regionOf_[index]];
      // When it raises, the interpreter pops what is above region.depth: that much must be left.
      if (std::min(depth, next) < region.depth) {
        return fail(index, "leaves fewer stack entries than its exception region keeps");
      }
      reach(region.target, region.depth + (region.pushLasti ? 1 : 0) + 1, "an exception");
    }
    if (isJump(instruction.opcode)) {
      if (instruction.argument >= size()) return fail(index, "jumps out of the code");
      reach(instruction.argument, depth + use.jump - use.before, "a jump");
    }
    if (isTerminator(instruction.opcode)) return;
    if (index + 1 == size()) return fail(index, "runs off the end of the code");
    reach(index + 1, next, "falling through");
  }

  const Code& code_;
  std::vector<int32_t> depths_;
  std::vector<int32_t> regionOf_;
  std::vector<int32_t> pending_;
  std::string error_;
};

}  // namespace

int stackEffect(const Code&, const Instruction& instruction, bool jump) {
  const StackUse use = stackUse(instruction.opcode, instruction.argument);
  return static_cast<int>((jump ? use.jump : use.next) - use.before);
}

std::vector<int32_t> stackDepths(const Code& code, std::string* error) {
  DepthAnalysis analysis(code);
  std::string problem = analysis.run();
  if (error != nullptr) *error = problem;
  if (!problem.empty()) return {};
  return analysis.takeDepths();
}

}  // namespace armature

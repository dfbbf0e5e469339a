// One frame of the symbolic interpreter: data, on the translator's own stack.
#pragma once

#include <memory>
#include <vector>

#include "bytecode/code.h"
#include "variables/continuation.h"
#include "variables/functions/functions.h"
#include "variables/value.h"

namespace armature {

class DictVariable;
class TracedFrameVariable;

struct Frame {
  CodePtr code;
  DictVariable* globals = nullptr;
  UserFunctionVariable* function = nullptr;  // null for the root frame of a resume function
  Frame* back = nullptr;
  // Index of the instruction that runs, or of the next one between instructions.
  int32_t pc = 0;
  // locals, then the stack; `depth` counts the entries of the stack.
  std::vector<Value> slots;
  int32_t localCount = 0;
  int32_t depth = 0;
  // The frame was pushed by the instruction of its caller that is still at its `pc`, with its
  // operands on the stack, and ends with it (InstructionTranslator::complete). False: a slot runs
  // this frame from C++ and wants the result itself.
  bool pushedByInstruction = false;
  // How many of those operands have become this frame's own; the others live while it runs.
  int32_t operandCount = 0;
  // What is to be done with its result, in this order.
  llvm::SmallVector<Continuation, 2> continuations;
  // Of __enter__: the __exit__ that takes the manager's place on its caller's stack.
  Value contextExit;
  // Every caller is at an instruction at which it can be resumed, so this frame may break on its
  // own. A break in any other frame belongs to a caller.
  bool callersResumable = false;
  GeneratorVariable* generator = nullptr;
  // Of a generator's frame: what it handles itself, while it is suspended; what the frames outside
  // of it handle, and the generator whose frame they are in, while it runs.
  Value handled;
  Frame* outerGenerator = nullptr;
  // What tracebacks show of the frame; null until an exception passes it.
  TracedFrameVariable* traced = nullptr;
  // How many of its handlers are at work, one inside the other, and the exception that its callers
  // are handling meanwhile; null if none, or if it is no business of the trace.
  int32_t openHandlers = 0;
  Value handledBefore;
  // Of a class body, and of other code that keeps its names in a namespace: that. Else null.
  Value names;

  Value* locals() { return slots.data(); }
  Value* stack() { return slots.data() + localCount; }
  // What is above the top is null.
  void push(Value value) { std::construct_at(&slots[localCount + depth++], std::move(value)); }
  Value pop() { return std::move(slots[localCount + --depth]); }
  // peek(1) is the top.
  Value& peek(int32_t n) { return slots[localCount + depth - n]; }
  void drop(int32_t n) {
    while (n-- > 0) slots[localCount + --depth] = Value();
  }
  const Instruction& instruction() const { return code->instructions[pc]; }
};

// Where a frame that ends says it is: to raise again at the end of a handler's clean-up is to be
// where it was raised.
int32_t lastInstruction(const Frame& frame);

// What a GeneratorVariable that has not ended holds: a frame before its first instruction behind
// RETURN_GENERATOR, or behind a YIELD_VALUE.
class SuspendedGenerator : public SuspendedFrame {
 public:
  std::unique_ptr<Frame> frame;
  // What InstructionTranslator::hasCleanUp said, where the frame stood at `pc` and the program had
  // changed so many things.
  struct {
    int32_t pc = -1;
    uint64_t changes = 0;
    bool answer = false;
  } cleanUp;
};

// What codegen needs of a frame at the place where the trace stopped.
struct FrameState {
  CodePtr code;
  DictVariable* globals = nullptr;
  UserFunctionVariable* function = nullptr;
  PyObject* builtins = nullptr;  // as EntryPoint's
  int32_t pc = 0;
  std::vector<Value> locals;
  std::vector<Value> stack;
  int32_t openHandlers = 0;
  // The exception that the innermost of them is handling; null if there are none.
  Value handled;
  TracedFrameVariable* traced = nullptr;
  GeneratorVariable* generator = nullptr;  // whose frame it is; null: a function's
  // Callers: how many entries of the stack have become the called frame's.
  int32_t operandCount = 0;
  // What its caller does with its result.
  llvm::SmallVector<Continuation, 2> continuations;
};

}  // namespace armature

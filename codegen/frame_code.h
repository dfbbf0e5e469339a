// The code in which the frames of the program go on after a graph break.
//
// Each of them goes on in a function of its own, which bears its name, file, line and globals, and
// is called by the one of its caller: what looks at the frames that run (a warning, a traceback)
// finds the program's. The innermost runs the instruction that could not be traced; each then
// returns what the runtime follows to the place where the frame goes on (see
// CodegenEnvironment::resumeFunction). If the instruction, or the call, raises where the program
// has a handler, the frame goes on there.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>
#include <vector>

#include "bytecode/assembler.h"
#include "interpreter/instruction_translator.h"

namespace armature {

class CodegenEnvironment;

// The values of a stopped frame, in locals of generated code. None is held elsewhere in it.
struct StoredFrame {
  std::vector<int32_t> stack;  // -1: NULL
  int32_t handled = -1;        // the exception that it is handling; -1: none
  // Frame objects by which tracebacks show the frame: of what ran before (EntryPoint::isShown), of
  // what was traced; -1: none.
  int32_t shown = -1;
  int32_t traced = -1;
  int32_t generator = -1;  // whose frame it is; -1: a function's
  // What the continuations of the frame that it has called need.
  std::vector<int32_t> operands;
  llvm::DenseMap<int32_t, int32_t> locals;  // of the frame -> of generated code
  // Those of the locals that have to be handed on though nothing reads them: the frame keeps
  // objects alive that others can see.
  llvm::DenseSet<int32_t> held;
};

class FrameCode {
 public:
  // `frames` are those that go on, the caller first, and `stored` their values in locals of the
  // assembler.
  FrameCode(Assembler& assembler, CodegenEnvironment& environment,
            llvm::ArrayRef<FrameState> frames, llvm::ArrayRef<StoredFrame> stored);

  // Code that returns or raises. `plain`: the innermost frame goes on in plain Python, at the very
  // instruction. `begin` comes first, where the first frame's handlers see what arrives from
  // outside. Throws PendingPythonException.
  void emit(
      bool plain, llvm::function_ref<void()> begin = [] {});

 private:
  // The same for frames whose values, but for the first one's, are in the list that the local
  // `inner` holds. Where in its locals a frame has them does not matter then.
  FrameCode(Assembler& assembler, CodegenEnvironment& environment,
            llvm::ArrayRef<FrameState> frames, StoredFrame own, int32_t inner,
            llvm::ArrayRef<StoredFrame> innerStored);

  const FrameState& frame() const { return frames_.front(); }
  const Instruction& instruction() const { return frame().code->instructions[frame().pc]; }
  const ExceptionRegion* region() const;

  void continueShown();
  void storeOwnFrame(StoredFrame& stored);
  void callNext(bool plain, llvm::function_ref<void()> begin);
  void completeCall();
  Ref<> functionOfNext(bool plain);
  void runInstruction(llvm::function_ref<void()> begin);
  void emitInstruction();

  void beginProtected();
  void endProtected();
  void emitHandler();
  void leaveHandled();
  void handleMatch();
  void emitTimer(BorrowedRef<> function);
  void finish(StoredFrame after, int32_t nextPc, int32_t results, int32_t borrowed);
  void jumpTo(StoredFrame after, int32_t pc, bool plain, bool hasRun = false);
  void move(int32_t local);

  Assembler& assembler_;
  CodegenEnvironment& environment_;
  llvm::ArrayRef<FrameState> frames_;
  StoredFrame stored_;
  int32_t inner_ = -1;
  llvm::ArrayRef<StoredFrame> innerStored_;
  // Where the instruction, or the call of the next frame, raises, if that matters.
  std::optional<Assembler::Label> handler_;
  // What makes the call that is to be run; does it take a method, with its object, for an argument?
  Ref<> caller_;
  bool callerTakes_ = false;
  Ref<> timerEnd_;  // null: nothing is to be called after the instruction
};

// Locals that a stopped frame may read as it goes on: from its instruction (its jump targets
// included) or in its handler.
llvm::BitVector liveIn(const FrameState& frame);

// The entry point at which code goes on at `pc`, after Python ran `ranLast`, with these entries on
// its stack (true: NULL), so many handlers at work, and these locals.
EntryPoint resumeEntry(const CodePtr& code, int32_t pc, int32_t ranLast,
                       std::vector<bool> stackIsNull, int32_t openHandlers,
                       std::vector<int32_t> locals);

}  // namespace armature

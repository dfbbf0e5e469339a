// Walks canonical bytecode over Values: CPython's evaluation loop, symbolically.
//
// One pass. Frames of inlined functions are pushed on the translator's own stack. An instruction
// leaves its operands on the stack until it is done, so that a break in the middle of it finds the
// frame as it was before it; everything else that changes goes through the trail.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/pending_python_exception.h"
#include "guards/frame_locals_mapping.h"
#include "guards/silent_end.h"
#include "interpreter/break_reason.h"
#include "interpreter/ends_of_generators.h"
#include "interpreter/entry_point.h"
#include "interpreter/frame.h"
#include "interpreter/parts.h"
#include "interpreter/skipped_functions.h"
#include "variables/translator.h"

namespace armature {

class ExceptionVariable;

// Where a frame stands.
struct FramePlace {
  CodePtr code;
  Ref<> globals;
  int32_t pc;
};

// How a translation ended.
struct Outcome {
  enum class Kind : uint8_t {
    Return,       // the function returned `result`
    Break,        // the last frame's instruction at `pc` has to be run by Python
    ResumePlain,  // the last frame has to go on in plain Python from `pc`
    SkipFrame,    // the frame of `skipped` has to run as it is, from its beginning
  };
  Kind kind = Kind::Return;
  Value result;
  // Return from a frame that was resumed: its local variables as it ended; or, if it is shown,
  // whether it is that of a generator which is left at a yield, and has them still.
  std::vector<Value> locals;
  bool isSuspended = false;
  // Break and ResumePlain: root first, the frame that broke last.
  std::vector<FrameState> frames;
  // The instruction that Python runs looks at frames: all of their local variables have to be
  // there.
  bool framesAreRead = false;
  // SkipFrame: null for the frame in which the trace began. Another's caller is no place to which
  // the trace can go back: trace again, with this code among those that are skipped.
  CodePtr skipped;
  // A graph that ran failed in a frame amid which nobody can go on (Translator::failureCanGoOn):
  // all frames that the exception leaves, the one that called the operation first. Nothing in them
  // waits for it, nor has the trace an effect that comes before the operation.
  std::vector<FramePlace> left;
  // Where the operation that failed is in a body of that graph: the frames that the exception
  // leaves before it comes to those that the break has, the one that called the operation first.
  std::vector<FramePlace> leftInBody;
  // SkipFrame: because the calls were nested too deep.
  bool reachedRecursionLimit = false;
  // The trace ended where the function raises, or handles what was raised in the trace.
  bool raised = false;
  // The program has asked that a break be an error where this trace ended.
  bool breakIsError = false;
  std::optional<BreakReason> reason;
};

// What a signal's handler raised during a trace: it reaches the user, whatever it is.
struct SignalRaised : PendingPythonException {};

class InstructionTranslator : public Translator {
 public:
  // The inputs of the traced call, as the entry point orders them; `function` supplies globals and
  // is kept alive by the caller.
  InstructionTranslator(const EntryPoint& entry, BorrowedRef<> globals,
                        const FrameLocalsMapping& inputs);
  ~InstructionTranslator() override;

  // Runs the trace to its end; catches every GraphBreak. Throws PendingPythonException where
  // something arrives from outside (an interrupt, no memory), and lets errors of ours pass.
  Outcome translate();
  // Leaves these functions to Python. To be called before; they must outlive the trace.
  void skip(const SkippedFunctions& functions) { skipped_ = &functions; }

  // Without it, generators with clean-up to do that the program drops make its code unsupported.
  // To be called before; it must outlive the trace.
  void endGeneratorsBy(const Parts& parts) { parts_ = &parts; }

  const EntryPoint& entry() const { return entry_; }
  const Frame* runningFrame() const { return frame_; }
  // The program asks for a frame that is running, and the trace breaks.
  void letFramesBeRead() { framesAreRead_ = true; }
  // Is the object a constant of code that the trace has walked, or a part of one?
  bool isLiteral(PyObject* object) const;
  // The code of a generator of the trace, none of those that are kept, that stands at a yield
  // inside try or with that GeneratorExit does not just pass through, if there is one.
  // Whatever becomes of it, dropping it runs the program's clean-up code at that moment, which is
  // no effect of the trace.
  const Code* leavesCleanUp(llvm::function_ref<bool(GeneratorVariable*)> isKept);
  // Has the trace generators whose frames are there?
  bool hasGenerators() const;
  // The object behind a value, if nobody but the trace knows it and it may refer to others: one
  // that the trace has made, or owns.
  VariableTracker* newObject(const Value& value) const;
  // At the end of a trace: guards that no code hears of the ends of inputs that no frame has any
  // more. Throws EndIsHeard where some might.
  void settleInputs(const Outcome& outcome);
  bool owns(VariableTracker* tracker) const { return owned_.count(tracker) > 0; }
  // Instructions interpreted so far.
  uint64_t instructionCount() const { return instructionCount_; }

  // --- Translator.
  Value callUserFunction(UserFunctionVariable* function, CallArguments& arguments) override;
  Value runBody(UserFunctionVariable* function, const Value& names) override;
  void onReturn(Continuation continuation) override;
  Value existingGenerator(const Source* source, BorrowedRef<> object) override;
  Value resumeGenerator(GeneratorVariable* generator, const Value& sent, bool tail) override;
  Value throwInto(GeneratorVariable* generator, llvm::ArrayRef<Value> thrown, bool tail) override;
  bool closeGenerator(GeneratorVariable* generator) override;
  Value handledInTrace() const override;
  Value handledByCaller() override;
  // See OnReturn::EndDelegation.
  Value send(const Value& receiver, const Value& sent);
  Value runningFirstArgument() override;
  NewCellVariable* runningClassCell() override;
  ProgramLocation location() const override;
  void noteFramesInBody() override { placesAtFailureInBody_ = placesOfFrames(); }
  DictVariable* runningGlobals() override { return frame_->globals; }
  // What a call is given is its caller's; what a frame had is its own.
  bool keepsExisting() const override {
    return Translator::keepsExisting() && entry_.inputsAreHeld();
  }
  bool isHeldByFrames(const Value& object) override;
  void holdValuesForFailure() override;
  bool errorsAreObserved() const override;
  bool failureCanGoOn() const override { return frame_->callersResumable; }

 private:
  // Where a break would take the trace back to.
  struct Mark {
    Frame* frame = nullptr;
    int32_t pc = 0;
    Value handled;
    int32_t openHandlers = 0;
    // No instruction of the frame can be resumed, nor can its prologue: this is how it began.
    bool isPlain = false;
    // What the frame held; without it, the instruction leaves its operands in place.
    bool hasSlots = false;
    std::vector<Value> slots;
    int32_t depth = 0;
    // Operands that the instruction has realized, as they were, with their slots.
    llvm::SmallVector<std::pair<size_t, Value>, 4> operands;
  };

  explicit InstructionTranslator(const EntryPoint& entry) : entry_(entry) {}
  void bindInputs(const FrameLocalsMapping& inputs);
  void leaveEndsToPython();
  bool isTakenAtOnce(llvm::ArrayRef<Value> slots);
  // The generator at the end of the path is the trace's to end. False if the trace does not see it.
  bool own(const Value& input, const PartPath& path);
  Frame* pushFrame(CodePtr code, DictVariable* globals, UserFunctionVariable* function);
  // Of all that run, the innermost first.
  std::vector<FramePlace> placesOfFrames() const;
  // Leaves the frame: a traceback that goes through it keeps what it holds now.
  void popFrame();
  // Forgets the frame, of which nothing is seen any more. Allocates nothing.
  void dropFrame();

  // Runs until `entry` returns. Null with the exception pending if it raised.
  Value run(Frame* entry);
  // Of the local that LOAD_FAST or DELETE_FAST names.
  void raiseUnbound(const Frame& frame, const Instruction& instruction);
  // PyTraceBack_Here.
  void addTraceback(ExceptionVariable& raised, Frame& frame);
  // Goes to the handler of the pending exception, which was raised in `raisedIn`, within the frames
  // from there to `entry`; what runs above has ended. False if there is none: then `entry` and
  // everything above it is gone.
  bool unwind(Frame* entry, Frame* raisedIn);
  const ExceptionRegion* handlerOf(const Frame& frame) const;
  // Would a frame from this one outwards catch the pending exception?
  bool anyHandler(const Frame* raisedIn);
  void markInstruction(Frame& frame, Opcode opcode);
  void mark(Frame& frame, bool isPlain);
  void checkOperations();
  // All of it but the slots.
  void setMark(Frame& frame);
  // Realizes the n-th entry from the top of the stack in its place, until the instruction is done:
  // a break takes it back, as it takes back the guards that hold what it turned out to be.
  void realizeOperand(Frame& frame, int32_t n);
  // As that, of a key: the address of an object may stay as it is.
  void realizeKeyOperand(Frame& frame, int32_t n);
  // The frame returned from run().
  Value leaveEntry(Value result);
  // The frame, pushed by an instruction of its caller's, returned. False: the exception that is
  // pending is raised there, and the frame is still on the stack.
  bool returnToCaller(Value result);
  // The frame that has been pushed takes the place of the one below it, which has returned and of
  // whose continuations the first `done` have been done.
  void succeed(size_t done);
  // Ends the instruction of the frame that pushed others, or might have: with what it gave. False
  // if an exception is pending.
  bool complete(Value result);

  BreakReason describeBreak(const GraphBreak& reason) const;
  Outcome breakAt(const GraphBreak& reason);
  // Breaks if the function is one that this trace does not go into.
  void refuseSkipped(const UserFunctionVariable& function) const;
  const Frame* brokenWhole() const;
  FrameState stateOf(const Frame& frame) const;
  // Those that the frame's function chose when it was made, borrowed; null if the trace made it.
  PyObject* chosenBuiltins(const Frame& frame) const;
  // Those that a function of these globals, which existed, would choose now; guarded, borrowed.
  PyObject* builtinsNamedBy(DictVariable* globals);

  // Argument binding: fills the locals of `frame`. False with CPython's TypeError pending.
  bool bindArguments(UserFunctionVariable* function, const CallArguments& arguments, Frame& frame);
  bool passedPositionalOnly(UserFunctionVariable* function, const CallArguments& arguments);
  bool missingArguments(UserFunctionVariable* function, Frame& frame, bool keywordOnly);

  // One function for each opcode, or for a family; false with the exception pending. They find
  // their frame in frame_ and do not advance pc.
  bool loadName(Frame& frame, const Instruction& instruction);
  bool loadGlobal(Frame& frame, PyObject* name, bool push);
  // From the builtins of the frame; null if there is none of that name.
  Value builtin(Frame& frame, PyObject* name);
  bool loadBuildClass(Frame& frame);
  bool storeGlobal(Frame& frame, const Instruction& instruction);
  bool namespaceInstruction(Frame& frame, const Instruction& instruction);
  bool cellOperation(Frame& frame, const Instruction& instruction);
  // Those that may push the frame of a special method. They advance pc.
  bool protocolInstruction(Frame& frame, const Instruction& instruction);
  Value assertBranch(Frame& frame);
  bool loadMethodInstruction(Frame& frame, PyObject* name);
  Value formatted(Frame& frame, const Instruction& instruction);
  bool raisedBecauseNotIterable(const Value& value);
  bool buildContainer(Frame& frame, const Instruction& instruction);
  bool extendContainer(Frame& frame, const Instruction& instruction);
  Value varyingText(Frame& frame, int32_t count);
  bool buildString(Frame& frame, const Instruction& instruction);
  bool unpack(Frame& frame, const Instruction& instruction);
  bool unpackExtended(Frame& frame, const Instruction& instruction);
  // Where the iterable on top gives its items by Python functions, whose frames are pushed.
  bool takesItemsOfPython(Frame& frame);
  Value takeItems(Frame& frame, const Instruction& instruction);
  // Calls set `pushed` if a frame was pushed instead of a result.
  bool callInstruction(Frame& frame, const Instruction& instruction, bool& pushed);
  bool callFunctionEx(Frame& frame, const Instruction& instruction, bool& pushed);
  // Of the operands, `movedCount` become those of the frame that was pushed.
  bool finishCall(Frame& frame, Value result, int32_t operandCount, int32_t movedCount,
                  bool& pushed);
  bool makeFunction(Frame& frame, const Instruction& instruction);
  bool importInstruction(Frame& frame, const Instruction& instruction);
  void requireNames(const Value& module, const Value& fromList);
  void requireBuiltinImport(Frame& frame, PyObject* name);
  bool raiseInstruction(Frame& frame, const Instruction& instruction);
  bool exceptionInstruction(Frame& frame, const Instruction& instruction);
  Value handledOutside();
  bool enterContext(Frame& frame);
  Value exitContext(Frame& frame);
  bool matchInstruction(Frame& frame, const Instruction& instruction);
  Value makeGenerator(Frame& frame);
  // How a suspended generator goes on.
  struct Resumption {
    Value sent;    // what its yield gives; null: None
    Value thrown;  // raised instead, if not null
    // The iterator that `yield from` asks has ended: the loop is left.
    bool leavesDelegate = false;
  };
  void takeOver(GeneratorVariable* generator);
  Frame* enter(GeneratorVariable* generator);
  Value resume(GeneratorVariable* generator, Resumption resumption, bool tail);
  // Goes to the handler of the frame's own; false if it has none.
  bool enterHandler(Frame& frame);
  // The generator whose frame this is stands behind the yield; the frame itself stays as it is.
  void suspend(Frame& frame);
  // Its frame has ended.
  void finish(Frame& frame, Value returned);
  // Back to what the frames outside of a generator's handle, which stops running.
  void leaveGenerator(const Frame& frame);
  // That the program sees a change of it, if it existed before the trace.
  void recordChange(GeneratorVariable* generator);
  // The iterator that a generator, suspended in `yield from`, asks; null if it is not.
  Value delegateOf(const GeneratorVariable* generator) const;
  bool closeDelegate(const Value& delegate);

  // --- Ends of generators (ends_of_generators.cc).
  void visitParts(VariableTracker* tracker, const Frame* leaving, PartVisitor visit);
  void forEachPart(VariableTracker* tracker, PartVisitor visit) override;
  ReachedObjects nearObjects(const Frame* leaving);
  ReachedObjects reachedObjects(const Frame* leaving, const Value& result);
  bool stands(const PathToObject& path, const Frame* leaving, FrameSearch& search);
  bool leads(const PathToObject& path, const Frame* leaving);
  bool wasHeldByOperand(const PathToObject& path);
  GeneratorVariable* firstToEnd(llvm::ArrayRef<GeneratorVariable*> lost,
                                const ReachedObjects& reached, const Frame* leaving);
  bool isMarkRunning() const;
  void leaveEndToPython(GeneratorVariable* generator);
  // Closes what the program does not reach any more. `ranCode`: the last instruction ran code of
  // the program from C++. `leaving`: the running frame, which is about to end with `result`; null:
  // none.
  void endGenerators(bool ranCode, const Frame* leaving, const Value& result);
  void forgetFinished();
  // The running frame's, which comes now.
  KeepingInstruction keepingInstruction() const;
  // Does the program reach the generator when the one that is asked about is let go of?
  using IsReached = llvm::function_ref<bool(GeneratorVariable*)>;
  // Is it suspended where GeneratorExit does not just pass through?
  bool hasCleanUp(GeneratorVariable* generator, IsReached isReached);
  bool closesDelegate(GeneratorVariable* generator, IsReached isReached);

  // Lets the graph keep what these roots lead to until the call of that ordinal is done.
  void hold(int32_t until, llvm::function_ref<void(PartVisitor)> visitRoots);
  void holdValuesOfFrames();

  EntryPoint entry_;
  const SkippedFunctions* skipped_ = nullptr;
  const Parts* parts_ = nullptr;
  uint64_t heldAt_ = 0;  // SideEffects::changeCount() at the last holdValuesForFailure()
  const VariableTracker* heldFor_ = nullptr;  // what was handled then
  size_t holdSteps_ = 0;                      // of all of them
  Frame* frame_ = nullptr;
  llvm::SmallDenseMap<const Code*, CodePtr, 8> walked_;  // every code that had a frame
  std::vector<GeneratorVariable*> generators_;           // all that the trace made; trailed
  // Those whose code has handlers, and how the program reached them when that was last asked.
  std::vector<GeneratorVariable*> cleanUps_;
  // Existing objects that nothing but the trace holds, with what leads on from there to generators.
  llvm::DenseMap<VariableTracker*, llvm::SmallVector<Value, 1>> owned_;
  // Existing generators whose frames the trace has taken over. Trailed.
  llvm::DenseSet<GeneratorVariable*> takenOver_;
  std::vector<MayEnd> mayEnd_;  // for settleInputs()
  llvm::DenseMap<GeneratorVariable*, PathToObject> paths_;
  // How often run() was called, and how many trackers there were when the present one began.
  uint64_t runs_ = 0;
  uint32_t runStart_ = 0;
  // Frames to use again, by `back`: to give one up allocates nothing.
  Frame* freeFrames_ = nullptr;
  Mark mark_;
  // The exception being handled (exc_info) by the innermost generator that runs, or else by the
  // frames outside of all of them; null if none. The others' are in the generators' frames.
  Value handled_;
  Frame* runningGenerator_ = nullptr;  // the innermost one's frame
  // The pending exception is raised again: its traceback stays as it is in the raising frame.
  bool raisedAgain_ = false;
  bool framesAreRead_ = false;  // see Outcome
  bool leftSuspended_ = false;
  std::vector<FramePlace> placesAtFailureInBody_;
  std::vector<Value> leftLocals_;  // of the root frame, once it has returned: see Outcome::locals
  uint64_t instructionCount_ = 0;
  uint64_t nextSignalCheck_ = 0;
  // How often a branch was taken to be one that does not raise.
  llvm::DenseMap<const Instruction*, int32_t> assertedBranches_;
  uint64_t nextOperationCheck_ = 1 << 20;
};

// format_exc_check_arg: the NameError knows the name.
void raiseNameError(Translator& translator, const char* format, PyObject* name);

}  // namespace armature

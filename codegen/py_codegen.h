// Turns the outcome of a trace into bytecode: inputs, graph call, new objects, side effects, and
// then the return, or the code in which the frames go on (frame_code.h).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/assembler.h"
#include "codegen/construction_plan.h"
#include "codegen/frame_code.h"
#include "core/ref.h"
#include "interpreter/instruction_translator.h"

namespace armature {

struct CompiledGraph {
  // Takes the placeholders positionally, returns the tuple (or list) of outputs. Null with an
  // exception set if the backend failed.
  Ref<> callable;
  // The callable is toFunction()'s.
  bool isEager = false;
  // There is no callable, and no exception: the operations become part of the generated code.
  bool isInlined = false;
};

// What the program does with a graph besides using its results.
struct GraphUse {
  HistoryUse history = HistoryUse::None;  // of its results, behind it
  bool handlesFailures = false;           // of its operations
  // It changes nothing, so that if it fails, nobody asks how far it came.
  bool changesNothing = false;
  // It changes arrays, and some of its inputs share memory, or may: backends compute as if none
  // did.
  bool changesSharedMemory = false;
};

// Two callables without arguments, for before and after what Python does because of a break. Null
// where nobody wants to know.
struct BreakTimer {
  Ref<> begin, end;
};

// What codegen asks of the room above it.
class CodegenEnvironment {
 public:
  virtual ~CodegenEnvironment() = default;
  // The callable of a finished graph. `firstEffect`: its first node that changes anything, null if
  // there is none.
  virtual CompiledGraph compileGraph(const Graph& graph, const Node* firstEffect, GraphUse use) = 0;
  // A callable of the entry's inputs, whose result generated code returns at once: what the frame
  // returns that goes on at `entry`, or what the runtime follows to it. `plain`: in plain Python.
  virtual Ref<> resumeFunction(const EntryPoint& entry, BorrowedRef<> globals, bool plain) = 0;
  // An object whose `~` lets go of what holds the inputs of the resumed frame that runs, beside its
  // parameters, where EntryPoint::movesInputs has no parameter for that. Generated code that has
  // done so returns at once. Null: nothing does.
  virtual Ref<> inputsOfFrame() { return nullptr; }
  // A callable that calls `function` with its first argument, runs the frame that goes on there to
  // its end, and returns what the continuations make of its result, whose operands are the other
  // arguments, in their order (codegen/continuations.h).
  virtual Ref<> frameFunction(BorrowedRef<> function,
                              llvm::ArrayRef<Continuation> continuations) = 0;
  // A callable `caller(callable, *arguments)` for calls that Python makes; its attribute `starred`
  // is `caller(callable, arguments, keywords={})`. Null: they are made as they are, or an exception
  // is set.
  virtual Ref<> pythonCalls() = 0;
  // A code object of the same instructions that makes its calls by pythonCalls(). Null where the
  // code has to run as it is, or with an exception set.
  virtual Ref<PyCodeObject> rewritten(BorrowedRef<PyCodeObject>) { return nullptr; }
  // A callable that gives the exception which the instruction of the break has raised already,
  // once; null: Python runs the instruction.
  virtual Ref<> raised() { return nullptr; }
  // For the break of this code.
  virtual BreakTimer breakTimer() { return {}; }
};

struct GeneratedCode {
  // Parameters: the entry's inputs, what else holds them, if it moves them, and the captures. Null:
  // `unsupported` says why this outcome has no code, and the function has to run as it is.
  Ref<PyCodeObject> code;
  CodePtr canonical;
  std::vector<const Source*> captures;
  std::string unsupported;
  // The reason is that no bytecode makes some object.
  bool cannotRebuild = false;
};

class PyCodegen {
 public:
  PyCodegen(InstructionTranslator& translator, Outcome& outcome, CodegenEnvironment& environment);

  // Returns with a Python exception set (and no `unsupported`) if the backend failed.
  GeneratedCode generate();

  // --- What reconstructors write with (values.cc).
  Assembler& assembler() { return assembler_; }
  InstructionTranslator& translator() { return translator_; }
  CodegenEnvironment& environment() { return environment_; }
  // Of a value that has to exist: what reconstructs it, a constant that the trace has made
  // included; null for what is loaded as it is.
  VariableTracker* trackerFor(const Value& value);
  // Each leaves one object on the stack.
  void load(const Value& value);
  void loadSource(const Source* source);
  void compute(const SymNode& node);
  void loadConstant(BorrowedRef<> object) { assembler_.emitLoadConst(object); }
  void loadType(PyTypeObject* type) { load(translator_.knownClass(type)); }
  // The real __dict__ of an object, past whatever its class says about that name.
  void loadInstanceDict(VariableTracker* object);
  // The beginning of a call of `callable`: its arguments are loaded next, then call(count).
  void prepareCall(BorrowedRef<> callable);
  void call(int32_t argumentCount) { assembler_.emitCall(argumentCount); }
  // The object that a call of the graph has entered, which was left in it, and entered again.
  void loadContext(const Node* enter);
  // Makes the object of a two-step part whose turn has not come yet? See ConstructionPlan.
  bool isMadeInTwoSteps(VariableTracker* tracker) const;
  // A local that holds something until a break, if there is one: see releaseLocals.
  int32_t freshLocal(const char* name) {
    temporaries_.push_back(assembler_.addFreshLocal(name));
    return temporaries_.back();
  }

 private:
  Position startPosition() const;
  void beginInterruptible();
  void endInterruptible();
  bool isInsideInterruptRegion(const FrameState& frame) const;
  void emitInterruptHandlers();

  // --- Values (values.cc).
  void makeObjects(llvm::ArrayRef<ConstructionPlan::Step> steps);
  void makeLateObjects(int32_t before);

  // --- Effects (effects.cc).
  void callGraph();
  void addUnusedFailures(const Graph& graph, std::vector<Node*>& results);
  void finishGraph();
  void setModeBehindGraph(const Node& first);
  void callModeFunction(const Library::ModeCall& modeCall);
  void enterContexts();
  void putModeBack();
  void inlineGraph();
  void emitGraphHandler();
  void requireEffects();
  void replayEffects();

  // --- Breaks (breaks.cc).
  void unbindCalledMethod();
  void requireRoots();
  void requireHeldLocals();
  bool keepsAlive(const Value& value);
  bool staysBound(const Value& value);
  bool takeOver(const Instruction& load);
  int32_t moveBehind(int32_t local);
  void storeFrame(const FrameState& frame, size_t index);
  void releaseLocals();
  void releaseHolder();
  bool releaseFrame();
  void emitRelease();
  void leaveLocals();
  void orderEnds();

  const FrameState& innermost() const { return outcome_.frames.back(); }

  InstructionTranslator& translator_;
  Outcome& outcome_;
  CodegenEnvironment& environment_;
  Assembler assembler_;
  std::vector<const Source*> captures_;
  llvm::DenseMap<const Source*, int32_t> captureLocals_;
  // Constants that the trace has made, as far as they have to exist (trackerFor).
  llvm::DenseMap<PyObject*, VariableTracker*> madeConstants_;
  std::vector<Value> keptConstants_;
  int32_t inputCount_ = 0;
  // Inputs that are cells which the trace writes.
  llvm::DenseSet<int64_t> writtenCells_;

  std::optional<Assembler::Label> interruptHandler_;
  // Where the graph raises: see graph_failure.h.
  bool graphHasEffects_ = false;
  size_t unusedFailures_ = 0;  // results of the graph, behind those that are wanted
  bool handlesFailure_ = false;
  Assembler::Label graphHandler_;
  // Calls that are made again behind the graph, with what they give (Library::leaveContexts).
  struct Context {
    Node* enter;
    int32_t local = -1;
    bool isLoaded = false;
  };
  std::vector<Context> contexts_;
  const Node* modeBefore_ = nullptr;  // the graph's first change of a library's mode
  Library::RandomState randomState_;
  Library::ModeState modeState_;
  int32_t modeStateLocal_ = -1;    // what it was before the graph; -1: see modeBefore_
  int32_t randomStateLocal_ = -1;  // what it was before the graph; -1 where it is not put back
  Ref<> failureRecorder_;          // null where the graph changes nothing, or is not ours

  ConstructionPlan plan_;
  // The local that holds each graph output.
  llvm::DenseMap<Node*, int32_t> outputs_;
  // The local that holds an object; -1 for one that was made where it was used, once.
  llvm::DenseMap<VariableTracker*, int32_t> made_;
  // What the frames have of objects that come when the effects were replayed, with their locals.
  std::vector<std::pair<Value, int32_t>> lateStores_;
  size_t lateCount_ = 0;  // how many of the plan's late steps are made

  // Locals that hold the stack and the live locals of the frames at a break.
  std::vector<StoredFrame> storedFrames_;
  // Those that held something before, and now are the frame's.
  llvm::DenseSet<int32_t> takenOver_;
  std::vector<int32_t> temporaries_;
  int32_t inputHolder_ = -1;  // the parameter that lets go of the inputs (EntryPoint::movesInputs)
};

}  // namespace armature

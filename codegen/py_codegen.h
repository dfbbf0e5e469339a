// Turns the outcome of a trace into bytecode: inputs, graph call, new objects, side effects, and
// then the return, or the instruction that Python has to run and the calls of resume functions.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>

#include <memory>
#include <string>
#include <vector>

#include "bytecode/assembler.h"
#include "core/ref.h"
#include "interpreter/instruction_translator.h"

namespace armature {

class DictIteratorVariable;

// What codegen asks of the room above it.
class CodegenEnvironment {
 public:
  virtual ~CodegenEnvironment() = default;
  // The callable of a finished graph: takes the placeholders positionally, returns the tuple (or
  // list) of outputs. Null with an exception set if the backend failed.
  virtual Ref<> compileGraph(const Graph& graph) = 0;
  // The function that goes on at `entry`, compiled when it is called. Takes the entry's inputs.
  virtual Ref<> resumeFunction(const EntryPoint& entry, BorrowedRef<> globals) = 0;
};

struct GeneratedCode {
  // Parameters: the entry's inputs, then one for each capture. Null: `unsupported` says why this
  // outcome has no code, and the function has to run as it is.
  Ref<PyCodeObject> code;
  CodePtr canonical;
  std::vector<const Source*> captures;
  std::string unsupported;
};

class PyCodegen {
 public:
  PyCodegen(InstructionTranslator& translator, Outcome& outcome, CodegenEnvironment& environment);

  // Returns with a Python exception set (and no `unsupported`) if the backend failed.
  GeneratedCode generate();

 private:
  // --- What has to exist afterwards (reachability.cc).
  void collectRoots();
  void collect(const Value& value);
  void collectParts(VariableTracker* tracker);
  void collectMutation(VariableTracker* tracker);

  // --- Values (reconstruct.cc).
  void load(const Value& value);
  void loadSource(const Source* source);
  void loadType(PyTypeObject* type);
  void build(VariableTracker* tracker);
  void buildFunction(class UserFunctionVariable* function);
  void buildIterator(VariableTracker* tracker);
  bool buildDictIterator(DictIteratorVariable* iterator);
  bool isAllocatedFirst(VariableTracker* tracker) const;
  void allocate(VariableTracker* tracker);
  void fill(VariableTracker* tracker);
  // dict[key] = value, past any override of a subclass.
  void setDictItem(VariableTracker* dict, const Value& key, const Value& value);
  // The method of the builtin dict type that `type` derives from.
  static PyObject* dictMethod(PyTypeObject* type, const char* name);
  void setAttribute(VariableTracker* object, PyObject* name, const Value& value);

  // --- Effects (effects.cc).
  void callGraph();
  void replayEffects();
  void replay(VariableTracker* tracker);

  // --- Breaks (breaks.cc).
  void emitBreak();
  void emitResumePlain();
  void storeFrame(const FrameState& frame, size_t index);
  void callResume(const FrameState& frame, size_t index, int32_t nextPc,
                  const std::vector<int32_t>& results, size_t consumed, bool plain);
  void returnThroughCallers(size_t callerCount);
  bool canRunNatively(const FrameState& frame) const;

  int32_t freshLocal(const char* name) { return assembler_.addFreshLocal(name); }
  const FrameState& innermost() const { return outcome_.frames.back(); }

  InstructionTranslator& translator_;
  Outcome& outcome_;
  CodegenEnvironment& environment_;
  Assembler assembler_;
  std::vector<const Source*> captures_;
  llvm::DenseMap<const Source*, int32_t> captureLocals_;
  int32_t inputCount_ = 0;

  // How often each new object is referred to, in order of discovery.
  llvm::MapVector<VariableTracker*, int32_t> references_;
  // Graph outputs in order, and the local that holds each.
  llvm::MapVector<Node*, int32_t> outputs_;
  // Objects that stand in a local already.
  llvm::DenseMap<VariableTracker*, int32_t> temporaries_;

  // Locals that hold the stack and the live locals of the frames at a break.
  struct StoredFrame {
    std::vector<int32_t> stack;  // -1: NULL
    llvm::DenseMap<int32_t, int32_t> locals;
  };
  std::vector<StoredFrame> storedFrames_;
};

// A function object that runs `entry` in plain Python: takes the entry's inputs, puts the stack and
// the locals in place, jumps to where the entry starts. Null with an exception set on failure.
Ref<> plainFunction(const EntryPoint& entry, BorrowedRef<> globals);

// The entry point at which `frame` goes on at `pc` with these entries on its stack (true: NULL).
EntryPoint resumeEntry(const FrameState& frame, int32_t pc, std::vector<bool> stackIsNull);

}  // namespace armature

// Modes that the program enters and that take over a library's operations
// (torch.overrides.TorchFunctionMode). The graph runs without them: what they make of an operation
// is traced.
#pragma once

#include <optional>

#include "variables/translator.h"

namespace armature {

// An operation that the program calls, as Translator::callGraphOperation has it.
struct OperationCall {
  const Library& library;
  NodeOperation operation;
  BorrowedRef<> target;
  llvm::ArrayRef<Value> arguments;  // those of keywords last
  PyObject* keywordNames;           // tuple of str, or null
};

// What a library knows of its modes.
class OperationModes {
 public:
  virtual ~OperationModes() = default;
  // Those in which the traced call was made (Translator::startInOperationModes).
  virtual void start(Translator& translator) const = 0;
  // What the innermost one makes of the call, null with an exception pending; nothing, if it does
  // not hear of such calls. Throws a GraphBreak where that is not known.
  virtual std::optional<Value> call(Translator& translator, const OperationCall& call) const = 0;
  // Takes those of the thread away, so that none hears of what a trace does; null where there are
  // none. And gives them back.
  virtual Ref<> takeAway() const = 0;
  virtual void giveBack(BorrowedRef<> modes) const = 0;
  // A callable that calls `callable` without modes.
  virtual Ref<> without(BorrowedRef<> callable) const = 0;
};
// It has to live as long as the process.
void registerOperationModes(const OperationModes* modes);

// While one stands, the thread has no modes: while something is traced and compiled, but not while
// the thread's state is guarded. Leaves a Python exception that is set.
class OperationModesAway {
 public:
  OperationModesAway();
  ~OperationModesAway();
  OperationModesAway(const OperationModesAway&) = delete;
  OperationModesAway& operator=(const OperationModesAway&) = delete;

  // Those that the innermost one has taken away; null if there are none. Borrowed.
  static PyObject* modes();

 private:
  PyObject* outer_;
  Ref<> taken_;
};

void startOperationModes(Translator& translator);
// As above; nothing while there are no modes.
std::optional<Value> callOperationMode(Translator& translator, const OperationCall& call);
// Null where the traced call was made without any.
Ref<> withoutOperationModes(BorrowedRef<> callable);

// Breaks while there are modes, which might hear of `what`.
void requireNoOperationMode(Translator& translator, const std::string& what);

}  // namespace armature

#include "variables/operation_modes.h"

#include "core/pending_python_exception.h"
#include "core/set_exception.h"

namespace armature {

namespace {

const OperationModes*& registered() {
  static const OperationModes* modes = nullptr;
  return modes;
}

thread_local PyObject* takenAway = nullptr;

}  // namespace

OperationModesAway::OperationModesAway() : outer_(takenAway) {
  if (registered()) taken_ = registered()->takeAway();
  takenAway = taken_.get();
}

OperationModesAway::~OperationModesAway() {
  takenAway = outer_;
  if (!taken_) return;
  SetException kept;
  registered()->giveBack(taken_);
  clearException();
}

PyObject* OperationModesAway::modes() { return takenAway; }

void registerOperationModes(const OperationModes* modes) { registered() = modes; }

void startOperationModes(Translator& translator) {
  if (registered()) registered()->start(translator);
}

std::optional<Value> callOperationMode(Translator& translator, const OperationCall& call) {
  if (!translator.operationModes()) return std::nullopt;
  return registered()->call(translator, call);
}

Ref<> withoutOperationModes(BorrowedRef<> callable) {
  return OperationModesAway::modes() ? registered()->without(callable) : nullptr;
}

void requireNoOperationMode(Translator& translator, const std::string& what) {
  if (!translator.operationModes()) return;
  throw GraphBreak(GraphBreakKind::OverriddenOperation, what,
                   "The program has entered a mode that may take it over.");
}

}  // namespace armature

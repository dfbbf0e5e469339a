#include <limits>

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "variables/containers/deque.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

DequeIteratorVariable* iteratorOf(VariableTracker* tracker) {
  return llvm::cast<DequeIteratorVariable>(tracker);
}

// It is made anew where the deque stands as it did when the iterator was made: no item has moved
// since. Of an existing one that had not been changed, it is made before effects are replayed,
// which it notices.
bool canBeMade(const DequeIteratorVariable* iterator) {
  const DequeVariable* deque = iterator->deque;
  return (deque->existing() && iterator->moves == 0) || deque->moves() == iterator->moves;
}

class DequeIteratorReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(iteratorOf(tracker)->deque);
  }
  void filledBefore(VariableTracker* tracker, PartVisitor visit) const override {
    visit(iteratorOf(tracker)->deque);
  }
  bool showsState() const override { return true; }
  VariableTracker* showsReplayed(Translator& translator, VariableTracker* tracker) const override {
    DequeVariable* deque = iteratorOf(tracker)->deque;
    bool isOlder = iteratorOf(tracker)->moves == 0;
    bool isBehind = deque->existing() && !isOlder && translator.effects.isWritten(deque);
    return isBehind ? deque : nullptr;
  }

  // _deque_iterator(deque, position)
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    if (!canBeMade(iterator)) throw UnsupportedReconstruction(describe(tracker));
    codegen.prepareCall(reinterpret_cast<PyObject*>(iterator->type()));
    codegen.load(iterator->deque);
    // One that has failed gives nothing more, however many items there were.
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    codegen.load(Value::integer(iterator->remaining ? iterator->position : kAll));
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(DequeIterator)

}  // namespace armature

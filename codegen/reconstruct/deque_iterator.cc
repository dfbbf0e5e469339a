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
// since, none will when effects are replayed, and none is put in later. Of an existing one that had
// not been changed, it is made before effects are replayed, which it notices.
bool canBeMade(PyCodegen& codegen, const DequeIteratorVariable* iterator) {
  DequeVariable* deque = iterator->deque;
  if (deque->existing() && iterator->moves == 0) return true;
  if (deque->moves() != iterator->moves) return false;
  if (deque->existing()) return !codegen.translator().effects.isWritten(deque);
  bool isFilledLater = deque->instance || codegen.isMadeInTwoSteps(deque);
  return !isFilledLater || deque->size() == 0;
}

class DequeIteratorReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(iteratorOf(tracker)->deque);
  }
  bool showsState() const override { return true; }

  // _deque_iterator(deque, position)
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    if (!canBeMade(codegen, iterator)) throw UnsupportedReconstruction(describe(tracker));
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

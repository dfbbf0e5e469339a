// collections.deque and its iterators.
#pragma once

#include "cpython/deque_layout.h"
#include "variables/containers/sequence.h"

namespace armature {

// One that is bounded drops items at the other end: what replays an operation does so, too.
class DequeVariable : public MutableSequenceVariable {
 public:
  ARMATURE_KIND(Deque)
  // A new one, empty and without bound.
  explicit DequeVariable(PyTypeObject* type)
      : MutableSequenceVariable(VariableKind::Deque, type, {}) {}
  // An existing one. Its bound, which nothing but its __init__ changes, is guarded here.
  DequeVariable(Translator& translator, const Source* source, BorrowedRef<> existing);

  // -1: none.
  int64_t bound() const { return bound_; }
  void setBound(Translator& translator, int64_t bound);
  bool isFull() const { return bound_ >= 0 && static_cast<int64_t>(size()) == bound_; }
  // How often its items moved: an iterator that was made before raises.
  int64_t moves() const { return moves_; }

  void append(Translator& translator, Value item) override;
  void appendLeft(Translator& translator, Value item);
  void clear(Translator& translator);
  // Moves the items to the right, the last ones to the front.
  void rotate(Translator& translator, int64_t places);
  // Iterators do not notice it.
  void reverse(Translator& translator);
  void noteMove(Translator& translator) override;

 private:
  size_t existingSize() const override { return cpython::dequeLength(existing()); }
  PyObject* existingItem(size_t index) const override {
    return cpython::dequeItem(existing(), static_cast<Py_ssize_t>(index));
  }
  SourceKind itemSource() const override { return SourceKind::DequeItem; }
  // An iterator that exists notices, and a bounded one may have dropped an item.
  bool forgetsAppended() const override { return false; }

  // Trailed, both.
  int64_t bound_ = -1;
  int64_t moves_ = 0;
};

class DequeIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(DequeIterator)
  DequeIteratorVariable(PyTypeObject* type, DequeVariable* deque, int64_t remaining)
      : VariableTracker(VariableKind::DequeIterator, type),
        deque(deque),
        moves(deque->moves()),
        remaining(remaining) {}
  bool isReversed() const { return type() == cpython::dequeReverseIteratorType(); }

  DequeVariable* const deque;
  const int64_t moves;   // of the deque when it was made
  int64_t position = 0;  // how many items it has given; trailed
  int64_t remaining;     // trailed
};

// iter(deque) and reversed(deque), of the builtin type.
Value makeDequeIterator(Translator& translator, DequeVariable* deque, bool reversed);
// deque.extend and extendleft, behind the call of iter(). False with the exception pending.
bool extendDeque(Translator& translator, DequeVariable* deque, const Value& iterable, bool left);
// deque.copy. Null with the exception pending.
Value copyDeque(Translator& translator, DequeVariable* deque);

}  // namespace armature

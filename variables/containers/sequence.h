// Sequences and slices that hold something that is not a constant, or that may change.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>

#include "variables/side_effects.h"
#include "variables/variable_tracker.h"

namespace armature {

class Translator;

using ValueVector = llvm::SmallVector<Value, 4>;

// What lists, deques and tuples share: their items.
class SequenceVariable : public VariableTracker {
 public:
  static bool classof(const VariableTracker* tracker) {
    return tracker->kind() == VariableKind::List || tracker->kind() == VariableKind::Deque ||
           tracker->kind() == VariableKind::Tuple || tracker->kind() == VariableKind::NamedTuple;
  }
  // Reads all items of an existing list or deque, if that has not happened yet.
  const ValueVector& items() const {
    if (unread_) readAll();
    return items_;
  }

 protected:
  SequenceVariable(VariableKind kind, PyTypeObject* type, ValueVector items, const Source* source,
                   BorrowedRef<> existing)
      : VariableTracker(kind, type, source, existing), items_(std::move(items)) {}
  void readAll() const;

  // While `unread_`: only what the trace has put behind the items of the existing sequence.
  mutable ValueVector items_;
  // The translator with which the items are read when somebody asks; null once that is done.
  // Trailed.
  mutable Translator* unread_ = nullptr;
};

class TupleVariable : public SequenceVariable {
 public:
  ARMATURE_KIND(Tuple)
  explicit TupleVariable(ValueVector items, const Source* source = nullptr,
                         BorrowedRef<> existing = nullptr, PyTypeObject* type = &PyTuple_Type)
      : SequenceVariable(VariableKind::Tuple, type, std::move(items), source, existing) {}
};

// An instance of a namedtuple or structseq type: a tuple with a class.
class NamedTupleVariable : public SequenceVariable {
 public:
  ARMATURE_KIND(NamedTuple)
  NamedTupleVariable(PyTypeObject* type, ValueVector items, const Source* source = nullptr,
                     BorrowedRef<> existing = nullptr)
      : SequenceVariable(VariableKind::NamedTuple, type, std::move(items), source, existing) {}
};

// What lists and deques share. One that existed before the trace is not read before somebody looks:
// neither appending to it nor extending it depends on its length or its items, len() depends on the
// length alone, and a subscript on one item.
class MutableSequenceVariable : public SequenceVariable {
 public:
  static bool classof(const VariableTracker* tracker) {
    return tracker->kind() == VariableKind::List || tracker->kind() == VariableKind::Deque;
  }

  // Guards the length of an existing one, and reads no item.
  size_t size() const;
  // The length, where that of an existing one varied between calls and nothing was read of it; else
  // null.
  Value varyingSize() const;
  // The item at an index that is in range; reads (and guards) no other.
  Value item(size_t index) const;

  // Has the trace done more to it than to append? What it appended, if not.
  bool rearranged() const { return rearranged_; }
  llvm::ArrayRef<Value> appended() const;

  virtual void append(Translator& translator, Value item);
  void setItem(Translator& translator, size_t index, Value item);
  // Puts an item before the one at `index`, which is at most the size.
  void insert(Translator& translator, size_t index, Value item);
  // Takes out the item at `index`.
  Value pop(Translator& translator, size_t index);
  // Replaces all items at once (what sort, slice assignment … do).
  void replace(Translator& translator, ValueVector items);

 protected:
  // A new one.
  MutableSequenceVariable(VariableKind kind, PyTypeObject* type, ValueVector items)
      : SequenceVariable(kind, type, std::move(items), nullptr, nullptr) {}
  // An existing one, unread.
  MutableSequenceVariable(VariableKind kind, Translator& translator, const Source* source,
                          BorrowedRef<> existing)
      : SequenceVariable(kind, Py_TYPE(existing.get()), {}, source, existing) {
    unread_ = &translator;
  }

  // Of an existing one, as it is outside of the trace.
  virtual size_t existingSize() const = 0;
  virtual PyObject* existingItem(size_t index) const = 0;
  virtual SourceKind itemSource() const = 0;
  // An item came or went.
  virtual void noteMove(Translator&) {}
  // All items were replaced by others.
  virtual void noteReplacement(Translator&) {}
  // Can a replay leave out an item that was appended and taken out again?
  virtual bool forgetsAppended() const { return true; }

  // Takes the item out, which is no effect of its own.
  Value take(Translator& translator, size_t index);
  // After the change has been made.
  void recordEffect(Translator& translator, Effect effect);
  void recordRewrite(Translator& translator);
  void markRearranged(Translator& translator);

 private:
  friend class SequenceVariable;
  void guardLength(Translator& translator) const;

  mutable bool lengthGuarded_ = false;  // trailed
  bool rearranged_ = false;             // trailed
  // Items that were read by themselves, so that each is one value. Not trailed: they depend on
  // nothing that changes.
  mutable llvm::DenseMap<size_t, Value> single_;
};

class ListVariable : public MutableSequenceVariable {
 public:
  ARMATURE_KIND(List)
  explicit ListVariable(ValueVector items, PyTypeObject* type = &PyList_Type)
      : MutableSequenceVariable(VariableKind::List, type, std::move(items)) {}
  ListVariable(Translator& translator, const Source* source, BorrowedRef<> existing)
      : MutableSequenceVariable(VariableKind::List, translator, source, existing) {}

  // The list, which is empty, while it is sorted: whether any item has come meanwhile, gone again
  // or not. One sort may run inside of another.
  void beginSort(Translator& translator);
  bool endSort(Translator& translator);

 private:
  void noteMove(Translator& translator) override {
    if (!sorts_.empty()) noteItem(translator);
  }
  void noteReplacement(Translator& translator) override {
    if (!sorts_.empty() && !items().empty()) noteItem(translator);
  }
  void noteItem(Translator& translator);

  llvm::SmallVector<bool, 1> sorts_;  // from the outside; had items come in each?

  size_t existingSize() const override { return PyList_GET_SIZE(existing()); }
  PyObject* existingItem(size_t index) const override { return PyList_GET_ITEM(existing(), index); }
  SourceKind itemSource() const override { return SourceKind::ListItem; }
};

class SliceVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Slice)
  SliceVariable(Value start, Value stop, Value step, const Source* source = nullptr,
                BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Slice, &PySlice_Type, source, existing),
        start(std::move(start)),
        stop(std::move(stop)),
        step(std::move(step)) {}
  const Value start, stop, step;
};

// A tuple of these values: a constant where all are constants that a tuple constant may hold.
Value makeTuple(Translator& translator, ValueVector items);
// A slice likewise.
Value makeSlice(Translator& translator, Value start, Value stop, Value step);
// True for constants that may be parts of constant tuples, dict keys and so on: immutable data.
bool isConstantData(const Value& value);

}  // namespace armature

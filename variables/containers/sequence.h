// Lists, tuples and slices that hold something that is not a constant, or that may change.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "variables/variable_tracker.h"

namespace armature {

class Translator;

using ValueVector = llvm::SmallVector<Value, 4>;

// What lists and tuples share: their items.
class SequenceVariable : public VariableTracker {
 public:
  static bool classof(const VariableTracker* tracker) {
    return tracker->kind() == VariableKind::List || tracker->kind() == VariableKind::Tuple ||
           tracker->kind() == VariableKind::NamedTuple;
  }
  const ValueVector& items() const { return items_; }

 protected:
  SequenceVariable(VariableKind kind, PyTypeObject* type, ValueVector items, const Source* source,
                   BorrowedRef<> existing)
      : VariableTracker(kind, type, source, existing), items_(std::move(items)) {}
  friend class VariableBuilder;
  ValueVector items_;
};

class TupleVariable : public SequenceVariable {
 public:
  ARMATURE_KIND(Tuple)
  explicit TupleVariable(ValueVector items, const Source* source = nullptr,
                         BorrowedRef<> existing = nullptr)
      : SequenceVariable(VariableKind::Tuple, &PyTuple_Type, std::move(items), source, existing) {}
};

// An instance of a namedtuple or structseq type: a tuple with a class.
class NamedTupleVariable : public SequenceVariable {
 public:
  ARMATURE_KIND(NamedTuple)
  NamedTupleVariable(PyTypeObject* type, ValueVector items, const Source* source = nullptr,
                     BorrowedRef<> existing = nullptr)
      : SequenceVariable(VariableKind::NamedTuple, type, std::move(items), source, existing) {}
};

class ListVariable : public SequenceVariable {
 public:
  ARMATURE_KIND(List)
  explicit ListVariable(ValueVector items, const Source* source = nullptr,
                        BorrowedRef<> existing = nullptr)
      : SequenceVariable(VariableKind::List, &PyList_Type, std::move(items), source, existing) {}

  void append(Translator& translator, Value item);
  void setItem(Translator& translator, size_t index, Value item);
  // Takes out the item at `index`.
  Value pop(Translator& translator, size_t index);
  // Replaces all items at once (what sort, insert, slice assignment … do).
  void replace(Translator& translator, ValueVector items);

  // True once the trace has changed it. Trailed.
  bool modified() const { return modified_; }

 private:
  void noteMutation(Translator& translator);
  bool modified_ = false;
};

class SliceVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Slice)
  SliceVariable(Value start, Value stop, Value step)
      : VariableTracker(VariableKind::Slice, &PySlice_Type),
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

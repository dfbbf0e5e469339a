// Iterators that the trace holds by their state. Each is mutable; its position is trailed.
#pragma once

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

// iter() of a list, tuple, str, range, bytes or tensor: `sequence` by index.
class SequenceIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(SequenceIterator)
  SequenceIteratorVariable(PyTypeObject* type, Value sequence, int64_t step = 1, int64_t start = 0);
  Value sequence;      // a constant, a List/Tuple variable or a Tensor; null once exhausted
  const int64_t step;  // -1 for reversed()
  int64_t index;
  // The instance of a subclass of str, bytes or tuple that it walks over, whose data `sequence` is.
  Value whole;
  // A callable without arguments that makes such an iterator anew, where that does not iterate
  // `sequence`, a tuple of what it gives.
  Ref<> maker;
  // Of a constant or, once asked for, a tensor; -1: not known. Lists change theirs.
  int64_t length = -1;
  // A constant range whose items are machine integers: item i is rangeFirst + i * rangeStep.
  bool machineRange = false;
  int64_t rangeFirst = 0;
  int64_t rangeStep = 0;
};

class DictIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(DictIterator)
  // `order`: the items of a set, in the order in which it is iterated.
  DictIteratorVariable(PyTypeObject* type, VariableTracker* container, DictViewKind view,
                       size_t size, ValueVector order = {})
      : VariableTracker(VariableKind::DictIterator, type),
        container(container),
        view(view),
        order(std::move(order)),
        expectedSize(size),
        remaining(size) {}
  VariableTracker* const container;  // a Dict or Set variable
  const DictViewKind view;
  const ValueVector order;
  bool reversed = false;
  int32_t entryCount = 0;  // of the dict when the iterator was made
  // All trailed.
  size_t expectedSize;  // a change during iteration is a RuntimeError
  size_t remaining;
  int32_t position = 0;
  bool exhausted = false;
};

// iter() and reversed() of a dict or of a view of it.
Value makeDictIterator(Translator& translator, DictVariable* dict, DictViewKind view,
                       bool reversed);

// What follows may have existed before the trace: then the iterators within did as well.

class EnumerateVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Enumerate)
  EnumerateVariable(Value iterator, Value start, const Source* source = nullptr,
                    BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Enumerate, &PyEnum_Type, source, existing),
        iterator(std::move(iterator)),
        count(std::move(start)) {}
  const Value iterator;
  // An int, trailed. Of an existing one: that of the first step of the trace, which an item's
  // number depends on, but not the step.
  Value count;
  int64_t steps = 0;  // of the trace, if it is existing; trailed
};

class ZipVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Zip)
  ZipVariable(ValueVector iterators, Value strict, const Source* source = nullptr,
              BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Zip, &PyZip_Type, source, existing),
        iterators(std::move(iterators)),
        strict(std::move(strict)) {}
  const ValueVector iterators;
  const Value strict;  // a bool
};

class MapVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Map)
  MapVariable(Value function, ValueVector iterators, const Source* source = nullptr,
              BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Map, &PyMap_Type, source, existing),
        function(std::move(function)),
        iterators(std::move(iterators)) {}
  const Value function;
  const ValueVector iterators;
};

class FilterVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Filter)
  FilterVariable(Value function, Value iterator, const Source* source = nullptr,
                 BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Filter, &PyFilter_Type, source, existing),
        function(std::move(function)),
        iterator(std::move(iterator)) {}
  const Value function;  // None: truth
  const Value iterator;
};

// iter(function, sentinel)
class CallableIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(CallableIterator)
  CallableIteratorVariable(Value function, Value sentinel, const Source* source = nullptr,
                           BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::CallableIterator, &PyCallIter_Type, source, existing),
        function(std::move(function)),
        sentinel(std::move(sentinel)) {}
  // Both null, and trailed, once it has ended.
  Value function;
  Value sentinel;
};

// itertools.islice that existed before the trace.
class IsliceVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Islice)
  IsliceVariable(Value iterator, Value skip, Value stride, const Source* source,
                 BorrowedRef<> existing)
      : VariableTracker(VariableKind::Islice, Py_TYPE(existing), source, existing),
        skip(std::move(skip)),
        stride(std::move(stride)),
        iterator(std::move(iterator)) {}
  const Value skip;    // how many items it passes over before its first step in the trace
  const Value stride;  // from one item that it takes to the next
  // All trailed.
  Value iterator;     // null once it has ended
  int64_t asked = 0;  // how often it has asked its iterator since
  int64_t next = -1;  // how often it will have before the next step; -1: `skip` says that
};

// itertools.chain that existed before the trace.
class ChainVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Chain)
  ChainVariable(Value iterators, Value active, const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::Chain, Py_TYPE(existing), source, existing),
        iterators(std::move(iterators)),
        active(std::move(active)) {}
  // One that the trace makes.
  ChainVariable(PyTypeObject* type, Value iterators)
      : VariableTracker(VariableKind::Chain, type), iterators(std::move(iterators)) {}
  // Trailed; null for none.
  Value iterators;  // gives the iterables
  Value active;     // the iterator of the one at hand
};

}  // namespace armature

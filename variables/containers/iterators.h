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

class EnumerateVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Enumerate)
  EnumerateVariable(Value iterator, Value count)
      : VariableTracker(VariableKind::Enumerate, &PyEnum_Type),
        iterator(std::move(iterator)),
        count(std::move(count)) {}
  const Value iterator;
  Value count;  // constant int
};

class ZipVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Zip)
  ZipVariable(ValueVector iterators, bool strict)
      : VariableTracker(VariableKind::Zip, &PyZip_Type),
        iterators(std::move(iterators)),
        strict(strict) {}
  const ValueVector iterators;
  const bool strict;
};

class MapVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Map)
  MapVariable(Value function, ValueVector iterators)
      : VariableTracker(VariableKind::Map, &PyMap_Type),
        function(std::move(function)),
        iterators(std::move(iterators)) {}
  const Value function;
  const ValueVector iterators;
};

class FilterVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Filter)
  FilterVariable(Value function, Value iterator)
      : VariableTracker(VariableKind::Filter, &PyFilter_Type),
        function(std::move(function)),
        iterator(std::move(iterator)) {}
  const Value function;  // None: truth
  const Value iterator;
};

}  // namespace armature

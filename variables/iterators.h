// Iterators that the trace holds by their state. Each is mutable; its position is trailed.
#pragma once

#include "variables/dict.h"
#include "variables/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

// iter() of a list, tuple, str, range, bytes or tensor: `sequence` by index.
class SequenceIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(SequenceIterator)
  SequenceIteratorVariable(PyTypeObject* type, Value sequence, int64_t step = 1, int64_t start = 0)
      : VariableTracker(VariableKind::SequenceIterator, type),
        sequence(std::move(sequence)),
        step(step),
        index(start) {}
  Value sequence;   // a constant, a List/Tuple variable or a Tensor; null once exhausted
  const int64_t step;  // -1 for reversed()
  int64_t index;
};

class DictIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(DictIterator)
  DictIteratorVariable(PyTypeObject* type, VariableTracker* container, DictViewKind view,
                       size_t size)
      : VariableTracker(VariableKind::DictIterator, type),
        container(container),
        view(view),
        expectedSize(size) {}
  VariableTracker* const container;  // a Dict or Set variable
  const DictViewKind view;
  const size_t expectedSize;  // a change during iteration is a RuntimeError
  int32_t position = 0;
};

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

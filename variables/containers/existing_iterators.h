// Iterators of builtin types that existed before the trace.
//
// Where they stand is not asked: the items they give next are read ahead, each with a path that
// counts from there, so that one turn of a loop is like another. That they are taken is an effect.
#pragma once

#include "cpython/iterators.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

// One whose next items lie in an object, or are numbers (cpython::canLookAhead).
class ExistingIteratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(ExistingIterator)
  ExistingIteratorVariable(const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::ExistingIterator, Py_TYPE(existing), source, existing) {}

  // All trailed.
  int64_t taken = 0;   // items
  int64_t ahead = -1;  // how many items it had before what the trace has appended; -1: not known
  bool exhausted = false;
  // What it walks over, once that was looked at, if the trace may change it.
  Value container;
};

// What is known of the iterator `object` at `source`: the variable of a kind of its own, or null
// for one that is not looked into. Its type is guarded.
Value buildExistingIterator(Translator& translator, const Source* source, BorrowedRef<> object);

// How many items it still gives: guarded. Breaks where that cannot be said.
int64_t countAhead(Translator& translator, ExistingIteratorVariable* iterator);

}  // namespace armature

// Sorting by CPython's own algorithm, over traced values.
#pragma once

#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// Sorts as list.sort does, by the keys of the items, which without a key function are the items:
// the order of comparisons is CPython's. Where one has raised, the items are in the order that
// CPython would leave. Where one has pushed a frame, nothing is sorted.
enum class SortResult : uint8_t { Sorted, Raised, FramePushed };
struct SortOptions {
  // What the first comparisons have given, as bools; all others are added. Null: nobody asks.
  ListVariable* outcomes = nullptr;
  // Has the comparison behind those raised the exception that is pending?
  bool raised = false;
  // May comparisons push frames? Needs `outcomes`.
  bool tail = false;
};
SortResult sortValues(Translator& translator, ValueVector& items, ValueVector keys, bool reverse,
                      SortOptions options);

}  // namespace armature

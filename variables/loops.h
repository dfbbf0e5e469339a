// Loops of C code that call a Python function for each item. The frame of each call can be pushed
// (CallArguments::tail), so that a break in it costs its instruction; what the loop has then is in
// the operands of a continuation.
#pragma once

#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// All of these give null with the exception pending. `result` of those that go on: what the last
// call gave.

// The keys of list.sort and sorted, and then the sort: gives the new list, or None after filling
// `target`, the list that is sorted, which is empty meanwhile; `target` may be None.
Value sortByKeys(Translator& translator, ValueVector items, const Value& key, bool reverse,
                 const Value& target, bool tail);
Value goOnWithKeys(Translator& translator, llvm::ArrayRef<Value> operands, Value result, bool tail);
// Where a key raised: `target` gets its items back.
void giveUpKeys(Translator& translator, llvm::ArrayRef<Value> operands);

// min (Py_LT) or max (Py_GT) of what an iterator gives: the first item that no other one beats.
// `fallback`: a tuple of what there is for no items, or an empty one.
Value extremeByKeys(Translator& translator, const Value& iterator, const Value& key, int op,
                    const Value& fallback, bool tail);
Value goOnWithExtreme(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                      bool tail);

// list(iterable)
Value gatherItems(Translator& translator, Value iterable, bool tail);
// A null `result` is the end.
Value goOnGathering(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail);

}  // namespace armature

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

// The keys of list.sort and sorted (a None key: the items), and then the sort: gives the new list,
// or None after filling `target`, the list that is sorted, which is empty meanwhile; `target` may
// be None.
Value sortByKeys(Translator& translator, ValueVector items, const Value& key, bool reverse,
                 const Value& target, bool tail);
Value goOnWithKeys(Translator& translator, llvm::ArrayRef<Value> operands, Value result, bool tail);
// Where a key raised: `target` gets its items back.
void giveUpKeys(Translator& translator, llvm::ArrayRef<Value> operands);
// `result`: whether one key was less than another, or null with the exception pending. A sort in
// which a comparison pushes a frame begins anew when that returns, and is told what the comparisons
// gave so far.
Value goOnWithOrder(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail);

// min (Py_LT) or max (Py_GT) of what an iterator gives: the first item that no other one beats.
// `fallback`: a tuple of what there is for no items, or an empty one.
Value extremeByKeys(Translator& translator, const Value& iterator, const Value& key, int op,
                    const Value& fallback, bool tail);
// `result`: a key, or where the operands have no item, that. Null: there is no further item.
Value goOnWithExtreme(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                      bool tail);

// functools.reduce. `soFar`: a tuple of what it starts from, or an empty one.
Value reduceItems(Translator& translator, const Value& iterator, const Value& function,
                  const Value& soFar, bool tail);
// `result`: an item, or where the operands have one more, what the function gave. Null: there is no
// further item.
Value goOnReducing(Translator& translator, llvm::ArrayRef<Value> operands, Value result, bool tail);

// What C code does with each item of an iterator.
enum class ItemStep : uint8_t {
  Gather,          // appends it to the list that there is; the argument: see gatherFor()
  Extend,          // the same, to a list that others have, too
  Add,             // adds it to the set that there is
  Sum,             // adds it to the number that there is; the argument is a list of those that wait
  Any,             // whether one is true
  All,             // whether every one is true
  Find,            // whether one is equal to the argument
  Unpack,          // a tuple of as many as the argument says
  UnpackExtended,  // the same with a list in it: the argument is UNPACK_EX's
  Pairs,  // puts it, a pair, into the dict that there is; the argument: how many pairs came before
};
Value walkItems(Translator& translator, const Value& iterator, ItemStep step, Value soFar,
                const Value& argument, bool tail);
// A null `result` is the end.
Value goOnWithItems(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail);

// Does a step of it run a Python function, whose frame may be pushed?
bool stepsInPython(const Value& iterator);

// What is done with an item of a list or tuple that is equal to something.
enum class Search : uint8_t { Presence, Index, Count, Removal };
// From `start` to `stop`, or the end, which calls of __eq__ may move.
Value searchItems(Translator& translator, const Value& sequence, const Value& item, Search search,
                  int64_t start, int64_t stop, bool tail);
Value goOnSearching(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail);

// The call of a list of arguments and a dict of keywords or None.
Value callStarred(Translator& translator, llvm::ArrayRef<Value> operands, const Value& list,
                  bool tail);
// list(iterable)
Value gatherItems(Translator& translator, Value iterable, bool tail);
// A builtin function of an iterable, of which only the items matter to it: what it gives for the
// list of them. `call`: the function, the names of keywords or None, arguments before the iterable,
// those with keywords.
Value gatherFor(Translator& translator, ValueVector call, Value iterable, bool tail);

}  // namespace armature

// What lists, tuples and deques share in their slots and methods.
#pragma once

#include <algorithm>
#include <cstdint>

#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/indexing.h"
#include "variables/translator.h"
#include "variables/type_slots.h"

namespace armature {

// The type of the fields of the classes that namedtuple() makes.
PyTypeObject* tupleFieldType();

// The index of the item that a field descriptor of a namedtuple or structseq type reads, or -1.
int64_t tupleFieldIndex(PyTypeObject* type, PyObject* descriptor);

// The items of a list or a tuple, traced or constant; false for anything else. `storage` holds them
// where they have to be read from a constant; the view lasts as long as neither it nor the
// sequence changes.
bool itemsOf(const Value& value, ValueVector& storage, llvm::ArrayRef<Value>& items);

// _PyEval_SliceIndexNotNone, for the start and stop arguments of index(). False with the exception
// pending.
bool readBound(Translator& translator, Value bound, int64_t& result);
// What they are, counted from the end of so many items, and not below 0.
inline int64_t boundIn(int64_t bound, int64_t size) {
  return bound < 0 ? std::max<int64_t>(bound + size, 0) : bound;
}
// A key that is not a slice as the index of one of so many items. False with the exception pending:
// a TypeError with a text in which the name of the key's type goes, or an IndexError.
bool readItemIndex(Translator& translator, const Value& key, LengthOf length, const char* typeError,
                   const char* rangeError, int64_t& index);

// The arguments of repeat, checked: `count` copies of so many items. False with the exception
// pending.
bool readRepeatCount(Translator& translator, const Value& count, LengthOf length, int64_t& result);
// `count` copies of the items.
ValueVector repeatItems(llvm::ArrayRef<Value> items, int64_t count);
// The items that a slice selects.
ValueVector sliceItems(llvm::ArrayRef<Value> items, const SliceRange& range);

// seq_index and seq_count of list and tuple.
Value sequenceIndex(Translator& translator, const Value& self, CallArguments& arguments);
Value sequenceCount(Translator& translator, const Value& self, CallArguments& arguments);

// list.extend. False with the exception pending.
bool extendList(Translator& translator, ListVariable* list, const Value& iterable);
// iter(iterable); a TypeError with this message for what is not iterable.
Value iteratorOver(Translator& translator, const Value& iterable, const char* message);
// PySequence_Fast: all items; a TypeError with this message for what is not iterable.
bool readIterable(Translator& translator, Value iterable, const char* message, ValueVector& items);

// Slots of both.
Value sequenceLength(Translator& translator, const Value& self);
Value sequenceContains(Translator& translator, const Value& self, const Value& item);
// Lexicographic, for two sequences of the same kind.
Value compareSequences(Translator& translator, const Value& left, const Value& right, int op);
// The text of all items, for repr.
Value joinedRepr(Translator& translator, const Value& self, const char* open, const char* close);

}  // namespace armature

// Indexes and slices of sequences, as lists and tuples read them.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// Whether the type of the (realized) value has __index__.
bool hasIndex(Translator& translator, const Value& value);
// True for a slice, constant or traced.
bool isSlice(const Value& value);

// PyNumber_AsSsize_t(value, overflow): false with the exception pending. A null `overflow` clips.
bool readSize(Translator& translator, const Value& value, PyObject* overflow, int64_t& result);

// What C functions make of a Py_ssize_t argument. False with the exception pending.
bool readMachineSize(Translator& translator, const Value& value, int64_t& result);

// Raises what PyObject_SetItem and PyObject_DelItem of abstract.c raise for a container whose type
// takes no items; a sequence reads its index first. Null, for the caller to return.
Value raiseNoItemAssignment(Translator& translator, const Value& container, const Value& key,
                            bool deletes);

// The real slice that a slice stands for: its parts as None or int. Null with the exception
// pending.
Value toConstantSlice(Translator& translator, const Value& slice);

// The items that a slice selects of a sequence: `count` of them, from `start` in steps of `step`.
struct SliceRange {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  int64_t count = 0;
};
// The length of a container. It is asked for when all numbers that the program gave have been read:
// an __index__ may change the container.
using LengthOf = llvm::function_ref<size_t()>;
// PySlice_Unpack and PySlice_AdjustIndices; `slice` is one that isSlice. False with the exception
// pending.
bool readSlice(Translator& translator, const Value& slice, LengthOf length, SliceRange& result);

}  // namespace armature

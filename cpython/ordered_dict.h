// The order of an OrderedDict's keys, which lies beside the dict that it also is: move_to_end()
// changes it without the dict noticing.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

// A node of the list of keys, first to last; null at its end. The list stands as long as nothing
// changes the OrderedDict.
struct OrderedDictNode;

inline bool isOrderedDict(BorrowedRef<> dict) {
  return !PyDict_CheckExact(dict.get()) && PyODict_Check(dict.get());
}

const OrderedDictNode* firstNode(BorrowedRef<> orderedDict);
const OrderedDictNode* nextNode(const OrderedDictNode* node);
PyObject* keyOf(const OrderedDictNode* node);

}  // namespace armature::cpython

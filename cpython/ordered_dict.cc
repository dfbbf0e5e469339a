#include "cpython/ordered_dict.h"

namespace armature::cpython {

// Objects/odictobject.c keeps these to itself.
struct OrderedDictNode {
  PyObject* key;
  Py_hash_t hash;
  OrderedDictNode* next;
  OrderedDictNode* previous;
};

namespace {

struct OrderedDict {
  PyDictObject dict;
  OrderedDictNode* first;
  OrderedDictNode* last;
};

}  // namespace

const OrderedDictNode* firstNode(BorrowedRef<> orderedDict) {
  return reinterpret_cast<OrderedDict*>(orderedDict.get())->first;
}
const OrderedDictNode* nextNode(const OrderedDictNode* node) { return node->next; }
PyObject* keyOf(const OrderedDictNode* node) { return node->key; }

}  // namespace armature::cpython

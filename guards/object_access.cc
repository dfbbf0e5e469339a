#include "guards/object_access.h"

#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/deque_layout.h"
#include "cpython/instance_attributes.h"
#include "cpython/member_descriptors.h"
#include "cpython/ordered_dict.h"
#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"

namespace armature {
namespace {

// Calls visit(key) with the keys in order, as long as it returns true; false if it did not.
template <class Visit>
bool forEachKey(PyDictObject* dict, Visit visit) {
  auto* object = reinterpret_cast<PyObject*>(dict);
  if (cpython::isOrderedDict(object)) {
    for (auto* node = cpython::firstNode(object); node; node = cpython::nextNode(node))
      if (!visit(cpython::keyOf(node))) return false;
    return true;
  }
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(object, &position, &key, &value))
    if (!visit(key)) return false;
  return true;
}

bool isExpected(PyObject* key, PyObject* expected, const WeakCopies& copies) {
  return sameConstant(expected, key) || copies.isOriginalOf(key, expected);
}

}  // namespace

cpython::DictItem lookUp(PyDictObject* dict, BorrowedRef<> key, Py_hash_t hash) {
  return cpython::lookUp(dict, key, hash, equalKeys);
}

PyObject* keyAt(PyDictObject* dict, int64_t index) {
  PyObject* found = nullptr;
  forEachKey(dict, [&](PyObject* key) {
    found = index-- == 0 ? key : nullptr;
    return !found;
  });
  return found;
}

bool hasKeys(PyDictObject* dict, llvm::ArrayRef<PyObject*> keys, const WeakCopies& copies) {
  if (static_cast<size_t>(cpython::usedCount(dict)) != keys.size()) return false;
  size_t count = 0;
  bool isSame = forEachKey(dict, [&](PyObject* key) {
    return count < keys.size() && isExpected(key, keys[count++], copies);
  });
  // The order of an OrderedDict lacks keys that dict.__setitem__ has put in.
  return isSame && count == keys.size();
}

bool hasItems(PySetObject* set, llvm::ArrayRef<PyObject*> items, const WeakCopies& copies) {
  BorrowedRef<> object = reinterpret_cast<PyObject*>(set);
  if (static_cast<size_t>(PySet_GET_SIZE(object.get())) != items.size()) return false;
  size_t count = 0;
  for (cpython::SetEntry entry; cpython::nextEntry(object, entry);) {
    if (count == items.size() || !isExpected(entry.element, items[count++], copies)) return false;
  }
  return count == items.size();
}

bool holdsItem(PySetObject* set, BorrowedRef<> key, Py_hash_t hash) {
  // What comes first in the search is what the set has for equal keys.
  static constexpr cpython::KeyEquality kSame = [](BorrowedRef<> stored, BorrowedRef<> item) {
    return sameConstant(stored, item) ? Presence::Present : Presence::Absent;
  };
  return cpython::contains(reinterpret_cast<PyObject*>(set), key, hash, kSame) == Presence::Present;
}

Presence contains(PySetObject* set, BorrowedRef<> key, Py_hash_t hash) {
  return cpython::contains(reinterpret_cast<PyObject*>(set), key, hash, equalKeys);
}

int64_t lengthOf(BorrowedRef<> object) {
  PyObject* o = object;
  if (PyList_Check(o)) return PyList_GET_SIZE(o);
  if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o);
  if (PyDict_Check(o)) return cpython::usedCount(reinterpret_cast<PyDictObject*>(o));
  if (PyAnySet_Check(o)) return PySet_GET_SIZE(o);
  if (PyUnicode_Check(o)) return PyUnicode_GET_LENGTH(o);
  if (PyBytes_Check(o)) return PyBytes_GET_SIZE(o);
  if (PyByteArray_Check(o)) return PyByteArray_GET_SIZE(o);
  if (PyRange_Check(o)) {
    Py_ssize_t length = PyRange_Type.tp_as_sequence->sq_length(o);
    if (length < 0) clearException();
    return length;
  }
  return cpython::isDeque(o) ? cpython::dequeLength(o) : -1;
}

Presence containsAttribute(BorrowedRef<> object, BorrowedRef<> name, Py_hash_t hash) {
  PyObject** place = cpython::instanceDictPlace(object);
  if (!place) return Presence::Unknown;
  if (*place && PyDict_Check(*place))
    return lookUp(reinterpret_cast<PyDictObject*>(*place), name, hash).presence;
  return cpython::inlineValue(object, name) ? Presence::Present : Presence::Absent;
}

PyObject* instanceAttribute(BorrowedRef<> object, BorrowedRef<> name, Py_hash_t hash) {
  PyObject** place = cpython::instanceDictPlace(object);
  if (!place) return nullptr;
  if (*place && PyDict_Check(*place))
    return lookUp(reinterpret_cast<PyDictObject*>(*place), name, hash).value;
  return cpython::inlineValue(object, name);
}

bool hasInstanceAttributes(BorrowedRef<> object) {
  PyObject** place = cpython::instanceDictPlace(object);
  return place && *place && (!PyDict_Check(*place) || PyDict_GET_SIZE(*place) != 0);
}

bool hasAttribute(BorrowedRef<> object, BorrowedRef<> name) {
  PyObject* inType = cpython::lookup(Py_TYPE(object.get()), name);
  if (inType) {
    // A slot that was never set, or was deleted, raises AttributeError.
    return !cpython::isObjectMember(inType) || cpython::memberValue(object, inType);
  }
  if (PyType_Check(object.get()))
    return cpython::lookup(reinterpret_cast<PyTypeObject*>(object.get()), name);
  return instanceAttribute(object, name, PyObject_Hash(name));
}

bool isBindingDescriptor(BorrowedRef<> object) {
  PyTypeObject* type = Py_TYPE(object.get());
  return type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type;
}

bool isBoundBy(BorrowedRef<> object, BorrowedRef<> descriptor) {
  return PyCFunction_Check(object.get()) &&
         cpython::methodDefinition(object) == cpython::methodDefinition(descriptor);
}

}  // namespace armature

#include "guards/object_access.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_dict.h>
#undef Py_BUILD_CORE
#include <structmember.h>

#include <string_view>

#include "guards/constant.h"

namespace armature {
namespace {

// Would Python find two keys of the same hash equal?
Presence keyEquals(BorrowedRef<> stored, BorrowedRef<> key) {
  if (stored.get() == key.get()) return Presence::Present;
  if (isConstant(stored) && isConstant(key)) {
    int equal = PyObject_RichCompareBool(stored, key, Py_EQ);  // CPython's own code only
    if (equal < 0) PyErr_Clear();
    return equal > 0 ? Presence::Present : Presence::Absent;
  }
  // Types, functions, modules and most classes compare by identity.
  auto comparesByIdentity = [](BorrowedRef<> object) {
    return !Py_TYPE(object.get())->tp_richcompare ||
           Py_TYPE(object.get())->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  };
  bool decided = (comparesByIdentity(stored) || isConstant(stored)) &&
                 (comparesByIdentity(key) || isConstant(key));
  return decided ? Presence::Absent : Presence::Unknown;
}

// Index into the entries from one cell of the hash table (Objects/dictobject.c,
// dictkeys_get_index).
Py_ssize_t entryIndex(const PyDictKeysObject* keys, size_t cell) {
  int log2Size = keys->dk_log2_size;
  if (log2Size < 8) return reinterpret_cast<const int8_t*>(keys->dk_indices)[cell];
  if (log2Size < 16) return reinterpret_cast<const int16_t*>(keys->dk_indices)[cell];
  if (log2Size < 32) return reinterpret_cast<const int32_t*>(keys->dk_indices)[cell];
  return static_cast<Py_ssize_t>(reinterpret_cast<const int64_t*>(keys->dk_indices)[cell]);
}

// Probes the table in CPython's order. `match(index)` says of an entry whether it is the key.
template <class Match>
LookupResult probe(PyDictKeysObject* keys, Py_hash_t hash, Match match) {
  size_t mask = static_cast<size_t>(DK_SIZE(keys)) - 1;
  size_t perturb = static_cast<size_t>(hash);
  bool unknown = false;
  for (size_t cell = perturb & mask;;) {
    Py_ssize_t index = entryIndex(keys, cell);
    if (index == DKIX_EMPTY) return {unknown ? Presence::Unknown : Presence::Absent, nullptr};
    if (index >= 0) {
      LookupResult result = match(index);
      if (result.presence != Presence::Absent) return result;
    }
    perturb >>= 5;
    cell = (cell * 5 + perturb + 1) & mask;
  }
}

bool sameHashedString(BorrowedRef<> stored, BorrowedRef<> key, Py_hash_t hash) {
  return stored.get() == key.get() ||
         (reinterpret_cast<PyASCIIObject*>(stored.get())->hash == hash &&
          sameConstant(stored, key));
}

PyObject* valueOf(PyDictObject* dict, Py_ssize_t index, PyObject* inEntry) {
  return dict->ma_values ? dict->ma_values->values[index] : inEntry;
}

// How an OrderedDict keeps its order (Objects/odictobject.c), beside the dict that it is.
struct OrderedDictNode {
  PyObject* key;
  Py_hash_t hash;
  OrderedDictNode* next;
  OrderedDictNode* previous;
};
struct OrderedDict {
  PyDictObject dict;
  OrderedDictNode* first;
  OrderedDictNode* last;
};

// Is it so in this CPython?
bool isOrderedDictKnown() {
  static const bool known = [] {
    Ref<> dict = Ref<>::steal(PyODict_New());
    PyObject* keys[] = {Py_None, Py_True, Py_False};
    for (PyObject* key : keys) PyODict_SetItem(dict.get(), key, key);
    Ref<> moved = Ref<>::steal(PyObject_CallMethod(dict.get(), "move_to_end", "O", Py_None));
    PyErr_Clear();
    if (!moved || PyODict_Type.tp_basicsize < static_cast<Py_ssize_t>(sizeof(OrderedDict)))
      return false;
    const OrderedDictNode* first = reinterpret_cast<OrderedDict*>(dict.get())->first;
    return first->key == Py_True && first->next->key == Py_False &&
           first->next->next->key == Py_None && !first->next->next->next;
  }();
  return known;
}

// Calls visit(key) with the keys in order, as long as it returns true; false if it did not, or if
// the order cannot be read.
template <class Visit>
bool forEachKey(PyDictObject* dict, Visit visit) {
  auto* object = reinterpret_cast<PyObject*>(dict);
  if (!PyDict_CheckExact(object) && PyODict_Check(object)) {
    if (!isOrderedDictKnown()) return false;
    for (auto* node = reinterpret_cast<OrderedDict*>(dict)->first; node; node = node->next)
      if (!visit(node->key)) return false;
    return true;
  }
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(object, &position, &key, &value))
    if (!visit(key)) return false;
  return true;
}

}  // namespace

LookupResult lookUp(PyDictObject* dict, BorrowedRef<> key, Py_hash_t hash) {
  PyDictKeysObject* keys = dict->ma_keys;
  if (!DK_IS_UNICODE(keys)) {
    PyDictKeyEntry* entries = DK_ENTRIES(keys);
    return probe(keys, hash, [&](Py_ssize_t index) -> LookupResult {
      PyDictKeyEntry& entry = entries[index];
      if (entry.me_key != key.get() && entry.me_hash != hash) return {};
      Presence presence = keyEquals(entry.me_key, key);
      return {presence, presence == Presence::Present ? entry.me_value : nullptr};
    });
  }
  if (!PyUnicode_CheckExact(key)) {
    // All keys are exact strings, and only a subclass of str could equal one of them.
    bool mayEqual = !isConstant(key) && Py_TYPE(key.get())->tp_richcompare &&
                    Py_TYPE(key.get())->tp_richcompare != PyBaseObject_Type.tp_richcompare;
    return {mayEqual ? Presence::Unknown : Presence::Absent, nullptr};
  }
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  return probe(keys, hash, [&](Py_ssize_t index) -> LookupResult {
    PyObject* value = valueOf(dict, index, entries[index].me_value);
    // A split table knows keys that this dict has not.
    if (!value || !sameHashedString(entries[index].me_key, key, hash)) return {};
    return {Presence::Present, value};
  });
}

PyObject* keyAt(PyDictObject* dict, int64_t index) {
  PyObject* found = nullptr;
  forEachKey(dict, [&](PyObject* key) {
    found = index-- == 0 ? key : nullptr;
    return !found;
  });
  return found;
}

bool hasKeys(PyDictObject* dict, BorrowedRef<> keys) {
  Py_ssize_t size = PyList_GET_SIZE(keys.get()), count = 0;
  if (dict->ma_used != size) return false;
  return forEachKey(dict, [&](PyObject* key) {
    return count < size && sameConstant(PyList_GET_ITEM(keys.get(), count++), key);
  });
}

Presence contains(PySetObject* set, BorrowedRef<> key, Py_hash_t hash) {
  Py_ssize_t position = 0;
  PyObject* element;
  Py_hash_t elementHash;
  Presence result = Presence::Absent;
  while (_PySet_NextEntry(reinterpret_cast<PyObject*>(set), &position, &element, &elementHash)) {
    if (elementHash != hash) continue;
    Presence presence = keyEquals(element, key);
    if (presence == Presence::Present) return presence;
    if (presence == Presence::Unknown) result = presence;
  }
  return result;
}

Py_hash_t hashWithoutCode(BorrowedRef<> key) {
  if (!isConstant(key) && Py_TYPE(key.get())->tp_hash != PyBaseObject_Type.tp_hash) {
    // A C type's hash is its own business; a Python class's is the program's.
    if (Py_TYPE(key.get())->tp_flags & Py_TPFLAGS_HEAPTYPE || PyTuple_Check(key.get())) return -1;
  }
  Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) PyErr_Clear();
  return hash;
}

int64_t lengthOf(BorrowedRef<> object) {
  PyObject* o = object;
  if (PyList_Check(o)) return PyList_GET_SIZE(o);
  if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o);
  if (PyDict_Check(o)) return reinterpret_cast<PyDictObject*>(o)->ma_used;
  if (PyAnySet_Check(o)) return reinterpret_cast<PySetObject*>(o)->used;
  if (PyUnicode_Check(o)) return PyUnicode_GET_LENGTH(o);
  if (PyBytes_Check(o)) return PyBytes_GET_SIZE(o);
  if (PyByteArray_Check(o)) return PyByteArray_GET_SIZE(o);
  if (PyRange_Check(o)) {
    Py_ssize_t length = PyRange_Type.tp_as_sequence->sq_length(o);
    if (length < 0) PyErr_Clear();
    return length;
  }
  // collections.deque counts in ob_size (Modules/_collectionsmodule.c, deque_len).
  for (PyTypeObject* type = Py_TYPE(o); type; type = type->tp_base)
    if (std::string_view(type->tp_name) == "collections.deque" && type->tp_itemsize == 0 &&
        !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
      return Py_SIZE(o);
  return -1;
}

#if PY_VERSION_HEX < 0x030C0000

// CPython 3.11 keeps the two words of a managed dict before the object's header
// (pycore_object.h, _PyObject_ManagedDictPointer and _PyObject_ValuesPointer).
namespace {
constexpr int managedDictWord = -3;
constexpr int valuesWord = -4;
}  // namespace

int32_t instanceDictOffset(const PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT)
    return managedDictWord * static_cast<int32_t>(sizeof(PyObject*));
  return type->tp_dictoffset > 0 ? static_cast<int32_t>(type->tp_dictoffset) : 0;
}

PyObject** instanceDictPlace(BorrowedRef<> object) {
  if (int32_t offset = instanceDictOffset(Py_TYPE(object.get())))
    return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object.get()) + offset);
  // Of variable size, or none at all; never a managed one, which this would create.
  return _PyObject_GetDictPtr(object);
}

PyObject* instanceValue(BorrowedRef<> object, BorrowedRef<> name) {
  PyTypeObject* type = Py_TYPE(object.get());
  if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return nullptr;
  auto* values = reinterpret_cast<PyDictValues**>(object.get())[valuesWord];
  if (!values) return nullptr;
  PyDictKeysObject* keys = reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  // At most SHARED_KEYS_MAX_SIZE (30) of them, nearly always interned like `name`.
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (entries[i].me_key == name.get()) return values->values[i];
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (sameConstant(entries[i].me_key, name)) return values->values[i];
  return nullptr;
}

#else

int32_t instanceDictOffset(const PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return 0;
  return type->tp_dictoffset > 0 ? static_cast<int32_t>(type->tp_dictoffset) : 0;
}

PyObject** instanceDictPlace(BorrowedRef<> object) { return _PyObject_GetDictPtr(object); }

PyObject* instanceValue(BorrowedRef<>, BorrowedRef<>) { return nullptr; }

#endif

PyObject* instanceAttribute(BorrowedRef<> object, BorrowedRef<> name, Py_hash_t hash) {
  PyObject** place = instanceDictPlace(object);
  if (!place) return nullptr;
  if (*place && PyDict_Check(*place))
    return lookUp(reinterpret_cast<PyDictObject*>(*place), name, hash).value;
  return instanceValue(object, name);
}

bool hasAttribute(BorrowedRef<> object, BorrowedRef<> name) {
  PyObject* inType = _PyType_Lookup(Py_TYPE(object.get()), name);
  if (inType) {
    // A slot that was never set, or was deleted, raises AttributeError.
    return !isObjectMember(inType) || memberValue(object, inType);
  }
  if (PyType_Check(object.get()))
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object.get()), name);
  return instanceAttribute(object, name, PyObject_Hash(name));
}

bool isObjectMember(BorrowedRef<> descriptor) {
  if (Py_TYPE(descriptor.get()) != &PyMemberDescr_Type) return false;
  int type = reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member->type;
  return type == T_OBJECT || type == T_OBJECT_EX;
}

PyObject* memberValue(BorrowedRef<> object, BorrowedRef<> descriptor) {
  auto* member = reinterpret_cast<PyMemberDescrObject*>(descriptor.get());
  if (!PyObject_TypeCheck(object.get(), PyDescr_TYPE(member))) return nullptr;
  PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object.get()) +
                                                  member->d_member->offset);
  return value || member->d_member->type == T_OBJECT_EX ? value : Py_None;
}

}  // namespace armature

#include "cpython/dict_layout.h"

#include "cpython/internal_dict.h"

namespace armature::cpython {

namespace {

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
DictItem probe(PyDictKeysObject* keys, Py_hash_t hash, Match match) {
  size_t mask = static_cast<size_t>(DK_SIZE(keys)) - 1;
  size_t perturb = static_cast<size_t>(hash);
  for (size_t cell = perturb & mask;;) {
    Py_ssize_t index = entryIndex(keys, cell);
    if (index == DKIX_EMPTY) return {};
    if (index >= 0) {
      // A key that may be equal hides those that are probed later.
      DictItem result = match(index);
      if (result.presence != Presence::Absent) return result;
    }
    perturb >>= 5;
    cell = (cell * 5 + perturb + 1) & mask;
  }
}

bool sameHashedString(BorrowedRef<> stored, BorrowedRef<> key, Py_hash_t hash) {
  return stored.get() == key.get() ||
         (reinterpret_cast<PyASCIIObject*>(stored.get())->hash == hash &&
          PyUnicode_Compare(stored, key) == 0);
}

PyObject* valueOf(PyDictObject* dict, Py_ssize_t index, PyObject* inEntry) {
  return dict->ma_values ? dict->ma_values->values[index] : inEntry;
}

}  // namespace

DictItem lookUp(PyDictObject* dict, BorrowedRef<> key, Py_hash_t hash, KeyEquality equality) {
  PyDictKeysObject* keys = dict->ma_keys;
  if (!DK_IS_UNICODE(keys)) {
    PyDictKeyEntry* entries = DK_ENTRIES(keys);
    return probe(keys, hash, [&](Py_ssize_t index) -> DictItem {
      PyDictKeyEntry& entry = entries[index];
      if (entry.me_key == key.get()) return {Presence::Present, entry.me_value};
      if (entry.me_hash != hash) return {};
      Presence presence = equality(entry.me_key, key);
      return {presence, presence == Presence::Present ? entry.me_value : nullptr};
    });
  }
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  bool isString = PyUnicode_CheckExact(key);
  return probe(keys, hash, [&](Py_ssize_t index) -> DictItem {
    PyObject* value = valueOf(dict, index, entries[index].me_value);
    // A split table knows keys that this dict has not.
    if (!value) return {};
    PyObject* stored = entries[index].me_key;
    if (isString) {
      if (!sameHashedString(stored, key, hash)) return {};
      return {Presence::Present, value};
    }
    if (reinterpret_cast<PyASCIIObject*>(stored)->hash != hash) return {};
    Presence presence = equality(stored, key);
    return {presence, presence == Presence::Present ? value : nullptr};
  });
}

}  // namespace armature::cpython

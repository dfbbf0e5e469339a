#include "cpython/set_entries.h"

#include <algorithm>

namespace armature::cpython {

namespace {

// The hash of a removed element, which no key has.
constexpr Py_hash_t kRemoved = -1;

PySetObject* tableOf(PyObject* set) { return reinterpret_cast<PySetObject*>(set); }

}  // namespace

Presence contains(BorrowedRef<> set, BorrowedRef<> key, Py_hash_t hash, KeyEquality equality) {
  // The order in which Objects/setobject.c, set_lookkey, looks at the table: runs of neighbours.
  constexpr size_t neighbours = 9;
  const auto* object = reinterpret_cast<PySetObject*>(set.get());
  size_t mask = static_cast<size_t>(object->mask);
  size_t perturb = static_cast<size_t>(hash);
  for (size_t cell = perturb & mask;;) {
    size_t last = cell + neighbours <= mask ? cell + neighbours : cell;
    for (size_t at = cell; at <= last; ++at) {
      const setentry& entry = object->table[at];
      if (!entry.key && entry.hash == 0) return Presence::Absent;
      if (entry.key == key.get()) return Presence::Present;
      if (entry.hash != hash) continue;  // as that of a removed element, kRemoved
      Presence presence = equality(entry.key, key);
      if (presence != Presence::Absent) return presence;
    }
    perturb >>= 5;
    cell = (cell * 5 + 1 + perturb) & mask;
  }
}

bool haveSameTable(PyObject* a, PyObject* b, bool (*same)(BorrowedRef<>, BorrowedRef<>)) {
  PySetObject *x = tableOf(a), *y = tableOf(b);
  if (!haveLikeTables(a, b) || x->finger != y->finger) return false;
  for (Py_ssize_t cell = 0; cell <= x->mask; ++cell) {
    const setentry &one = x->table[cell], &other = y->table[cell];
    // The hashes tell empty cells and those of removed elements apart.
    if (one.hash != other.hash || !one.key != !other.key) return false;
    if (one.key != other.key && !same(one.key, other.key)) return false;
  }
  return true;
}

bool takeTable(PyObject* target, PyObject* set) {
  PySetObject *made = tableOf(target), *source = tableOf(set);
  Py_ssize_t cells = source->mask + 1;
  setentry* table = made->smalltable;
  if (source->table != source->smalltable) {
    table = PyMem_New(setentry, cells);
    if (!table) {
      PyErr_NoMemory();
      return false;
    }
  }
  std::copy_n(source->table, cells, table);
  for (Py_ssize_t cell = 0; cell < cells; ++cell) {
    // What stands for a removed element is not counted (Objects/setobject.c, set_discard_entry).
    if (table[cell].hash != kRemoved) Py_XINCREF(table[cell].key);
  }
  made->table = table;
  made->mask = source->mask;
  made->fill = source->fill;
  made->used = source->used;
  made->finger = source->finger;
  return true;
}

Ref<> copyTable(PyTypeObject* type, PyObject* set) {
  // frozenset() is one object that all share.
  Ref<> made = Ref<>::steal(type->tp_alloc(type, 0));
  if (!made) return nullptr;
  PySetObject* table = tableOf(made.get());
  table->mask = PySet_MINSIZE - 1;
  table->table = table->smalltable;
  table->hash = -1;
  return takeTable(made.get(), set) ? std::move(made) : nullptr;
}

Ref<> copyTable(PyObject* set, llvm::ArrayRef<PyObject*> elements) {
  Ref<> made = copyTable(&PyFrozenSet_Type, set);
  if (!made) return nullptr;
  PySetObject* table = tableOf(made.get());
  size_t next = 0;
  for (Py_ssize_t cell = 0; cell <= table->mask; ++cell) {
    setentry& entry = table->table[cell];
    if (!entry.key || entry.hash == kRemoved) continue;
    PyObject* element = elements[next++];
    Py_hash_t hash = PyObject_Hash(element);
    if (hash == -1) return nullptr;
    if (hash == entry.hash) Py_SETREF(entry.key, Py_NewRef(element));
  }
  return made;
}

}  // namespace armature::cpython

#include "cpython/set_entries.h"

namespace armature::cpython {

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
      if (entry.hash != hash) continue;  // a removed element's hash is -1, which no key has
      Presence presence = equality(entry.key, key);
      if (presence != Presence::Absent) return presence;
    }
    perturb >>= 5;
    cell = (cell * 5 + 1 + perturb) & mask;
  }
}

}  // namespace armature::cpython

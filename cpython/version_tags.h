// Versions by which an unchanged dict or type is recognized without looking into it.
//
// A version is unique: no two dicts ever have the same one, nor one dict at two times with a change
// between them; so an equal version means the same object with the same content, even if addresses
// were reused. 0 stands for "cannot tell".
//
// 3.11 and 3.12 number every change of a dict (PEP 509). 3.13 has no such number; there, dict
// watchers (PyDict_Watch, since 3.12) have to tell us.
//
// One wrinkle of 3.11: when `o.x = new` runs specialized (STORE_ATTR_WITH_HINT), the old value is
// released before the dict's version changes. A finalizer that runs in between sees the old version
// and the new value.
#pragma once

#include <cstdint>

#include "core/ref.h"

namespace armature::cpython {

inline uint64_t contentVersion(const PyDictObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return dict->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

// The version of everything that attribute lookup in the type can find, in the type or in its
// bases. Valid only while the flag is set: CPython may leave a number behind when it could not give
// one to all bases (Objects/typeobject.c, assign_version_tag). It changes when the type or a base
// changes; a lookup gives a new one.
inline uint64_t contentVersion(const PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG ? type->tp_version_tag : 0;
}

}  // namespace armature::cpython

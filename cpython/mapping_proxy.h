// types.MappingProxyType: the mapping behind a proxy, which Python code does not get at.
#pragma once

#include "core/ref.h"

namespace armature::cpython {

inline bool isMappingProxy(BorrowedRef<> object) {
  return Py_TYPE(object.get()) == &PyDictProxy_Type;
}

// The mapping, borrowed (Objects/descrobject.c, mappingproxyobject). `proxy` is an instance of
// PyDictProxy_Type.
inline PyObject* proxiedMapping(BorrowedRef<> proxy) {
  return *reinterpret_cast<PyObject**>(proxy.get() + 1);
}

}  // namespace armature::cpython

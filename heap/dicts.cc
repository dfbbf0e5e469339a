// Facts about what dicts hold.
#include "heap/heap.h"

namespace armature {

Found Heap::item(const Source* source, PyObject* dict, PyObject* key) {
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (!value) PyErr_Clear();
  depend(source, value ? GuardType::DICT_CONTAINS : GuardType::DICT_NOT_CONTAINS, key);
  if (!value) return {};
  return {value, sources_.item(SourceKind::DictItem, source, key)};
}

}  // namespace armature

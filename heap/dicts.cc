// Facts about what dicts and sets hold.
#include <optional>

#include "core/describe.h"
#include "core/graph_break.h"
#include "guards/object_access.h"
#include "heap/heap.h"

namespace armature {

Found Heap::item(const Source* source, PyObject* dict, PyObject* key) {
  std::optional<Py_hash_t> hash = hashWithoutCode(key);
  cpython::DictItem found;
  if (hash) found = lookUp(reinterpret_cast<PyDictObject*>(dict), key, *hash);
  if (!hash || found.presence == Presence::Unknown) {
    throw GraphBreak(GraphBreakKind::KeyComparedByProgram, describe(key));
  }
  PyObject* value = found.value;
  depend(source, value ? GuardType::DICT_CONTAINS : GuardType::DICT_NOT_CONTAINS, key);
  if (!value) return {};
  return {value, sources_.item(SourceKind::DictItem, source, key)};
}

bool Heap::hasItem(const Source* source, PyObject* set, PyObject* item) {
  std::optional<Py_hash_t> hash = hashWithoutCode(item);
  Presence found = Presence::Unknown;
  if (hash) found = contains(reinterpret_cast<PySetObject*>(set), item, *hash);
  if (found == Presence::Unknown) {
    throw GraphBreak(GraphBreakKind::KeyComparedByProgram, describe(item));
  }
  bool isThere = found == Presence::Present;
  if (source) depend(source, isThere ? GuardType::SET_CONTAINS : GuardType::SET_NOT_CONTAINS, item);
  return isThere;
}

bool Heap::hasNoHooks(const Source* source, PyObject* dict, llvm::ArrayRef<PyObject*> names) {
  if (wasAsked(source, GuardType::EMPTY_NN_MODULE_HOOKS_DICT, names.data())) return true;
  for (PyObject* name : names) {
    Found hooks = item(source, dict, name);
    if (!hooks || !PyDict_Check(hooks.object) || PyDict_GET_SIZE(hooks.object) != 0) return false;
    depend(hooks.source, GuardType::EMPTY_NN_MODULE_HOOKS_DICT);
  }
  isNew(source, GuardType::EMPTY_NN_MODULE_HOOKS_DICT, names.data());
  return true;
}

}  // namespace armature

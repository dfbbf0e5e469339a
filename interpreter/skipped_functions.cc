#include "interpreter/skipped_functions.h"

#include <string_view>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/dict_layout.h"

namespace armature {

namespace {

cpython::Presence cannotTell(BorrowedRef<>, BorrowedRef<>) { return cpython::Presence::Unknown; }

// The __name__ in them; null where there is none.
PyObject* moduleName(BorrowedRef<> globals) {
  static PyObject* const key = staticName("__name__");
  if (!globals || !PyDict_Check(globals.get())) return nullptr;
  PyObject* found = cpython::lookUp(reinterpret_cast<PyDictObject*>(globals.get()), key,
                                    PyObject_Hash(key), cannotTell)
                        .value;
  return found && PyUnicode_CheckExact(found) ? found : nullptr;
}

}  // namespace

bool writesMethods(BorrowedRef<> globals, BorrowedRef<> name) {
  if (PyUnicode_CompareWithASCIIString(name, "_process_class") != 0) return false;
  PyObject* module = moduleName(globals);
  return module && PyUnicode_CompareWithASCIIString(module, "dataclasses") == 0;
}

bool SkippedModules::containsName(BorrowedRef<> globals) const {
  PyObject* found = moduleName(globals);
  if (!found) return false;
  const std::string module = printable(found);
  for (const Ref<>& skipped : names_) {
    const std::string name = printable(skipped);
    if (module.compare(0, name.size(), name) != 0) continue;
    if (module.size() == name.size() || module[name.size()] == '.') return true;
  }
  return false;
}

}  // namespace armature

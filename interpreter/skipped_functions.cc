#include "interpreter/skipped_functions.h"

#include <string_view>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/dict_layout.h"

namespace armature {

namespace {

cpython::Presence cannotTell(BorrowedRef<>, BorrowedRef<>) { return cpython::Presence::Unknown; }

}  // namespace

bool SkippedModules::containsName(BorrowedRef<> globals) const {
  static PyObject* const key = staticName("__name__");
  if (!PyDict_Check(globals.get())) return false;
  PyObject* found = cpython::lookUp(reinterpret_cast<PyDictObject*>(globals.get()), key,
                                    PyObject_Hash(key), cannotTell)
                        .value;
  if (!found || !PyUnicode_CheckExact(found)) return false;
  const std::string module = printable(found);
  for (const Ref<>& skipped : names_) {
    const std::string name = printable(skipped);
    if (module.compare(0, name.size(), name) != 0) continue;
    if (module.size() == name.size() || module[name.size()] == '.') return true;
  }
  return false;
}

}  // namespace armature

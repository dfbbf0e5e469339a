// Where the modules of a Python package keep an object, by identity.
//
// A function's __module__ and __name__ are the function's own claims: anybody can set them, and
// functools.wraps copies them. Here they only tell where to look first; what counts is that the
// dict of a module of the package holds that very object, or is the globals that the function
// reads.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/ref.h"

namespace armature {

// The text of a str; empty for anything else, and for what is no text (surrogates).
std::string_view stringView(BorrowedRef<> object);

class PackageModules {
 public:
  explicit PackageModules(std::string_view package) : package_(package) {}

  // The name of the package's module whose dict this is ("torch.nn.functional"); empty if there is
  // none. Once a name has been given to a dict, no other dict gets it.
  std::string_view moduleOf(BorrowedRef<> dict);
  // The dict of an imported module of the package, or null.
  PyObject* dictOf(std::string_view module);

  // Where a Python function (an instance of PyFunction_Type) was defined. `module` is empty if not
  // in this package; `name` is empty if no attribute of the module holds the function (it is a
  // method, or was made by a call).
  struct Home {
    std::string_view module;
    std::string_view name;
  };
  Home homeOf(BorrowedRef<> function);
  // The module whose file the Python function's code stands in and whose globals it has; empty if
  // there is none. What a program makes with a module's globals, or gives other code, is none of
  // the module's.
  std::string_view definedIn(BorrowedRef<> function);
  // Has the Python function the globals of a module that it is not defined in?
  bool isForeign(BorrowedRef<> function);
  // True if the class is an attribute of the package's module that it claims to come from.
  bool holdsClass(BorrowedRef<PyTypeObject> type);

 private:
  bool isPackageName(std::string_view name) const;

  std::string package_;
  llvm::DenseMap<PyObject*, std::string_view> nameOfDict_;
  llvm::StringMap<PyObject*> dictOfName_;
  std::vector<Ref<>> kept_;  // the dicts
};

}  // namespace armature

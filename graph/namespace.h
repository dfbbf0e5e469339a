// Unique names for nodes, by the rules of FX: what TorchDynamo calls a node, we call it too.
#pragma once

#include <Python.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <string_view>

namespace armature {

class Namespace {
 public:
  Namespace();
  // The candidate where it is a free identifier that shadows no builtin; else with a number.
  std::string createName(std::string_view candidate);

 private:
  bool isReserved(const std::string& name) const;

  PyObject* builtins_;  // the dict of the module; borrowed
  llvm::StringSet<> used_;
  // The last number given to names of the form base_number.
  llvm::StringMap<int64_t> numbers_;
};

// Lower case, with an underscore between a lower-case and an upper-case letter.
std::string snakeCase(std::string_view text);

}  // namespace armature

#include "variables/data_errors.h"

#include <llvm/ADT/SmallVector.h>

namespace armature {

namespace {

llvm::SmallVector<std::pair<ArrayLibraryKind, MayRaiseOnData>, 2>& registered() {
  static auto* const all = new llvm::SmallVector<std::pair<ArrayLibraryKind, MayRaiseOnData>, 2>;
  return *all;
}

DataErrorsAreObserved& observed() {
  static DataErrorsAreObserved function = nullptr;
  return function;
}

}  // namespace

void registerDataErrorsAreObserved(DataErrorsAreObserved function) { observed() = function; }

bool dataErrorsAreObserved(Translator& translator, const Node& node) {
  return !observed() || observed()(translator, node);
}

void registerMayRaiseOnData(ArrayLibraryKind library, MayRaiseOnData function) {
  registered().push_back({library, function});
}

bool mayRaiseOnData(const Node& node, PyObject* error) {
  for (const auto& [library, function] : registered()) {
    if (library == node.library) return function(node, error);
  }
  return true;
}

}  // namespace armature

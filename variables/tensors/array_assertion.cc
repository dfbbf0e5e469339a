#include "variables/tensors/array_assertion.h"

#include <map>

#include "variables/tensors/tensor.h"

namespace armature {

namespace {

std::map<ArrayLibraryKind, ArrayAssertion>& assertions() {
  static auto* const all = new std::map<ArrayLibraryKind, ArrayAssertion>();
  return *all;
}

}  // namespace

void registerArrayAssertion(ArrayLibraryKind library, ArrayAssertion assertion) {
  assertions()[library] = assertion;
}

ArrayAssertion findArrayAssertion(const TensorVariable* array) {
  auto found = assertions().find(array->libraryKind());
  return found == assertions().end() ? nullptr : found->second;
}

}  // namespace armature

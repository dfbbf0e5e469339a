#include "variables/tensors/array_assertion.h"

#include <map>

#include "variables/tensors/tensor.h"

namespace armature {

namespace {

struct Registered {
  ArrayAssertion function = nullptr;
  PyObject* target = nullptr;
};

std::map<ArrayLibraryKind, Registered>& assertions() {
  static auto* const all = new std::map<ArrayLibraryKind, Registered>();
  return *all;
}

const Registered* find(ArrayLibraryKind library) {
  auto found = assertions().find(library);
  return found == assertions().end() ? nullptr : &found->second;
}

}  // namespace

void registerArrayAssertion(ArrayLibraryKind library, ArrayAssertion assertion,
                            BorrowedRef<> target) {
  assertions()[library] = {assertion, Py_NewRef(target.get())};
}

ArrayAssertion findArrayAssertion(const TensorVariable* array) {
  const Registered* found = find(array->libraryKind());
  return found ? found->function : nullptr;
}

bool isArrayAssertion(const Node& node) {
  const Registered* found = find(node.library);
  return found && node.target.get() == found->target;
}

}  // namespace armature

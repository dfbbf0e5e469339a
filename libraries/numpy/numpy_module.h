// What the rules need of the imported numpy: its types, its dtypes, how to silence it.
#pragma once

#include <array>

#include <llvm/ADT/DenseMap.h>

#include "core/ref.h"
#include "shapes/tensor_metadata.h"

namespace armature {

struct NumPyModule {
  // NPY_TYPES numbers that NumPy itself defines.
  static constexpr size_t kDTypeCount = 24;

  Ref<> numpy;
  Ref<PyTypeObject> arrayType;
  Ref<PyTypeObject> scalarBase;  // numpy.generic
  Ref<PyTypeObject> ufuncType;
  // Of the numbers (bool, integers, floats, complex); null for all others.
  std::array<Ref<>, kDTypeCount> dtypes;
  std::array<PyTypeObject*, kDTypeCount> scalarTypes = {};
  llvm::DenseMap<PyTypeObject*, DType> numberOfScalarType;
  // The context variable of the floating-point error handling, and its values for "ignore all" and
  // "raise all".
  Ref<> errorHandling;
  Ref<> ignoreErrors;
  Ref<> raiseErrors;

  // Once numpy is completely imported; null before, and where it is not as we know it.
  static const NumPyModule* get();

  // An attribute of numpy or of one of its modules: "linalg.norm"; null, with no exception set,
  // where this NumPy has none.
  Ref<> attribute(const char* path) const;

 private:
  bool load();
};

}  // namespace armature

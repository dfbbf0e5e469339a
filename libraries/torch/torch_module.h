// The objects of the imported torch that the library compares with.
#pragma once

#include <string_view>

#include "core/ref.h"

namespace armature {

// Kept for the life of the process, as torch itself is.
struct TorchModule {
  Ref<> torch;
  Ref<PyTypeObject> tensorType;
  Ref<> variableFunctions;  // torch._C._VariableFunctions, home of torch.add and the like
  Ref<PyTypeObject> opOverload;
  Ref<PyTypeObject> opOverloadPacket;
  Ref<PyTypeObject> higherOrderOperator;
  Ref<> schemasForOperator;  // torch._C._jit_get_schemas_for_operator

  // Null while torch is not imported, or not completely. Imports nothing.
  static const TorchModule* get();
};

// The text of a str; empty for anything else.
std::string_view stringView(BorrowedRef<> object);

}  // namespace armature

// The objects of the imported torch that the library compares with.
#pragma once

#include "core/ref.h"
#include "libraries/package_modules.h"

namespace armature {

// Kept for the life of the process, as torch itself is.
struct TorchModule {
  Ref<> torch;
  Ref<PyTypeObject> tensorType;
  Ref<PyTypeObject> parameterType;
  Ref<> variableFunctions;  // torch._C._VariableFunctions, home of torch.add and the like
  Ref<PyTypeObject> opOverload;
  Ref<PyTypeObject> opOverloadPacket;
  Ref<PyTypeObject> higherOrderOperator;
  Ref<> schemasForOperator;  // torch._C._jit_get_schemas_for_operator
  Ref<> isAliasOf;           // torch._C._is_alias_of: do two tensors share their storage?

  // torch's modules, by identity.
  static PackageModules& modules();
  // Null while torch is not imported, or not completely. Imports nothing.
  static const TorchModule* get();
};

// A function of torch._C, for static variables. Throws where this torch has none of that name.
PyObject* torchBinding(const char* name);

}  // namespace armature

#include "libraries/torch/tensor_assertion.h"

#include "cpython/imported_modules.h"
#include "libraries/torch/regions.h"
#include "libraries/torch/torch_module.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/array_assertion.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"

namespace armature {

namespace {

BorrowedRef<> assertion() { return cpython::importedAttribute("torch", "_assert_async"); }

// torch._assert_async(tensor, message), as in TorchDynamo's graphs.
Value assertTensor(Translator& translator, TensorVariable* tensor, PyObject* message) {
  static PyObject* const method = staticName("__bool__");
  BorrowedRef<> target = assertion();
  const TensorMetadata* metadata = observedMetadata(translator, tensor, "numel");
  if (!metadata) return Value();
  if (translator.operationModes()) return Value();
  // In levels of torch.func, the error is another one, too.
  if (hasTransform(translator.mode(tensor->library()))) return Value();
  // What runs when the call has ended (a backward function, a checkpoint again) cannot be left to
  // Python then.
  if (translator.layoutsAreUnknown()) return Value();
  translator.effects.changes(translator.knownClass(TorchModule::get()->tensorType.get()).tracker());
  // Of several values, the error is another one.
  if (!target || metadata->numel() != 1) return Value();
  requireOwnMethod(translator, tensor, method);
  return translator.callGraphOperation(tensor->library(), NodeOperation::CallFunction, target,
                                       {.kind = CallKind::GraphOperation},
                                       {Value(tensor), Value::constant(message)}, nullptr);
}

}  // namespace

void registerTensorAssertion() {
  if (BorrowedRef<> target = assertion()) {
    registerArrayAssertion(ArrayLibraryKind::Torch, assertTensor, target);
  }
}

}  // namespace armature

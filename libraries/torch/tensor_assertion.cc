#include "libraries/torch/tensor_assertion.h"

#include "libraries/torch/imported_attribute.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/array_assertion.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"

namespace armature {

namespace {

// torch._assert_async(tensor, message), as in TorchDynamo's graphs. It raises a RuntimeError; then
// Python runs what stands there again.
Value assertTensor(Translator& translator, TensorVariable* tensor, PyObject* message) {
  static PyObject* const method = staticName("__bool__");
  BorrowedRef<> target = importedAttribute("torch", "_assert_async");
  const TensorMetadata* metadata = observedMetadata(translator, tensor, "numel");
  if (!metadata) return Value();
  // Of several values, the error is another one.
  if (!target || metadata->numel() != 1) return Value();
  requireOwnMethod(translator, tensor, method);
  return translator.callGraphOperation(tensor->library(), NodeOperation::CallFunction, target,
                                       {.kind = CallKind::GraphOperation},
                                       {Value(tensor), Value::constant(message)}, nullptr);
}

}  // namespace

void registerTensorAssertion() { registerArrayAssertion(ArrayLibraryKind::Torch, assertTensor); }

}  // namespace armature

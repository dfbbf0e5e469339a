#include "libraries/torch/tensor_assertion.h"

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/regions.h"
#include "libraries/torch/torch_module.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/array_assertion.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"

namespace armature {

namespace {

BorrowedRef<> assertion() { return cpython::importedAttribute("torch", "_assert_async"); }

Value addCall(Translator& translator, const Library& library, BorrowedRef<> target,
              llvm::ArrayRef<Value> arguments) {
  return translator.callGraphOperation(library, NodeOperation::CallFunction, target,
                                       {.kind = CallKind::GraphOperation}, arguments, nullptr);
}

// torch._assert_async(tensor, message), as in TorchDynamo's graphs.
Value assertTensor(Translator& translator, TensorVariable* tensor, bool expected,
                   PyObject* message) {
  static PyObject* const method = staticName("__bool__");
  static PyObject* const branch =
      checked(PyUnicode_InternFromString("the program raises here")).release();
  BorrowedRef<> target = assertion();
  const TensorMetadata* metadata = observedMetadata(translator, tensor, "numel");
  if (!metadata) return Value();
  // Where operations run on their own, such a failure is the end of the device.
  if (!message && metadata->device.type != kCpuDevice) return Value();
  // Without data, truth is an error.
  if (metadata->device.type == kMetaDevice) return Value();
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
  Value asserted = tensor;
  if (!expected) {
    BorrowedRef<> inverse = cpython::importedAttribute("torch", "logical_not");
    if (!inverse) return Value();
    asserted = addCall(translator, tensor->library(), inverse, {asserted});
    if (!asserted) return Value();
  }
  return addCall(translator, tensor->library(), target,
                 {asserted, Value::constant(message ? message : branch)});
}

}  // namespace

void registerTensorAssertion() {
  if (BorrowedRef<> target = assertion()) {
    registerArrayAssertion(ArrayLibraryKind::Torch, assertTensor, target);
  }
}

}  // namespace armature

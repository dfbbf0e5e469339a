#include "libraries/torch/metadata_questions.h"

#include "core/checked.h"
#include "cpython/c_functions.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/torch_module.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/translator.h"

namespace armature {

namespace {

constexpr CallRule kOperation = {.kind = CallKind::GraphOperation};

// A tensor whose class and modes leave the answer to torch.
TensorVariable* plainTensor(Translator& translator, const Value& given) {
  auto* tensor = trackerOf<TensorVariable>(translator.realized(given));
  const TorchModule& torch = *TorchModule::get();
  bool isPlain =
      tensor && tensor->library().kind() == ArrayLibraryKind::Torch &&
      (tensor->type() == torch.tensorType.get() || tensor->type() == torch.parameterType.get()) &&
      !tensor->library().reasonAgainstOperations();
  return isPlain ? tensor : nullptr;
}

// An operation whose result is no tensor would stand in the graph for nothing.
Value askTensor(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyObject* function = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  bool isPlain = arguments.values.size() == 1 && !arguments.keywordCount();
  if (TensorVariable* tensor = isPlain ? plainTensor(translator, arguments.values[0]) : nullptr) {
    Ref<> name = checked(PyUnicode_InternFromString(cpython::methodDefinition(function)->ml_name));
    CallArguments none;
    return callTensorMethod(translator, tensor, name.get(), none);
  }
  return translator.callGraphOperation(*findLibrary(ArrayLibraryKind::Torch),
                                       NodeOperation::CallFunction, function, kOperation,
                                       arguments.values, arguments.keywordNames);
}

}  // namespace

LibraryCallHandler findMetadataQuestion(std::string_view name) {
  return isMetadataMethod(name) ? askTensor : nullptr;
}

Value typeOfTensor(Translator& translator, const Value&, CallArguments& arguments) {
  static PyObject* const name = checked(PyUnicode_InternFromString("type")).release();
  Value self = arguments.positionalCount() ? translator.realized(arguments.values[0]) : Value();
  auto* tensor = self ? trackerOf<TensorVariable>(self) : nullptr;
  if (!tensor) throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod, "Tensor.type()");
  const Value* given =
      arguments.positionalCount() > 1 ? &arguments.values[1] : arguments.keyword("dtype");
  bool isNone = given && translator.realized(*given).is(Py_None);
  if (isNone && arguments.values.size() > 2) {
    throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod, "Tensor.type(None, …)");
  }
  if (isNone || arguments.values.size() == 1) {
    const TensorMetadata* metadata = observedMetadata(translator, tensor, "type");
    if (!metadata) return Value();
    Ref<> text = tensor->library().attribute(*metadata, "type");
    if (!text) {
      throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod, describe(self) + ".type()");
    }
    return Value::constant(text);
  }
  // Backends write constants as text, and know the legacy classes by their names alone.
  for (size_t i = 1; i < arguments.values.size(); ++i) {
    Value type = translator.realized(arguments.values[i]);
    PyObject* object = type.isTracker() ? type.tracker()->existing() : type.object();
    DType dtype = object && PyType_Check(object) ? legacyDType(object) : DType{-1};
    if (dtype >= 0) arguments.values[i] = Value::constant(legacyTypeName(dtype));
  }
  return translator.callGraphOperation(tensor->library(), NodeOperation::CallMethod, name,
                                       kOperation, arguments.values, arguments.keywordNames);
}

}  // namespace armature

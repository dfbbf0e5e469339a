#include "libraries/torch/scaled_updates.h"

#include "core/checked.h"
#include "libraries/torch/torch_module.h"
#include "variables/tensors/tensor.h"
#include "variables/translator.h"

namespace armature {

namespace {

constexpr ArgumentPlaces kScale = {.keywords = {"value"}};
constexpr CallRule kUpdate = {.kind = CallKind::GraphOperation,
                              .returnsOneArray = true,
                              .mutates = true,
                              .smallNumbers = &kScale};
constexpr CallRule kFunction = {.kind = CallKind::GraphOperation, .returnsOneArray = true};

Ref<> torchFunction(const char* name) {
  return checked(PyObject_GetAttrString(TorchModule::get()->torch.get(), name));
}

// The tensor that is the scale, if it can be told apart from the operands.
TensorVariable* scaleOf(Translator& translator, const CallArguments& arguments) {
  if (arguments.keywordCount() != 1 || arguments.positionalCount() != 3) return nullptr;
  const Value* value = arguments.keyword("value");
  return value ? trackerOf<TensorVariable>(translator.realized(*value)) : nullptr;
}

struct Update {
  const char* method;
  const char* operation;  // on the two operands
};
constexpr Update kByProduct = {"addcmul_", "mul"}, kByQuotient = {"addcdiv_", "div"};

template <const Update& kind>
Value update(Translator& translator, const Value&, CallArguments& arguments) {
  // Called as a method of the class as well, which is no name.
  static PyObject* const name = staticName(kind.method);
  bool hasSelf = arguments.positionalCount() > 0;
  auto* self =
      hasSelf ? trackerOf<TensorVariable>(translator.realized(arguments.values[0])) : nullptr;
  // A tensor of which the graph knows nothing, or none at all.
  if (!self) throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod, kind.method);
  const Library& library = self->library();
  if (!translator.usesForeignBackend() || !scaleOf(translator, arguments)) {
    return translator.callGraphOperation(library, NodeOperation::CallMethod, name, kUpdate,
                                         arguments.values, arguments.keywordNames);
  }
  auto call = [&](const char* function, const Value& left, const Value& right) {
    const Value operands[] = {left, right};
    return translator.callGraphOperation(library, NodeOperation::CallFunction,
                                         torchFunction(function), kFunction, operands, nullptr);
  };
  Value product = call(kind.operation, arguments.values[1], arguments.values[2]);
  if (product) product = call("mul", product, *arguments.keyword("value"));
  if (!product) return product;
  Ref<> add = checked(PyUnicode_InternFromString("add_"));
  const Value operands[] = {arguments.values[0], product};
  return translator.callGraphOperation(library, NodeOperation::CallMethod, add, kUpdate, operands,
                                       nullptr);
}

}  // namespace

LibraryCallHandler findScaledUpdate(std::string_view name) {
  if (name == kByProduct.method) return update<kByProduct>;
  if (name == kByQuotient.method) return update<kByQuotient>;
  return nullptr;
}

}  // namespace armature

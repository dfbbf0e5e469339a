#include "variables/tensors/small_numbers.h"

#include "core/text.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/translator.h"

namespace armature {

namespace {

// Are all arrays among the values, and in lists of arrays, of dtypes that hold fractions? Nothing
// if an exception is pending.
std::optional<bool> allHoldFractions(Translator& translator, llvm::ArrayRef<Value> values,
                                     bool areItems = false) {
  for (const Value& each : values) {
    if (isSymbolic(translator, each)) continue;
    Value value = translator.realized(each);
    if (auto* list = trackerOf<SequenceVariable>(value)) {
      if (areItems) return false;
      std::optional<bool> inside = allHoldFractions(translator, list->items(), true);
      if (!inside || !*inside) return inside;
    }
    auto* tensor = trackerOf<TensorVariable>(value);
    if (!tensor) continue;
    const TensorMetadata* metadata = observedMetadata(translator, tensor, "dtype");
    if (!metadata) return std::nullopt;
    if (!tensor->library().holdsFractions(metadata->dtype)) return false;
  }
  return true;
}

}  // namespace

std::optional<SmallNumbers> smallNumbers(Translator& translator, const Library& library,
                                         const CallRule& rule, llvm::ArrayRef<Value> arguments,
                                         PyObject* keywordNames) {
  SmallNumbers small;
  bool mayHave = rule.smallNumbers && library.conventions().onlyTypesOfNumbersMatter &&
                 !translator.usesForeignBackend() && arguments.size() <= small.size();
  if (!mayHave) return small;
  size_t keywordCount = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  size_t positionalCount = arguments.size() - keywordCount;
  auto isTaken = [&](size_t i) {
    if (i < positionalCount) return rule.smallNumbers->contains(i);
    PyObject* name = PyTuple_GET_ITEM(keywordNames, i - positionalCount);
    return rule.smallNumbers->contains(std::string_view(printable(name)));
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    small.set(i, isTaken(i) && isSymbolic(translator, arguments[i]));
  }
  if (small.none()) return small;
  std::optional<bool> fractions = allHoldFractions(translator, arguments);
  if (!fractions) return std::nullopt;
  for (size_t i = 0; i < arguments.size(); ++i) {
    small.set(i, *fractions && small.test(i) && smallGraphNumber(translator, arguments[i]));
  }
  return small;
}

}  // namespace armature

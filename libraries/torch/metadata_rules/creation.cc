// New tensors.

#include <cmath>

#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/promotion.h"
#include "libraries/torch/metadata_rules/result.h"
#include "libraries/torch/metadata_rules/table.h"
#include "libraries/torch/thread_state.h"

namespace armature {

namespace {

// The device given, which must be the CPU, or the standard one: the CPU where no function mode is
// in force, as the device of `with torch.device(...)` and of torch.set_default_device is.
bool readDevice(const Call& call, size_t parameter, const Device* standard, Device& device) {
  if (!call.has(parameter)) {
    if (!standard && askFunctionModes()) return false;
    if (standard) device = *standard;
    return true;
  }
  const Argument& argument = call.argument(parameter);
  if (argument.kind() != Argument::Kind::Constant) return false;
  Device given;
  bool isCpu = armature::readDevice(argument.object(), given)
                   ? given == Device()
                   : stringView(argument.object()) == "cpu";
  return isCpu;
}

// The dtype given, or `standard`; -1 for one that is not common.
DType readDType(const Call& call, size_t parameter, DType standard) {
  if (!call.has(parameter)) return standard;
  DType given = call.dtype(parameter);
  return given >= 0 && isCommon(given) ? given : DType{-1};
}

bool isNatural(const Dimensions& sizes) {
  for (Dimension size : sizes) {
    if (size < 0) return false;
  }
  return true;
}

// The parameters from `options` on are dtype, device and requires_grad.
bool giveNew(const Call& call, ResultStructure& result, Dimensions sizes, DType standard,
             const Device* device, size_t options) {
  DType dtype = readDType(call, options, standard);
  TensorMetadata like;
  if (dtype < 0 || !isNatural(sizes) || !readDevice(call, options + 1, device, like.device)) {
    return false;
  }
  if (call.boolean(options + 2, false) != false) return false;
  return giveWithoutGrad(result, newTensor(like, std::move(sizes), dtype));
}

bool filled(const Call& call, ResultStructure& result) {
  Dimensions sizes;
  return call.integers(0, sizes) && giveNew(call, result, sizes, defaultDType(), nullptr, 1);
}

bool full(const Call& call, ResultStructure& result) {
  Dimensions sizes;
  std::optional<Scalar> value = call.scalar(1);
  if (!value || value->dtype == Complex128 || !call.integers(0, sizes)) return false;
  DType standard = value->dtype == Float64 ? defaultDType() : value->dtype;
  return giveNew(call, result, sizes, standard, nullptr, 2);
}

bool giveLike(const Call& call, ResultStructure& result, size_t options) {
  const TensorMetadata* like = call.tensor(0);
  if (!like || !giveNew(call, result, like->sizes, like->dtype, &like->device, options)) {
    return false;
  }
  auto metadata = std::make_shared<TensorMetadata>(*result.metadata);
  metadata->strides = preservedStrides(*like);
  result.metadata = std::move(metadata);
  return true;
}

bool filledLike(const Call& call, ResultStructure& result) { return giveLike(call, result, 1); }

bool fullLike(const Call& call, ResultStructure& result) {
  return call.scalar(1) && giveLike(call, result, 2);
}

bool giveOfSameKind(const Call& call, ResultStructure& result, size_t options) {
  const TensorMetadata* self = call.tensor(0);
  Dimensions sizes;
  if (!self || !call.integers(1, sizes)) return false;
  return giveNew(call, result, sizes, self->dtype, &self->device, options);
}

// torch.tensor of a number, or of a list of ints or of nothing.
bool ofData(const Call& call, ResultStructure& result) {
  // Not every number is one of every dtype.
  DType dtype = readDType(call, 1, Int64);
  if (dtype != Int64 && !isFloating(dtype)) return false;
  if (std::optional<Scalar> number = call.scalar(0)) {
    if (number->dtype == Complex128 || !std::isfinite(number->real)) return false;
    DType standard = number->dtype == Float64 ? defaultDType() : number->dtype;
    return giveNew(call, result, {}, standard, nullptr, 1);
  }
  Dimensions numbers;
  if (!call.integers(0, numbers)) return false;
  DType standard = numbers.empty() ? defaultDType() : DType{Int64};
  return giveNew(call, result, {static_cast<Dimension>(numbers.size())}, standard, nullptr, 1);
}

// x.new_zeros(sizes)
bool newFilled(const Call& call, ResultStructure& result) {
  return giveOfSameKind(call, result, 2);
}

// x.new_full(sizes, value)
bool newFull(const Call& call, ResultStructure& result) {
  return call.scalar(2) && giveOfSameKind(call, result, 3);
}

bool arange(const Call& call, ResultStructure& result) {
  // One number alone is the end.
  std::optional<Scalar> first = call.scalar(0);
  std::optional<Scalar> second = call.isGiven(1) ? call.scalar(1) : first;
  Scalar one{.dtype = Int64, .integer = 1, .real = 1};
  std::optional<Scalar> step = call.isGiven(2) ? call.scalar(2) : one;
  if (!first || !second || !step) return false;
  Scalar start = call.isGiven(1) ? *first : Scalar{.dtype = Int64};
  bool hasFractions = false;
  for (const Scalar* value : {&start, &*second, &*step}) {
    if (value->dtype == Bool || value->dtype == Complex128 || !std::isfinite(value->real)) {
      return false;
    }
    hasFractions = hasFractions || value->dtype == Float64;
  }
  double length = (second->real - start.real) / step->real;
  if (step->real == 0 || length < 0) return false;
  DType standard = hasFractions ? defaultDType() : DType{Int64};
  // Fractions cut to integers are counted in another way.
  DType dtype = readDType(call, 3, standard);
  if (hasFractions && !isFloating(dtype)) return false;
  auto size = static_cast<Dimension>(std::ceil(length));
  return giveNew(call, result, {size}, standard, nullptr, 3);
}

bool eye(const Call& call, ResultStructure& result) {
  std::optional<int64_t> rows = call.integer(0);
  std::optional<int64_t> columns = call.isGiven(1) ? call.integer(1) : rows;
  if (!rows || !columns) return false;
  return giveNew(call, result, {*rows, *columns}, defaultDType(), nullptr, 2);
}

bool triangle(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || self->dimension() < 2 || (call.isGiven(1) && !call.integer(1))) return false;
  return give(call, result, newTensor(*self, self->sizes, self->dtype));
}

const Row kRows[] = {
    {"zeros ones empty rand randn", InTorch, "*size ; dtype device requires_grad", filled},
    {"tensor", InTorch, "data ; dtype device requires_grad", ofData},
    {"full", InTorch, "size fill_value ; dtype device requires_grad", full},
    {"zeros_like ones_like empty_like rand_like randn_like", InTorch,
     "input ; dtype device requires_grad", filledLike},
    {"full_like", InTorch, "input fill_value ; dtype device requires_grad", fullLike},
    {"new_zeros new_ones new_empty", AsMethod, "self *size ; dtype device requires_grad",
     newFilled},
    {"new_full", AsMethod, "self size fill_value ; dtype device requires_grad", newFull},
    {"arange", InTorch, "start|end end step ; dtype device requires_grad", arange},
    {"eye", InTorch, "n m ; dtype device requires_grad", eye},
    {"tril triu", InTorch | AsMethod, "self|input diagonal", triangle},
};

}  // namespace

llvm::ArrayRef<Row> creationRows() { return kRows; }

}  // namespace armature

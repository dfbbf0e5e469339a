// Operations that work element by element.

#include "libraries/torch/metadata_rules/elementwise.h"
#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

namespace {

bool giveElementwise(const Call& call, ResultStructure& result, const Elementwise& operands,
                     DType computed, DType dtype) {
  // Hardly anything is implemented for it.
  if (computed == Complex32) return false;
  MetadataPointer metadata = operands.make(computed, dtype);
  return metadata && give(call, result, std::move(metadata));
}

bool giveElementwise(const Call& call, ResultStructure& result, const Elementwise& operands) {
  return giveElementwise(call, result, operands, operands.dtype(), operands.dtype());
}

bool addOperands(const Call& call, Elementwise& operands) {
  return operands.add(call, 0) && operands.add(call, 1);
}

// A factor of the second operand; only what cannot be wrong is known. Operators have none.
bool hasPlainAlpha(const Call& call, const Elementwise& operands) {
  constexpr size_t kAlpha = 2;
  if (call.count() <= kAlpha || !call.isGiven(kAlpha)) return true;
  std::optional<Scalar> alpha = call.scalar(kAlpha);
  if (!alpha) return false;
  return alpha->dtype == Int64 || (alpha->dtype == Float64 && isFloating(operands.dtype()));
}

// add, mul: any dtypes.
bool arithmetic(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands) || !hasPlainAlpha(call, operands)) return false;
  return giveElementwise(call, result, operands);
}

// sub, remainder, …: no bools.
bool subtraction(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands) || operands.has(Bool)) return false;
  return hasPlainAlpha(call, operands) && giveElementwise(call, result, operands);
}

// rsub: as other - self.
bool reversedSubtraction(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!operands.add(call, 1) || !operands.add(call, 0) || operands.has(Bool)) return false;
  return hasPlainAlpha(call, operands) && giveElementwise(call, result, operands);
}

// floor_divide, remainder, …: real numbers.
bool realArithmetic(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands) || operands.has(Bool) || operands.hasComplex()) return false;
  return giveElementwise(call, result, operands);
}

// Integers are not divided by zero.
bool integerDivision(const Call& call, ResultStructure& result) {
  if (!realArithmetic(call, result)) return false;
  result.mayFailOnData = isIntegral(result.metadata->dtype);
  return true;
}

// maximum, minimum, …: of tensors alone.
bool extreme(const Call& call, ResultStructure& result) {
  return call.tensor(1) && realArithmetic(call, result);
}

bool trueDivision(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands)) return false;
  DType dtype = toFloating(operands.dtype());
  return giveElementwise(call, result, operands, dtype, dtype);
}

// div with a rounding mode.
bool division(const Call& call, ResultStructure& result) {
  if (!call.has(2)) return trueDivision(call, result);
  std::string_view mode = stringView(call.argument(2).object());
  return (mode == "floor" || mode == "trunc") && integerDivision(call, result);
}

bool power(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands) || operands.has(Bool)) return false;
  // Negative powers of integers are an error.
  std::optional<Scalar> exponent = call.scalar(1);
  bool isNegative = exponent && exponent->integer < 0;
  if (isNegative && isIntegral(operands.dtype())) return false;
  if (!exponent) return giveElementwise(call, result, operands);
  // A number as exponent belongs to the operation, and is no operand of it.
  Elementwise base;
  if (!call.tensor(0)) return false;
  base.add(*call.tensor(0));
  return giveElementwise(call, result, base, operands.dtype(), operands.dtype());
}

bool bitwise(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands)) return false;
  DType dtype = operands.dtype();
  return (isIntegral(dtype) || dtype == Bool) && giveElementwise(call, result, operands);
}

bool shift(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands) || !isIntegral(operands.dtype())) return false;
  return giveElementwise(call, result, operands);
}

bool equality(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands)) return false;
  return giveElementwise(call, result, operands, operands.dtype(), Bool);
}

bool comparison(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!addOperands(call, operands) || operands.hasComplex()) return false;
  return giveElementwise(call, result, operands, operands.dtype(), Bool);
}

// logical_and, …: the operands keep their dtypes.
bool logical(const Call& call, ResultStructure& result) {
  const TensorMetadata *left = call.tensor(0), *right = call.tensor(1);
  if (!left || !right) return false;
  Elementwise operands;
  operands.addUnpromoted(*left);
  operands.addUnpromoted(*right);
  return giveElementwise(call, result, operands, Bool, Bool);
}

bool giveUnary(const Call& call, ResultStructure& result, DType dtype) {
  Elementwise operands;
  operands.add(*call.tensor(0));
  return giveElementwise(call, result, operands, dtype, dtype);
}

// exp, sin, …: integers become floating-point numbers.
bool transcendental(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && self->dtype != Complex32 && giveUnary(call, result, toFloating(self->dtype));
}

// The same for functions without complex values.
bool realTranscendental(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && !isComplex(self->dtype) && giveUnary(call, result, toFloating(self->dtype));
}

// neg, …: numbers of any kind.
bool sameDType(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && self->dtype != Bool && self->dtype != Complex32 &&
         giveUnary(call, result, self->dtype);
}

// relu, abs, …: real numbers.
bool realSameDType(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || self->dtype == Bool || isComplex(self->dtype)) return false;
  return giveUnary(call, result, self->dtype);
}

// gelu, silu, …: floating-point numbers. The functions of torch.nn.functional have an `inplace`.
bool activation(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !isFloating(self->dtype)) return false;
  return giveUnary(call, result, self->dtype);
}

// gelu with its approximation.
bool gelu(const Call& call, ResultStructure& result) {
  if (call.isGiven(1)) {
    std::string_view name = stringView(call.argument(1).object());
    if (name != "none" && name != "tanh") return false;
  }
  return activation(call, result);
}

bool softplus(const Call& call, ResultStructure& result) {
  for (size_t number : {1, 2}) {
    if (call.isGiven(number) && !call.scalar(number)) return false;
  }
  return activation(call, result);
}

// relu, silu, … of torch.nn.functional.
bool functionalRelu(const Call& call, ResultStructure& result) {
  return call.boolean(1, false) == false && realSameDType(call, result);
}
bool functionalActivation(const Call& call, ResultStructure& result) {
  return call.boolean(1, false) == false && activation(call, result);
}
// relu6 writes into a tensor like its input.
bool relu6(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !isFloating(self->dtype) || call.boolean(1, false) != false) return false;
  MetadataPointer metadata = newTensor(*self, self->sizes, self->dtype);
  metadata->strides = preservedStrides(*self);
  return give(call, result, std::move(metadata));
}

// leaky_relu: one number, then `inplace`.
bool activationWithNumber(const Call& call, ResultStructure& result) {
  if (call.isGiven(1) && !call.scalar(1)) return false;
  return call.boolean(2, false) == false && activation(call, result);
}

bool invert(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !(isIntegral(self->dtype) || self->dtype == Bool)) return false;
  return giveUnary(call, result, self->dtype);
}

bool logicalNot(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  Elementwise operands;
  operands.addUnpromoted(*self);
  return giveElementwise(call, result, operands, Bool, Bool);
}

bool positive(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && self->dtype != Bool && giveItself(result, *self);
}

bool clamp(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!call.tensor(0) || !operands.add(call, 0)) return false;
  if (!call.has(1) && !call.has(2)) return false;
  for (size_t bound : {1, 2}) {
    if (call.has(bound) && (!call.scalar(bound) || !operands.add(call, bound))) return false;
  }
  if (operands.has(Bool) || operands.hasComplex()) return false;
  // The bounds are numbers of the operation, not operands of it.
  Elementwise self;
  self.add(*call.tensor(0));
  return giveElementwise(call, result, self, operands.dtype(), operands.dtype());
}

// clamp_min, clamp_max
bool clampOneSide(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!call.tensor(0) || !call.scalar(1) || !addOperands(call, operands)) return false;
  if (operands.has(Bool) || operands.hasComplex()) return false;
  Elementwise self;
  self.add(*call.tensor(0));
  return giveElementwise(call, result, self, operands.dtype(), operands.dtype());
}

bool where(const Call& call, ResultStructure& result) {
  const TensorMetadata* condition = call.tensor(0);
  if (!condition || condition->dtype != Bool) return false;
  Elementwise operands;
  operands.addUnpromoted(*condition);
  if (!operands.add(call, 1) || !operands.add(call, 2)) return false;
  return giveElementwise(call, result, operands);
}

// x.where(condition, other)
bool whereMethod(const Call& call, ResultStructure& result) {
  const TensorMetadata* condition = call.tensor(1);
  if (!condition || condition->dtype != Bool) return false;
  Elementwise operands;
  operands.addUnpromoted(*condition);
  if (!operands.add(call, 0) || !operands.add(call, 2)) return false;
  return giveElementwise(call, result, operands);
}

bool maskedFill(const Call& call, ResultStructure& result) {
  const TensorMetadata *self = call.tensor(0), *mask = call.tensor(1);
  std::optional<Scalar> value = call.scalar(2);
  if (!self || !mask || mask->dtype != Bool || !value) return false;
  // A value that the dtype cannot hold is an error.
  bool fits = isComplex(self->dtype) || (isFloating(self->dtype) && value->dtype != Complex128) ||
              (self->dtype == Int64 && value->dtype == Int64) || value->dtype == Bool;
  Dimensions sizes;
  if (!fits || !broadcast({self, mask}, sizes)) return false;
  return give(call, result, newTensor(*self, sizes, self->dtype));
}

// The tensors 0 up to `count`, of one floating-point dtype; false for all others.
bool addAlike(const Call& call, size_t count, Elementwise& operands) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !isFloating(self->dtype)) return false;
  for (size_t i = 0; i < count; ++i) {
    const TensorMetadata* operand = call.tensor(i);
    if (!operand || operand->dtype != self->dtype) return false;
    operands.add(*operand);
  }
  return true;
}

bool isReal(const std::optional<Scalar>& number) { return number && number->dtype != Complex128; }

// lerp: the weight is a number of the operation, or a tensor like the others.
bool interpolation(const Call& call, ResultStructure& result) {
  Elementwise operands;
  bool isNumber = isReal(call.scalar(2));
  return addAlike(call, isNumber ? 2 : 3, operands) && giveElementwise(call, result, operands);
}

// A tensor given for a number, of which torch takes item(). Of another dtype, it may not fit in.
bool isNumberOf(const TensorMetadata* self, const TensorMetadata* number) {
  return self && number && number->sizes.empty() && !number->requiresGrad &&
         number->device.type == kCpuDevice && number->dtype == self->dtype;
}

// addcmul, addcdiv
bool scaledUpdate(const Call& call, ResultStructure& result) {
  Elementwise operands;
  bool isKnown =
      !call.isGiven(3) || isReal(call.scalar(3)) || isNumberOf(call.tensor(0), call.tensor(3));
  return isKnown && addAlike(call, 3, operands) && giveElementwise(call, result, operands);
}

constexpr uint8_t kFunctionOrMethod = InTorch | AsMethod;
constexpr uint8_t kAnywhereInPlaceToo = InTorch | AsMethod | InPlaceToo;
constexpr uint8_t kOperatorInPlaceToo = InOperator | InPlaceToo;

const Row kRows[] = {
    {"add mul", kOperatorInPlaceToo, "self other", arithmetic},
    {"add", kAnywhereInPlaceToo, "self|input other ; alpha", arithmetic},
    {"mul multiply", kAnywhereInPlaceToo, "self|input other", arithmetic},
    {"sub", kOperatorInPlaceToo, "self other", subtraction},
    {"sub subtract", kAnywhereInPlaceToo, "self|input other ; alpha", subtraction},
    {"rsub", kFunctionOrMethod, "self|input other ; alpha", reversedSubtraction},
    {"__add__ __radd__ __mul__ __rmul__", AsMethod, "self other", arithmetic},
    {"__sub__", AsMethod, "self other", subtraction},
    {"__rsub__", AsMethod, "self other", reversedSubtraction},
    {"truediv", kOperatorInPlaceToo, "self other", trueDivision},
    {"true_divide", kAnywhereInPlaceToo, "self|input other", trueDivision},
    {"div divide", kAnywhereInPlaceToo, "self|input other ; rounding_mode", division},
    {"__truediv__ __div__", AsMethod, "self other", trueDivision},
    {"floordiv", kOperatorInPlaceToo, "self other", integerDivision},
    {"floor_divide", kAnywhereInPlaceToo, "self|input other", integerDivision},
    {"mod", kOperatorInPlaceToo, "self other", integerDivision},
    {"remainder", kAnywhereInPlaceToo, "self|input other", integerDivision},
    {"fmod", kAnywhereInPlaceToo, "self|input other", integerDivision},
    {"maximum minimum fmax fmin", kFunctionOrMethod, "self|input other", extreme},
    {"lerp", kAnywhereInPlaceToo, "self|input end weight", interpolation},
    {"addcmul addcdiv", kAnywhereInPlaceToo, "self|input tensor1 tensor2 ; value", scaledUpdate},
    {"pow", kAnywhereInPlaceToo | InOperator, "self|input exponent", power},
    {"__pow__", AsMethod, "self exponent", power},
    {"and_ or_ xor", kOperatorInPlaceToo, "self other", bitwise},
    {"bitwise_and bitwise_or bitwise_xor", kAnywhereInPlaceToo, "self|input other", bitwise},
    {"__and__ __or__ __xor__", AsMethod, "self other", bitwise},
    {"lshift rshift", kOperatorInPlaceToo, "self other", shift},
    {"bitwise_left_shift bitwise_right_shift", kAnywhereInPlaceToo, "self|input other", shift},
    {"eq ne", kFunctionOrMethod | InOperator, "self|input other", equality},
    {"not_equal", kFunctionOrMethod, "self|input other", equality},
    {"__eq__ __ne__", AsMethod, "self other", equality},
    {"lt le gt ge", kFunctionOrMethod | InOperator, "self|input other", comparison},
    {"less less_equal greater greater_equal", kFunctionOrMethod, "self|input other", comparison},
    {"__lt__ __le__ __gt__ __ge__", AsMethod, "self other", comparison},
    {"logical_and logical_or logical_xor", kFunctionOrMethod, "self|input other", logical},

    {"exp log sqrt sin cos tan sinh cosh tanh sigmoid reciprocal rsqrt log2 log10 log1p expm1 asin "
     "acos atan asinh acosh atanh",
     kAnywhereInPlaceToo, "self|input", transcendental},
    {"tanh sigmoid", InFunctional, "input", transcendental},
    {"exp2 erf erfc erfinv lgamma digamma", kAnywhereInPlaceToo, "self|input", realTranscendental},
    {"neg negative", kAnywhereInPlaceToo, "self|input", sameDType},
    {"neg", InOperator, "self", sameDType},
    {"__neg__", AsMethod, "self", sameDType},
    {"square", kFunctionOrMethod, "self|input", sameDType},
    {"abs absolute", kAnywhereInPlaceToo, "self|input", realSameDType},
    {"abs", InOperator, "self", realSameDType},
    {"__abs__", AsMethod, "self", realSameDType},
    {"floor ceil trunc round sign frac", kAnywhereInPlaceToo, "self|input", realSameDType},
    {"relu", kAnywhereInPlaceToo, "self|input", realSameDType},
    {"relu", InFunctional, "input inplace", functionalRelu},
    {"relu6", InFunctional, "input inplace", relu6},
    {"silu mish hardswish hardsigmoid selu", InFunctional, "input inplace", functionalActivation},
    {"leaky_relu elu", InFunctional, "input negative_slope|alpha inplace", activationWithNumber},
    {"gelu", InBindings, "input ; approximate", gelu},
    {"softplus", InBindings, "input beta threshold", softplus},
    {"log_sigmoid", InBindings, "input", activation},
    {"invert", InOperator, "self", invert},
    {"bitwise_not", kAnywhereInPlaceToo, "self|input", invert},
    {"__invert__", AsMethod, "self", invert},
    {"logical_not isnan", kFunctionOrMethod, "self|input", logicalNot},
    {"pos", InOperator, "self", positive},
    {"positive", kFunctionOrMethod, "self|input", positive},
    {"clamp clip", kAnywhereInPlaceToo, "self|input min max", clamp},
    {"clamp_min clamp_max", kAnywhereInPlaceToo, "self|input min|max", clampOneSide},
    {"where", InTorch, "condition self|input other", where},
    {"where", AsMethod, "self condition other", whereMethod},
    {"masked_fill", kAnywhereInPlaceToo, "self|input mask value", maskedFill},
};

}  // namespace

llvm::ArrayRef<Row> pointwiseRows() { return kRows; }

}  // namespace armature

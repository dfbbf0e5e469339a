#include "libraries/torch/metadata_rules/promotion.h"

#include <algorithm>

#include "core/pending_python_exception.h"

namespace armature {

namespace {

DType toComplex(DType real) {
  switch (real) {
    case Float16:
      return Complex32;
    case Float64:
      return Complex128;
    default:
      return Complex64;
  }
}

DType toReal(DType complex) {
  switch (complex) {
    case Complex32:
      return Float16;
    case Complex64:
      return Float32;
    default:
      return Float64;
  }
}

std::optional<DType> promote(std::optional<DType> a, std::optional<DType> b) {
  if (!a) return b;
  return b ? promoteTypes(*a, *b) : *a;
}

// `higher` decides the width, whatever decides the kind.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (isComplex(*higher)) return higher;
  if (isFloating(*higher)) return isComplex(*lower) ? toComplex(*higher) : higher;
  if (*higher == Bool || isFloating(*lower) || isComplex(*lower)) {
    return promoteTypes(*higher, *lower);
  }
  return higher;
}

}  // namespace

DType promoteTypes(DType a, DType b) {
  if (a == b || b == Bool) return a;
  if (a == Bool) return b;
  if (isComplex(a) || isComplex(b)) {
    // bfloat16 has no complex type of its own width.
    DType realA = isComplex(a) ? toReal(a) : a;
    DType realB = isComplex(b) ? toReal(b) : b;
    return toComplex(promoteTypes(realA, realB));
  }
  if (isFloating(a) || isFloating(b)) {
    if (!isFloating(a)) return b;
    if (!isFloating(b)) return a;
    if (a == BFloat16 || b == BFloat16) {
      DType other = a == BFloat16 ? b : a;
      return other == Float16 ? DType{Float32} : other;
    }
    return std::max(a, b);
  }
  // uint8 with a signed type: the next wider signed one.
  if (a == UInt8 || b == UInt8) return std::max<DType>(std::max(a, b), Int16);
  return std::max(a, b);
}

DType defaultDType() {
  static PyObject* const getDefaultDType = torchBinding("get_default_dtype");
  Ref<> dtype = Ref<>::steal(PyObject_CallNoArgs(getDefaultDType));
  clearException();
  return dtype ? dtypeNumber(dtype) : DType{Float32};
}

void Promotion::add(const TensorMetadata& tensor) {
  std::optional<DType>& category = tensor.sizes.empty() ? zeroDimensions_ : dimensions_;
  category = promote(category, tensor.dtype);
}

void Promotion::add(const Scalar& scalar) {
  DType dtype = scalar.dtype;
  if (dtype == Float64) dtype = defaultDType();
  if (dtype == Complex128) dtype = toComplex(defaultDType());
  numbers_ = promote(numbers_, dtype);
}

DType Promotion::result() const {
  return combine(dimensions_, combine(zeroDimensions_, numbers_)).value_or(DType{Float32});
}

DType toFloating(DType dtype) {
  return isIntegral(dtype) || dtype == Bool ? defaultDType() : dtype;
}

}  // namespace armature

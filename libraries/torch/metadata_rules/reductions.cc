// Operations that take dimensions away.

#include <utility>

#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/metadata_rules/elementwise.h"
#include "libraries/torch/metadata_rules/result.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

namespace {

// Which dimensions a reduction takes away: all, if none are given.
class ReducedShape {
 public:
  explicit ReducedShape(const TensorMetadata& self)
      : self_(self), reduced_(self.sizes.size(), true) {}

  // False if the dimensions do not exist, or are given twice.
  bool setDimensions(const Dimensions& given) {
    reduced_.assign(self_.sizes.size(), false);
    if (reduced_.empty() && given.size() > 1) return false;
    for (Dimension dimension : given) {
      std::optional<int64_t> wrapped = wrapDimension(dimension.value(), self_.dimension());
      if (!wrapped) return false;
      if (!reduced_.empty() && std::exchange(reduced_[*wrapped], true)) return false;
    }
    return true;
  }

  Dimensions sizes(bool keep) const {
    Dimensions result;
    for (size_t i = 0; i < reduced_.size(); ++i) {
      if (!reduced_[i]) {
        result.push_back(self_.sizes[i]);
      } else if (keep) {
        result.push_back(1);
      }
    }
    return result;
  }

  // Is there an element for each result?
  bool takesElements() const {
    for (size_t i = 0; i < reduced_.size(); ++i) {
      if (reduced_[i] && self_.sizes[i] == 0) return false;
    }
    return true;
  }

 private:
  const TensorMetadata& self_;
  llvm::SmallVector<bool, 5> reduced_;
};

// Parameters: self, dim, keepdim. Null if they make no sense.
MetadataPointer reduced(const Call& call, DType dtype, bool needsElements) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<bool> keep = call.boolean(2, false);
  if (!self || !keep) return nullptr;
  ReducedShape shape(*self);
  if (call.has(1)) {
    Dimensions dimensions;
    if (!call.integers(1, dimensions)) return nullptr;
    // An empty sequence means all dimensions.
    if (!dimensions.empty() && !shape.setDimensions(dimensions)) return nullptr;
  }
  if (needsElements && !shape.takesElements()) return nullptr;
  return newTensor(*self, shape.sizes(*keep), dtype);
}

bool giveReduced(const Call& call, ResultStructure& result, DType dtype, bool needsElements) {
  MetadataPointer metadata = reduced(call, dtype, needsElements);
  return metadata && give(call, result, std::move(metadata));
}

// The dtype given as parameter 3; `standard` without one; -1 if it is not known.
DType dtypeOr(const Call& call, size_t parameter, DType standard) {
  if (!call.has(parameter)) return standard;
  DType given = call.dtype(parameter);
  return given >= 0 && isCommon(given) ? given : DType{-1};
}

DType sumDType(DType dtype) { return isIntegral(dtype) || dtype == Bool ? DType{Int64} : dtype; }

bool sum(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  DType dtype = dtypeOr(call, 3, sumDType(self->dtype));
  return dtype >= 0 && giveReduced(call, result, dtype, false);
}

bool mean(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  DType dtype = dtypeOr(call, 3, self->dtype);
  return (isFloating(dtype) || isComplex(dtype)) && giveReduced(call, result, dtype, false);
}

// var, std: parameters self, dim, keepdim, unbiased or correction.
bool deviation(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !isFloating(self->dtype) || !call.boolean(3, true)) return false;
  if (call.isGiven(4) && !call.scalar(4)) return false;
  // Too few elements make it warn.
  ReducedShape shape(*self);
  return shape.takesElements() && giveReduced(call, result, self->dtype, true);
}

// amax, amin
bool extreme(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || isComplex(self->dtype)) return false;
  return giveReduced(call, result, self->dtype, true);
}

// A structseq type of torch.return_types.
Ref<> returnType(const char* name) {
  Ref<> module = Ref<>::steal(cpython::importModule("torch.return_types"));
  Ref<> type = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  clearException();
  return type;
}

// max(x, other)
bool giveExtremeOfTwo(const Call& call, ResultStructure& result) {
  Elementwise operands;
  if (!operands.add(call, 0) || !operands.add(call, 1) || call.isGiven(2)) return false;
  if (operands.has(Bool) || operands.hasComplex()) return false;
  MetadataPointer metadata = operands.make(operands.dtype(), operands.dtype());
  return metadata && give(call, result, std::move(metadata));
}

bool giveExtremeAlong(const Call& call, ResultStructure& result, const char* name) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || isComplex(self->dtype)) return false;
  if (!call.isGiven(1)) return giveReduced(call, result, self->dtype, true);
  if (call.tensor(1)) return giveExtremeOfTwo(call, result);
  if (!call.integer(1)) return false;
  MetadataPointer values = reduced(call, self->dtype, true);
  if (!values) return false;
  MetadataPointer indices = newTensor(*self, values->sizes, Int64);
  Ref<> type = returnType(name);
  return type && giveTuple(call, result, {values, indices}, std::move(type));
}

bool max(const Call& call, ResultStructure& result) {
  return giveExtremeAlong(call, result, "max");
}
bool min(const Call& call, ResultStructure& result) {
  return giveExtremeAlong(call, result, "min");
}

// argmax, argmin: one dimension, or all.
bool position(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || isComplex(self->dtype) || self->dtype == Bool) return false;
  if (call.has(1) && !call.integer(1)) return false;
  MetadataPointer metadata = reduced(call, Int64, true);
  return metadata && giveWithoutGrad(result, std::move(metadata));
}

// all, any
bool truth(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  // Of no dimensions at all, these keep everything.
  Dimensions dimensions;
  if (call.has(1) && (!call.integers(1, dimensions) || dimensions.empty())) return false;
  MetadataPointer metadata = reduced(call, self->dtype == UInt8 ? UInt8 : Bool, false);
  return metadata && giveWithoutGrad(result, std::move(metadata));
}

bool cumulative(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> along = call.integer(1);
  if (!self || !along || !wrapDimension(*along, self->dimension())) return false;
  DType dtype = dtypeOr(call, 2, sumDType(self->dtype));
  return dtype >= 0 && give(call, result, newTensor(*self, self->sizes, dtype));
}

// The dimension given as `parameter`, 1 where none is; nothing if the tensor does not have it.
std::optional<int64_t> dimensionOrSecond(const Call& call, size_t parameter,
                                         const TensorMetadata& tensor) {
  std::optional<int64_t> given = call.isGiven(parameter) ? call.integer(parameter) : 1;
  return given ? wrapDimension(*given, tensor.dimension()) : std::nullopt;
}

bool isRealNumber(const Call& call, size_t parameter) {
  if (!call.isGiven(parameter)) return true;
  std::optional<Scalar> number = call.scalar(parameter);
  return number && (number->dtype == Int64 || number->dtype == Float64);
}

// The order, which decides nothing here, and then the parameters of a reduction: self, order, dim,
// keepdim. What has no elements has a norm for some orders only.
bool norm(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<bool> keep = call.boolean(3, false);
  if (!self || !isFloating(self->dtype) || !isRealNumber(call, 1) || !keep) return false;
  ReducedShape shape(*self);
  if (call.has(2)) {
    Dimensions dimensions;
    if (!call.integers(2, dimensions) || dimensions.empty()) return false;
    // Without an order, more than two dimensions are neither a vector nor a matrix.
    if (dimensions.size() > 2 || !shape.setDimensions(dimensions)) return false;
  }
  if (!shape.takesElements()) return false;
  return give(call, result, newTensor(*self, shape.sizes(*keep), self->dtype));
}

// x / max(norm(x, p, dim), eps), with the norm expanded as x
bool normalize(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !isFloating(self->dtype) || !isRealNumber(call, 1) || !isRealNumber(call, 3)) {
    return false;
  }
  std::optional<int64_t> along = dimensionOrSecond(call, 2, *self);
  ReducedShape shape(*self);
  if (!along || !shape.setDimensions({Dimension(*along)}) || !shape.takesElements()) return false;
  MetadataPointer norm = newTensor(*self, shape.sizes(true), self->dtype);
  if (!norm->sizes.empty() && norm->sizes[*along] != self->sizes[*along]) {
    norm->sizes = self->sizes;
    norm->strides[*along] = 0;
  }
  Elementwise operands;
  operands.add(*self);
  operands.add(*norm);
  MetadataPointer metadata = operands.make(self->dtype, self->dtype);
  return metadata && give(call, result, std::move(metadata));
}

// Of two tensors of one shape.
bool cosineSimilarity(const Call& call, ResultStructure& result) {
  const TensorMetadata *first = call.tensor(0), *second = call.tensor(1);
  if (!first || !second || first->sizes != second->sizes) return false;
  if (first->dtype != second->dtype || !isFloating(first->dtype)) return false;
  std::optional<int64_t> along = dimensionOrSecond(call, 2, *first);
  ReducedShape shape(*first);
  if (!along || !shape.setDimensions({Dimension(*along)}) || !shape.takesElements()) return false;
  return isRealNumber(call, 3) &&
         give(call, result, newTensor(*first, shape.sizes(false), first->dtype));
}

const Row kRows[] = {
    {"sum", InTorch | AsMethod, "self|input dim|axis keepdim|keepdims ; dtype", sum},
    {"nansum", InTorch | AsMethod, "self|input dim|axis keepdim|keepdims ; dtype", sum},
    {"mean", InTorch | AsMethod, "self|input dim|axis keepdim|keepdims ; dtype", mean},
    {"var std", InTorch | AsMethod, "self|input dim|axis ; keepdim|keepdims unbiased correction",
     deviation},
    {"amax amin", InTorch | AsMethod, "self|input dim|axis keepdim|keepdims", extreme},
    {"max", InTorch | AsMethod, "self|input dim|axis|other keepdim|keepdims", max},
    {"min", InTorch | AsMethod, "self|input dim|axis|other keepdim|keepdims", min},
    {"argmax argmin", InTorch | AsMethod, "self|input dim|axis keepdim|keepdims", position},
    {"all any", InTorch | AsMethod, "self|input dim|axis keepdim|keepdims", truth},
    {"cumsum cumprod", InTorch | AsMethod, "self|input dim|axis ; dtype", cumulative},
    {"norm", InTorch | AsMethod, "self|input p dim keepdim", norm},
    {"linalg_vector_norm", InLinearAlgebra, "self|input|x ord dim keepdim", norm},
    {"normalize", InFunctional, "self|input p dim eps", normalize},
    {"cosine_similarity", InTorch, "x1 x2 dim eps", cosineSimilarity},
};

}  // namespace

llvm::ArrayRef<Row> reductionRows() { return kRows; }

}  // namespace armature

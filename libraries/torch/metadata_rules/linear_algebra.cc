// Products of matrices.

#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/result.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

namespace {

bool canMultiply(const TensorMetadata* a, const TensorMetadata* b) {
  return a && b && a->dtype == b->dtype && a->dtype != Bool && a->dtype != Complex32;
}

bool giveProduct(const Call& call, ResultStructure& result, const TensorMetadata& like,
                 Dimensions sizes) {
  return give(call, result, newTensor(like, std::move(sizes), like.dtype));
}

bool multiplyMatrices(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(0), *b = call.tensor(1);
  if (!canMultiply(a, b) || a->dimension() != 2 || b->dimension() != 2) return false;
  if (a->sizes[1] != b->sizes[0]) return false;
  return giveProduct(call, result, *a, {a->sizes[0], b->sizes[1]});
}

bool multiplyBatches(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(0), *b = call.tensor(1);
  if (!canMultiply(a, b) || a->dimension() != 3 || b->dimension() != 3) return false;
  if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1]) return false;
  return giveProduct(call, result, *a, {a->sizes[0], a->sizes[1], b->sizes[2]});
}

bool multiplyVector(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(0), *b = call.tensor(1);
  if (!canMultiply(a, b) || a->dimension() != 2 || b->dimension() != 1) return false;
  return a->sizes[1] == b->sizes[0] && giveProduct(call, result, *a, {a->sizes[0]});
}

bool multiplyVectors(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(0), *b = call.tensor(1);
  if (!canMultiply(a, b) || a->dimension() != 1 || b->dimension() != 1) return false;
  return a->sizes[0] == b->sizes[0] && giveProduct(call, result, *a, {});
}

// matmul: vectors, matrices and batches of them, by NumPy's rules.
bool multiply(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(0), *b = call.tensor(1);
  if (!canMultiply(a, b) || a->sizes.empty() || b->sizes.empty()) return false;
  // A few rows times a batch are computed the other way round, which shows in the strides.
  if (a->dimension() <= 2 && b->dimension() >= 3) return false;
  Dimension inner = b->dimension() == 1 ? b->sizes[0] : b->sizes[b->dimension() - 2];
  if (a->sizes.back() != inner) return false;
  TensorMetadata batchA, batchB;
  if (a->dimension() > 2) batchA.sizes.assign(a->sizes.begin(), a->sizes.end() - 2);
  if (b->dimension() > 2) batchB.sizes.assign(b->sizes.begin(), b->sizes.end() - 2);
  Dimensions sizes;
  if (!broadcast({&batchA, &batchB}, sizes)) return false;
  if (a->dimension() > 1) sizes.push_back(a->sizes[a->dimension() - 2]);
  if (b->dimension() > 1) sizes.push_back(b->sizes.back());
  return giveProduct(call, result, *a, std::move(sizes));
}

// A factor, which must not be of a kind that the dtype cannot hold.
bool isFactor(const Call& call, size_t parameter, DType dtype) {
  if (!call.isGiven(parameter)) return true;
  std::optional<Scalar> value = call.scalar(parameter);
  if (!value || value->dtype == Complex128) return false;
  return value->dtype != Float64 || !isIntegral(dtype);
}

// self + a @ b, where `self` broadcasts to the product.
bool giveSumWithProduct(const Call& call, ResultStructure& result, Dimensions sizes) {
  const TensorMetadata *self = call.tensor(0), *a = call.tensor(1);
  if (!self || self->dtype != a->dtype) return false;
  if (!isFactor(call, 3, a->dtype) || !isFactor(call, 4, a->dtype)) return false;
  TensorMetadata product;
  product.sizes = sizes;
  Dimensions common;
  if (!broadcast({self, &product}, common) || common != sizes) return false;
  return giveProduct(call, result, *a, std::move(sizes));
}

bool addToMatrices(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(1), *b = call.tensor(2);
  if (!canMultiply(a, b) || a->dimension() != 2 || b->dimension() != 2) return false;
  if (a->sizes[1] != b->sizes[0]) return false;
  return giveSumWithProduct(call, result, {a->sizes[0], b->sizes[1]});
}

bool addToBatches(const Call& call, ResultStructure& result) {
  const TensorMetadata *a = call.tensor(1), *b = call.tensor(2);
  if (!canMultiply(a, b) || a->dimension() != 3 || b->dimension() != 3) return false;
  if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1]) return false;
  return giveSumWithProduct(call, result, {a->sizes[0], a->sizes[1], b->sizes[2]});
}

bool linear(const Call& call, ResultStructure& result) {
  const TensorMetadata *input = call.tensor(0), *weight = call.tensor(1);
  if (!canMultiply(input, weight) || !isFloating(input->dtype)) return false;
  if (input->sizes.empty() || weight->dimension() != 2) return false;
  if (input->sizes.back() != weight->sizes[1]) return false;
  if (call.has(2)) {
    const TensorMetadata* bias = call.tensor(2);
    bool fits = bias && bias->dtype == input->dtype && bias->dimension() == 1 &&
                bias->sizes[0] == weight->sizes[0];
    if (!fits) return false;
  }
  Dimensions sizes = input->sizes;
  sizes.back() = weight->sizes[0];
  return giveProduct(call, result, *input, std::move(sizes));
}

const Row kRows[] = {
    {"mm", InTorch | AsMethod, "self|input mat2", multiplyMatrices},
    {"bmm", InTorch | AsMethod, "self|input mat2", multiplyBatches},
    {"mv", InTorch | AsMethod, "self|input vec", multiplyVector},
    {"dot", InTorch | AsMethod, "self|input tensor", multiplyVectors},
    {"matmul", InTorch | AsMethod | InOperator, "self|input other", multiply},
    {"__matmul__", AsMethod, "self other", multiply},
    {"addmm", InTorch | AsMethod, "self|input mat1 mat2 ; beta alpha", addToMatrices},
    {"baddbmm", InTorch | AsMethod, "self|input batch1 batch2 ; beta alpha", addToBatches},
    {"linear", InBindings, "input weight bias", linear},
};

}  // namespace

llvm::ArrayRef<Row> linearAlgebraRows() { return kRows; }

}  // namespace armature

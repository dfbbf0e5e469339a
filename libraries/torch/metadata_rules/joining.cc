// Tensors put together, and taken apart.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <iterator>

#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/promotion.h"
#include "libraries/torch/metadata_rules/table.h"
#include "libraries/torch/metadata_rules/views.h"

namespace armature {

namespace {

using Tensors = llvm::SmallVector<const TensorMetadata*, 8>;

// The dimension given, or `standard`; nothing if it is not one of `count`.
std::optional<int64_t> dimension(const Call& call, size_t parameter, int64_t standard,
                                 int64_t count) {
  if (!call.isGiven(parameter)) return wrapDimension(standard, count);
  std::optional<int64_t> given = call.integer(parameter);
  return given ? wrapDimension(*given, count) : std::nullopt;
}

DType promoted(const Tensors& tensors) {
  Promotion promotion;
  for (const TensorMetadata* tensor : tensors) promotion.add(*tensor);
  return promotion.result();
}

bool isEmptyVector(const TensorMetadata& tensor) {
  return tensor.sizes.size() == 1 && tensor.sizes[0] == 0;
}

bool cat(const Call& call, ResultStructure& result) {
  Tensors tensors;
  if (!call.tensors(0, tensors) || tensors.empty()) return false;
  // Vectors without elements may be joined to anything, to whose shape they add nothing.
  Tensors joined;
  llvm::copy_if(tensors, std::back_inserter(joined),
                [](const TensorMetadata* tensor) { return !isEmptyVector(*tensor); });
  if (joined.empty() || tensors[0]->device != joined[0]->device) return false;
  const TensorMetadata& first = *joined[0];
  std::optional<int64_t> along = dimension(call, 1, 0, first.dimension());
  if (!along || first.sizes.empty()) return false;
  Dimensions sizes = first.sizes;
  sizes[*along] = 0;
  for (const TensorMetadata* tensor : joined) {
    // Images keep their channels last.
    if (looksLikeChannelsLast(*tensor) || tensor->sizes.size() != sizes.size()) return false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (static_cast<int64_t>(i) == *along) continue;
      if (tensor->sizes[i] != sizes[i]) return false;
    }
    sizes[*along] += tensor->sizes[*along];
  }
  return give(call, result, newTensor(first, std::move(sizes), promoted(tensors)));
}

bool stack(const Call& call, ResultStructure& result) {
  Tensors tensors;
  if (!call.tensors(0, tensors) || tensors.empty()) return false;
  const TensorMetadata& first = *tensors[0];
  std::optional<int64_t> along = dimension(call, 1, 0, first.dimension() + 1);
  if (!along) return false;
  for (const TensorMetadata* tensor : tensors) {
    if (tensor->sizes != first.sizes || looksLikeChannelsLast(*tensor)) return false;
  }
  Dimensions sizes = first.sizes;
  sizes.insert(sizes.begin() + *along, static_cast<Dimension>(tensors.size()));
  return give(call, result, newTensor(first, std::move(sizes), promoted(tensors)));
}

bool giveParts(const Call& call, ResultStructure& result, const TensorMetadata& self, int64_t along,
               llvm::ArrayRef<Dimension> lengths) {
  llvm::SmallVector<MetadataPointer, 8> parts;
  Dimension start = 0;
  for (Dimension length : lengths) {
    MetadataPointer part = viewOf(self);
    sliceDimension(*part, along, start, start + length, 1);
    parts.push_back(std::move(part));
    start += length;
  }
  return giveViews(call, result, self, parts);
}

Dimensions equalLengths(Dimension size, Dimension length) {
  Dimensions lengths;
  for (Dimension start = 0; start < size; start += length) {
    lengths.push_back(std::min(length, size - start));
  }
  if (lengths.empty()) lengths.push_back(0);
  return lengths;
}

bool split(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || self->sizes.empty()) return false;
  std::optional<int64_t> along = dimension(call, 2, 0, self->dimension());
  if (!along) return false;
  Dimension size = self->sizes[*along];
  if (std::optional<int64_t> length = call.integer(1)) {
    return *length > 0 && giveParts(call, result, *self, *along, equalLengths(size, *length));
  }
  Dimensions lengths;
  if (!call.integers(1, lengths)) return false;
  Dimension sum = 0;
  for (Dimension length : lengths) {
    if (length < 0) return false;
    sum += length;
  }
  return sum == size && giveParts(call, result, *self, *along, lengths);
}

bool chunk(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> count = call.integer(1);
  if (!self || self->sizes.empty() || !count || *count <= 0) return false;
  std::optional<int64_t> along = dimension(call, 2, 0, self->dimension());
  if (!along) return false;
  Dimension size = self->sizes[*along];
  if (size == 0) return giveParts(call, result, *self, *along, Dimensions(*count, 0));
  Dimension length = (size + *count - 1) / *count;
  return giveParts(call, result, *self, *along, equalLengths(size, length));
}

bool unbind(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || self->sizes.empty()) return false;
  std::optional<int64_t> along = dimension(call, 1, 0, self->dimension());
  if (!along) return false;
  llvm::SmallVector<MetadataPointer, 8> parts;
  for (Dimension i = 0; i < self->sizes[*along]; ++i) {
    MetadataPointer part = viewOf(*self);
    selectIndex(*part, *along, i);
    parts.push_back(std::move(part));
  }
  return giveViews(call, result, *self, parts);
}

bool repeat(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  Dimensions sizes;
  if (!self || !call.integers(1, sizes) || sizes.size() < self->sizes.size()) return false;
  size_t added = sizes.size() - self->sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return false;
    if (i >= added) sizes[i] *= self->sizes[i - added];
  }
  return give(call, result, newTensor(*self, std::move(sizes), self->dtype));
}

const Row kRows[] = {
    {"cat", InTorch, "tensors dim|axis", cat},
    {"concat concatenate", InTorch, "tensors dim|axis", cat},
    {"stack", InTorch, "tensors dim|axis", stack},
    {"split", InTorch, "tensor split_size_or_sections dim", split},
    {"split", AsMethod, "self split_size dim", split},
    {"chunk", InTorch | AsMethod, "self|input chunks dim", chunk},
    {"unbind", InTorch | AsMethod, "self|input dim", unbind},
    {"repeat", AsMethod, "self *repeats", repeat},
};

}  // namespace

llvm::ArrayRef<Row> joiningRows() { return kRows; }

}  // namespace armature

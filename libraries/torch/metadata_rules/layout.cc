#include "libraries/torch/metadata_rules/layout.h"

#include <algorithm>
#include <numeric>

namespace armature {

namespace {

// Dimensions from the innermost outwards: sorted by insertion, which is stable and tolerates that
// some pairs cannot be compared. `compare` is positive if the first has to come after the second.
template <class Compare>
llvm::SmallVector<int, 5> sortedDimensions(size_t count, Compare&& compare) {
  llvm::SmallVector<int, 5> order(count);
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < count; ++i) {
    size_t moving = i;
    for (size_t before = i; before-- > 0;) {
      int comparison = compare(order[before], order[moving]);
      if (comparison > 0) {
        std::swap(order[before], order[moving]);
        moving = before;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

// The strides of one operand in the common shape: those of broadcast dimensions are 0.
Dimensions broadcastStrides(const TensorMetadata& tensor, const Dimensions& sizes) {
  Dimensions result(sizes.size(), 0);
  size_t offset = sizes.size() - tensor.sizes.size();
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    bool isBroadcast = tensor.sizes[i] == 1 && sizes[offset + i] != 1;
    result[offset + i] = isBroadcast ? 0 : tensor.strides[i];
  }
  return result;
}

bool isReversed(llvm::ArrayRef<int> order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int>(order.size() - 1 - i)) return false;
  }
  return true;
}

Dimensions contiguousStrides(const Dimensions& sizes) {
  TensorMetadata dense;
  dense.sizes = sizes;
  setContiguousStrides(dense);
  return dense.strides;
}

}  // namespace

bool isNonOverlappingAndDense(const TensorMetadata& tensor) {
  if (tensor.isContiguous()) return true;
  llvm::SmallVector<int, 5> order;
  for (int i = 0; i < tensor.dimension(); ++i) {
    if (tensor.sizes[i] > 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return tensor.strides[a] < tensor.strides[b]; });
  Dimension expected = 1;
  for (int dimension : order) {
    if (tensor.strides[dimension] != expected) return false;
    expected *= tensor.sizes[dimension];
  }
  return true;
}

bool isChannelsLast(const TensorMetadata& tensor) {
  if (tensor.dimension() != 4) return false;
  Dimension expected = 1;
  for (int dimension : {1, 3, 2, 0}) {
    if (tensor.sizes[dimension] == 1) continue;
    if (tensor.strides[dimension] != expected) return false;
    expected *= tensor.sizes[dimension];
  }
  return true;
}

bool looksLikeChannelsLast(const TensorMetadata& tensor) {
  if (tensor.dimension() != 4 && tensor.dimension() != 5) return false;
  if (tensor.strides[1] == 0) return false;
  llvm::SmallVector<int, 5> order = {1};
  for (int i = static_cast<int>(tensor.dimension()) - 1; i >= 2; --i) order.push_back(i);
  order.push_back(0);
  Dimension least = 0;
  for (int dimension : order) {
    if (tensor.sizes[dimension] == 0 || tensor.strides[dimension] < least) return false;
    // Nothing tells the channels from the images: taken as row-major.
    if (dimension == 0 && least == tensor.strides[1]) return false;
    least = tensor.strides[dimension] * std::max<Dimension>(tensor.sizes[dimension], 1);
  }
  return true;
}

void setChannelsLastStrides(TensorMetadata& tensor) {
  tensor.strides.assign(tensor.sizes.size(), 1);
  Dimension stride = tensor.sizes[1];
  for (size_t i = tensor.sizes.size() - 1; i >= 2; --i) {
    tensor.strides[i] = stride;
    stride *= tensor.sizes[i];
  }
  tensor.strides[0] = stride;
}

Dimensions preservedStrides(const TensorMetadata& tensor) {
  if (isNonOverlappingAndDense(tensor)) return tensor.strides;
  auto order = sortedDimensions(tensor.sizes.size(), [&](int a, int b) {
    Dimension strideA = tensor.strides[a], strideB = tensor.strides[b];
    if (strideA == 0 || strideB == 0) return 0;
    if (strideA != strideB) return strideA < strideB ? -1 : 1;
    return tensor.sizes[a] > tensor.sizes[b] ? 1 : 0;
  });
  Dimensions result(tensor.sizes.size());
  Dimension stride = 1;
  for (int dimension : order) {
    result[dimension] = stride;
    stride *= std::max<Dimension>(tensor.sizes[dimension], 1);
  }
  return result;
}

bool broadcast(llvm::ArrayRef<const TensorMetadata*> operands, Dimensions& sizes) {
  for (const TensorMetadata* operand : operands) {
    if (operand->sizes.size() > sizes.size()) {
      sizes.insert(sizes.begin(), operand->sizes.size() - sizes.size(), 1);
    }
  }
  for (const TensorMetadata* operand : operands) {
    size_t offset = sizes.size() - operand->sizes.size();
    for (size_t i = 0; i < operand->sizes.size(); ++i) {
      Dimension& size = sizes[offset + i];
      if (operand->sizes[i] == size || operand->sizes[i] == 1) continue;
      if (size != 1) return false;
      size = operand->sizes[i];
    }
  }
  return true;
}

Dimensions elementwiseStrides(llvm::ArrayRef<const TensorMetadata*> operands,
                              const Dimensions& sizes) {
  bool sameShape = std::all_of(operands.begin(), operands.end(),
                               [&](const auto* operand) { return operand->sizes == sizes; });
  if (sameShape && !operands.empty()) {
    auto all = [&](auto&& predicate) {
      return std::all_of(operands.begin(), operands.end(),
                         [&](const auto* operand) { return predicate(*operand); });
    };
    if (all([](const auto& operand) { return operand.isContiguous(); })) {
      return contiguousStrides(sizes);
    }
    if (all(isChannelsLast)) {
      TensorMetadata images;
      images.sizes = sizes;
      setChannelsLastStrides(images);
      return images.strides;
    }
    const Dimensions& strides = operands.back()->strides;
    if (all([&](const auto& operand) {
          return isNonOverlappingAndDense(operand) && operand.strides == strides;
        })) {
      return strides;
    }
  }

  llvm::SmallVector<Dimensions, 3> strides;
  for (const TensorMetadata* operand : operands) {
    strides.push_back(broadcastStrides(*operand, sizes));
  }
  // The first operand that can tell two dimensions apart decides.
  auto order = sortedDimensions(sizes.size(), [&](int a, int b) {
    for (const Dimensions& operand : strides) {
      if (operand[a] == 0 || operand[b] == 0) continue;
      if (operand[a] != operand[b]) return operand[a] < operand[b] ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  });
  if (isReversed(order)) return contiguousStrides(sizes);
  Dimensions result(sizes.size());
  Dimension stride = 1;
  for (int dimension : order) {
    result[dimension] = stride;
    stride *= sizes[dimension];
  }
  return result;
}

}  // namespace armature

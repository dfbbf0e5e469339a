#include "shapes/tensor_metadata.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

TensorMetadata strided(Dimensions sizes, Dimensions strides) {
  TensorMetadata metadata;
  metadata.sizes = std::move(sizes);
  metadata.strides = std::move(strides);
  return metadata;
}

// Expectations are torch's: torch.empty_strided(sizes, strides).is_contiguous().
TEST(TensorMetadata, IsContiguousByTorchsRule) {
  EXPECT_TRUE(strided({}, {}).isContiguous());
  EXPECT_TRUE(strided({2, 3}, {3, 1}).isContiguous());
  EXPECT_FALSE(strided({2, 3}, {1, 2}).isContiguous());
  EXPECT_TRUE(strided({1, 3}, {77, 1}).isContiguous());
  EXPECT_TRUE(strided({3, 1}, {1, 5}).isContiguous());
  EXPECT_TRUE(strided({0, 3}, {1, 7}).isContiguous());
  EXPECT_TRUE(strided({3, 0}, {1, 7}).isContiguous());
  EXPECT_FALSE(strided({3, 2}, {4, 2}).isContiguous());
}

// torch.empty(sizes).stride()
TEST(TensorMetadata, SetsContiguousStrides) {
  auto strides = [](Dimensions sizes) {
    TensorMetadata metadata = strided(std::move(sizes), {});
    setContiguousStrides(metadata);
    return metadata.strides;
  };
  EXPECT_EQ(strides({}), Dimensions());
  EXPECT_EQ(strides({2, 3, 4}), Dimensions({12, 4, 1}));
  EXPECT_EQ(strides({2, 0, 4}), Dimensions({4, 4, 1}));
  EXPECT_EQ(strides({1, 1, 1, 1, 1, 2, 3}), Dimensions({6, 6, 6, 6, 6, 3, 1}));
}

TEST(TensorMetadata, CountsElements) {
  EXPECT_EQ(strided({}, {}).numel(), 1);
  EXPECT_EQ(strided({2, 3}, {3, 1}).numel(), 6);
  EXPECT_EQ(strided({2, 0}, {1, 1}).numel(), 0);
}

TEST(TensorMetadata, PrintsAsFx) {
  TensorMetadata metadata = strided({2, 3}, {3, 1});
  metadata.dtype = 6;
  EXPECT_EQ(toString(metadata), "f32[2, 3]");
  metadata.dtype = 11;
  metadata.sizes.clear();
  EXPECT_EQ(toString(metadata), "b8[]");
  metadata.dtype = 45;
  EXPECT_EQ(toString(metadata), "f4e2m1fnx2[]");
  metadata.dtype = 46;
  EXPECT_EQ(toString(metadata), "dtype46[]");
  metadata.library = ArrayLibraryKind::NumPy;
  metadata.dtype = 12;
  EXPECT_EQ(toString(metadata), "f64[]");
}

}  // namespace
}  // namespace armature

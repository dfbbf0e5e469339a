#include "shapes/memory_overlap.h"

#include <gtest/gtest.h>
#include <llvm/ADT/STLExtras.h>

#include <random>
#include <set>
#include <vector>

namespace armature {
namespace {

TensorMetadata placed(Dimensions sizes, Dimensions strides, int64_t offset = 0) {
  TensorMetadata metadata;
  metadata.sizes = std::move(sizes);
  metadata.strides = std::move(strides);
  metadata.storageOffset = offset;
  return metadata;
}

// Every element's place, one after the other.
std::vector<int64_t> placesOf(const TensorMetadata& array) {
  std::vector<int64_t> places = {array.storageOffset.value()};
  for (size_t i = 0; i < array.sizes.size(); ++i) {
    std::vector<int64_t> further;
    for (int64_t place : places) {
      for (int64_t k = 0; k < array.sizes[i].value(); ++k) {
        further.push_back(place + k * array.strides[i].value());
      }
    }
    places = std::move(further);
  }
  return places;
}

TEST(MemoryOverlap, KnowsTheSlicesOfAMatrix) {
  TensorMetadata matrix = placed({4, 4}, {4, 1});
  EXPECT_FALSE(mayOverlapItself(matrix));
  EXPECT_TRUE(mayOverlap(matrix, placed({4}, {1}, 8)));
  EXPECT_FALSE(mayOverlap(placed({4, 2}, {4, 1}), placed({4, 2}, {4, 1}, 2)));  // halves of rows
  EXPECT_TRUE(mayOverlap(placed({4, 3}, {4, 1}), placed({4, 3}, {4, 1}, 1)));   // shifted
  EXPECT_FALSE(mayOverlap(placed({8}, {2}), placed({8}, {2}, 1)));              // even and odd
  EXPECT_TRUE(haveSamePlaces(matrix, matrix));
  EXPECT_FALSE(haveSamePlaces(matrix, placed({4, 4}, {1, 4})));
}

TEST(MemoryOverlap, KnowsWhatIsExpandedOrUnfolded) {
  EXPECT_TRUE(mayOverlapItself(placed({2, 4}, {0, 1})));
  EXPECT_FALSE(mayOverlapItself(placed({1, 4}, {0, 1})));
  EXPECT_TRUE(mayOverlapItself(placed({3, 2}, {1, 1})));
  EXPECT_FALSE(mayOverlapItself(placed({0, 4}, {0, 1})));
  EXPECT_FALSE(mayOverlap(placed({0, 4}, {4, 1}), placed({4}, {1})));
}

TEST(MemoryOverlap, KnowsThePartsOfWhatHasNoGaps) {
  TensorMetadata matrix = placed({4, 4}, {4, 1}, 8);
  EXPECT_TRUE(isPart(placed({4, 4}, {1, 4}, 8), matrix));
  EXPECT_TRUE(isPart(placed({4}, {5}, 8), matrix));        // the diagonal
  EXPECT_TRUE(isPart(placed({3, 3}, {1, 1}, 8), matrix));  // windows
  EXPECT_TRUE(isPart(placed({0}, {1}, 99), matrix));
  EXPECT_FALSE(isPart(placed({4}, {1}, 7), matrix));               // begins before
  EXPECT_FALSE(isPart(placed({4}, {1}, 21), matrix));              // ends behind
  EXPECT_FALSE(isPart(placed({2}, {1}, 8), placed({4}, {2}, 8)));  // in the gaps
  EXPECT_FALSE(isPart(placed({2}, {1}, 8), placed({4, 2}, {0, 1}, 8)));
}

TEST(MemoryOverlap, HoldsForHugeArrays) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  TensorMetadata left = placed({kHuge, kHuge / 2}, {kHuge, 1});
  EXPECT_FALSE(mayOverlapItself(left));
  EXPECT_FALSE(mayOverlap(left, placed({kHuge, kHuge / 2}, {kHuge, 1}, kHuge / 2)));
  EXPECT_TRUE(mayOverlap(left, placed({kHuge, kHuge / 2}, {kHuge, 1}, kHuge / 2 - 1)));
}

TEST(MemoryOverlap, AgreesWithEveryElement) {
  std::mt19937 random(5);
  auto below = [&](int n) { return static_cast<int64_t>(random() % n); };
  auto any = [&] {
    Dimensions sizes, strides;
    int64_t offset = below(12);
    for (int64_t i = below(4); i > 0; --i) {
      int64_t size = below(5), stride = below(9) - 2;
      if (stride < 0) offset += -stride * size;
      sizes.push_back(size);
      strides.push_back(stride);
    }
    return placed(sizes, strides, offset);
  };
  for (int round = 0; round < 20000; ++round) {
    TensorMetadata left = any(), right = any();
    std::vector<int64_t> places = placesOf(left);
    std::set<int64_t> distinct(places.begin(), places.end());
    bool meet = false;
    for (int64_t place : placesOf(right)) meet |= distinct.contains(place);
    ASSERT_EQ(mayOverlap(left, right), meet) << toString(left) << toString(right);
    bool meetsItself = distinct.size() != places.size();
    ASSERT_TRUE(!meetsItself || mayOverlapItself(left)) << toString(left);
    std::vector<int64_t> others = placesOf(right);
    bool isInside = llvm::all_of(others, [&](int64_t place) { return distinct.contains(place); });
    ASSERT_TRUE(!isPart(right, left) || isInside) << toString(right) << toString(left);
  }
}

}  // namespace
}  // namespace armature

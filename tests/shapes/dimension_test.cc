#include "shapes/dimension.h"

#include <gtest/gtest.h>

#include <limits>

namespace armature {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST(Dimension, ComputesAsNumbersDo) {
  Dimension a = 7, b = 3;
  EXPECT_EQ((a + b).value(), 10);
  EXPECT_EQ((a - b).value(), 4);
  EXPECT_EQ((2 * a * b).value(), 42);
  EXPECT_EQ((a / b).value(), 2);
  EXPECT_EQ((a % b).value(), 1);
  EXPECT_EQ((-a).value(), -7);
  EXPECT_EQ((++a).value(), 8);
  a /= 2;
  EXPECT_EQ(a, 4);
  EXPECT_TRUE(b < a && a >= 4 && a != b);
}

TEST(Dimension, NeverOverflowsSilently) {
  EXPECT_THROW(Dimension(kMost) + 1, DimensionOverflow);
  EXPECT_THROW(Dimension(kLeast) - 1, DimensionOverflow);
  EXPECT_THROW(Dimension(int64_t{1} << 32) * (int64_t{1} << 32), DimensionOverflow);
  EXPECT_THROW(-Dimension(kLeast), DimensionOverflow);
  EXPECT_THROW(Dimension(kLeast) / -1, DimensionOverflow);
  EXPECT_EQ((Dimension(kLeast) % -1).value(), 0);
}

}  // namespace
}  // namespace armature

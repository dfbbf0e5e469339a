#include "guards/object_set.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

TEST(ObjectSetTest, KnowsWhatWasInserted) {
  std::vector<char> objects(1000);
  ObjectSet set(objects.size());
  for (int round = 0; round < 3; ++round) {
    for (const char& object : objects) {
      EXPECT_FALSE(set.contains(&object));
      EXPECT_TRUE(set.insert(&object));
      EXPECT_TRUE(set.contains(&object));
      EXPECT_FALSE(set.insert(&object));
    }
    set.clear();
  }
}

TEST(ObjectSetTest, AnEmptySetContainsNothing) {
  char object = 0;
  ObjectSet set(0);
  EXPECT_FALSE(set.contains(&object));
}

}  // namespace
}  // namespace armature

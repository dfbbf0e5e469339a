#include "graph/namespace.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

TEST(Namespace, NumbersWhatIsTaken) {
  Namespace names;
  EXPECT_EQ(names.createName("add"), "add");
  EXPECT_EQ(names.createName("add"), "add_1");
  EXPECT_EQ(names.createName("add"), "add_2");
  EXPECT_EQ(names.createName("add_2"), "add_3");
  EXPECT_EQ(names.createName("add_7"), "add_7");
  EXPECT_EQ(names.createName("add"), "add_8");
}

TEST(Namespace, ShadowsNoKeywordAndNoBuiltin) {
  Namespace names;
  EXPECT_EQ(names.createName("max"), "max_1");
  EXPECT_EQ(names.createName("class"), "class_1");
  EXPECT_EQ(names.createName("inf"), "inf_1");
  EXPECT_EQ(names.createName("max"), "max_2");
}

TEST(Namespace, MakesIdentifiers) {
  Namespace names;
  EXPECT_EQ(names.createName("aten.add.Tensor"), "aten_add_Tensor");
  EXPECT_EQ(names.createName("L['x'] + 1"), "L_x_1");
  EXPECT_EQ(names.createName("2d"), "_2d");
  EXPECT_EQ(names.createName(""), "_unnamed");
  EXPECT_EQ(names.createName("_1"), "_1");
  EXPECT_EQ(names.createName("_1"), "_1_1");
}

TEST(SnakeCase, SeparatesWords) {
  EXPECT_EQ(snakeCase("pascalCase"), "pascal_case");
  EXPECT_EQ(snakeCase("ALL_CAPS"), "all_caps");
  EXPECT_EQ(snakeCase("L_self_modules_fc1"), "l_self_modules_fc1");
}

}  // namespace
}  // namespace armature

#include "libraries/torch/tensor_reader.h"

#include <gtest/gtest.h>

#include "libraries/torch/global_state.h"
#include "libraries/torch/thread_state.h"

namespace armature {
namespace {

TEST(TensorReader, WaitsForTorch) {
  EXPECT_FALSE(registerTorch());
  EXPECT_FALSE(PyErr_Occurred());
  EXPECT_EQ(arrayLibrary(ArrayLibraryKind::Torch), nullptr);
  EXPECT_EQ(PyDict_GetItemString(PyImport_GetModuleDict(), "torch"), nullptr);

  Ref<> torch = Ref<>::steal(PyImport_ImportModule("torch"));
  ASSERT_TRUE(torch);
  EXPECT_TRUE(registerTorch());
  EXPECT_TRUE(registerTorch());
  EXPECT_FALSE(PyErr_Occurred());
  EXPECT_NE(arrayLibrary(ArrayLibraryKind::Torch), nullptr);
}

// With the torch that we are tested with, nothing needs to fall back.
TEST(TensorReader, ProvesItsFastestWays) {
  Ref<> torch = Ref<>::steal(PyImport_ImportModule("torch"));
  ASSERT_TRUE(registerTorch());
  EXPECT_STREQ(forceTensorAccess(""), "layout");
  EXPECT_TRUE(prepareThreadWords());
  EXPECT_TRUE(torchStateMatches(captureTorchState(0)));
  EXPECT_FALSE(torchStateMatches("something else"));
}

}  // namespace
}  // namespace armature

#include "libraries/torch/torch_library.h"

#include <gtest/gtest.h>

#include <set>

#include "libraries/torch/tensor_reader.h"

namespace armature {
namespace {

Ref<> string(const char* text) { return Ref<>::steal(PyUnicode_FromString(text)); }

Ref<> evaluate(const char* expression) {
  PyObject* globals = PyModule_GetDict(PyImport_AddModule("__main__"));
  return Ref<>::steal(PyRun_String(expression, Py_eval_input, globals, globals));
}

class RecordingObserver : public Observer {
 public:
  void observe(Node* placeholder, uint32_t observed) override {
    if (observed == ObservedIsLeaf) {
      leaves.insert(placeholder);
      return;
    }
    if (observed == ObservedStorageOffset) {
      offsets.insert(placeholder);
      return;
    }
    EXPECT_EQ(observed, uint32_t{ObservedEverything});
    inputs.insert(placeholder);
  }
  std::set<Node*> inputs;
  std::set<Node*> leaves;   // of which it matters whether they are leaves
  std::set<Node*> offsets;  // of which it matters where they begin in memory
};

class TorchLibraryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    EXPECT_FALSE(registerTorchLibrary());
    EXPECT_FALSE(PyErr_Occurred());
    ASSERT_EQ(PyRun_SimpleString("import torch"), 0);
    ASSERT_TRUE(registerTorch());
    ASSERT_TRUE(registerTorchLibrary());
    ASSERT_TRUE(registerTorchLibrary());
  }

  const Library& library() { return *findLibrary(ArrayLibraryKind::Torch); }
  Node* addInput(const char* expression) {
    return graph.addPlaceholder(graph.sources()->local(inputs++, string("x")),
                                evaluate(expression));
  }
  Node* addMethod(const char* name, std::vector<Argument> arguments) {
    return graph.addCall(NodeOperation::CallMethod, string(name), std::move(arguments), {}, {});
  }

  Graph graph{std::make_shared<SourceTable>()};
  int64_t inputs = 0;
  RecordingObserver observer;
};

TEST_F(TorchLibraryTest, ReadsInputsWhenAsked) {
  Node* x = addInput("torch.ones(2, 3)");
  const TensorMetadata* metadata = library().metadata(x, observer);
  ASSERT_TRUE(metadata);
  EXPECT_EQ(toString(*metadata), "f32[2, 3]");
  EXPECT_EQ(observer.inputs, std::set<Node*>{x});
}

TEST_F(TorchLibraryTest, EvaluatesLongChainsWithoutRecursion) {
  Node* node = addInput("torch.ones(2, 3)");
  for (int i = 0; i < 100000; ++i) node = addMethod("relu", {node});
  ASSERT_TRUE(library().metadata(node, observer));
  EXPECT_EQ(toString(*node->metadata), "f32[2, 3]");
  EXPECT_TRUE(node->checked);
}

TEST_F(TorchLibraryTest, ObservesOnlyWhatTheAnswerDependsOn) {
  Node* x = addInput("torch.ones(2, 3)");
  addInput("torch.ones(4)");
  Node* y = addMethod("relu", {x});
  ASSERT_TRUE(library().metadata(y, observer));
  EXPECT_EQ(observer.inputs, std::set<Node*>{x});
}

TEST_F(TorchLibraryTest, AsksWhatAChangeInPlaceDependsOn) {
  Node* x = addInput("torch.ones(2, 3)");
  Node* y = addInput("torch.ones(2, 3)");
  Node* view = addMethod("t", {x});
  Node* sum = addMethod("add", {view, view});
  ASSERT_TRUE(library().metadata(sum, observer));
  EXPECT_TRUE(observer.leaves.empty());
  Node* changed = addMethod("mul_", {view, addMethod("t", {y})});
  ASSERT_TRUE(library().metadata(changed, observer));
  EXPECT_EQ(observer.leaves, std::set<Node*>{x});
}

TEST_F(TorchLibraryTest, RaisesTheOperationsException) {
  Node* x = addInput("torch.ones(2, 3)");
  Ref<> five = Ref<>::steal(PyLong_FromLong(5));
  Node* node = addMethod("view", {x, Argument::constant(five)});
  EXPECT_FALSE(library().metadata(node, observer));
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_RuntimeError));
  PyErr_Clear();
  EXPECT_EQ(observer.offsets, std::set<Node*>{x});
  EXPECT_FALSE(node->checked);
  EXPECT_FALSE(library().isPure(*node));
}

TEST_F(TorchLibraryTest, AnswersAttributes) {
  Node* x = addInput("torch.ones(2, 3, dtype=torch.int32).t()");
  const TensorMetadata& metadata = *library().metadata(x, observer);
  auto text = [&](const char* name) {
    Ref<> value = library().attribute(metadata, name);
    Ref<> text = Ref<>::steal(value ? PyObject_Repr(value.get()) : nullptr);
    return text ? std::string(PyUnicode_AsUTF8(text.get())) : "";
  };
  EXPECT_EQ(text("shape"), "torch.Size([3, 2])");
  EXPECT_EQ(text("stride"), "(1, 3)");
  EXPECT_EQ(text("dtype"), "torch.int32");
  EXPECT_EQ(text("device"), "device(type='cpu')");
  EXPECT_EQ(text("is_contiguous"), "False");
  EXPECT_EQ(text("element_size"), "4");
  EXPECT_EQ(text("get_device"), "-1");
  EXPECT_EQ(text("no_such_attribute"), "");
  EXPECT_FALSE(PyErr_Occurred());
}

}  // namespace
}  // namespace armature

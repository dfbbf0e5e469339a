#include "graph/graph.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/json.h"

namespace armature {
namespace {

PyObject* operatorFunction(const char* name) {
  Ref<> module = Ref<>::steal(PyImport_ImportModule("_operator"));
  return PyObject_GetAttrString(module.get(), name);
}

Ref<> string(const char* text) { return Ref<>::steal(PyUnicode_FromString(text)); }

class GraphTest : public testing::Test {
 protected:
  Node* addInput(const char* name) {
    return graph.addPlaceholder(graph.sources()->local(inputs++, string(name)), Py_None);
  }
  Node* addCall(const char* name, std::vector<Argument> arguments) {
    return graph.addCall(NodeOperation::CallFunction, operatorFunction(name), std::move(arguments),
                         {}, {});
  }
  std::vector<std::string> names() {
    graph.nameNodes();
    std::vector<std::string> result;
    for (const auto& node : graph.nodes()) result.push_back(node->name);
    return result;
  }

  Graph graph{std::make_shared<SourceTable>()};
  int64_t inputs = 0;
};

using Names = std::vector<std::string>;

bool always(const Node&) { return true; }
bool never(const Node&) { return false; }

TEST_F(GraphTest, KeepsProgramOrderAndPutsInputsFirst) {
  Node* x = addInput("x");
  Node* sum = addCall("add", {x, x});
  Node* y = addInput("y");
  Node* product = addCall("mul", {sum, y});
  EXPECT_EQ(graph.operationCount(), 2u);
  EXPECT_FALSE(graph.empty());
  graph.finish({product}, always);
  EXPECT_EQ(names(), (Names{"l_x_", "l_y_", "add", "mul", "output"}));
  EXPECT_EQ(graph.placeholders(), (std::vector<Node*>{x, y}));
  EXPECT_EQ(x->users, 2);
  EXPECT_EQ(sum->index, 2);
}

TEST_F(GraphTest, AsksEachNodeOnceUntilOneIsFound) {
  int asked = 0;
  auto firstSubtraction = [&] {
    auto isOne = [&](const Node& node) {
      ++asked;
      return node.target.get() == operatorFunction("sub");
    };
    auto found = graph.from(Graph::Question::SaysGradients, isOne);
    return found.empty() ? -1 : found.front()->index;
  };
  Node* x = addInput("x");
  addCall("add", {x, x});
  EXPECT_EQ(firstSubtraction(), -1);
  addCall("mul", {x, x});
  EXPECT_EQ(firstSubtraction(), -1);
  EXPECT_EQ(asked, 3);
  graph.truncate(2);
  addCall("sub", {x, x});
  EXPECT_EQ(firstSubtraction(), 2);
  EXPECT_EQ(asked, 4);
  graph.truncate(1);
  EXPECT_EQ(firstSubtraction(), -1);
}

TEST_F(GraphTest, AsksAgainWhereCallsWereMoved) {
  auto isProduct = [](const Node& node) { return node.target.get() == operatorFunction("mul"); };
  auto count = [&] { return graph.from(Graph::Question::SaysGradients, isProduct).size(); };
  Node* x = addInput("x");
  Node* sum = addCall("add", {x, x});
  addCall("add", {sum, x});
  EXPECT_EQ(count(), 0u);
  graph.outline(1, sum, {});
  addCall("mul", {x, x});
  EXPECT_EQ(count(), 1u);
}

TEST_F(GraphTest, DropsWhatIsDead) {
  Node* x = addInput("x");
  addInput("unused");
  Node* kept = addCall("add", {x, x});
  Node* dead = addCall("mul", {kept, kept});
  addCall("sub", {dead, dead});
  graph.finish({kept}, always);
  EXPECT_EQ(names(), (Names{"l_x_", "add", "output"}));
  EXPECT_EQ(kept->users, 1);
}

TEST_F(GraphTest, KeepsWhatHasEffects) {
  Node* x = addInput("x");
  addCall("add", {x, x});
  graph.finish({}, never);
  EXPECT_EQ(names(), (Names{"l_x_", "add", "output"}));
}

TEST_F(GraphTest, TruncatedNodesLeaveNoName) {
  Node* x = addInput("x");
  size_t mark = graph.size();
  addCall("add", {x, x});
  addInput("y");
  graph.truncate(mark);
  Node* again = addCall("add", {x, x});
  graph.finish({again}, never);
  EXPECT_EQ(names(), (Names{"l_x_", "add", "output"}));
}

TEST_F(GraphTest, NamesNodesAfterVariables) {
  Node* x = addInput("x");
  Node* first = addCall("add", {x, x});
  first->variableName = string("y");
  Node* second = addCall("add", {first, x});
  second->variableName = string("y");
  graph.finish({second}, never);
  EXPECT_EQ(names(), (Names{"l_x_", "y", "y_1", "output"}));
}

TEST_F(GraphTest, FindsInputsWithinAggregates) {
  Node* x = addInput("x");
  Node* y = addInput("y");
  std::vector<Argument> items = {x, Argument::constant(Py_None)};
  Argument list = Argument::aggregate(Argument::Kind::List, items);
  Argument slice = Argument::aggregate(
      Argument::Kind::Slice, {Argument::constant(Py_None), y, Argument::constant(Py_None)});
  Node* node = addCall("add", {list, slice});
  std::vector<Node*> found;
  forEachInput(*node, [&](Node* input) { found.push_back(input); });
  EXPECT_EQ(found, (std::vector<Node*>{x, y}));
}

TEST_F(GraphTest, BecomesAFunction) {
  Node* x = addInput("x");
  Node* y = addInput("y");
  Ref<> two = Ref<>::steal(PyLong_FromLong(2));
  Node* product = addCall("mul", {x, Argument::constant(two)});
  Node* sum = addCall("add", {product, y});
  graph.finish({sum, x}, always);
  Ref<> function = toFunction(graph);
  ASSERT_TRUE(function);
  Ref<> result = Ref<>::steal(PyObject_CallFunction(function.get(), "ii", 20, 2));
  ASSERT_TRUE(result);
  Ref<> expected = Ref<>::steal(Py_BuildValue("(ii)", 42, 20));
  EXPECT_TRUE(PyObject_RichCompareBool(result.get(), expected.get(), Py_EQ));
}

TEST_F(GraphTest, CallsBecomeASubgraph) {
  Node* x = addInput("x");
  Ref<> two = Ref<>::steal(PyLong_FromLong(2));
  Node* doubled = addCall("mul", {x, Argument::constant(two)});
  Node* sum = addCall("add", {doubled, x});
  Node* y = addInput("y");
  Node* product = addCall("mul", {sum, y});
  Graph::Subgraph subgraph =
      graph.outline(2, Argument::aggregate(Argument::Kind::Tuple, {product}), {});
  EXPECT_EQ(subgraph.inputs, (std::vector<Node*>{doubled, x, y}));
  EXPECT_EQ(graph.size(), 3);
  EXPECT_EQ(subgraph.graph->size(), 5);
  Node* body = graph.addSubgraph(subgraph.graph, string("body"), {});
  Node* call = addCall("call", {body, doubled, x, y});
  Ref<> zero = Ref<>::steal(PyLong_FromLong(0));
  Node* item = addCall("getitem", {call, Argument::constant(zero)});
  graph.finish({item}, never);
  EXPECT_EQ(names(), (Names{"l_x_", "l_y_", "mul", "body_0", "call", "getitem", "output"}));
  EXPECT_NE(toString(graph).find("class body_0(torch.nn.Module):"), std::string::npos);
  EXPECT_EQ(toJson(graph)["nodes"][3]["body"]["nodes"].size(), 6);
  Ref<> function = toFunction(graph);
  ASSERT_TRUE(function);
  Ref<> result = Ref<>::steal(PyObject_CallFunction(function.get(), "ii", 5, 3));
  ASSERT_TRUE(result);
  Ref<> expected = Ref<>::steal(Py_BuildValue("(i)", 45));
  EXPECT_TRUE(PyObject_RichCompareBool(result.get(), expected.get(), Py_EQ));
}

TEST_F(GraphTest, AnUnfinishedGraphIsNoFunction) {
  addInput("x");
  EXPECT_FALSE(toFunction(graph));
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ValueError));
  PyErr_Clear();
}

}  // namespace
}  // namespace armature

// Operations with bodies: a call is traced as any other, and the operations that it did become a
// graph of their own.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>

#include "variables/translator.h"

namespace armature {

class TensorVariable;

// What one call did. The calls of one operation's bodies are made, one after the other, before the
// first of them is outlined: outlining moves nodes.
class Body {
 public:
  // Adds arguments to which the operation itself gives values, and gives the nodes that stand for
  // them (Graph::Parameters).
  using AddParameters = llvm::function_ref<std::vector<Node*>(CallArguments& arguments)>;

  // Makes the call. Breaks where it cannot be run again and again as the program would run it: it
  // left the library in another mode, or changed what it has not made itself.
  Body(Translator& translator, const Library& library, const Value& callable,
       CallArguments& arguments, AddParameters addParameters = nullptr);

  // What it returned; null if it raised, with the exception pending.
  const Value& result() const { return result_; }
  // Breaks if it raised.
  void requireResult() const;
  // The arrays in it, each once, in the order of the result: those that the call has made, and
  // those that were there before.
  const std::vector<Node*>& outputs() const { return outputs_; }
  // Does the result hold an array that was there before?
  bool returnsOthers() const { return returnsOthers_; }

  // Moves what it did, and all behind it, into a graph that returns the outputs. Once.
  Graph::Subgraph outline(Argument::Kind form = Argument::Kind::Tuple);
  // As that, of a result that is one array.
  Graph::Subgraph outlineOne();
  // The result's own arrays are items of `node` now, a call of the graph, in the order of
  // outputs().
  void takeItemsOf(Node* node);

 private:
  void collect(const Value& value);
  void addTensor(TensorVariable* tensor);
  Graph::Subgraph outlineAs(Argument output);

  Translator& translator_;
  const Library& library_;
  std::string callable_;
  size_t firstNode_, firstSerial_;
  uint32_t mode_;
  std::vector<Node*> parameters_;
  Value result_;
  bool returnsOthers_ = false;
  llvm::SmallPtrSet<VariableTracker*, 8> seen_;
  llvm::SmallPtrSet<Node*, 4> others_;  // outputs that were there before
  std::vector<Node*> outputs_;
  std::vector<TensorVariable*> tensors_;
};

}  // namespace armature

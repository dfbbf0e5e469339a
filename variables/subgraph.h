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
  // Makes the call. Breaks where it cannot be run again and again as the program would run it: it
  // raised, left the library in another mode, or changed what it has not made itself.
  Body(Translator& translator, const Library& library, const Value& callable,
       CallArguments& arguments);

  // What it returned.
  const Value& result() const { return result_; }
  // The arrays in it that the call has made, each once, in the order of the result.
  const std::vector<Node*>& outputs() const { return outputs_; }
  // Does the result hold an array that was there before?
  bool returnsOthers() const { return returnsOthers_; }
  // Did it do no operation at all?
  bool isEmpty() const;

  // Moves what it did, and all behind it, into a graph that returns the outputs. Once.
  Graph::Subgraph outline();
  // The result's arrays are items of `node` now, a call of the graph, in the order of outputs().
  void takeItemsOf(Node* node);

 private:
  void collect(const Value& value);
  void addTensor(TensorVariable* tensor);

  Translator& translator_;
  const Library& library_;
  size_t firstNode_, firstSerial_;
  uint32_t mode_;
  Value result_;
  bool returnsOthers_ = false;
  llvm::SmallPtrSet<VariableTracker*, 8> seen_;
  std::vector<Node*> outputs_;
  std::vector<TensorVariable*> tensors_;
};

}  // namespace armature

// What each callable of NumPy, each method name of its arrays, and each node is to a trace.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

#include <vector>

#include "libraries/numpy/function_rules.h"
#include "libraries/numpy/numpy_module.h"
#include "libraries/package_modules.h"
#include "variables/library.h"

namespace armature {

class NumPyFunctions {
 public:
  explicit NumPyFunctions(const NumPyModule& numpy);

  CallRule classify(BorrowedRef<> callable) const;
  CallRule classifyMethod(BorrowedRef<> name) const;
  // Is the operation, which is in the graph, a function of Python's operator module?
  bool isOperator(const Node& node) const {
    return node.operation == NodeOperation::CallFunction && operators_.count(node.target.get());
  }
  // The rule of an operation that is in the graph.
  const FunctionRule& of(const Node& node) const;

 private:
  using Rules = llvm::DenseMap<PyObject*, const FunctionRule*>;

  void addFamily(const FunctionFamily& family);
  void addUniversalFunctions();
  void add(Rules& rules, Ref<> callable, const FunctionRule* rule);
  bool isOfLimits(BorrowedRef<> callable) const;
  bool isFromNumPy(BorrowedRef<> callable) const;

  const NumPyModule& numpy_;
  mutable PackageModules modules_{"numpy"};
  Rules functions_;
  // Functions of Python's that the graph uses for operators; as callables they are not ours.
  Rules operators_;
  llvm::StringMap<const FunctionRule*> methods_;
  std::vector<Ref<>> kept_;  // keeps the keys alive
};

}  // namespace armature

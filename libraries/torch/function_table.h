// What each callable of torch, and each method name of its tensors, is to a trace.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <string_view>
#include <vector>

#include "libraries/torch/torch_module.h"
#include "variables/library.h"

namespace armature {

class FunctionTable {
 public:
  explicit FunctionTable(const TorchModule& torch) : torch_(torch) {}

  CallRule classify(BorrowedRef<> callable);
  CallRule classifyMethod(BorrowedRef<> name);

 private:
  CallRule find(BorrowedRef<> callable);
  CallRule findFunction(BorrowedRef<> function);
  CallRule findType(BorrowedRef<PyTypeObject> type);
  CallRule findOperator(BorrowedRef<> overloadOrPacket);
  CallRule findMethod(std::string_view name);
  // A function or method that has schemas under `name`, or has none.
  CallRule graphOperation(std::string_view name);
  // True if every schema of the name that is about tensors returns one tensor.
  bool isOperation(std::string_view name);
  bool returnsOneTensor(std::string_view name);

  const TorchModule& torch_;
  // Answers that were given, except NotOurs and those on functions that calls make: such come and
  // go, and a trace remembers that by itself (LibraryOfCallables). `kept_` keeps the keys alive.
  llvm::DenseMap<PyObject*, CallRule> known_;
  std::vector<Ref<>> kept_;
  llvm::DenseMap<PyObject*, CallRule> methods_;  // by what torch.Tensor has
};

}  // namespace armature

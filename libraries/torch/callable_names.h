// Under which name torch, or the operator module, keeps a callable; by its identity.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

#include <string>
#include <vector>

#include "libraries/torch/torch_module.h"

namespace armature {

struct CallableName {
  // "torch.nn.functional", "torch._C._nn", "torch.Tensor", "operator", …. Empty for what is
  // neither torch's nor the operator module's.
  std::string module;
  // Empty for a Python function that is torch's and that no module has as an attribute.
  std::string name;

  // "torch.nn.functional.relu"; empty without a name.
  std::string qualified() const { return name.empty() ? std::string() : module + "." + name; }
};

class CallableNames {
 public:
  explicit CallableNames(const TorchModule& torch);

  // The answer is remembered, and the callable with it, if it has a name: others belong to neither
  // module, or come and go with the calls that make them.
  const CallableName& of(BorrowedRef<> callable);

 private:
  CallableName find(BorrowedRef<> callable);
  CallableName findPythonFunction(BorrowedRef<> function);
  CallableName findCFunction(BorrowedRef<> function);
  void addExports(const char* module);

  const TorchModule& torch_;
  // Functions that a call made (a decorator, a dispatcher) and that a module of operations exports.
  llvm::DenseMap<PyObject*, CallableName> exports_;
  llvm::DenseMap<PyObject*, std::string> operators_;
  llvm::DenseMap<PyObject*, CallableName> known_;
  llvm::StringMap<CallableName> unnamed_;  // of functions without a name, by their module
  std::vector<Ref<>> kept_;
};

// The names of the imported torch, which must be there.
CallableNames& callableNames();

}  // namespace armature

// What torch tells a TorchFunctionMode of a call.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <string>
#include <vector>

#include "variables/operation_modes.h"

namespace armature {

// Breaks: an operation that a mode would hear of, or a mode itself, is not what a trace can hold.
[[noreturn]] void refuseOverridden(const std::string& what, const char* reason);

class TensorVariable;

// The call is made with stand-ins for its tensors, under a mode that notes what it hears and ends
// the call by that. Throws a GraphBreak where that says nothing of the call itself.
class HeardCall {
 public:
  HeardCall(Translator& translator, const OperationCall& call)
      : translator_(translator), call_(call) {}

  // What the method of a mode is called with: function, types, arguments, and keywords if there are
  // any. Null if a mode hears nothing.
  Ref<> run();
  // What the program has for an object that a mode hears of.
  Value valueOf(BorrowedRef<> object);
  // A new dict of such; null with an exception pending.
  Value keywordsOf(BorrowedRef<> dict);

 private:
  Ref<> perform(const Ref<>& arguments, const Ref<>& given) const;
  Ref<> objectOf(const Value& given);
  Ref<> makeObject(const Value& value);
  Ref<> standInOf(TensorVariable* tensor);

  Translator& translator_;
  const OperationCall& call_;
  llvm::DenseMap<TensorVariable*, Ref<>> standIns_;
  llvm::DenseMap<PyObject*, Value> values_;
  std::vector<Ref<>> kept_;  // the keys
};

}  // namespace armature

// What functions behind functools.lru_cache have returned in this trace: a call with the same
// arguments gets it again, as from the cache. Without that, a recursion that counts on its cache
// would take a time that grows exponentially.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>

#include "core/trail.h"
#include "variables/value.h"

namespace armature {

struct CallArguments;
class VariableTracker;

class CachedResults {
 public:
  explicit CachedResults(Trail& trail) : trail_(trail) {}

  // Null where there is none, and where an argument is no constant.
  Value find(VariableTracker* wrapper, const CallArguments& arguments) const;
  // How many results of the wrapper there are.
  size_t count(VariableTracker* wrapper) const;
  // Does nothing where an argument is no constant. Trailed.
  void add(VariableTracker* wrapper, const CallArguments& arguments, Value result);

 private:
  struct Call {
    llvm::SmallVector<Value, 4> arguments;  // constants
    Ref<> names;                            // of the last of them; null: none
    Value result;
  };
  // By the hash of the arguments.
  using Calls = llvm::DenseMap<Py_hash_t, llvm::SmallVector<Call, 1>>;

  const Call* findCall(VariableTracker* wrapper, const CallArguments& arguments,
                       Py_hash_t hash) const;

  Trail& trail_;
  llvm::DenseMap<VariableTracker*, Calls> calls_;
  llvm::DenseMap<VariableTracker*, size_t> counts_;
};

}  // namespace armature

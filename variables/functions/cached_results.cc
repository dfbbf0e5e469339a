#include "variables/functions/cached_results.h"

#include <llvm/ADT/STLExtras.h>

#include <optional>

#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "core/tuple_hash.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

// Nothing where an argument is no constant or has no hash.
std::optional<Py_hash_t> hashOf(const CallArguments& arguments) {
  TupleHash hash;
  for (const Value& argument : arguments.values) {
    PyObject* object = argument.objectOrNull();
    if (!object || !isConstant(object)) return std::nullopt;
    Py_hash_t element = PyObject_Hash(object);
    if (element == -1) {
      clearException();
      return std::nullopt;
    }
    hash.add(element);
  }
  return hash.finish() >> 2;  // The map has two numbers of its own.
}

bool haveSameNames(BorrowedRef<> a, BorrowedRef<> b) {
  return a.get() == b.get() || (a && b && sameConstant(a, b));
}

}  // namespace

const CachedResults::Call* CachedResults::findCall(VariableTracker* wrapper,
                                                   const CallArguments& arguments,
                                                   Py_hash_t hash) const {
  auto ofWrapper = calls_.find(wrapper);
  if (ofWrapper == calls_.end()) return nullptr;
  auto ofHash = ofWrapper->second.find(hash);
  if (ofHash == ofWrapper->second.end()) return nullptr;
  auto isIt = [&](const Call& call) {
    if (call.arguments.size() != arguments.values.size()) return false;
    if (!haveSameNames(call.names, arguments.keywordNames)) return false;
    return llvm::all_of(llvm::zip(call.arguments, arguments.values), [](const auto& pair) {
      return sameConstant(std::get<0>(pair).object(), std::get<1>(pair).object());
    });
  };
  auto found = llvm::find_if(ofHash->second, isIt);
  return found == ofHash->second.end() ? nullptr : &*found;
}

Value CachedResults::find(VariableTracker* wrapper, const CallArguments& arguments) const {
  std::optional<Py_hash_t> hash = calls_.empty() ? std::nullopt : hashOf(arguments);
  const Call* call = hash ? findCall(wrapper, arguments, *hash) : nullptr;
  return call ? call->result : Value();
}

size_t CachedResults::count(VariableTracker* wrapper) const { return counts_.lookup(wrapper); }

void CachedResults::add(VariableTracker* wrapper, const CallArguments& arguments, Value result) {
  std::optional<Py_hash_t> hash = hashOf(arguments);
  if (!hash || findCall(wrapper, arguments, *hash)) return;
  Call call;
  call.arguments.append(arguments.values.begin(), arguments.values.end());
  call.names = Ref<>::create(arguments.keywordNames);
  call.result = std::move(result);
  calls_[wrapper][*hash].push_back(std::move(call));
  ++counts_[wrapper];
  recordUndo(trail_, [this, wrapper, hash = *hash] {
    calls_[wrapper][hash].pop_back();
    --counts_[wrapper];
  });
}

}  // namespace armature

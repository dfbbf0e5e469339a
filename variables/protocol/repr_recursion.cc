#include "variables/protocol/repr_recursion.h"

#include <llvm/ADT/STLExtras.h>

#include <vector>

#include "variables/variable_tracker.h"

namespace armature {

namespace {

std::vector<uintptr_t>& running() {
  static std::vector<uintptr_t> containers;
  return containers;
}

// What tells the container from others: two variables may stand for one existing tuple.
uintptr_t identityOf(const Value& self) {
  PyObject* existing = self.isTracker() ? self.tracker()->existing() : nullptr;
  return existing ? reinterpret_cast<uintptr_t>(existing) : self.word();
}

}  // namespace

ReprRecursion::ReprRecursion(const Value& self)
    : entered_(llvm::is_contained(running(), identityOf(self))) {
  running().push_back(identityOf(self));
}

ReprRecursion::~ReprRecursion() { running().pop_back(); }

}  // namespace armature

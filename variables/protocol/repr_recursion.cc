#include "variables/protocol/repr_recursion.h"

#include <llvm/ADT/STLExtras.h>

#include <vector>

namespace armature {

namespace {

std::vector<uintptr_t>& running() {
  static std::vector<uintptr_t> containers;
  return containers;
}

}  // namespace

ReprRecursion::ReprRecursion(const Value& self)
    : entered_(llvm::is_contained(running(), self.word())) {
  running().push_back(self.word());
}

ReprRecursion::~ReprRecursion() { running().pop_back(); }

}  // namespace armature

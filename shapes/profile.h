// What is known of earlier calls of one entry point: which numbers differed between them.
#pragma once

#include <string_view>

#include <llvm/ADT/SparseBitVector.h>
#include <llvm/ADT/StringSet.h>

#include "sources/source.h"

namespace armature {

class Profile {
 public:
  // A number that a translation took for a constant was another one in a later call.
  void markVaried(const Source* source) {
    varied_.insert(source->name());
    depths_.set(source->depth());
  }
  bool hasVaried(const Source* source) const {
    return depths_.test(source->depth()) && varied_.contains(source->name());
  }
  bool empty() const { return varied_.empty(); }
  void clear() {
    varied_.clear();
    depths_.clear();
  }

 private:
  // Names, because each translation has sources of its own.
  llvm::StringSet<> varied_;
  // How many steps they have. A name is as long as its path, and a trace that follows a linked list
  // asks at each step of it: the names of other depths are not made.
  llvm::SparseBitVector<> depths_;
};

}  // namespace armature

// What is known of earlier calls of one entry point: which numbers differed between them.
#pragma once

#include <string_view>

#include <llvm/ADT/StringSet.h>

#include "sources/source.h"

namespace armature {

class Profile {
 public:
  // A number that a translation took for a constant was another one in a later call.
  void markVaried(const Source* source) { varied_.insert(source->name()); }
  bool hasVaried(const Source* source) const {
    return !varied_.empty() && varied_.contains(source->name());
  }
  bool empty() const { return varied_.empty(); }
  void clear() { varied_.clear(); }

 private:
  // Names, because each translation has sources of its own.
  llvm::StringSet<> varied_;
};

}  // namespace armature

// Thrown inside codegen when a value has no bytecode that makes it; caught in PyCodegen::generate.
#pragma once

#include <string>
#include <utility>

namespace armature {

struct UnsupportedReconstruction {
  explicit UnsupportedReconstruction(std::string reason) : reason(std::move(reason)) {}
  std::string reason;
};

}  // namespace armature

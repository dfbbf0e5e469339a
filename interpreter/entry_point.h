// Where a translation starts: at the beginning of a function, or inside one, for a resume function.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/code.h"

namespace armature {

// The inputs of a translation are, in this order, the stack entries that are not null, then the
// locals listed. A FrameLocalsMapping of a call has one slot for each.
struct EntryPoint {
  CodePtr code;
  int32_t start = 0;
  // One for each entry of the stack at `start`, from below: is it the NULL that PUSH_NULL pushes?
  std::vector<bool> stackIsNull;
  // Locals that are bound (and, inside a function, alive), ascending.
  std::vector<int32_t> locals;
  // For each of `locals`: it holds a cell object.
  std::vector<bool> localIsCell;
  // Code from here on may let go of an input before its frame ends. Such inputs come in a list,
  // which nothing but the call holds, and which generated code empties when it has them.
  bool movesInputs = false;

  bool isFunctionStart() const { return start == 0; }
  size_t inputCount() const {
    size_t count = locals.size();
    for (bool isNull : stackIsNull) count += !isNull;
    return count;
  }
  // What a call passes to generated code before the captures: the inputs, and their list.
  size_t argumentCount() const { return inputCount() + movesInputs; }
  bool operator==(const EntryPoint&) const = default;
};

}  // namespace armature

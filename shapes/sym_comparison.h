// A comparison that a trace made of a number it knows no value of, for a guard to make again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shapes/sym_node.h"

namespace armature {

// Expressions over one int in postfix order, computed in 64 bits.
struct SymComparison {
  struct Step {
    SymOperation operation;
    int64_t constant = 0;
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> left;
  std::vector<Step> right;
  int relation = 0;      // Py_EQ and its like
  bool outcome = false;  // what the trace found

  bool operator==(const SymComparison&) const = default;

  // Is the outcome the same for this input? False, too, where 64 bits do not suffice. Allocates
  // nothing.
  bool holds(int64_t input) const;
  // "L['step'] % 10 == 0"
  std::string text(const std::string& input) const;
};

// The comparison and the one source that it is about; null where it is about several, about floats,
// or beyond 64 bits.
struct ComparisonOfInput {
  std::shared_ptr<const SymComparison> comparison;
  const Source* source = nullptr;
};
ComparisonOfInput compareSymbolically(const SymNode& left, int relation, const SymNode& right);

}  // namespace armature

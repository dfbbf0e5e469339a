// Numbers of which a trace knows no value: expressions over inputs, for Python to compute.
//
// Only what cannot raise is an expression, so that it does not matter when it is computed.
#pragma once

#include <cstdint>
#include <deque>

#include <llvm/ADT/STLFunctionalExtras.h>

#include "core/ref.h"
#include "sources/source.h"

namespace armature {

enum class SymOperation : uint8_t {
  Input,     // what lies at `source`
  Constant,  // `hint`
  Negate,    // of `left`
  Add,
  Subtract,
  Multiply,
  TrueDivide,
  FloorDivide,
  Remainder,
  Power,
  And,
  Or,
  Xor,
};

// Raises where its right operand is zero.
bool divides(SymOperation operation);

struct SymNode {
  SymOperation operation;
  const Source* source = nullptr;
  const SymNode* left = nullptr;
  const SymNode* right = nullptr;
  // The value in the traced call, an exact int, float or str; of a Constant in all calls. The only
  // expressions over str are their sums.
  Ref<> hint;
  // An int is less than 2 ** bits in magnitude, provided that all inputs are below 2 ** kInputBits.
  int64_t bits = 0;
  // Nodes of the tree; bounded, so that walks may recurse.
  int32_t size = 1;
  // An Input: is it guarded to be small (smallGraphNumber)? Trailed.
  mutable bool isSmall = false;

  bool isInteger() const { return PyLong_CheckExact(hint.get()); }
  bool isConstant() const { return operation == SymOperation::Constant; }
};

// What cpython::isBelow60Bits tests.
constexpr int64_t kInputBits = 60;

void forEachInput(const SymNode& node, llvm::function_ref<void(const SymNode&)> visit);

// Owns the expressions of one trace.
class SymNodeTable {
 public:
  const SymNode* input(const Source* source, BorrowedRef<> value);
  const SymNode* constant(BorrowedRef<> value);
  const SymNode* negate(const SymNode* operand);
  // The sum of two exact str; null where the expression would become too large.
  const SymNode* join(const SymNode* left, const SymNode* right);
  // Null where Python could raise, or the expression would become too large. `needsSmallInputs` is
  // set if the operation cannot raise only because all its inputs that are ints are small.
  // `rightIsNonZero`: what is divided by is guarded to be no zero.
  const SymNode* apply(SymOperation operation, const SymNode* left, const SymNode* right,
                       bool& needsSmallInputs, bool rightIsNonZero = false);

 private:
  const SymNode* add(SymNode node);
  const SymNode* addToSum(const SymNode* sum, const SymNode* constant);
  std::deque<SymNode> nodes_;
};

}  // namespace armature

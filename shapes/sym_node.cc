#include "shapes/sym_node.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/pending_python_exception.h"
#include "cpython/integers.h"

namespace armature {
namespace {

constexpr int32_t kLargestSize = 64;
// An int of so many bits converts to a float; 2 ** 1024 would not.
constexpr int64_t kFloatBits = 1000;
constexpr long kLargestExponent = 16;

Ref<> compute(SymOperation operation, BorrowedRef<> left, BorrowedRef<> right) {
  switch (operation) {
    case SymOperation::Negate:
      return Ref<>::steal(PyNumber_Negative(left));
    case SymOperation::Add:
      return Ref<>::steal(PyNumber_Add(left, right));
    case SymOperation::Subtract:
      return Ref<>::steal(PyNumber_Subtract(left, right));
    case SymOperation::Multiply:
      return Ref<>::steal(PyNumber_Multiply(left, right));
    case SymOperation::TrueDivide:
      return Ref<>::steal(PyNumber_TrueDivide(left, right));
    case SymOperation::FloorDivide:
      return Ref<>::steal(PyNumber_FloorDivide(left, right));
    case SymOperation::Remainder:
      return Ref<>::steal(PyNumber_Remainder(left, right));
    case SymOperation::Power:
      return Ref<>::steal(PyNumber_Power(left, right, Py_None));
    case SymOperation::And:
      return Ref<>::steal(PyNumber_And(left, right));
    case SymOperation::Or:
      return Ref<>::steal(PyNumber_Or(left, right));
    case SymOperation::Xor:
      return Ref<>::steal(PyNumber_Xor(left, right));
    default:
      return nullptr;
  }
}

bool combinesBits(SymOperation operation) {
  return operation == SymOperation::And || operation == SymOperation::Or ||
         operation == SymOperation::Xor;
}

int64_t bitsOf(BorrowedRef<> integer) { return static_cast<int64_t>(cpython::bitLength(integer)); }

// A small exponent: -1 for any other constant.
long exponentOf(const SymNode& node) {
  int overflow = 0;
  long value = node.isInteger() ? PyLong_AsLongAndOverflow(node.hint.get(), &overflow) : -1;
  return !overflow && value >= 0 && value <= kLargestExponent ? value : -1;
}

bool isNonZeroConstant(const SymNode& node) {
  return node.isConstant() && PyObject_IsTrue(node.hint.get()) == 1;
}

int64_t bitsOfResult(SymOperation operation, const SymNode& left, const SymNode& right) {
  switch (operation) {
    case SymOperation::Multiply:
      return left.bits + right.bits;
    case SymOperation::Remainder:
      return right.bits;
    case SymOperation::Power:
      return left.bits * std::max(1L, exponentOf(right));
    default:
      return std::max(left.bits, right.bits) + 1;
  }
}

}  // namespace

bool divides(SymOperation operation) {
  return operation == SymOperation::TrueDivide || operation == SymOperation::FloorDivide ||
         operation == SymOperation::Remainder;
}

void forEachInput(const SymNode& node, llvm::function_ref<void(const SymNode&)> visit) {
  if (node.operation == SymOperation::Input) visit(node);
  if (node.left) forEachInput(*node.left, visit);
  if (node.right) forEachInput(*node.right, visit);
}

const SymNode* SymNodeTable::add(SymNode node) {
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

const SymNode* SymNodeTable::input(const Source* source, BorrowedRef<> value) {
  return add({.operation = SymOperation::Input,
              .source = source,
              .hint = Ref<>::create(value),
              .bits = kInputBits});
}

const SymNode* SymNodeTable::constant(BorrowedRef<> value) {
  int64_t bits = PyLong_CheckExact(value.get()) ? bitsOf(value) : 0;
  return add({.operation = SymOperation::Constant, .hint = Ref<>::create(value), .bits = bits});
}

const SymNode* SymNodeTable::negate(const SymNode* operand) {
  if (operand->size >= kLargestSize) return nullptr;
  return add({.operation = SymOperation::Negate,
              .left = operand,
              .hint = compute(SymOperation::Negate, operand->hint, nullptr),
              .bits = operand->bits,
              .size = operand->size + 1});
}

const SymNode* SymNodeTable::join(const SymNode* left, const SymNode* right) {
  if (left->size + right->size >= kLargestSize) return nullptr;
  Ref<> hint = compute(SymOperation::Add, left->hint, right->hint);
  if (!hint) throw std::bad_alloc();
  return add({.operation = SymOperation::Add,
              .left = left,
              .right = right,
              .hint = std::move(hint),
              .size = left->size + right->size + 1});
}

// (x + 1) + 1 is x + 2, for ints: a sum in a loop does not grow. Null if `sum` is no such sum.
const SymNode* SymNodeTable::addToSum(const SymNode* sum, const SymNode* constant) {
  bool isSum = sum->operation == SymOperation::Add && sum->right->isConstant();
  if (!isSum || !sum->isInteger() || !constant->isInteger()) return nullptr;
  const SymNode* both =
      this->constant(compute(SymOperation::Add, sum->right->hint, constant->hint));
  bool unused;
  return apply(SymOperation::Add, sum->left, both, unused);
}

const SymNode* SymNodeTable::apply(SymOperation operation, const SymNode* left,
                                   const SymNode* right, bool& needsSmallInputs,
                                   bool rightIsNonZero) {
  needsSmallInputs = false;
  bool integers = left->isInteger() && right->isInteger();
  if (combinesBits(operation) && !integers) return nullptr;
  if (divides(operation) && !rightIsNonZero && !isNonZeroConstant(*right)) return nullptr;
  if (operation == SymOperation::Power) {
    bool small = integers && right->isConstant() && exponentOf(*right) >= 0;
    if (!small) return nullptr;
  }
  if (operation == SymOperation::Subtract && integers && right->isConstant()) {
    const SymNode* negated = constant(compute(SymOperation::Negate, right->hint, nullptr));
    return apply(SymOperation::Add, left, negated, needsSmallInputs);
  }
  if (operation == SymOperation::Add && right->isConstant()) {
    if (const SymNode* sum = addToSum(left, right)) return sum;
  }
  if (left->size + right->size >= kLargestSize) return nullptr;
  SymNode node{.operation = operation, .left = left, .right = right};
  node.size = left->size + right->size + 1;
  bool toFloat = !integers || operation == SymOperation::TrueDivide;
  if (toFloat) {
    // An int that is too large to convert raises OverflowError.
    for (const SymNode* operand : {left, right}) {
      if (!operand->isInteger()) continue;
      if (operand->bits > kFloatBits) return nullptr;
      needsSmallInputs |= !operand->isConstant();
    }
  } else {
    node.bits = bitsOfResult(operation, *left, *right);
  }
  node.hint = compute(operation, left->hint, right->hint);
  if (!node.hint) {
    clearException();
    return nullptr;
  }
  return add(std::move(node));
}

}  // namespace armature

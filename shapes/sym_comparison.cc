#include "shapes/sym_comparison.h"

#include <array>
#include <optional>
#include <utility>

#include "cpython/integers.h"

namespace armature {

namespace {

using Step = SymComparison::Step;

// Expressions have no more nodes (kLargestSize).
constexpr size_t kMostSteps = 64;

// Python's // and %, which round towards minus infinity. The divisor is not 0.
bool divide(SymOperation operation, int64_t left, int64_t right, int64_t& result) {
  if (right == -1) {
    result = 0;
    return operation == SymOperation::Remainder || !__builtin_sub_overflow(0, left, &result);
  }
  int64_t quotient = left / right;
  int64_t remainder = left % right;
  bool roundsDown = remainder != 0 && (remainder < 0) != (right < 0);
  if (operation == SymOperation::FloorDivide) {
    result = quotient - (roundsDown ? 1 : 0);
  } else {
    result = remainder + (roundsDown ? right : 0);
  }
  return true;
}

bool combine(SymOperation operation, int64_t left, int64_t right, int64_t& result) {
  switch (operation) {
    case SymOperation::Add:
      return !__builtin_add_overflow(left, right, &result);
    case SymOperation::Subtract:
      return !__builtin_sub_overflow(left, right, &result);
    case SymOperation::Multiply:
      return !__builtin_mul_overflow(left, right, &result);
    case SymOperation::FloorDivide:
    case SymOperation::Remainder:
      return right != 0 && divide(operation, left, right, result);
    default:
      return false;
  }
}

std::optional<int64_t> evaluate(const std::vector<Step>& steps, int64_t input) {
  std::array<int64_t, kMostSteps> stack;
  size_t depth = 0;
  for (const Step& step : steps) {
    switch (step.operation) {
      case SymOperation::Input:
        stack[depth++] = input;
        break;
      case SymOperation::Constant:
        stack[depth++] = step.constant;
        break;
      case SymOperation::Negate:
        if (__builtin_sub_overflow(0, stack[depth - 1], &stack[depth - 1])) return std::nullopt;
        break;
      default:
        --depth;
        if (!combine(step.operation, stack[depth - 1], stack[depth], stack[depth - 1]))
          return std::nullopt;
        break;
    }
  }
  return stack[0];
}

const char* symbolOf(SymOperation operation) {
  switch (operation) {
    case SymOperation::Add:
      return " + ";
    case SymOperation::Subtract:
      return " - ";
    case SymOperation::Multiply:
      return " * ";
    case SymOperation::FloorDivide:
      return " // ";
    case SymOperation::Remainder:
      return " % ";
    default:
      return " ? ";
  }
}

std::string textOf(const std::vector<Step>& steps, const std::string& input) {
  struct Part {
    std::string text;
    bool isAtom;
  };
  std::vector<Part> stack;
  auto operand = [](const Part& part) { return part.isAtom ? part.text : "(" + part.text + ")"; };
  for (const Step& step : steps) {
    if (step.operation == SymOperation::Input) {
      stack.push_back({input, true});
    } else if (step.operation == SymOperation::Constant) {
      stack.push_back({std::to_string(step.constant), step.constant >= 0});
    } else if (step.operation == SymOperation::Negate) {
      stack.back() = {"-" + operand(stack.back()), false};
    } else {
      Part right = std::move(stack.back());
      stack.pop_back();
      stack.back() = {operand(stack.back()) + symbolOf(step.operation) + operand(right), false};
    }
  }
  return stack.back().text;
}

// False where the expression is not one over ints of a single source.
bool addSteps(const SymNode& node, std::vector<Step>& steps, const Source*& source) {
  if (!node.isInteger()) return false;
  Step step{node.operation};
  switch (node.operation) {
    case SymOperation::Input:
      if (source && source != node.source) return false;
      source = node.source;
      break;
    case SymOperation::Constant:
      if (!cpython::isBelow60Bits(node.hint)) return false;
      step.constant = PyLong_AsLongLong(node.hint.get());
      break;
    case SymOperation::Negate:
      if (!addSteps(*node.left, steps, source)) return false;
      break;
    case SymOperation::Add:
    case SymOperation::Subtract:
    case SymOperation::Multiply:
    case SymOperation::FloorDivide:
    case SymOperation::Remainder:
      if (!addSteps(*node.left, steps, source) || !addSteps(*node.right, steps, source))
        return false;
      break;
    default:
      return false;
  }
  steps.push_back(step);
  return true;
}

bool relate(int64_t left, int relation, int64_t right) {
  switch (relation) {
    case Py_LT:
      return left < right;
    case Py_LE:
      return left <= right;
    case Py_EQ:
      return left == right;
    case Py_NE:
      return left != right;
    case Py_GT:
      return left > right;
    default:
      return left >= right;
  }
}

}  // namespace

bool SymComparison::holds(int64_t input) const {
  std::optional<int64_t> a = evaluate(left, input);
  std::optional<int64_t> b = a ? evaluate(right, input) : std::nullopt;
  return b && relate(*a, relation, *b) == outcome;
}

std::string SymComparison::text(const std::string& input) const {
  // What holds: the relation, or its opposite.
  constexpr std::array<std::pair<const char*, const char*>, 6> symbols = {{{" < ", " >= "},
                                                                           {" <= ", " > "},
                                                                           {" == ", " != "},
                                                                           {" != ", " == "},
                                                                           {" > ", " <= "},
                                                                           {" >= ", " < "}}};
  const auto& [symbol, opposite] = symbols[static_cast<size_t>(relation)];
  return textOf(left, input) + (outcome ? symbol : opposite) + textOf(right, input);
}

ComparisonOfInput compareSymbolically(const SymNode& left, int relation, const SymNode& right) {
  auto comparison = std::make_shared<SymComparison>();
  ComparisonOfInput result;
  if (!addSteps(left, comparison->left, result.source) ||
      !addSteps(right, comparison->right, result.source) || !result.source) {
    return {};
  }
  const SymNode* input = nullptr;
  for (const SymNode* node : {&left, &right})
    forEachInput(*node, [&](const SymNode& each) { input = &each; });
  if (!cpython::isBelow60Bits(input->hint)) return {};
  int64_t value = PyLong_AsLongLong(input->hint.get());
  comparison->relation = relation;
  comparison->outcome = true;
  if (!comparison->holds(value)) {
    comparison->outcome = false;
    if (!comparison->holds(value)) return {};
  }
  result.comparison = std::move(comparison);
  return result;
}

}  // namespace armature

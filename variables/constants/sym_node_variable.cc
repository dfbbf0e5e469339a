#include "variables/constants/sym_node_variable.h"

#include <optional>
#include <utility>

#include "core/checked.h"
#include "cpython/integers.h"
#include "shapes/sym_comparison.h"
#include "shapes/value_comparison.h"
#include "variables/constants/computed_values.h"
#include "variables/kind_slots.h"
#include "variables/lazy.h"
#include "variables/library.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

bool isNumber(PyObject* object) { return PyLong_CheckExact(object) || PyFloat_CheckExact(object); }
bool isNumber(const SymNode& node) { return isNumber(node.hint.get()); }

bool mayVary(PyObject* object) { return isNumber(object) || PyUnicode_CheckExact(object); }

std::optional<SymOperation> operationOf(NumberSlot slot) {
  switch (slot) {
    case nb_add:
    case nb_inplace_add:
      return SymOperation::Add;
    case nb_subtract:
    case nb_inplace_subtract:
      return SymOperation::Subtract;
    case nb_multiply:
    case nb_inplace_multiply:
      return SymOperation::Multiply;
    case nb_true_divide:
    case nb_inplace_true_divide:
      return SymOperation::TrueDivide;
    case nb_floor_divide:
    case nb_inplace_floor_divide:
      return SymOperation::FloorDivide;
    case nb_remainder:
    case nb_inplace_remainder:
      return SymOperation::Remainder;
    case nb_power:
    case nb_inplace_power:
      return SymOperation::Power;
    case nb_and:
    case nb_inplace_and:
      return SymOperation::And;
    case nb_or:
    case nb_inplace_or:
      return SymOperation::Or;
    case nb_xor:
    case nb_inplace_xor:
      return SymOperation::Xor;
    default:
      return std::nullopt;
  }
}

SymNodeVariable* symbolicOf(const Value& value) {
  auto* lazy = trackerOf<LazyVariable>(value);
  auto* symbolic = trackerOf<SymNodeVariable>(lazy && lazy->realized ? lazy->realized : value);
  return symbolic && !symbolic->specialized ? symbolic : nullptr;
}

// Of an input that has varied: it becomes symbolic where it is asked for as a number or text.
LazyVariable* variedInput(const Translator& translator, const Value& value) {
  auto* lazy = trackerOf<LazyVariable>(value);
  bool hasVaried = lazy && !lazy->realized && lazy->source() && mayVary(lazy->existing()) &&
                   translator.hasVaried(lazy->source());
  return hasVaried ? lazy : nullptr;
}

// Null if it is not symbolic.
SymNodeVariable* symbolicInput(Translator& translator, const Value& value) {
  if (SymNodeVariable* symbolic = symbolicOf(value)) return symbolic;
  LazyVariable* lazy = variedInput(translator, value);
  if (!lazy) return nullptr;
  PyObject* object = lazy->existing();
  translator.addGuard(lazy->source(), GuardType::TYPE_MATCH,
                      reinterpret_cast<PyObject*>(Py_TYPE(object)));
  auto* symbolic =
      translator.make<SymNodeVariable>(translator.symNodes.input(lazy->source(), object));
  assignTrailed(translator.trail, lazy->realized, Value(symbolic));
  return symbolic;
}

}  // namespace

bool isSymbolic(Translator& translator, const Value& value) {
  return symbolicInput(translator, value) != nullptr;
}

const SymNode* nodeOf(Translator& translator, Value value) {
  if (SymNodeVariable* symbolic = symbolicInput(translator, value)) return symbolic->node;
  PyTypeObject* type = typeOf(value);
  if (type != &PyLong_Type && type != &PyFloat_Type && type != &PyUnicode_Type) return nullptr;
  translator.realize(value);
  PyObject* object = value.objectOrNull();
  return object && mayVary(object) ? translator.symNodes.constant(object) : nullptr;
}

namespace {

// False if an input is too large in this call already.
bool guardSmallInputs(Translator& translator, const SymNode& node) {
  bool small = true;
  auto isInteger = [](const SymNode& input) { return input.isInteger(); };
  forEachInput(node, [&](const SymNode& input) {
    small &= !isInteger(input) || cpython::isBelow60Bits(input.hint);
  });
  if (!small) return false;
  forEachInput(node, [&](const SymNode& input) {
    if (isInteger(input)) translator.addGuard(input.source, GuardType::SMALL_INT_MATCH);
  });
  return true;
}

bool isBare(const SymNode& node) {
  return node.operation == SymOperation::Input || node.isConstant();
}

// The node as an input or a constant; null for an expression over several inputs.
const SymNode* bareNode(Translator& translator, const SymNode* node) {
  return isBare(*node) ? node : computedInput(translator, *node);
}

// Of values as they are, whatever their size.
Value compareBare(Translator& translator, const SymNode* left, const SymNode* right, int relation) {
  constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  left = bareNode(translator, left);
  right = left ? bareNode(translator, right) : nullptr;
  if (!right) return Value();
  if (left->isConstant()) {
    std::swap(left, right);
    relation = kMirrored[relation];
  }
  int outcome = compareValues(left->hint, relation, right->hint);
  if (outcome < 0 || !translator.countComparison(left->source)) return Value();
  Guard guard;
  guard.source = left->source;
  guard.type = GuardType::VALUE_COMPARISON;
  guard.number = 2 * relation + outcome;
  if (right->isConstant()) {
    guard.operand = right->hint;
  } else {
    guard.detail = right->source;
  }
  translator.addGuard(std::move(guard));
  return Value::boolean(outcome);
}

// Do different inputs often give the same? Then what is computed is guarded, and not the inputs.
bool losesInput(const SymNode& node) {
  switch (node.operation) {
    case SymOperation::FloorDivide:
    case SymOperation::Remainder:
    case SymOperation::And:
    case SymOperation::Or:
      return true;
    default:
      return (node.left && losesInput(*node.left)) || (node.right && losesInput(*node.right));
  }
}

// Guards an expression to give what it gives in this call. False for one whose inputs are simpler
// to guard.
bool guardOutcome(Translator& translator, const SymNode& node) {
  if (!losesInput(node)) return false;
  const SymNode* input = computedInput(translator, node);
  if (!input) return false;
  translator.addGuard(input->source, GuardType::EQUALS_MATCH, input->hint);
  return true;
}

}  // namespace

const SymNode* graphNumber(Translator& translator, const Value& value) {
  if (!isSymbolic(translator, value)) return nullptr;
  const SymNode* node = nodeOf(translator, value);
  if (!isNumber(*node)) return nullptr;
  if (!node->isInteger()) return node;
  return node->bits < 64 && guardSmallInputs(translator, *node) ? node : nullptr;
}

const SymNode* smallGraphNumber(Translator& translator, const Value& value) {
  const SymNode* number = graphNumber(translator, value);
  if (!number) return nullptr;
  // As large as its opposite. An input that many operations take is guarded once.
  const SymNode* magnitude = number;
  while (magnitude->operation == SymOperation::Negate) magnitude = magnitude->left;
  if (magnitude->isSmall) return number;
  Value compared = translator.make<SymNodeVariable>(magnitude);
  auto holds = [&](int relation, int64_t bound) {
    Value outcome = symbolicComparison(translator, compared, Value::integer(bound), relation);
    return outcome && outcome.is(Py_True);
  };
  constexpr int64_t kLargest = Library::kSmallNumber;
  if (!holds(Py_LE, kLargest) || !holds(Py_GE, -kLargest)) return nullptr;
  if (magnitude->operation == SymOperation::Input) {
    assignTrailed(translator.trail, magnitude->isSmall, true);
  }
  return number;
}

void realizeType(Translator& translator, Value& value) {
  if (SymNodeVariable* symbolic = symbolicInput(translator, value)) {
    value = Value(symbolic);
  } else {
    translator.realize(value);
  }
}

namespace {

// The node of an operand; beside a number, True is 1.
const SymNode* numberOrText(Translator& translator, const Value& operand, const Value& other) {
  bool isTruth = operand.isConstant() && PyBool_Check(operand.object());
  if (!isTruth) return nodeOf(translator, operand);
  if (typeOf(other) == &PyUnicode_Type) return nullptr;
  Value number = Value::integer(operand.is(Py_True));
  return translator.symNodes.constant(number.object());
}

bool isGuardedNonZero(Translator& translator, const SymNode* number) {
  Value value = translator.make<SymNodeVariable>(number);
  Value differs = symbolicComparison(translator, value, Value::integer(0), Py_NE);
  return differs && differs.is(Py_True);
}

}  // namespace

Value symbolicBinary(Translator& translator, NumberSlot slot, const Value& left,
                     const Value& right) {
  if (!isSymbolic(translator, left) && !isSymbolic(translator, right)) return Value();
  const SymNode* a = numberOrText(translator, left, right);
  const SymNode* b = a ? numberOrText(translator, right, left) : nullptr;
  if (!b) return Value();
  std::optional<SymOperation> operation = operationOf(slot);
  bool needsSmallInputs = false;
  const SymNode* node = nullptr;
  if (operation && isNumber(*a) && isNumber(*b)) {
    bool isNonZero = divides(*operation) && !b->isConstant() && isGuardedNonZero(translator, b);
    node = translator.symNodes.apply(*operation, a, b, needsSmallInputs, isNonZero);
  }
  if (node && !(needsSmallInputs && !guardSmallInputs(translator, *node))) {
    return translator.make<SymNodeVariable>(node);
  }
  if (Value computed = computedOperation(translator, slot, *a, *b)) return computed;
  bool areTexts = PyUnicode_CheckExact(a->hint.get()) && PyUnicode_CheckExact(b->hint.get());
  node = operation == SymOperation::Add && areTexts ? translator.symNodes.join(a, b) : nullptr;
  return node ? Value(translator.make<SymNodeVariable>(node)) : Value();
}

Value symbolicComparison(Translator& translator, const Value& left, const Value& right,
                         int relation) {
  if (!isSymbolic(translator, left) && !isSymbolic(translator, right)) return Value();
  const SymNode* a = nodeOf(translator, left);
  const SymNode* b = a ? nodeOf(translator, right) : nullptr;
  if (!b) return Value();
  ComparisonOfInput compared = compareSymbolically(*a, relation, *b);
  if (!compared.comparison) return compareBare(translator, a, b, relation);
  if (!translator.countComparison(compared.source)) return Value();
  bool outcome = compared.comparison->outcome;
  Guard guard;
  guard.source = compared.source;
  guard.type = GuardType::SYM_COMPARISON;
  guard.detail = std::move(compared.comparison);
  translator.addGuard(std::move(guard));
  return Value::boolean(outcome);
}

Value symbolicTruth(Translator& translator, const Value& value) {
  static PyObject* const zero = checked(PyLong_FromLong(0)).release();
  static PyObject* const empty = checked(PyUnicode_FromString("")).release();
  if (!isSymbolic(translator, value)) return Value();
  bool isText = typeOf(value) == &PyUnicode_Type;
  return symbolicComparison(translator, value, Value::constant(isText ? empty : zero), Py_NE);
}

Value symbolicNegative(Translator& translator, const Value& operand) {
  if (!isSymbolic(translator, operand)) return Value();
  const SymNode* number = nodeOf(translator, operand);
  const SymNode* node = isNumber(*number) ? translator.symNodes.negate(number) : nullptr;
  return node ? Value(translator.make<SymNodeVariable>(node)) : Value();
}

void holdNumber(Translator& translator, const SymNode& node) {
  if (guardOutcome(translator, node)) return;
  forEachInput(node, [&](const SymNode& input) {
    translator.addGuard(input.source, GuardType::EQUALS_MATCH, input.hint);
  });
}

void requireConstancy(const Translator& translator, const Value& value) {
  if (translator.leavesVaryingToPython() && (symbolicOf(value) || variedInput(translator, value))) {
    throw GraphBreak(GraphBreakKind::VaryingValue, describe(value));
  }
}

bool areSameComputation(const Value& left, const Value& right) {
  SymNodeVariable *a = symbolicOf(left), *b = symbolicOf(right);
  return a && b && a->source() && a->source() == b->source() &&
         a->source()->kind() == SourceKind::Computed;
}

Value pin(Translator& translator, const Value& value) {
  SymNodeVariable* variable = symbolicOf(value);
  holdNumber(translator, *variable->node);
  return Value::constant(variable->node->hint);
}

Value specialize(Translator& translator, SymNodeVariable* variable) {
  if (!variable->specialized) {
    requireConstancy(translator, Value(variable));
    holdNumber(translator, *variable->node);
    if (const Source* source = variable->source()) {
      translator.rememberConstant(variable->node->hint.get(), source);
    }
    assignTrailed(translator.trail, variable->specialized, Value::constant(variable->node->hint));
  }
  return variable->specialized;
}

// Never consulted: every algorithm of the object protocol realizes its operands first.
const TypeSlots kSymNodeSlots = {};

}  // namespace armature

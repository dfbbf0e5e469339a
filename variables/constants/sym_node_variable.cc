#include "variables/constants/sym_node_variable.h"

#include <optional>

#include "cpython/integers.h"
#include "shapes/sym_comparison.h"
#include "variables/kind_slots.h"
#include "variables/lazy.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

bool isNumber(PyObject* object) { return PyLong_CheckExact(object) || PyFloat_CheckExact(object); }

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
    default:
      return std::nullopt;
  }
}

// A value that is symbolic, or may become so.
bool isSymbolic(const Translator& translator, const Value& value) {
  if (auto* symbolic = trackerOf<SymNodeVariable>(value)) return !symbolic->specialized;
  auto* lazy = trackerOf<LazyVariable>(value);
  return lazy && !lazy->realized && lazy->source() && isNumber(lazy->existing()) &&
         translator.hasVaried(lazy->source());
}

// Null for what is no number. `value` may become realized.
const SymNode* nodeOf(Translator& translator, Value value) {
  if (auto* symbolic = trackerOf<SymNodeVariable>(value); symbolic && !symbolic->specialized) {
    return symbolic->node;
  }
  if (isSymbolic(translator, value)) {
    auto* lazy = requireKind<LazyVariable>(value);
    PyObject* object = lazy->existing();
    translator.addGuard(lazy->source(), GuardType::TYPE_MATCH,
                        reinterpret_cast<PyObject*>(Py_TYPE(object)));
    return translator.symNodes.input(lazy->source(), object);
  }
  bool mayBeNumber =
      !value.isTracker() || typeOf(value) == &PyLong_Type || typeOf(value) == &PyFloat_Type;
  if (!mayBeNumber) return nullptr;
  translator.realize(value);
  PyObject* object = value.objectOrNull();
  return object && isNumber(object) ? translator.symNodes.constant(object) : nullptr;
}

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

}  // namespace

Value symbolicBinary(Translator& translator, NumberSlot slot, const Value& left,
                     const Value& right) {
  if (!isSymbolic(translator, left) && !isSymbolic(translator, right)) return Value();
  std::optional<SymOperation> operation = operationOf(slot);
  if (!operation) return Value();
  const SymNode* a = nodeOf(translator, left);
  const SymNode* b = a ? nodeOf(translator, right) : nullptr;
  if (!b) return Value();
  bool needsSmallInputs;
  const SymNode* node = translator.symNodes.apply(*operation, a, b, needsSmallInputs);
  if (!node || (needsSmallInputs && !guardSmallInputs(translator, *node))) return Value();
  return translator.make<SymNodeVariable>(node);
}

Value symbolicComparison(Translator& translator, const Value& left, const Value& right,
                         int relation) {
  if (!isSymbolic(translator, left) && !isSymbolic(translator, right)) return Value();
  const SymNode* a = nodeOf(translator, left);
  const SymNode* b = a ? nodeOf(translator, right) : nullptr;
  if (!b) return Value();
  ComparisonOfInput compared = compareSymbolically(*a, relation, *b);
  if (!compared.comparison || !translator.countComparison(compared.source)) return Value();
  bool outcome = compared.comparison->outcome;
  Guard guard;
  guard.source = compared.source;
  guard.type = GuardType::SYM_COMPARISON;
  guard.detail = std::move(compared.comparison);
  translator.addGuard(std::move(guard));
  return Value::boolean(outcome);
}

Value symbolicNegative(Translator& translator, const Value& operand) {
  if (!isSymbolic(translator, operand)) return Value();
  const SymNode* node = translator.symNodes.negate(nodeOf(translator, operand));
  return node ? Value(translator.make<SymNodeVariable>(node)) : Value();
}

Value specialize(Translator& translator, SymNodeVariable* variable) {
  if (!variable->specialized) {
    forEachInput(*variable->node, [&](const SymNode& input) {
      translator.addGuard(input.source, GuardType::EQUALS_MATCH, input.hint);
    });
    assignTrailed(translator.trail, variable->specialized, Value::constant(variable->node->hint));
  }
  return variable->specialized;
}

// Never consulted: every algorithm of the object protocol realizes its operands first.
const TypeSlots kSymNodeSlots = {};

}  // namespace armature

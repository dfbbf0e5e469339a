// Numbers and strings that varied between calls, as long as nobody looks at them.
//
// Arithmetic keeps them symbolic. Everything else that the program does with a value realizes it
// first, and that makes it the constant which it is in the traced call (Translator::realize): no
// algorithm can forget to.
#pragma once

#include "shapes/sym_node.h"
#include "variables/translator.h"
#include "variables/type_slots.h"
#include "variables/variable_tracker.h"

namespace armature {

class SymNodeVariable : public VariableTracker {
 public:
  ARMATURE_KIND(SymNode)
  explicit SymNodeVariable(const SymNode* node)
      : VariableTracker(VariableKind::SymNode, Py_TYPE(node->hint.get()), node->source),
        node(node) {}
  const SymNode* const node;
  // The constant that it became when somebody looked; null before. Trailed.
  Value specialized;
};

// A constant, or a value that varied.
inline bool isData(const Value& value) {
  return value.isConstant() || trackerOf<SymNodeVariable>(value);
}

// Is the value symbolic? An input that has varied becomes so where this is asked, and its type is
// guarded: whoever hears yes may go by it.
bool isSymbolic(Translator& translator, const Value& value);
// The expression of a symbolic value or constant: an exact int, float or str. Null for what is
// none. `value` may become realized.
const SymNode* nodeOf(Translator& translator, Value value);

// The result of arithmetic on numbers of which one is symbolic, or an input that varied. Null, with
// nothing pending, where there is none, and where the result cannot be symbolic.
Value symbolicBinary(Translator& translator, NumberSlot slot, const Value& left,
                     const Value& right);
// The outcome of a comparison of numbers, or strings, of which one is symbolic, guarded to be the
// same in other calls. Null, with nothing pending, where there is none, and where a number has been
// compared so often that its value is simpler to guard.
Value symbolicComparison(Translator& translator, const Value& left, const Value& right,
                         int relation);
// Is a symbolic value not 0, or not empty? Null where it is not symbolic.
Value symbolicTruth(Translator& translator, const Value& value);
Value symbolicNegative(Translator& translator, const Value& operand);

// The expression of a symbolic number that an operation of the graph can be given as it is: that an
// int has 64 bits is guarded. Null for all others.
const SymNode* graphNumber(Translator& translator, const Value& value);

// As that, of a number up to Library::kSmallNumber in magnitude, which is guarded.
const SymNode* smallGraphNumber(Translator& translator, const Value& value);

// Realizes a value for who asks for its type alone, or hands it on: what varied stays symbolic.
void realizeType(Translator& translator, Value& value);

// Breaks if the value varies, and what looks at such values is left to Python.
void requireConstancy(const Translator& translator, const Value& value);
// Guards an expression to have the value of this call.
void holdNumber(Translator& translator, const SymNode& node);
// Did the program compute both by the same call, made twice?
bool areSameComputation(const Value& left, const Value& right);
// Guards a symbolic value to be the one of this call, which is returned.
Value pin(Translator& translator, const Value& value);
// As that, or breaks where what varies is left to Python. The constant.
Value specialize(Translator& translator, SymNodeVariable* variable);

}  // namespace armature

// The behaviour of a kind of variable: CPython's slots, over Values.
//
// A slot is null where Python raises TypeError (the type has no such slot), and `unimplemented`
// where Python has one that we do not model (a graph break). As in CPython a slot returns null with
// the exception pending in the translator, and binary slots return NotImplemented for operands that
// they do not know. Binary slots are called with the operands in program order, for either operand.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <array>

#include "variables/value.h"

namespace armature {

class Translator;
class DictVariable;
struct CallArguments;

// Indexes of TypeSlots::nb: CPython's NB_* numbers (opcode.h), under the slots' names.
enum NumberSlot : int {
  nb_add,
  nb_and,
  nb_floor_divide,
  nb_lshift,
  nb_matrix_multiply,
  nb_multiply,
  nb_remainder,
  nb_or,
  nb_power,
  nb_rshift,
  nb_subtract,
  nb_true_divide,
  nb_xor,
  nb_inplace_add,
  nb_inplace_and,
  nb_inplace_floor_divide,
  nb_inplace_lshift,
  nb_inplace_matrix_multiply,
  nb_inplace_multiply,
  nb_inplace_remainder,
  nb_inplace_or,
  nb_inplace_power,
  nb_inplace_rshift,
  nb_inplace_subtract,
  nb_inplace_true_divide,
  nb_inplace_xor,
  kNumberSlotCount
};

enum class UnarySlot : uint8_t { nb_negative, nb_positive, nb_invert, nb_absolute };

// `slot` is the NumberSlot, so that a kind may serve many operators with one function.
using BinaryFunction = Value (*)(Translator&, NumberSlot slot, const Value& left,
                                 const Value& right);
using UnaryFunction = Value (*)(Translator&, const Value& self);
using UnaryOperation = Value (*)(Translator&, UnarySlot slot, const Value& self);
// Py_LT … Py_GE; returns NotImplemented for operands it does not know.
using CompareFunction = Value (*)(Translator&, const Value& left, const Value& right, int op);
using SubscriptFunction = Value (*)(Translator&, const Value& self, const Value& key);
// A null `value` deletes. Returns false with the exception pending.
using AssignSubscriptFunction = bool (*)(Translator&, const Value& self, const Value& key,
                                         const Value& value);
using GetAttributeFunction = Value (*)(Translator&, const Value& self, PyObject* name);
using SetAttributeFunction = bool (*)(Translator&, const Value& self, PyObject* name,
                                      const Value& value);
using CallFunction = Value (*)(Translator&, const Value& callable, CallArguments& arguments);
// The object's __dict__, or null if it has none.
using InstanceDictFunction = DictVariable* (*)(Translator&, const Value& self);

// What the trace knows of a descriptor of a builtin type (PyGetSetDef, PyMemberDef).
struct BuiltinAttribute {
  PyObject* const* owner;  // the type whose own attribute it is
  const char* name;
  UnaryFunction get;
  // A null `value` deletes. Null: not modelled.
  bool (*set)(Translator&, const Value& self, const Value& value);
};

struct TypeSlots {
  std::array<BinaryFunction, kNumberSlotCount> nb = {};
  UnaryOperation nb_unary = nullptr;  // nb_negative, nb_positive, nb_invert, nb_absolute
  UnaryFunction nb_bool = nullptr;    // returns a constant bool; absent: mp_length, else True
  UnaryFunction nb_index = nullptr;
  UnaryFunction nb_int = nullptr;
  UnaryFunction nb_float = nullptr;
  UnaryFunction mp_length = nullptr;  // returns a constant int
  SubscriptFunction mp_subscript = nullptr;
  AssignSubscriptFunction mp_ass_subscript = nullptr;
  SubscriptFunction sq_contains = nullptr;  // returns a constant bool; absent: by iteration
  BinaryFunction sq_concat = nullptr;       // `+` after nb_add (list, tuple)
  BinaryFunction sq_repeat = nullptr;       // `*` after nb_multiply
  UnaryFunction tp_iter = nullptr;
  // The next item; null without a pending exception when the iterator is exhausted.
  UnaryFunction tp_iternext = nullptr;
  CallFunction tp_call = nullptr;
  UnaryFunction tp_hash = nullptr;           // absent: unhashable
  CompareFunction tp_richcompare = nullptr;  // absent: identity for == and !=
  GetAttributeFunction tp_getattro =
      nullptr;  // null: __getattribute__, genericGetAttribute, __getattr__
  SetAttributeFunction tp_setattro = nullptr;  // null: __setattr__, genericSetAttribute
  InstanceDictFunction instanceDict = nullptr;
  // Consulted by the generic functions, below every override of the class.
  llvm::ArrayRef<BuiltinAttribute> getset;
  UnaryFunction tp_str = nullptr;  // null: tp_repr
  UnaryFunction tp_repr = nullptr;
};

// Slots that break the graph, for behaviour that exists in Python and not here.
namespace unimplemented {
Value binary(Translator&, NumberSlot slot, const Value& left, const Value& right);
Value unary(Translator&, const Value& self);
Value unaryOperation(Translator&, UnarySlot slot, const Value& self);
Value compare(Translator&, const Value& left, const Value& right, int op);
Value subscript(Translator&, const Value& self, const Value& key);
bool assignSubscript(Translator&, const Value& self, const Value& key, const Value& value);
Value getAttribute(Translator&, const Value& self, PyObject* name);
bool setAttribute(Translator&, const Value& self, PyObject* name, const Value& value);
Value call(Translator&, const Value& callable, CallArguments& arguments);
}  // namespace unimplemented

}  // namespace armature

// The algebra of sets, as operators, methods and dict views share it.
#pragma once

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// A set or frozenset, traced or constant.
bool isAnySet(const Value& value);
// Is it a frozenset, or of a subclass?
bool isFrozenSet(const Value& value);
// What operations on a set give, which is of no subclass: set or frozenset.
PyTypeObject* resultType(const Value& value);

// The items that an operation of sets reads from its operand.
struct SetOperand {
  ValueVector items;
  // The operand is a set: its items are distinct and hashable.
  bool isSet = false;
  // A real object that gives a real set the same items in the same order; null if unknown.
  Ref<> real;
};
// Any iterable. False with the exception pending.
bool readSetOperand(Translator& translator, Value iterable, SetOperand& result);
// The operand as a set of its own: itself if it is a traced set. Null with the exception pending.
SetVariable* toSet(Translator& translator, const Value& iterable);

// set(self), which has type `type`.
SetVariable* copySet(Translator& translator, PyTypeObject* type, const SetOperand& operand);

// In-place operations. False with the exception pending.
bool updateSet(Translator& translator, SetVariable* set, const SetOperand& operand);
bool subtractFromSet(Translator& translator, SetVariable* set, const SetOperand& operand);
bool intersectSet(Translator& translator, SetVariable* set, llvm::ArrayRef<SetOperand> operands);
bool symmetricDifferenceUpdate(Translator& translator, SetVariable* set, SetOperand operand);

// Operations that make a new set of type `type`. Null with the exception pending.
SetVariable* intersection(Translator& translator, PyTypeObject* type, SetVariable* self,
                          const SetOperand& operand);
SetVariable* difference(Translator& translator, PyTypeObject* type, SetVariable* self,
                        const SetOperand& operand);
SetVariable* symmetricDifference(Translator& translator, PyTypeObject* type, SetVariable* self,
                                 const SetOperand& operand);

// 1, 0, or -1 with the exception pending: every item of the operand is in the set.
int containsAll(Translator& translator, SetVariable* set, const SetOperand& operand);

// A frozenset of data as the constant that it is; any other set as it stands.
Value setResult(SetVariable* set);

}  // namespace armature

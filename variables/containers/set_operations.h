// The algebra of sets, as operators, methods and dict views share it.
#pragma once

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// A set or frozenset, traced or constant.
bool isAnySet(const Value& value);
// Is it a frozenset, or of a subclass?
bool isFrozenSet(const Value& value);
// What operations on a set give, which is of no subclass: set or frozenset.
PyTypeObject* resultType(const Value& value);

// The items that an operation of sets reads from its operand, all before it does anything.
struct SetOperand {
  // In the operand's order, where that is known.
  ValueVector items;
  // The operand, if it is a set in an order that follows from a table which the trace does not
  // know.
  SetVariable* ofUnknownTable = nullptr;
  // A real object that gives a real set the same items in the same order; null if unknown.
  Ref<> real;
};
// All items, in no particular order: for who asks their methods, which may change the set.
ValueVector itemsOf(Translator& translator, SetVariable* set);
// Any iterable. False with the exception pending.
bool readSetOperand(Translator& translator, Value iterable, SetOperand& result);
// The operand as a set of its own: itself if it is a traced set. Null with the exception pending.
SetVariable* toSet(Translator& translator, const Value& iterable);

// set(iterable), which has type `type`. Null with the exception pending.
SetVariable* copySet(Translator& translator, PyTypeObject* type, const Value& iterable);

// In-place operations. False with the exception pending.
bool updateSet(Translator& translator, SetVariable* set, const Value& operand);
bool subtractFromSet(Translator& translator, SetVariable* set, const Value& operand);
bool intersectSet(Translator& translator, SetVariable* set, llvm::ArrayRef<Value> operands);
bool symmetricDifferenceUpdate(Translator& translator, SetVariable* set, const Value& operand);

// Operations that make a new set of type `type`. Null with the exception pending.
SetVariable* intersection(Translator& translator, PyTypeObject* type, SetVariable* self,
                          const Value& operand);
SetVariable* difference(Translator& translator, PyTypeObject* type, SetVariable* self,
                        const Value& operand);
SetVariable* symmetricDifference(Translator& translator, PyTypeObject* type, SetVariable* self,
                                 const Value& operand);

// What a set is asked for when it is asked for an item: for a set, which has no hash, a frozenset
// of the same items. Breaks where those are not all data.
Value keyInSet(Translator& translator, const Value& item);

// 1, 0, or -1 with the exception pending: every item of the iterable is in the set.
int containsAll(Translator& translator, SetVariable* set, const Value& iterable);

// A frozenset of data as the constant that it is; any other set as it stands.
Value setResult(Translator& translator, SetVariable* set);

}  // namespace armature

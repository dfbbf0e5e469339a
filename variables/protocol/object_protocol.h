// CPython's abstract object protocol over Values: the generic algorithms, written once, in the
// order of Objects/abstract.c, object.c and typeobject.c. They consult only slots.
//
// All of them return null (or false, or -1) with the exception pending in the translator. They
// take lazy values and realize them. With `tail`, what they give may be Value::framePushed(): see
// CallArguments::tail.
#pragma once

#include "variables/translator.h"
#include "variables/type_slots.h"
#include "variables/value.h"

namespace armature {

// The slots of any value: of its kind, or those of constants.
const TypeSlots& slotsOf(const Value& value);
// Py_TYPE of what the value stands for.
PyTypeObject* typeOf(const Value& value);
// type->tp_name, for a text that the program may read: of a class that can be renamed, guarded.
const char* nameOf(Translator& translator, PyTypeObject* type);
// The same of a value, for what an error says of it. Breaks the graph for what the trace does not
// look into: whether there is an error is not known.
const char* nameOf(Translator& translator, const Value& value);
// type(value) as a value: a constant for static types, the class's variable otherwise.
Value typeValue(Translator& translator, const Value& value);

Value unaryOperation(Translator& translator, UnarySlot slot, Value operand, bool tail = false);
// binary_op1 and binary_iop1 of abstract.c: subclass priority, in-place falling back to plain,
// sq_concat and sq_repeat, and the TypeError.
Value binaryOperation(Translator& translator, NumberSlot slot, Value left, Value right,
                      bool tail = false);
Value raiseUnsupportedOperands(Translator& translator, NumberSlot slot, const Value& left,
                               const Value& right);
// do_richcompare of object.c.
Value richCompare(Translator& translator, Value left, Value right, int op, bool tail = false);
// The same from one of its steps on.
Value askComparison(Translator& translator, const Value& left, const Value& right, int op,
                    ComparisonStep first, bool tail);
// 1, 0, or -1 with the exception pending. Breaks where the answer depends on data.
int isTrue(Translator& translator, Value value);
// The same as a constant bool.
Value truth(Translator& translator, Value value, bool tail);
// Identity; records what must hold for the answer to stay true.
bool isSame(Translator& translator, Value left, Value right);
// 1, 0, -1. PySequence_Contains.
int contains(Translator& translator, Value container, Value item);
Value isContained(Translator& translator, Value container, Value item, bool tail);
// iter() of what _PySequence_IterSearch walks over, which has words of its own for what is not
// iterable.
Value iteratorToSearch(Translator& translator, const Value& iterable);
// The same by iteration alone, where there is no __contains__: _PySequence_IterSearch.
int searchIterable(Translator& translator, const Value& iterable, const Value& item);

Value getItem(Translator& translator, Value container, Value key, bool tail = false);
bool setItem(Translator& translator, Value container, Value key, Value value);
bool deleteItem(Translator& translator, Value container, Value key);
// Either of them; a null `value` deletes. What it gives means nothing, if it is not null.
Value assignItem(Translator& translator, Value container, Value key, Value value, bool tail);
// -1 with the exception pending.
int64_t length(Translator& translator, Value container);
Value lengthOf(Translator& translator, Value container, bool tail);
// The length of a container that existed before the trace, where it varied between calls and the
// trace has not looked into the container; null otherwise, with nothing pending.
Value varyingLength(Translator& translator, Value container);
// operator.index: a constant int, or null.
Value toIndex(Translator& translator, Value value);

Value getIterator(Translator& translator, Value iterable, bool tail = false);
// The value, if it is an iterator; else null with the TypeError pending.
Value checkIterator(Translator& translator, Value value);
// Null without a pending exception at the end.
Value iteratorNext(Translator& translator, const Value& iterator, bool tail = false);
// The iterator gave nothing: null, with StopIteration pending unless something else is.
Value raiseStopIteration(Translator& translator, const Value& iterator);
// The trace holds each item of a sequence by itself. Beyond so many, the graph breaks.
constexpr int64_t kMostItems = 1 << 24;
// Appends all items of the iterable to `items`.
bool iterateInto(Translator& translator, Value iterable, llvm::SmallVectorImpl<Value>& items);
// Visits each item when the iterable gives it, while `visit` returns true. False with an exception
// pending.
bool visitItems(Translator& translator, Value iterable, llvm::function_ref<bool(Value)> visit);
// iterateInto() as list() and tuple() do it: they ask the iterable, before its first item, how many
// there will be (PyObject_LengthHint).
bool collectInto(Translator& translator, Value iterable, llvm::SmallVectorImpl<Value>& items);
// That question alone, which matters for its effects and errors. False with the exception pending.
bool askLengthHint(Translator& translator, const Value& iterable);

// The name in a call of getattr() and its like, as an interned str. Null with the TypeError
// pending.
Value readAttributeName(Translator& translator, Value name);
// PyObject_GetAttr. `name` is an interned str.
Value getAttribute(Translator& translator, Value object, PyObject* name, bool tail = false);
bool setAttribute(Translator& translator, Value object, PyObject* name, Value value);  // null: del
// The same. What it gives means nothing, if it is not null.
Value assignAttribute(Translator& translator, Value object, PyObject* name, Value value, bool tail);
// As getAttribute, but an AttributeError becomes null without a pending exception.
Value getOptionalAttribute(Translator& translator, Value object, PyObject* name);
// PyObject_GenericGetAttr and PyObject_GenericSetAttr, over the real type's MRO.
Value genericGetAttribute(Translator& translator, const Value& object, PyObject* name);
bool genericSetAttribute(Translator& translator, const Value& object, PyObject* name,
                         const Value& value);
// What LOAD_METHOD does: true if `function` is to be called with the object as first argument.
// Null `function`: the exception is pending.
bool loadMethod(Translator& translator, Value object, PyObject* name, Value& function,
                bool tail = false);
// _PyObject_LookupSpecial: on the type only, bound; null without exception if absent.
Value lookupSpecial(Translator& translator, Value object, PyObject* name);

Value call(Translator& translator, const Value& callable, CallArguments& arguments);
// Calls with positional arguments only.
Value call(Translator& translator, const Value& callable, llvm::ArrayRef<Value> arguments,
           bool tail = false);
Value callMethod(Translator& translator, Value object, const char* name,
                 llvm::ArrayRef<Value> arguments, bool tail = false);

// str(), repr(), format(): constants, or null. Break where the text is not known (tensors).
Value toStr(Translator& translator, Value value, bool tail = false);
Value toRepr(Translator& translator, Value value, bool tail = false);
Value formatValue(Translator& translator, Value value, Value specification, bool tail = false);
// What __str__ and its like may return; else null with a TypeError of that text, a format of the
// type's name.
Value checkText(Translator& translator, Value text, const char* message);
// 1, 0, -1. isinstance and issubclass with types and tuples of types; breaks for __instancecheck__
// written in Python.
int isInstance(Translator& translator, Value object, Value classInfo);
int isSubclass(Translator& translator, Value derived, Value classInfo);
// Either of them, as a bool, of a class, an alternative of classes, or a tuple of them.
Value askClasses(Translator& translator, const Value& asked, const Value& classInfo,
                 bool asksForSubclass, bool tail);

// types.UnionType (int | str), which has no name in C.
PyTypeObject* unionType();

// A short description for messages and breaks: "TensorVariable (L['x'])", "constant int 3".
std::string describe(const Value& value);

}  // namespace armature

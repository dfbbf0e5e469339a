// Classes that are written in Python (user_class.cc, class_call.cc), their instances, and objects
// not looked into.
#pragma once

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/continuation.h"
#include "variables/type_slots.h"
#include "variables/variable_tracker.h"

namespace armature {

class Heap;
struct MadeClass;

class UserClassVariable : public VariableTracker {
 public:
  ARMATURE_KIND(UserClass)
  UserClassVariable(const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::UserClass, Py_TYPE(existing.get()), source, existing),
        value_(reinterpret_cast<PyTypeObject*>(existing.get())) {}
  // One that the trace makes.
  explicit UserClassVariable(MadeClass* made);
  // Of a class that the trace makes, the prototype.
  PyTypeObject* value() const { return value_; }
  MadeClass* made() const { return made_; }

 private:
  PyTypeObject* value_;
  MadeClass* made_ = nullptr;
};

// The class that a realized value is, existing, static or made by the trace (its prototype); null
// for anything else.
PyTypeObject* asClass(const Value& value);

// type_getattro, with the metaclass's __getattr__.
Value classAttribute(Translator& translator, const Value& self, PyObject* attribute, bool tail);
Value classSubscript(Translator& translator, const Value& self, const Value& key, bool tail);
// type_call, or the metaclass's __call__.
Value callClass(Translator& translator, const Value& callable, CallArguments& arguments);
// What tuple.__new__ and frozenset.__new__, the __new__ of `layout`, make of these arguments.
Value makeImmutable(Translator& translator, UserClassVariable* cls, PyTypeObject* layout,
                    CallArguments& arguments);
// What is left of it when __new__, which got these arguments, too, has given `made`.
Value initializeMade(Translator& translator, const Value& cls, Value made,
                     CallArguments& arguments);

class UserObjectVariable : public VariableTracker {
 public:
  ARMATURE_KIND(UserObject)
  // An existing object.
  UserObjectVariable(const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::UserObject, Py_TYPE(existing.get()), source, existing) {}
  // One that the trace makes by object.__new__(type). `classVariable` is how the trace got there.
  explicit UserObjectVariable(UserClassVariable* classVariable)
      : VariableTracker(VariableKind::UserObject, classVariable->value()),
        classVariable(classVariable) {}

  UserClassVariable* const classVariable = nullptr;
  // The builtin part of an instance of a subclass of dict, list, tuple, set or frozenset: its
  // items. It has the object's source and its own mutation state; methods that the class does not
  // override work on it. Null for others.
  VariableTracker* container = nullptr;
  // The builtin part of an instance of a subclass of int, float, complex, str or bytes, an exact
  // constant; of an existing one null until somebody looks (builtinData). Trailed. Null for others.
  Value data;
  // Its __dict__; made on demand, null if the type has none (__slots__ alone).
  DictVariable* dict = nullptr;
  // Values of member descriptors (__slots__), keyed by the descriptor; made on demand.
  DictVariable* memberValues = nullptr;
  // What the program's __hash__ has said of it as a key of a dict or set, once one has asked.
  // Trailed, both.
  bool isHashed = false;
  Py_hash_t keyHash = 0;
};

// What a value is for C code that accepts instances of subclasses (PyList_Check and its like): the
// value itself, or its builtin part. Null for other kinds.
template <class Kind>
Kind* partOf(const Value& value) {
  auto* object = trackerOf<UserObjectVariable>(value);
  if (!object) return trackerOf<Kind>(value);
  VariableTracker* part = object->container;
  return part && Kind::classof(part) ? static_cast<Kind*>(part) : nullptr;
}
// The object that a builtin part is the part of; any other value itself.
inline Value wholeOf(Value value) {
  bool isPart = value.isTracker() && value.tracker()->instance;
  return isPart ? Value(value.tracker()->instance) : std::move(value);
}

// Does the object's class inherit the method from the builtin type whose layout it has?
bool leavesToPart(Translator& translator, const Value& self, PyObject* method);

// Is it a subclass of tuple that names its items, as collections.namedtuple makes them?
bool isNamedTupleType(Heap& heap, PyTypeObject* type);

// What C code reads of an instance of a subclass of int, float, complex, str or bytes: its value,
// which is guarded. Null for everything else.
Value builtinData(Translator& translator, const Value& value);

// The operators of instances, by the special methods that their class has.
TypeSlots makeObjectSlots();

// Some of them, for callers that can wait for the method's frame (`tail`: CallArguments::tail).
Value objectUnary(Translator& translator, UnarySlot slot, const Value& self, bool tail);
Value objectBool(Translator& translator, const Value& self, bool tail);
Value objectLength(Translator& translator, const Value& self, bool tail);
Value objectSubscript(Translator& translator, const Value& self, const Value& key, bool tail);
// A null `value` deletes. What it gives means nothing, if it is not null.
Value objectAssignSubscript(Translator& translator, const Value& self, const Value& key,
                            const Value& value, bool tail);
Value objectContains(Translator& translator, const Value& self, const Value& item, bool tail);
Value objectIterator(Translator& translator, const Value& self, bool tail);
// Raises StopIteration at the end.
Value objectNext(Translator& translator, const Value& self, bool tail);
Value objectCompare(Translator& translator, const Value& left, const Value& right, int op,
                    bool tail);
Value objectStr(Translator& translator, const Value& self, bool tail);
Value objectRepr(Translator& translator, const Value& self, bool tail);
// The methods that a binary operator asks, from `first` on, and the TypeError where none answers.
Value askOperands(Translator& translator, NumberSlot slot, const Value& left, const Value& right,
                  OperandStep first, bool tail);
Value objectIndex(Translator& translator, const Value& self, bool tail);
Value objectInt(Translator& translator, const Value& self, bool tail);
Value objectFloat(Translator& translator, const Value& self, bool tail);
Value objectHash(Translator& translator, const Value& self, bool tail);
// What __bool__, __len__, __hash__ and the conversions of `self` may return; null with the
// exception pending for anything else. `message`: of the TypeError, a format of the name of the
// result's type.
Value checkBool(Translator& translator, Value result);
Value checkLength(Translator& translator, Value result);
Value checkHash(Translator& translator, Value result);
Value checkInt(Translator& translator, Value result, const char* message);
Value checkFloat(Translator& translator, const Value& self, Value result);

// All that a break is about, whatever is done with the object.
TypeSlots makeOpaqueSlots();

// An object we can hand on, compare by identity and return, and nothing else.
class OpaqueVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Opaque)
  OpaqueVariable(const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::Opaque, Py_TYPE(existing.get()), source, existing) {}
  // One that Python would have made, of which only the type is known.
  explicit OpaqueVariable(PyTypeObject* type) : VariableTracker(VariableKind::Opaque, type) {}
};

}  // namespace armature

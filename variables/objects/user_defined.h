// Classes that are written in Python (user_class.cc), their instances, and objects not looked into.
#pragma once

#include "variables/containers/dict.h"
#include "variables/variable_tracker.h"

namespace armature {

class UserClassVariable : public VariableTracker {
 public:
  ARMATURE_KIND(UserClass)
  UserClassVariable(const Source* source, BorrowedRef<> existing)
      : VariableTracker(VariableKind::UserClass, Py_TYPE(existing.get()), source, existing) {}
  PyTypeObject* value() const { return reinterpret_cast<PyTypeObject*>(existing()); }
};

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
  // The builtin part of an instance of a dict subclass: its items. It has the object's source and
  // its own mutation state; methods that the class does not override work on it. Null for others.
  DictVariable* container = nullptr;
  // Its __dict__; made on demand, null if the type has none (__slots__ alone).
  DictVariable* dict = nullptr;
  // Values of member descriptors (__slots__), keyed by the descriptor; made on demand.
  DictVariable* memberValues = nullptr;
};

// The operators of instances, by the special methods that their class has.
TypeSlots makeObjectSlots();

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

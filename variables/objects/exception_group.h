// BaseExceptionGroup and what derives from it: exceptions that hold others, and that `except*`
// takes apart. A group that the trace makes is an ExceptionVariable with these two fields.
#pragma once

#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

class ExceptionVariable;

// The fields of a group, by their places in ExceptionVariable::members. Its constructor alone sets
// them: the descriptors only read.
enum GroupField : size_t { kMessage = 0, kExceptions = 1 };

bool isGroupType(PyTypeObject* type);

// BaseExceptionGroup.__new__, and the __init__ where `initOwner` is the builtin class that has it.
// Null with the exception pending.
Value constructGroup(Translator& translator, const Value& classVariable, PyTypeObject* type,
                     PyTypeObject* initOwner, const CallArguments& arguments);

// BaseExceptionGroup.__str__. Null with the exception pending.
Value groupStr(Translator& translator, const ExceptionVariable& group);

// CHECK_EG_MATCH: what of `exception` one clause of `except*` takes, and what it leaves to others;
// None for nothing. False with the exception pending.
bool matchGroup(Translator& translator, const Value& exception, Value wanted, Value& match,
                Value& rest);

// PREP_RERAISE_STAR: what is raised after the clauses for `original` have raised, or left over,
// the items of `raised` (None among them counts for nothing); None if nothing is. Null with the
// exception pending.
Value prepareReraise(Translator& translator, const Value& original, const ValueVector& raised);

}  // namespace armature

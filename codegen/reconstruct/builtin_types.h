// What builtin types give generated code to work with, past every override of a subclass.
#pragma once

#include <Python.h>

#include "codegen/py_codegen.h"
#include "variables/containers/dict.h"
#include "variables/containers/set.h"

namespace armature {

struct MadeClass;

// An attribute of the static type that the layout of `type` comes from: a function or a descriptor.
// Borrowed; null if it is missing.
PyObject* builtinAttribute(PyTypeObject* type, const char* name);

// Begins a call of the method that the builtin type of `self` has, and loads self: further
// arguments are loaded next, then call(1 + count).
void prepareMethodCall(PyCodegen& codegen, VariableTracker* self, const char* name);

// The descriptor that type.__new__ has put into a class which the trace makes, out of the class
// that this call makes.
void loadMadeDescriptor(PyCodegen& codegen, const MadeClass& made, PyObject* name);

// `descriptor.__set__(object, value)` and `descriptor.__delete__(object)` of a C descriptor.
void setThroughDescriptor(PyCodegen& codegen, PyObject* descriptor, VariableTracker* object,
                          const Value& value);
void deleteThroughDescriptor(PyCodegen& codegen, PyObject* descriptor, VariableTracker* object);

// Makes the steps that the effect (IteratorAdvance) counts.
void replayAdvance(PyCodegen& codegen, const Effect& effect);

// Lets the effect's target, a kind of iterator that can be told so, be at its end.
void replayEnd(PyCodegen& codegen, const Effect& effect);
// Pushes an iterator of that type (cpython::makeAtEnd) that has come to its end.
void buildAtEnd(PyCodegen& codegen, PyTypeObject* type);
// Makes so many steps of the iterator on the stack, which stays there.
void advanceTop(PyCodegen& codegen, int64_t steps);

// Puts the attributes of a new object into its __dict__, which is empty.
void fillInstanceDict(PyCodegen& codegen, VariableTracker* object, DictVariable* dict);

// dict.__setitem__(dict, key, value) or, for a null value, dict.__delitem__(dict, key), where the
// program's methods have said what the key's hash is.
// Those are not asked again: what they say may be something else by now.
void setItemOfHash(PyCodegen& codegen, DictVariable* dict, const Value& key, const Value& value);
// Pushes a set or frozenset of keys, in which there may be such.
void buildSet(PyCodegen& codegen, PyTypeObject* type, llvm::ArrayRef<Value> keys);

// The table of a new set of data, where it is not the one that adding its items one by one makes;
// else null.
Ref<> ownTable(Translator& translator, SetVariable* set);
// Begins a call that gives a set this table and pushes the set: a set that is empty from its start
// on is loaded next, then takeTable().
void prepareTakeTable(PyCodegen& codegen);
void takeTable(PyCodegen& codegen, const Ref<>& table);
// Adds (1) and discards (0), as the bytes say, data as items of an existing set.
void changeSet(PyCodegen& codegen, SetVariable* set, const Ref<>& items, const Ref<>& adds);

// type.__setattr__(cls, key, value) or, for a null value, type.__delattr__(cls, key).
void changeClassAttribute(PyCodegen& codegen, llvm::function_ref<void()> loadClass,
                          const Value& key, const Value& value);

}  // namespace armature

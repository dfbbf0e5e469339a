// Which real objects may stand for themselves in a trace.
#pragma once

#include "core/constant.h"
#include "variables/value.h"

namespace armature {

// isConstant (core/constant.h), or an object that is known by its identity and that nothing can
// change: modules (their attributes are read through guarded paths), static types, C functions and
// descriptors, and what registerFunctionType() says.
bool isConstantObject(PyObject* object);

// Registers a static type of a library whose instances are functions, known by their identity.
void registerFunctionType(PyTypeObject* type);

// A constant of parts.
bool isComposite(BorrowedRef<> constant);
// Is there only one object of this value in the process, so that `is` says no more than `==`?
bool isSingleton(BorrowedRef<> object);

// May the program hold two objects of the constant's value? Of other types' each is one object,
// wherever it stands.
bool isKnownByValue(BorrowedRef<> constant);
// Can `is` tell the constant, a part of a container of that many, from an equal one that takes its
// place in the next call? If so, the trace is to remember the path by which it came to it. (Of many
// parts each path would cost a call more than it is worth.)
bool isToldApart(BorrowedRef<> part, size_t count);

struct CallArguments;
class Translator;

// A module may be given another class, on which all that can be done with it depends.
void guardModuleClass(Translator& translator, PyObject* module);

// True if every argument is constant data.
bool allData(const CallArguments& arguments);
// Of two constants that are compared: guards which objects the parts of tuples are that go by their
// identity, where the trace has put them in. (What came from outside as a whole is known so far.)
void pinParts(Translator& translator, PyObject* left, PyObject* right);
// Calls a pure function on such arguments now. The result is a constant, or a new list of them.
Value callWithData(Translator& translator, PyObject* callable, const CallArguments& arguments);
// A call of a constant: of a type, a function or method of C, or of what cannot be called.
Value constantCall(Translator& translator, const Value& callable, CallArguments& arguments);

}  // namespace armature

// How the trace performs calls of C functions, by their identity.
//
// Each file of a kind registers the functions of its type: list.append in the list's file. A
// function is found by its PyMethodDef (C functions and method descriptors), or by the object
// itself (types, anything else that is callable).
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// `self` is null for plain functions; for methods it is split from the arguments.
using BuiltinHandler = Value (*)(Translator&, const Value& self, CallArguments& arguments);

// Registers a method of a static type ("append" of list). Aborts at start-up if there is none.
void registerMethodHandler(PyTypeObject* type, const char* name, BuiltinHandler handler);
// Likewise; the method looks at none of its arguments, so that nothing is guarded of inputs among
// them. Other handlers find their arguments realized.
void registerMovingMethodHandler(PyTypeObject* type, const char* name, BuiltinHandler handler);
// Registers a function of a module in C ("len" of builtins), also where a program has put another
// in its place, or a static type that is called (int, list): as soon as a trace begins with that in
// its place.
void registerFunctionHandler(const char* module, const char* name, BuiltinHandler handler);
void registerObjectHandler(PyObject* callable, BuiltinHandler handler);
// A function whose registered handler minds CallArguments::tail: what it does, an instruction could
// have done. Others never see it set.
void registerProtocolFunction(const char* module, const char* name);
void registerProtocolMethod(PyTypeObject* type, const char* name);
// Functions that may be called at once when all their arguments are constant data.
void registerPureFunction(const char* module, const char* name);

// Calls of the instances of a C type that stands for functions; `self` is the instance. Instances
// found on a class bind as Python functions do.
void registerInstanceHandler(PyTypeObject* type, BuiltinHandler handler);

// The handler of the instances of a type, or null.
BuiltinHandler findInstanceHandler(PyTypeObject* type);
// The handler of a callable real object, or null.
BuiltinHandler findHandler(PyObject* callable);
bool isProtocolFunction(PyObject* callable);
// Does its handler only move the arguments about?
bool movesArguments(PyObject* callable);
// Is the object that function of the C module?
bool isBuiltinFunction(PyObject* object, const char* module, const char* name);
// True if calling it with constant data is pure: registered so, or a method of an immutable
// builtin type (str, int, float, tuple, bytes, …).
bool isPure(PyObject* callable);

// A file registers in a function that it names here; all run once, when the first trace begins.
struct HandlerRegistration {
  explicit HandlerRegistration(void (*registerAll)());
};
#define ARMATURE_REGISTER_HANDLERS(function) \
  static const ::armature::HandlerRegistration function##Registration(function)
void runHandlerRegistrations();

// Reads the arguments of a call of a C function: `minimum` to `maximum` positional ones, no
// keywords. False with CPython's TypeError pending.
bool checkArgumentCount(Translator& translator, const char* function,
                        const CallArguments& arguments, size_t minimum, size_t maximum);
// The same of a slot wrapper (check_num_args of typeobject.c).
bool checkWrapperArguments(Translator& translator, const char* name, const CallArguments& arguments,
                           size_t count);

}  // namespace armature

// What CPython checks of a call of a function written in C before that function sees it.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// Of a builtin function, or a method descriptor whose object has been taken from the arguments: do
// its flags forbid them (METH_NOARGS, METH_O, and whether it takes keywords)?
bool isRefused(PyObject* callable, const CallArguments& arguments);
// Whether they do not; if they do, the TypeError is pending (cfunction_check_kwargs of
// methodobject.c, method_check_args of descrobject.c).
bool obeysConvention(Translator& translator, PyObject* callable, const CallArguments& arguments);

// Of a method descriptor or a slot wrapper: takes the object from the arguments. False with the
// TypeError pending where there is none, or one of another type (method_check_args,
// wrapperdescr_call).
bool takeSelf(Translator& translator, PyObject* descriptor, CallArguments& arguments, Value& self);

}  // namespace armature

// What Python runs calls what is compiled.
//
// Code that stays Python inside a compiled call (an instruction that broke the graph, a region that
// could not be captured, the body of a generator) makes its calls through an object of this room
// (codegen/call_rewriting.h), which runs the twin of a Python function: a cache of translations of
// its code, with the backend and the settings of the compiled function, shared by all functions
// that carry the code. Nothing in the process changes for others.
#pragma once

#include <memory>

#include "runtime/code_cache.h"

namespace armature {

// The callable `caller(callable, *arguments)` of a family; always the same. Its attribute `starred`
// is a callable `caller(callable, arguments, keywords)`, whose keywords may be left out. Null with
// an exception set.
Ref<> pythonCallsOf(const std::shared_ptr<const Settings>& settings,
                    const std::shared_ptr<CodeCache::Family>& family);

// Is it one of these?
bool isPythonCalls(BorrowedRef<> object);

// Forgets what it knows of functions. What it held, code that refers to it above all, is destroyed
// on return.
void forgetFunctions(BorrowedRef<> pythonCalls);

// Runs a function as it is, but that what it calls may be captured. Null with an exception set.
PyObject* callRewritten(BorrowedRef<> function, BorrowedRef<> pythonCalls,
                        PyObject* const* arguments, size_t flags, PyObject* keywordNames);

// A code object of the same instructions, that and no more, with which a function is run so. Null
// where it has to run as it is, or with an exception set, where there is no memory.
Ref<PyCodeObject> rewrittenCode(BorrowedRef<PyCodeObject> code, BorrowedRef<> pythonCalls);

// Prepares the type. -1 with an exception set.
int readyPythonCallsType();

}  // namespace armature

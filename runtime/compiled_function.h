// The callables that armature.compile() and generated code deal in: C objects with a vectorcall
// that binds arguments, asks the code cache, and calls what it found.
#pragma once

#include <Python.h>

#include <llvm/ADT/STLExtras.h>

#include <memory>
#include <optional>

#include "runtime/code_cache.h"

namespace armature {

// armature._C.CompiledFunction(function, backend, fullgraph, recompile_limit, settings,
//                              measures_breaks, sharing_key, mixed_backend)
extern PyTypeObject CompiledFunctionType;
// armature._C.DisabledFunction(callable, recursive=True, reason=None): the callable as it is, and,
// if that is recursive, compiled functions inside it too.
extern PyTypeObject DisabledFunctionType;

// What armature._C.CompiledFunction() makes, for an engine of its own. Null with an exception set.
Ref<> makeCompiledFunction(BorrowedRef<> function, std::shared_ptr<const Settings> settings);

// The caches of a CompiledFunction, or of all that a CompiledCallable has called:
// none if their code cannot be traced. Nothing (TypeError set) for anything else.
std::optional<CodeCache::Caches> familyOf(PyObject* object);

// Whether a call with these arguments would run a translation that exists: 1, 0, or -1 with an
// exception set.
int acceptsCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                PyObject* keywordNames);

// Translates the call with these arguments, unless a translation holds for it, without running it.
// `visit` gets the entry whose guards hold for it. 1; 0 if there is none and the function would run
// as it is; -1 with an exception set: TypeError if it is no CompiledFunction or takes no such
// arguments, or what the compilation raised.
int translateCall(PyObject* compiledFunction, PyObject* const* arguments, size_t positionalCount,
                  PyObject* keywordNames, llvm::function_ref<void(const CacheEntry&)> visit);

// Is it a DisabledFunction which leaves alone what its function calls?
bool isDisabledItself(BorrowedRef<> object);
// Why a DisabledFunction is one, in the program's words, borrowed; null if it says nothing.
PyObject* reasonOfDisabled(BorrowedRef<> disabledFunction);

// The function that a CompiledFunction or DisabledFunction stands for, borrowed.
PyObject* wrappedFunction(PyObject* object);

// Does type.__new__ make a static method or a class method of a function with that name (a str)?
bool isMadeAMethodByType(PyObject* name);

// Prepares the types and adds the public ones to the module. -1 with an exception set.
int addCompiledFunctionTypes(PyObject* module);

}  // namespace armature

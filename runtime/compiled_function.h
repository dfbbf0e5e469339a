// The callables that armature.compile() and generated code deal in: C objects with a vectorcall
// that binds arguments, asks the code cache, and calls what it found.
#pragma once

#include <Python.h>

#include <memory>

#include "runtime/code_cache.h"

namespace armature {

// armature._C.CompiledFunction(function, backend, fullgraph, recompile_limit)
extern PyTypeObject CompiledFunctionType;
// What goes on after a graph break; made by codegen.
extern PyTypeObject ResumeFunctionType;

// A new callable over a cache whose entry point lies inside a function. Null with an exception set.
Ref<> makeResumeFunction(std::shared_ptr<CodeCache> cache);

// The cache of a CompiledFunction or ResumeFunction; null (TypeError set) for anything else.
CodeCache* cacheOf(PyObject* object);

// Prepares both types and adds CompiledFunction to the module. -1 with an exception set.
int addCompiledFunctionTypes(PyObject* module);

}  // namespace armature

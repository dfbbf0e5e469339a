// A function that goes on in the middle of another, in plain Python.
#pragma once

#include <vector>

#include "core/ref.h"
#include "interpreter/entry_point.h"

namespace armature {

struct PlainCode {
  // Takes the entry's inputs, and what else holds them if it moves them; puts the stack and the
  // locals in place, jumps to where the entry starts. An exception that the entry handles must be
  // the one that is being handled when it is called. A generator's code gives a generator, which
  // does all that when it is asked for its first item. Null with an exception set on failure.
  Ref<PyCodeObject> code;
  // For each free variable of the code the input that is its cell; -1: nothing reads it.
  std::vector<int32_t> freeVariables;
  Ref<> builtins;  // the entry's
};

// Which slot of the plain code is a local variable of the original, in front of whose locals stand
// `parameters` others: the one as far behind them, or the first for what super() looks for there.
int32_t plainSlot(const Code& original, int32_t local, int32_t parameters);

// `caller`: makes the calls of the code (see rewriteCalls); null: they are made as they are.
PlainCode plainCode(const EntryPoint& entry, BorrowedRef<> caller);

// A function of the code, to be called with these inputs; with others, too, if there are no free
// variables. Null with an exception set on failure.
Ref<> plainFunction(const PlainCode& plain, BorrowedRef<> globals, PyObject* const* inputs);

}  // namespace armature

// Binds the arguments of a call to a function's parameters, as CPython does.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "bytecode/code.h"
#include "core/ref.h"
#include "interpreter/entry_point.h"

namespace armature {

// Objects that binding had to make (*args and **kwargs), and those that only the function holds,
// which may get other defaults while the call lasts.
struct BindingTemporaries {
  Ref<> varPositional;
  Ref<> varKeyword;
  Ref<> defaults;
  llvm::SmallVector<Ref<>, 2> keywordDefaults;
};

// Fills slots[0 … code.boundCount()) with borrowed references. False, with no exception set, if the
// call does not fit the parameters: the function itself then raises the right TypeError.
// (-1 errors such as running out of memory leave an exception set.)
bool bindArguments(const Code& code, BorrowedRef<> function, PyObject* const* arguments,
                   size_t positionalCount, PyObject* keywordNames, PyObject** slots,
                   BindingTemporaries& temporaries);

// The inputs of a function from its start: the parameters, then the cells of its closure.
EntryPoint functionEntry(CodePtr code);

// The inputs of a call of a function with that entry: `slots` has one for each. False as
// bindArguments.
bool bindCall(BorrowedRef<> function, const EntryPoint& entry, PyObject* const* arguments,
              size_t positionalCount, PyObject* keywordNames, PyObject** slots,
              BindingTemporaries& temporaries);

}  // namespace armature

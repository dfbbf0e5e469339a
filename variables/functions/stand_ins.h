// Python functions that stand in a trace for functions that are written in C, or that a trace had
// better not go into. They do what those do, and nobody sees that they are there: no traceback
// shows their frames, a break inside of one belongs to the call, and they make no object of which a
// program could tell who has made it.
#pragma once

#include <utility>
#include <vector>

#include "core/ref.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// The functions by what they stand for, for all traces from now on. All are of one module.
void setStandIns(const std::vector<std::pair<Ref<>, Ref<>>>& functions);

// Borrowed; null for what nothing stands for.
PyObject* standInFor(const Value& callable);
PyObject* standInFor(BorrowedRef<> callable);
// The function itself, to be called.
Value standInValue(Translator& translator, PyObject* standIn);
// Are these the globals of a function that stands in?
bool isOfStandIns(BorrowedRef<> globals);

// A call of `callable`. What fits no parameter of the function breaks the graph: the error is one
// of the real call.
Value callStandIn(Translator& translator, const Value& callable, PyObject* standIn,
                  CallArguments& arguments);

}  // namespace armature

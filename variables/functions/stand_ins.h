// Python functions that stand in a trace for functions that are written in C, or that a trace had
// better not go into. They do what those do, and nobody sees that they are there: no traceback
// shows their frames, a break inside of one belongs to the call, and what leaves the trace of what
// they make, the real functions make.
#pragma once

#include <utility>
#include <vector>

#include "core/ref.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// For all traces from now on: the functions by what they stand for; for the code of functions that
// they make, the real function which makes the like, called with what the made one closes over; the
// classes of what they make besides. All are of one module.
void setStandIns(const std::vector<std::pair<Ref<>, Ref<>>>& functions,
                 const std::vector<std::pair<Ref<>, Ref<>>>& makers,
                 const std::vector<Ref<PyTypeObject>>& classes);

// Borrowed; null for what nothing stands for.
PyObject* standInFor(const Value& callable);
// Are these the globals of a function that stands in?
bool isOfStandIns(BorrowedRef<> globals);
bool isOfStandIns(BorrowedRef<PyTypeObject> type);
// The real function that makes functions of that code; borrowed, null if there is none.
PyObject* makerOf(BorrowedRef<PyCodeObject> code);

// A call of `callable`. What fits no parameter of the function breaks the graph: the error is one
// of the real call.
Value callStandIn(Translator& translator, const Value& callable, PyObject* standIn,
                  CallArguments& arguments);

}  // namespace armature

// How often a graph break was hit, and how long Python took because of it: counted only where
// somebody has asked, when the code of the break was generated (Settings::measuresBreaks).
#pragma once

#include <Python.h>

#include "codegen/py_codegen.h"
#include "core/ref.h"

namespace armature {

// armature._C.BreakStatistics, with the attributes `hits` and `seconds`. Null with an exception
// set.
Ref<> makeBreakStatistics();

// What generated code calls before and after the instruction that broke. Null functions with an
// exception set.
BreakTimer timerOf(BorrowedRef<> statistics);

// The same for a scope. Of several at once, in frames or threads, the time counts once.
class BreakScope {
 public:
  explicit BreakScope(BorrowedRef<> statistics);  // null: nothing is counted
  ~BreakScope();
  BreakScope(const BreakScope&) = delete;
  BreakScope& operator=(const BreakScope&) = delete;

 private:
  Ref<> statistics_;
};

// Prepares the type. -1 with an exception set.
int readyBreakStatisticsType();

}  // namespace armature

#include "variables/outside_exceptions.h"

#include <vector>

#include "core/checked.h"

namespace armature {

namespace {

using Finders = std::vector<BorrowedRef<> (*)()>;

Finders& finders() {
  static auto& all = *new Finders;
  return all;
}

}  // namespace

void registerOutsideException(BorrowedRef<> (*find)()) { finders().push_back(find); }

Ref<> outsideExceptions() {
  Ref<> all = checked(PyList_New(0));
  checked(PyList_Append(all.get(), PyExc_MemoryError));
  for (auto* find : finders()) {
    BorrowedRef<> found = find();
    if (found && PyExceptionClass_Check(found.get())) {
      checked(PyList_Append(all.get(), found.get()));
    }
  }
  return checked(PyList_AsTuple(all.get()));
}

}  // namespace armature

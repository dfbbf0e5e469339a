// The exception that is set in the thread state, out of the way of other code.
#pragma once

#include "core/ref.h"

namespace armature {

// Takes the exception that is set, if there is one, and sets it again at the end. What has been set
// by then is dropped, also where there was none: an interrupt is to be kept before
// (clearException).
class SetException {
 public:
  SetException() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~SetException() { PyErr_Restore(type_, value_, traceback_); }
  SetException(const SetException&) = delete;
  SetException& operator=(const SetException&) = delete;

  // Null where there is none, and the value also where it has not been made yet.
  BorrowedRef<> value() const { return value_; }
  BorrowedRef<> traceback() const { return traceback_; }

 private:
  PyObject *type_, *value_, *traceback_;
};

}  // namespace armature

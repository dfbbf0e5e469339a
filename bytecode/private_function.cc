#include "bytecode/private_function.h"

#include "bytecode/code.h"
#include "bytecode/native.h"

namespace armature {

bool isCalledByLowered(const char* name) {
  BorrowedRef<PyCodeObject> code = native::runningCode();
  if (code && isLowered(code)) return true;
  PyErr_Format(PyExc_TypeError, "%s() is called by compiled code alone", name);
  return false;
}

}  // namespace armature

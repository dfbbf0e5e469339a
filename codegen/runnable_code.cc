#include "codegen/runnable_code.h"

#include "bytecode/shown_code.h"
#include "variables/library.h"

namespace armature {

Ref<PyCodeObject> runnableCode(const Code& code, BorrowedRef<PyCodeObject> shown) {
  Ref<PyCodeObject> made = lower(code);
  for (const Library* library : registeredLibraries()) {
    if (made && !library->disownCode(made)) return nullptr;
  }
  if (made && shown && !setShown(made, shown)) return nullptr;
  return made;
}

}  // namespace armature

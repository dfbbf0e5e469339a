#include "codegen/runnable_code.h"

#include "variables/library.h"

namespace armature {

Ref<PyCodeObject> runnableCode(const Code& code) {
  Ref<PyCodeObject> made = lower(code);
  for (const Library* library : registeredLibraries()) {
    if (made && !library->disownCode(made)) return nullptr;
  }
  return made;
}

}  // namespace armature

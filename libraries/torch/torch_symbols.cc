#include "libraries/torch/torch_symbols.h"

#include <dlfcn.h>

#include <initializer_list>

namespace armature {

void* torchSymbol(const char* name) {
  // Python loads extensions with RTLD_LOCAL, so they must be asked one by one. NOLOAD: only a
  // library that is there already, by its soname.
  for (const char* library : {"libtorch_cpu.so", "libc10.so", "libtorch_python.so"}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* symbol = dlsym(handle, name);
    dlclose(handle);  // gives back our count; the library stays
    if (symbol) return symbol;
  }
  return nullptr;
}

}  // namespace armature

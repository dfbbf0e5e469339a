// Finds torch's C and C++ functions at run time, in the libraries that Python has loaded: we
// neither link torch nor include its headers. Whoever uses a symbol verifies first that it does
// what the Python interface says.
#pragma once

namespace armature {

// The address of a symbol by its linker's name, or null.
void* torchSymbol(const char* name);

template <class Function>
Function* torchFunction(const char* name) {
  return reinterpret_cast<Function*>(torchSymbol(name));
}

}  // namespace armature

#include "variables/library.h"

#include <array>

namespace armature {

namespace {

std::array<const Library*, 2> libraries = {};

}  // namespace

const Library* findLibrary(ArrayLibraryKind kind) { return libraries[static_cast<size_t>(kind)]; }

void registerLibrary(const Library* library) {
  libraries[static_cast<size_t>(library->kind())] = library;
}

const Library* libraryOfArrays(PyTypeObject* type) {
  for (const Library* library : libraries) {
    if (library && (library->isArrayType(type) || library->isImmutable(type))) return library;
  }
  return nullptr;
}

}  // namespace armature

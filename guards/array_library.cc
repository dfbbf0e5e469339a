#include "guards/array_library.h"

#include <array>

namespace armature {
namespace {

std::array<const ArrayLibrary*, 2> libraries{};

}  // namespace

const ArrayLibrary* arrayLibrary(ArrayLibraryKind kind) {
  return libraries[static_cast<size_t>(kind)];
}

void registerArrayLibrary(ArrayLibraryKind kind, const ArrayLibrary* library) {
  libraries[static_cast<size_t>(kind)] = library;
}

}  // namespace armature

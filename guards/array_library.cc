#include "guards/array_library.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
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

int traverseArray(PyObject* object, visitproc visit, void* argument) {
  for (const ArrayLibrary* library : libraries) {
    if (int stopped = library ? library->traverse(object, visit, argument) : 0) return stopped;
  }
  return 0;
}

bool areApartInMemory(llvm::ArrayRef<PyObject*> arrays) {
  llvm::SmallVector<MemoryRange, 32> ranges;
  for (PyObject* array : arrays) {
    MemoryRange& range = ranges.emplace_back();
    bool isKnown = std::ranges::any_of(libraries, [&](const ArrayLibrary* library) {
      return library && library->findMemory(array, range);
    });
    if (!isKnown) return false;
  }
  std::ranges::sort(ranges, {}, &MemoryRange::begin);
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) return false;
  }
  return true;
}

}  // namespace armature

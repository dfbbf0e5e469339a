#include "variables/library.h"

#include <array>

#include <llvm/ADT/SmallVector.h>

namespace armature {

namespace {

std::array<const Library*, 2> libraries = {};
llvm::SmallVector<const Library*, 2> registered;  // without those that are not there

}  // namespace

const Library* libraryOfMixtures() {
  for (const Library* library : registeredLibraries()) {
    if (library->triesMixtures()) return library;
  }
  return nullptr;
}

const Library* findLibrary(ArrayLibraryKind kind) { return libraries[static_cast<size_t>(kind)]; }

NodeEffect effectOf(const Node& node) {
  if (!node.isCall()) return NodeEffect::None;
  const Library* library = findLibrary(node.library);
  return library ? library->effectOf(node) : NodeEffect::Other;
}

void registerLibrary(const Library* library) {
  libraries[static_cast<size_t>(library->kind())] = library;
  registered.clear();
  for (const Library* each : libraries) {
    if (each) registered.push_back(each);
  }
}

llvm::ArrayRef<const Library*> registeredLibraries() { return registered; }

LibraryOfCallables::Owner LibraryOfCallables::of(BorrowedRef<> callable) {
  if (auto found = owners_.find(callable.get()); found != owners_.end()) return found->second;
  Owner owner;
  for (const Library* library : registered) {
    CallRule rule = library->classify(callable);
    if (rule.kind == CallKind::NotOurs) continue;
    owner = {library, rule};
    break;
  }
  kept_.push_back(Ref<>::create(callable));
  return owners_[callable.get()] = owner;
}

const Library* libraryOfArrays(PyTypeObject* type) {
  for (const Library* library : registered) {
    if (library->isArrayType(type) || library->isImmutable(type)) return library;
  }
  return nullptr;
}

}  // namespace armature

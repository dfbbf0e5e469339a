// Python functions that a trace leaves to Python, although it could go into them.
#pragma once

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <vector>

#include "bytecode/code.h"
#include "core/ref.h"

namespace armature {

// Modules of which no function is captured. Whether one is makes no difference to what it computes,
// so nothing guards the answer.
class SkippedModules {
 public:
  // Takes exact strs. With a module go those inside of it.
  void set(std::vector<Ref<>> names) { names_ = std::move(names); }
  // Modules that are always skipped, by their globals.
  void setAlways(std::vector<Ref<>> globals) { always_ = std::move(globals); }
  // Is the function of such a module, by the __name__ in its globals? Runs no code of the program,
  // and leaves no exception set.
  bool contains(BorrowedRef<> globals) const {
    auto isThis = [&](const Ref<>& skipped) { return skipped.get() == globals.get(); };
    return llvm::any_of(always_, isThis) || (!names_.empty() && containsName(globals));
  }

 private:
  bool containsName(BorrowedRef<> globals) const;

  std::vector<Ref<>> names_;
  std::vector<Ref<>> always_;
};

// Does a function of these globals and that name put methods of a class together as text? Each that
// is executed would be a break of its own, so that the whole call is left to Python. Makes no
// difference to what it computes, either.
bool writesMethods(BorrowedRef<> globals, BorrowedRef<> name);

// What one trace skips.
struct SkippedFunctions {
  const SkippedModules* modules = nullptr;  // null: none
  // By their code: those whose frames have asked for it.
  llvm::SmallVector<CodePtr, 1> codes;
};

}  // namespace armature

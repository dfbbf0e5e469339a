// Python functions that a trace leaves to Python, although it could go into them.
#pragma once

#include <llvm/ADT/STLExtras.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/code.h"
#include "core/ref.h"
#include "interpreter/break_reason.h"

namespace armature {

// Modules of which no function is captured, or none in part. Whether one is makes no difference to
// what it computes, so nothing guards the answer.
class SkippedModules {
 public:
  // Takes exact strs. With a module go those inside of it.
  void set(std::vector<Ref<>> names) { names_ = std::move(names); }
  // Modules that are always skipped, by their globals.
  void setAlways(std::vector<Ref<>> globals) { always_ = std::move(globals); }
  // Modules whose functions a trace may go into, to capture them whole, by their globals. Where one
  // breaks, Python runs it from its beginning: what it holds then is new in each call.
  void setWhole(std::vector<Ref<>> globals) { whole_ = std::move(globals); }
  bool areWhole(BorrowedRef<> globals) const {
    return llvm::any_of(whole_, [&](const Ref<>& one) { return one.get() == globals.get(); });
  }
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
  std::vector<Ref<>> whole_;
};

// Does a function of these globals and that name put methods of a class together as text? Each that
// is executed would be a break of its own, so that the whole call is left to Python. Makes no
// difference to what it computes, either.
bool writesMethods(BorrowedRef<> globals, BorrowedRef<> name);

// A function that a trace does not go into (again).
struct SkippedFunction {
  CodePtr code;
  // What it breaks at, if it cannot be captured in part; else its frame has asked for it.
  std::optional<BreakReason> reason;
};

// What one trace skips.
struct SkippedFunctions {
  const SkippedModules* modules = nullptr;  // null: none
  std::vector<SkippedFunction> codes;

  // Null: none of `codes`.
  const SkippedFunction* find(const Code& code) const {
    auto found = llvm::find_if(codes, [&](const SkippedFunction& skipped) {
      return skipped.code->original.get() == code.original.get();
    });
    return found == codes.end() ? nullptr : &*found;
  }
};

// Raised at the call of one. What people are told is the break in it, where there is one.
class SkippedCall : public GraphBreak {
 public:
  SkippedCall(std::string context, const SkippedFunction* skipped)
      : GraphBreak(GraphBreakKind::SkippedFunction, std::move(context)), skipped_(skipped) {}
  // Null: its frame has asked for it, or its module is skipped.
  const BreakReason* reason() const {
    return skipped_ && skipped_->reason ? &*skipped_->reason : nullptr;
  }

 private:
  const SkippedFunction* skipped_;  // of the trace's SkippedFunctions
};

}  // namespace armature

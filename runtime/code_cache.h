// The translations of one entry point, and the way to one more.
#pragma once

#include <llvm/ADT/STLExtras.h>

#include <memory>
#include <vector>

#include "codegen/py_codegen.h"
#include "interpreter/entry_point.h"
#include "runtime/cache_entry.h"
#include "runtime/settings.h"
#include "shapes/profile.h"

namespace armature {

class CodeCache {
 public:
  // `plain`: the function to run where there is no translation; it takes the entry's inputs as they
  // are for resume functions; null for a function's start, whose caller runs the original.
  CodeCache(EntryPoint entry, Ref<> globals, std::shared_ptr<const Settings> settings,
            std::shared_ptr<std::vector<std::shared_ptr<CodeCache>>> family);

  // What to do for these inputs.
  enum class Action : uint8_t { Run, Plain, Compiled, Error };
  // Finds, or makes, the entry for the inputs. Run: `function` is to be called with the inputs
  // followed by `captures` (which has room for captureCapacity() objects, all borrowed).
  // Compiled: there is a new entry; ask again, with as much room as there must be now.
  // Error: a Python exception is set.
  Action find(const FrameLocalsMapping& inputs, PyObject** captures, Ref<>& function,
              size_t& captureCount);
  size_t captureCapacity() const { return captureCapacity_; }

  const EntryPoint& entry() const { return entry_; }
  BorrowedRef<> globals() const { return globals_; }
  const std::shared_ptr<const Settings>& settings() const { return settings_; }
  const std::vector<std::unique_ptr<CacheEntry>>& entries() const { return entries_; }
  // The caches of all entry points that belong to one compiled function, its start first.
  const std::vector<std::shared_ptr<CodeCache>>& family() const { return *family_; }
  // Whether the guards of any entry hold for these inputs.
  bool accepts(const FrameLocalsMapping& inputs);
  // Shows the entry whose guards hold for these inputs; false if there is none.
  bool visitEntry(const FrameLocalsMapping& inputs,
                  llvm::function_ref<void(const CacheEntry&)> visit);
  // The entry's dict, with the name, filename and line at which it starts.
  Ref<> describe(const CacheEntry& entry) const;
  // Drops all entries. The function object must be alive, and may be running.
  void clear();
  // Breaks the cycle between the caches of a family; for the end of the compiled function.
  void dropFamily() { family_->clear(); }

 private:
  bool compile(const FrameLocalsMapping& inputs);
  std::string whyMissed(const FrameLocalsMapping& inputs);

  EntryPoint entry_;
  Ref<> globals_;
  std::shared_ptr<const Settings> settings_;
  std::shared_ptr<std::vector<std::shared_ptr<CodeCache>>> family_;
  std::vector<std::unique_ptr<CacheEntry>> entries_;
  Profile profile_;
  size_t captureCapacity_ = 0;
  bool givenUp_ = false;
};

// True while this thread traces.
bool isCompiling();
// True while this thread traces, or runs a disabled function: compiled functions that are called
// meanwhile run as they are.
bool runsPlain();
class PlainScope {
 public:
  PlainScope();
  ~PlainScope();
  PlainScope(const PlainScope&) = delete;
  PlainScope& operator=(const PlainScope&) = delete;
};

}  // namespace armature

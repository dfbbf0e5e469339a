// What the trace knows of one value that is not a constant.
//
// Trackers live in the trace's arena and die with it. They are immutable, except for the state of
// kinds that model mutable objects: that changes only through functions that record it on the
// trail. The class hierarchy uses LLVM's RTTI; behaviour is in the TypeSlots table of the kind.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Allocator.h>
#include <llvm/Support/Casting.h>

#include "core/fault_injection.h"
#include "core/ref.h"
#include "sources/source.h"
#include "variables/value.h"

namespace armature {

enum class VariableKind : uint8_t {
#define KIND(name) name,
#include "variables/variable_kinds.def"
};
const char* variableKindName(VariableKind kind);  // "ListVariable"

struct TypeSlots;

class VariableTracker {
 public:
  VariableTracker(const VariableTracker&) = delete;
  VariableTracker& operator=(const VariableTracker&) = delete;
  virtual ~VariableTracker() = default;

  VariableKind kind() const { return kind_; }
  // The Python type of the object that this stands for. Borrowed: the trace keeps types alive.
  PyTypeObject* type() const { return type_; }
  // How to find the object in a later call; null for an object that the trace makes.
  const Source* source() const { return source_; }
  // The real object, for one that existed before the trace (kept alive by the trace); else null.
  PyObject* existing() const { return existing_.get(); }
  const TypeSlots& slots() const;
  // The instance of a subclass of a builtin type whose builtin part this is: what the type's own
  // functions work on, which has the instance's source. Null for what stands for itself.
  VariableTracker* instance = nullptr;
  // How many trackers of its trace are older.
  uint32_t serial() const { return serial_; }

 protected:
  VariableTracker(VariableKind kind, PyTypeObject* type, const Source* source = nullptr,
                  BorrowedRef<> existing = nullptr)
      : kind_(kind), type_(type), source_(source), existing_(Ref<>::create(existing)) {}

 private:
  friend class VariableArena;
  VariableKind kind_;
  uint32_t serial_ = 0;
  PyTypeObject* type_;
  const Source* source_;
  Ref<> existing_;
};

// Declares what LLVM's RTTI needs; put it in the public part of each kind's class.
#define ARMATURE_KIND(name)                             \
  static bool classof(const VariableTracker* tracker) { \
    return tracker->kind() == VariableKind::name;       \
  }

// Memory of one trace.
class VariableArena {
 public:
  VariableArena() = default;
  VariableArena(const VariableArena&) = delete;
  VariableArena& operator=(const VariableArena&) = delete;
  ~VariableArena() {
    for (VariableTracker* tracker : trackers_) {
      if (tracker) tracker->~VariableTracker();
    }
  }

  template <class Kind, class... Arguments>
  Kind* make(Arguments&&... arguments) {
    faultSite();
    // Its place comes first: whatever is made is destroyed.
    trackers_.push_back(nullptr);
    Kind* tracker = new (allocator_.Allocate(sizeof(Kind), alignof(Kind)))
        Kind(std::forward<Arguments>(arguments)...);
    tracker->serial_ = static_cast<uint32_t>(trackers_.size() - 1);
    trackers_.back() = tracker;
    return tracker;
  }
  // All that were made, and null for those that could not be.
  llvm::ArrayRef<VariableTracker*> trackers() const { return trackers_; }

 private:
  llvm::BumpPtrAllocator allocator_;
  std::vector<VariableTracker*> trackers_;
};

}  // namespace armature

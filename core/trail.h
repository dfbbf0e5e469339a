// The log of undoable changes to the state of a trace.
//
// Every mutation of trace state that must vanish when the interpreter rewinds is recorded here
// together with how to undo it. There is one mark only, the beginning of the trail: the interpreter
// cuts the trail wherever it could resume, so whatever is on it is younger than that place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace armature {

class Trail {
 public:
  // How to take back, or to forget, one change. `undo` restores the old state and releases
  // what the entry owns; `forget` only releases (null where the entry owns nothing).
  struct Operation {
    void (*undo)(void* target, uintptr_t data);
    void (*forget)(void* target, uintptr_t data);
  };

  Trail() = default;
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;
  ~Trail() { cut(); }

  // The operation must outlive the trail (a static constant).
  void record(const Operation& operation, void* target, uintptr_t data) {
    entries_.push_back({&operation, target, data});
  }

  // Makes everything so far final.
  void cut() {
    if (!entries_.empty()) forgetAll();
  }

  // Undoes everything since the last cut, youngest first.
  void rewind();

  // The first of several changes to a log that only grows is all that need be recorded between two
  // cuts: undoing it takes back the others. `recordedIn` is the log's, 0 at first, and for
  // this alone.
  void recordGrowth(const Operation& operation, void* log, size_t size, uint64_t& recordedIn) {
    if (recordedIn == generation_) return;
    recordedIn = generation_;
    record(operation, log, size);
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    const Operation* operation;
    void* target;
    uintptr_t data;
  };
  void forgetAll();

  std::vector<Entry> entries_;
  uint64_t generation_ = 1;  // counts cuts and rewinds of a trail that is not empty
};

}  // namespace armature

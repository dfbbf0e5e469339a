#include "core/trail.h"

namespace armature {

void Trail::rewind() {
  while (!entries_.empty()) {
    Entry entry = entries_.back();
    entries_.pop_back();
    entry.operation->undo(entry.target, entry.data);
  }
  ++generation_;
}

void Trail::forgetAll() {
  for (const Entry& entry : entries_) {
    if (entry.operation->forget) entry.operation->forget(entry.target, entry.data);
  }
  entries_.clear();
  ++generation_;
}

}  // namespace armature

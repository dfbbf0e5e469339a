#include "variables/own_references.h"

#include <llvm/ADT/STLExtras.h>

#include <utility>

#include "variables/translator.h"

namespace armature {

Py_ssize_t OwnReferences::ofProgram(PyObject* object) {
  countNew();
  return Py_REFCNT(object) - lasting_.lookup(object) - ofGuards_.lookup(object);
}

Py_ssize_t OwnReferences::ofInputs(PyObject* object) const {
  return llvm::count(translator_.inputs, object);
}

void OwnReferences::countNew() {
  if (!std::exchange(isComplete_, false)) {
    lasting_.clear();
    ofGuards_.clear();
    trackersCounted_ = sourcesCounted_ = guardsCounted_ = 0;
  }
  for (const VariableTracker* tracker : translator_.arena.trackers().drop_front(trackersCounted_)) {
    if (tracker && tracker->existing()) ++lasting_[tracker->existing()];
  }
  trackersCounted_ = translator_.arena.trackers().size();
  for (const Source* source : translator_.sources->all().drop_front(sourcesCounted_)) {
    if (source->object()) ++lasting_[source->object().get()];
    if (source->after()) ++lasting_[source->after().get()];
  }
  sourcesCounted_ = translator_.sources->all().size();
  countNewGuards();
  isComplete_ = true;
}

void OwnReferences::countNewGuards() {
  llvm::ArrayRef<Guard> guards = translator_.guards();
  if (guards.size() == guardsCounted_) return;
  constexpr static Trail::Operation kTakenBack = {
      [](void* self, uintptr_t) { static_cast<OwnReferences*>(self)->isComplete_ = false; },
      nullptr};
  translator_.trail.recordGrowth(kTakenBack, this, 0, guardsRecordedIn_);
  for (const Guard& guard : guards.drop_front(guardsCounted_)) {
    PyObject* operand = guard.operand.get();
    if (!operand) continue;
    ++ofGuards_[operand];
    if (!PyList_CheckExact(operand)) continue;
    // Of the keys or items of a container, which the trace has made.
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(operand); ++i)
      ++ofGuards_[PyList_GET_ITEM(operand, i)];
  }
  guardsCounted_ = guards.size();
}

}  // namespace armature

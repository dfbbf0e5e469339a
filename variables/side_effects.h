// What the trace has done to objects that existed before it: a log of operations, in program order
// over all objects. Generated code does them again after the graph, each at its own cost; what the
// program never looked at (the length of a list that it appends to) plays no part.
//
// The kinds of values keep their logs short: an operation that a later one makes void is cancelled,
// and a record names a dict's key or a slot rather than the value, which is that of the end. What
// the step of an iterator has come upon, or missed, in what it walks over is void for nobody.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/trail.h"
#include "variables/value.h"

namespace armature {

enum class EffectKind : uint8_t {
  Cancelled,
  SequenceAppend,   // value
  SequenceSetItem,  // index, value
  SequenceInsert,   // index, value
  SequenceDelete,   // index
  SequenceRotate,   // index: to the right, by so many places
  SequenceReverse,  // of a deque: moves no item for the iterators over it
  SequenceTouch,    // it was changed and changed back, which a sort in progress notices
  SequenceRewrite,  // all items, as they are in the end; the sequence's last record
  DictSet,          // key; its value of the end
  DictDelete,       // key; index: 1 where it is the last one, and popitem() removed it
  DictClear,        //
  SetAdd,           // key
  SetDiscard,       // key
  SetMethod,        // key: the method's name; value: the tuple of its arguments
  SetRewrite,       // all items, as they are in the end; the set's last record
  CellStore,        // the contents of the end, or none
  SlotSet,          // key: the member descriptor; its value of the end, or none
  IteratorAdvance,  // index: how many steps
  IteratorRewrite,  // what it holds in the end
  TensorMutation,   // done by the graph itself
  Call,             // key: a function of the target; value: what it gives, if a CallResult that the
                    // trace makes, or else what it takes besides, or none
};

struct Effect {
  EffectKind kind = EffectKind::Cancelled;
  VariableTracker* target = nullptr;
  Value key;
  Value value;
  int64_t index = 0;
};

class SideEffects {
 public:
  explicit SideEffects(Trail& trail) : trail_(trail) {}
  SideEffects(const SideEffects&) = delete;
  SideEffects& operator=(const SideEffects&) = delete;

  // Whether a change of the object is an effect: it existed before the trace. Throws a GraphBreak
  // where it did but generated code has no path to it; and if the object is not a body's own.
  bool concerns(VariableTracker* target);

  // While one stands, the body of an operation is traced (of a checkpoint, say), which may run as
  // often as the operation likes: what the program changes in it has to be the body's own.
  class BodyScope {
   public:
    // Trackers below that serial number are older than the body.
    BodyScope(SideEffects& effects, size_t firstSerial)
        : effects_(effects), outer_(std::exchange(effects.bodyStart_, firstSerial)) {}
    ~BodyScope() { effects_.bodyStart_ = outer_; }
    BodyScope(const BodyScope&) = delete;
    BodyScope& operator=(const BodyScope&) = delete;

   private:
    SideEffects& effects_;
    size_t outer_;
  };
  // Everything that the program can change asks this before it changes. Throws a GraphBreak if a
  // body is being traced and `target` is not its own.
  void changes(VariableTracker* target);
  // How often that was asked. A rewind counts, too: what was known before it may not be true.
  uint64_t changeCount() const { return changeCount_; }
  void countRewind() { ++changeCount_; }

  // Returns the record's number, by which it can be cancelled. All changes are trailed.
  int32_t append(Effect effect);
  // Only of what is cancellable.
  void cancel(int32_t number);
  bool isCancellable(int32_t number) const;

  // Where an existing iterator comes to depends on what was done to the target so far: from now on
  // those records are not cancellable. Trailed.
  void keep(const VariableTracker* target);

  // One more step of an existing iterator. Steps of several iterators count as one record each
  // where nothing else is done in between.
  void advance(VariableTracker* iterator);

  // Number of the target's youngest record that stands, or kNone.
  static constexpr int32_t kNone = -1;
  int32_t last(const VariableTracker* target) const;
  // How many records led to this one, itself included: an upper bound on those that stand.
  int32_t chainLength(int32_t number) const;
  // Cancels all records of a target that are cancellable.
  void cancelAll(const VariableTracker* target);

  const Effect& operator[](int32_t number) const { return log_[number].effect; }
  int32_t size() const { return static_cast<int32_t>(log_.size()); }
  // Was a change of the target recorded, even if it has been cancelled since?
  bool isWritten(const VariableTracker* target) const { return last_.count(target) > 0; }
  // No record stands.
  bool empty() const { return standing_ == 0; }
  // Every object that was written, once, in the order of the first write, even where the records
  // have been cancelled since.
  const std::vector<VariableTracker*>& written() const { return written_; }

 private:
  struct Record {
    Effect effect;
    int32_t previous = kNone;  // of the same target, the youngest that stood then
    int32_t chainLength = 1;
  };
  void undoAppend(int32_t before);

  Trail& trail_;
  size_t bodyStart_ = 0;
  uint64_t changeCount_ = 0;
  std::vector<Record> log_;
  llvm::DenseMap<const VariableTracker*, int32_t> last_;
  llvm::DenseMap<const VariableTracker*, int32_t> kept_;  // how many records of the log, at most
  std::vector<VariableTracker*> written_;
  int32_t standing_ = 0;
};

}  // namespace armature

// What the trace takes out of objects that existed before it may die in that moment, and so may the
// inputs of a frame that has the last reference to them.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>

#include <utility>
#include <vector>

#include "core/trail.h"
#include "guards/silent_end.h"
#include "variables/value.h"

namespace armature {

class Translator;
class VariableTracker;

// An existing object lets go of a value that it has held. Guards that no code of the program hears
// of an end; breaks, so that Python does what the program does here, if some might.
//
// `holder` is the container, if the end of the trace can tell whether it holds the value again:
// that is then asked first, by settleEnds(). What the program can put back has not ended.
void letGo(Translator& translator, const Value& value, VariableTracker* holder = nullptr);
// The same for all that an existing container holds.
void letGoOfContents(Translator& translator, VariableTracker* container);

// What existing containers have let go of and may hold again at the end of the trace. Trailed.
class LooseValues {
 public:
  explicit LooseValues(Trail& trail) : trail_(trail) {}

  // A holder and a value.
  using LooseValue = std::pair<VariableTracker*, VariableTracker*>;
  void add(LooseValue value);
  llvm::ArrayRef<LooseValue> all() const { return values_.getArrayRef(); }
  // How often an existing object was let go of, this time aside.
  int64_t timesLetGo(const VariableTracker* tracker) { return timesLetGo_[tracker]++; }
  // From the start of a trace on: each end is settled where the container lets go.
  void settleAtOnce() { atOnce_ = true; }
  bool areSettledAtOnce() const { return atOnce_; }

 private:
  Trail& trail_;
  llvm::SetVector<LooseValue> values_;
  llvm::DenseMap<const VariableTracker*, int64_t> timesLetGo_;
  bool atOnce_ = false;
};

// Thrown where code of the program may hear of the end of a loose value: the trace has to be made
// again, with each end settled at once, so that it breaks where the value is let go of.
struct EndIsHeard {};

// At the end of a trace: guards that no code hears of the ends of loose values which their holders
// do not hold again.
void settleEnds(Translator& translator);

// An input with the ways from it to generators that are the trace's to end (ownedGenerators()).
struct OwningInput {
  Value input;
  std::vector<PartPath> paths;
};

// An input that the frame may let go of.
struct MayEnd {
  Value input;
  bool silent;   // no code hears of its end, as long as the others stay
  bool counted;  // Translator::ends counts it as let go of
};
// Does the frame let go of the input silently? With the guard that it does.
bool endsSilently(Translator& translator, const MayEnd& one);

// Are the ends of all of `values`, inputs that the frame may let go of, ones that no code hears of,
// but for those of generators that are the trace's to end? Guarded, one way or the other. With
// `deferred`: takes all but those with such generators, unguarded; then true.
bool inputsEndSilently(Translator& translator, llvm::ArrayRef<Value> values,
                       std::vector<OwningInput>& owning, std::vector<MayEnd>* deferred = nullptr);

}  // namespace armature

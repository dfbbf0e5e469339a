// What the trace takes out of objects that existed before it may die in that moment, and so may the
// inputs of a frame that has the last reference to them.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <vector>

#include "guards/silent_end.h"
#include "variables/value.h"

namespace armature {

class Translator;
class VariableTracker;

// An existing object lets go of a value that it has held. Guards that no code of the program hears
// of an end; breaks, so that Python does what the program does here, if some might.
void letGo(Translator& translator, const Value& value);
// The same for all that an existing container holds.
void letGoOfContents(Translator& translator, VariableTracker* container);

// An input with the ways from it to generators that are the trace's to end (ownedGenerators()).
struct OwningInput {
  Value input;
  std::vector<PartPath> paths;
};

// At the start of a trace: are the ends of all of `values`, inputs that the frame may let go of,
// ones that no code hears of, but for those of generators that are the trace's to end? Guarded, one
// way or the other. `inputs` are all inputs.
bool inputsEndSilently(Translator& translator, llvm::ArrayRef<Value> values,
                       llvm::ArrayRef<Value> inputs, std::vector<OwningInput>& owning);

}  // namespace armature

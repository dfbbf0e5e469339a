// What objects that a trace has made refer to. Codegen, which makes them, knows that of every kind;
// whoever makes a translator hands it in.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "variables/side_effects.h"
#include "variables/value.h"

namespace armature {

class Translator;

using PartVisitor = llvm::function_ref<void(const Value&)>;

class Parts {
 public:
  virtual ~Parts() = default;
  // A generator's depend on where it stands, and are left out.
  virtual void ofObject(Translator& translator, VariableTracker* tracker,
                        PartVisitor visit) const = 0;
  // What an existing object refers to because of an effect on it.
  virtual void ofEffect(Translator& translator, const Effect& effect, PartVisitor visit) const = 0;
};

}  // namespace armature

// A constant that the trace has made and that the program can tell from the one of another call, as
// codegen makes it: by a call of its maker.
#pragma once

#include <utility>

#include <llvm/ADT/SmallVector.h>

#include "variables/value.h"
#include "variables/variable_tracker.h"

namespace armature {

class MadeAgainVariable : public VariableTracker {
 public:
  ARMATURE_KIND(MadeAgain)
  MadeAgainVariable(PyTypeObject* type, Ref<> maker, Ref<> likeness = nullptr,
                    llvm::SmallVector<Value, 4> parts = {})
      : VariableTracker(VariableKind::MadeAgain, type),
        maker(std::move(maker)),
        likeness(std::move(likeness)),
        parts(std::move(parts)) {}
  const Ref<> maker;     // ConstantType::maker's; null: none
  const Ref<> likeness;  // what the maker is given first, as it is; null: nothing
  const llvm::SmallVector<Value, 4> parts;  // what it is given then, as this call has it
};

}  // namespace armature

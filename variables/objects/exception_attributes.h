// What the attributes of exceptions do beyond the fields that exception.h has.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include "variables/type_slots.h"

namespace armature {

// A row for each descriptor of a builtin class.
llvm::ArrayRef<BuiltinAttribute> exceptionAttributes();

// BaseException_set_tb: of a null `value`, which deletes, too. False with the exception pending.
bool assignTraceback(Translator& translator, const Value& self, const Value& value);

}  // namespace armature

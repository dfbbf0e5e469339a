// Arguments of C functions that have names, read as Argument Clinic's functions read them.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <array>

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// Parameters in order. The first `required` ones must be given; the first `positional` ones may be
// given by position (a name "" may be given by position only).
struct Signature {
  const char* function;
  std::array<const char*, 4> names;
  size_t required;
  size_t positional;
};

// Fills in `values` (one for each name), which hold the defaults. False with _PyArg_UnpackKeywords'
// TypeError pending.
bool readArguments(Translator& translator, const Signature& signature,
                   const CallArguments& arguments, llvm::ArrayRef<Value*> values);

// A flag that C reads as an int (reverse=). False with the exception pending.
bool readTruthAsInteger(Translator& translator, const Value& value, bool& result);

}  // namespace armature

// What is left to do when a Python function returns that C code has called.
//
// The frame of a special method is pushed like that of any function (CallArguments::tail), so that
// a break in it costs its instruction and no more. What CPython's C code would do with the result,
// or with the exception, is then data: the continuations of the frame, the first of which gets what
// the function returned and each next one what the one before gave.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "variables/value.h"

namespace armature {

class Translator;

enum class OnReturn : uint8_t {
#define ON_RETURN(name) name,
#include "variables/on_return.def"
#undef ON_RETURN
};

struct Continuation {
  OnReturn kind;
  llvm::SmallVector<Value, 4> operands;
};

// The methods that a binary operator of objects asks, in this order (binary_iop1 and slot_nb_add).
enum class OperandStep : uint8_t { InPlace, RightFirst, Left, Right, End };
// And a comparison (do_richcompare).
enum class ComparisonStep : uint8_t { RightFirst, Left, Right, End };

// Does it: to what a call gave, or to null with the exception pending. At the end of an iteration:
// null without a pending exception. `tail`: it may push the frame of a Python function, which is
// then the last thing that it does (CallArguments::tail); else that runs to its end.
Value continueWith(Translator& translator, const Continuation& continuation, Value result,
                   bool tail = false);

// The same to the result of a call that may have pushed a frame: then it is put off.
Value then(Translator& translator, Value result, Continuation continuation, bool tail = false);

// Would it take the pending exception away, and not just let it pass?
bool catches(Translator& translator, const Continuation& continuation);

}  // namespace armature

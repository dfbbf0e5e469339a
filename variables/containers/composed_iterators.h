// Steps of the iterators that ask others or call functions: enumerate, zip, map, filter and
// iter(function, sentinel). The frame that a step needs can be pushed (CallArguments::tail); what
// the step has by then is in the operands of OnReturn::NextStep.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// What a step waits for.
enum class StepPhase : uint8_t {
  Item,     // an item of an iterator within, or its end
  Call,     // what the function gives: the verdict of filter, an item of iter(function, sentinel)
  Verdict,  // whether filter takes the item; whether the item is the sentinel
};

bool isComposed(const Value& iterator);
// Could a step of it, or of an iterator within, run a Python function?
bool composedInPython(const Value& iterator);

// The next item; null at the end, without an exception, and with one pending, which may be a
// StopIteration that ends it, too.
Value composedNext(Translator& translator, const Value& iterator, bool tail);
// `operands`: the iterator, the StepPhase, the items that the step has. A null `result`: the
// iterator within is at its end.
Value goOnWithStep(Translator& translator, llvm::ArrayRef<Value> operands, Value result, bool tail);
// Does it take the StopIteration that is pending for the end?
bool endsByStop(llvm::ArrayRef<Value> operands);
Value endStep(Translator& translator, llvm::ArrayRef<Value> operands);

}  // namespace armature

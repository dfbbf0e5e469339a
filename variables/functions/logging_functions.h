// Functions that tell people something and give None: print, warnings.warn, a logger's methods.
#pragma once

#include <optional>
#include <vector>

#include "core/ref.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// What becomes of a call of such a function (torch._dynamo.config.ignore_logging_functions and
// reorderable_logging_functions).
enum class LoggingCall : uint8_t {
  AsOfAny,  // as of any function: what cannot be traced breaks the graph
  Ignored,  // it is left out
  Kept,     // it is made when the graph has run, in its place among the effects
};

class LoggingFunctions {
 public:
  // A bound method stands for the calls with its object.
  void set(const std::vector<Ref<>>& ignored, const std::vector<Ref<>>& kept);
  bool empty() const { return known_.empty(); }
  // Whether calls of the function have a treatment of their own, or those with some object.
  bool knows(PyObject* function) const;
  LoggingCall callOf(PyObject* function, const CallArguments& arguments) const;

 private:
  struct Known {
    Ref<> function;
    Ref<> self;  // or null
    LoggingCall call;
  };
  std::vector<Known> known_;
};

// Performs the call, if the settings of the trace say what becomes of it; else nothing. Throws a
// GraphBreak where it is to be kept, but not all of its arguments stay what they are until then.
std::optional<Value> callLogging(Translator& translator, const Value& callable,
                                 const CallArguments& arguments);

}  // namespace armature

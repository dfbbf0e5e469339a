#include "variables/string_formatting.h"

#include "variables/builtin_handlers.h"
#include "variables/object_protocol.h"
#include "variables/sequence.h"

namespace armature {

Value formatPercent(Translator&, PyObject* format, const Value& argument) {
  throw GraphBreak("String formatting of traced values",
                   describe(Value::constant(format)) + " % " + describe(argument),
                   "The text depends on objects that are not constants.");
}

}  // namespace armature

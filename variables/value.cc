#include "variables/value.h"

#include <stdexcept>

#include "core/graph_break.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

void Value::unexpectedKind() const {
  throw std::logic_error(isNull()       ? "no value where one was expected"
                         : isConstant() ? "a constant where a traced object was expected"
                                        : "a traced object where a constant was expected");
}

void breakOnOtherKind(const Value& value) {
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(value));
}

}  // namespace armature

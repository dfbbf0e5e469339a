#include "variables/value.h"

#include "core/graph_break.h"

namespace armature {

void Value::unexpectedKind() const {
  throw GraphBreak(GraphBreakKind::UnexpectedValue, isNull()       ? "no value"
                                                    : isConstant() ? "a constant"
                                                                   : "a traced object");
}

}  // namespace armature

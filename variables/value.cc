#include "variables/value.h"

#include <stdexcept>

namespace armature {

void Value::unexpectedKind() const {
  throw std::logic_error(isNull()       ? "no value where one was expected"
                         : isConstant() ? "a constant where a traced object was expected"
                                        : "a traced object where a constant was expected");
}

}  // namespace armature

// The callable with which json.JSONEncoder encodes all at once: _json.make_encoder
// (Modules/_json.c).
#pragma once

#include <array>

#include "variables/value.h"
#include "variables/variable_tracker.h"

namespace armature {

class JsonEncoderVariable : public VariableTracker {
 public:
  ARMATURE_KIND(JsonEncoder)
  // The arguments of the class, in order.
  enum Part {
    kMarkers,
    kDefault,
    kEncoder,
    kIndent,
    kKeySeparator,
    kItemSeparator,
    kSortKeys,
    kSkipKeys,
    kAllowNan,
    kPartCount
  };
  using Parts = std::array<Value, kPartCount>;

  JsonEncoderVariable(PyTypeObject* type, Parts parts)
      : VariableTracker(VariableKind::JsonEncoder, type), parts(std::move(parts)) {}

  const Parts parts;
};

}  // namespace armature

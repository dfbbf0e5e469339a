// What the schema of an operator of torch.ops says.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ref.h"

namespace armature {

// What a call of the operator changes.
enum class SchemaEffect : uint8_t {
  None,
  First,  // its first argument, or `out`
  Other,  // something else, or more than that
};

struct OperatorSchema {
  SchemaEffect effect = SchemaEffect::None;
  bool returnsOneTensor = false;
};

// Of an overload, or of a packet that has no other; nothing for anything else.
std::optional<OperatorSchema> operatorSchema(BorrowedRef<> target);

// "Tensor" or "Tensor(a!)", as schemas write what is returned.
bool isOneTensor(std::string_view returns);

}  // namespace armature

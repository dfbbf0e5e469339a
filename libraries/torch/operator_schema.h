// What the schema of an operator of torch.ops says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// A parameter that a call of a function of torch changes, which is an array or a list of them.
struct ChangedParameter {
  size_t position;
  std::string name;
};

// What the schemas of `name` (of aten) mark so, those aside that are passed as `out`.
std::vector<ChangedParameter> changedParameters(std::string_view name);

// Of an overload, or of a packet that has no other; nothing for anything else.
std::optional<OperatorSchema> operatorSchema(BorrowedRef<> target);

// "Tensor" or "Tensor(a!)", as schemas write what is returned.
bool isOneTensor(std::string_view returns);

}  // namespace armature

// What the schema of an operator of torch.ops says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ref.h"

namespace armature {

// A parameter that a call of a function of torch changes, which is an array or a list of them.
struct ChangedParameter {
  size_t position;  // kKeywordOnly: it has none
  std::string name;

  static constexpr size_t kKeywordOnly = SIZE_MAX;
  bool operator==(const ChangedParameter&) const = default;
};

struct OperatorSchema {
  std::vector<ChangedParameter> changed;
  bool returnsChanged = false;  // what it returns is what it has changed
  bool returnsOneTensor = false;
  // Overloads of the packet change different things; which one it will be depends on a call.
  bool isAmbiguous = false;
};

// What the schemas of `name` (of aten) mark so, those aside that are passed as `out`.
std::vector<ChangedParameter> changedParameters(std::string_view name);

// Do the schemas of `name` (of aten) that change anything but `out` return it?
bool returnsChangedByName(std::string_view name);

// Of an overload, or of the overloads of a packet; nothing for anything else.
std::optional<OperatorSchema> operatorSchema(BorrowedRef<> target);

// "Tensor" or "Tensor(a!)", as schemas write what is returned.
bool isOneTensor(std::string_view returns);

}  // namespace armature

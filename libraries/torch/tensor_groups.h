// torch._C._group_tensors_by_device_and_dtype, by which optimizers and the clipping of gradients
// find the arrays that one operation may take together.
#pragma once

#include "variables/library.h"

namespace armature {

LibraryCallHandler findTensorGroupsHandler(std::string_view name);

}  // namespace armature

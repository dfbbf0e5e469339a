// x.addcmul_(a, b, value=scale) and x.addcdiv_(…), where the scale is a tensor.
#pragma once

#include "variables/library.h"

namespace armature {

// Of a method of tensors, by its name; null for others.
//
// torch reads the number out of such a scale, which backends that compile cannot. For those the
// update is put into the graph as the operations that it consists of, as TorchDynamo does.
LibraryCallHandler findScaledUpdate(std::string_view name);

}  // namespace armature

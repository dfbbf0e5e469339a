// Attributes and methods of a tensor that its metadata answers.
#pragma once

#include <string_view>

#include "core/ref.h"
#include "shapes/tensor_metadata.h"

namespace armature {

// As Library::attribute.
Ref<> tensorConstant(const TensorMetadata& metadata, std::string_view name);

}  // namespace armature

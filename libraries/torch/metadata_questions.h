// Calls that ask for what the metadata of a tensor tell: torch.numel(x), x.type().
#pragma once

#include <string_view>

#include "variables/library.h"

namespace armature {

// Of a C function of torch's with the name of a method that isMetadataMethod().
LibraryCallHandler findMetadataQuestion(std::string_view name);

// Tensor.type(), and with an argument the conversion.
Value typeOfTensor(Translator& translator, const Value& method, CallArguments& arguments);

}  // namespace armature

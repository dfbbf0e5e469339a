// What of torch is constant: devices, dtypes, sizes and the like; and how tensors are keys.
#pragma once

#include "libraries/torch/torch_module.h"
#include "variables/value.h"

namespace armature {

struct CallArguments;
class Translator;

// torch.Size(iterable) of ints that the trace knows.
Value makeSize(Translator& translator, const Value& callable, CallArguments& arguments);

// Sets no exception.
void registerTorchConstants(const TorchModule& torch);

}  // namespace armature

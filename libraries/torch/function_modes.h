// torch.overrides.TorchFunctionMode: modes that the program enters in the trace.
//
// Which calls a mode hears of, as which function with which arguments, is torch's own business; so
// torch is asked: the call is made on stand-ins under a mode of ours that notes what it hears. Then
// the program's mode is called with that, as torch calls it, while those outside of it are in
// force.
#pragma once

#include "variables/library.h"

namespace armature {

// torch must be imported.
void registerFunctionModes();

// Takes all modes off the thread's stack. (A ModeScope puts them back.)
void leaveFunctionModes();

// What modes are given instead of a method: a method-wrapper that reads an attribute of tensors
// (Tensor.shape.__get__), and Tensor.__setitem__. Null for all others.
LibraryCallHandler findSlotCall(BorrowedRef<> callable);

}  // namespace armature

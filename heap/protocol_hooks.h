// The __subclasshook__ of typing's protocols.
#pragma once

#include "core/ref.h"

namespace armature {

// Does protocol.__subclasshook__(derived), where `hook` is what that attribute is, run no code of
// the program? Only a hook that typing made for this protocol, whose members are functions, is
// known. Runs no code itself, sets no exception.
bool isInnocentProtocolHook(PyTypeObject* protocol, PyObject* hook, PyTypeObject* derived);

}  // namespace armature

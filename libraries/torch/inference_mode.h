// torch.inference_mode as a trace follows it: the context of torch._C that it enters and leaves.
#pragma once

#include "graph/graph.h"
#include "libraries/torch/regions.h"
#include "variables/library.h"

namespace armature {

class ModeScope;

// Enters the innermost region of inference mode that a mode is in. That sets the gradient mode,
// which is to be set after it. False with a Python exception set on failure.
bool enterInferenceMode(ModeScope& scope, uint32_t mode);

// Does the call enter or leave a region?
bool changesInferenceMode(const Node& node);

// Adds to the graph the ends of the regions that it has entered and not left; those that have
// entered them, the outermost first.
std::vector<Node*> leaveInferenceMode(Graph& graph);

// How many contexts graphs of the eager backend have entered in this thread and not left; and the
// end of all but the first so many, which puts back the gradient mode that was around them. False
// with a Python exception set on failure.
Py_ssize_t enteredInferenceModes();
bool leaveInferenceModes(Py_ssize_t wanted);

// The thread's state as far as regions of this kind change it, and gradients.
Library::ModeState inferenceModeState();

// Registers how calls of the class of torch._C and of its methods are traced. torch must be
// imported.
void registerInferenceMode();

}  // namespace armature

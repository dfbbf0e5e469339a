// `assert tensor` as an operation of the graph.
#pragma once

namespace armature {

// torch must be imported.
void registerTensorAssertion();

}  // namespace armature

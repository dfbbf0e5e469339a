// Parameters of the bodies of operations: what an operation itself gives a body for a value.
#pragma once

#include "variables/translator.h"

namespace armature {

// A node that stands for such a value until the body is outlined (Graph::Parameters): it is as
// `metadata` says, which follows from that of `like`.
Node* addBodyParameter(Translator& translator, Node* like,
                       std::shared_ptr<const TensorMetadata> metadata, BorrowedRef<> name);

}  // namespace armature

#include "libraries/torch/body_parameter.h"

#include "cpython/imported_modules.h"
#include "variables/library.h"

namespace armature {

Node* addBodyParameter(Translator& translator, Node* like,
                       std::shared_ptr<const TensorMetadata> metadata, BorrowedRef<> name) {
  // Never called; an operation without effects, of which nothing is asked but its metadata.
  Node* node = translator.addOperation(*findLibrary(ArrayLibraryKind::Torch),
                                       cpython::importedAttribute("torch", "empty_like"),
                                       {Argument(like)}, {});
  node->metadata = std::move(metadata);
  node->checked = true;
  node->variableName = Ref<>::create(name);
  return node;
}

}  // namespace armature

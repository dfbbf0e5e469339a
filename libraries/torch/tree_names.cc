#include "libraries/torch/tree_names.h"

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

void nameParts(Translator& translator, const Value& value, PyObject* ofParts, PyObject* ofValues) {
  auto visit = [&](const Value& part, PyObject* name) {
    auto* tensor = trackerOf<TensorVariable>(part);
    if (!tensor) return nameParts(translator, part, ofParts, ofValues);
    Node* node = tensor->node;
    if (name && !node->variableName) node->variableName = Ref<>::create(name);
  };
  if (auto* sequence = trackerOf<SequenceVariable>(value)) {
    for (const Value& item : sequence->items()) visit(item, ofParts);
  } else if (auto* dict = trackerOf<DictVariable>(value)) {
    dict->forEach(translator,
                  [&](const OrderedValueMap::Entry& entry) { visit(entry.value, ofValues); });
  }
}

}  // namespace armature

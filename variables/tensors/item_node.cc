#include "variables/tensors/item_node.h"

#include "core/checked.h"
#include "cpython/imported_modules.h"

namespace armature {

Node* addItemNode(Translator& translator, const Library& library, Node* node, size_t index) {
  static PyObject* const getitem = [] {
    Ref<> module = checked(cpython::importModule("_operator"));
    return checked(PyObject_GetAttrString(module.get(), "getitem")).release();
  }();
  std::vector<Argument> arguments;
  arguments.push_back(Argument(node));
  Ref<> number = checked(PyLong_FromSize_t(index));
  arguments.push_back(Argument::constant(number));
  Node* item = translator.graph->addCall(NodeOperation::CallFunction, getitem, std::move(arguments),
                                         {}, translator.location());
  item->library = library.kind();
  item->mode = translator.mode(library);
  item->checked = true;
  return item;
}

}  // namespace armature

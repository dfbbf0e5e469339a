#include "variables/tensors/assigned_memory.h"

#include "bytecode/private_function.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "graph/attribute_read.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// An existing array's node is the operation that reads the attribute only if that was assigned.
bool isAssigned(const TensorVariable* tensor) {
  return tensor->existing() && tensor->node->operation == NodeOperation::CallFunction &&
         tensor->node->target.get() == getattrFunction();
}

// As the attribute's descriptor does; bound to that.
PyObject* assign(PyObject* descriptor, PyObject* const* arguments, Py_ssize_t) {
  descrsetfunc set = Py_TYPE(descriptor)->tp_descr_set;
  if (set(descriptor, arguments[0], arguments[1]) < 0) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

bool assignMemory(Translator& translator, TensorVariable* tensor, const Found& found,
                  PyObject* name, llvm::ArrayRef<std::string_view> alike, const Value& value) {
  const Library& library = tensor->library();
  auto* other = trackerOf<TensorVariable>(translator.realized(value));
  auto refuse = [&] {
    throw GraphBreak(GraphBreakKind::AssignmentToArray,
                     describe(Value(tensor)) + "." + printable(name));
  };
  if (!tensor->existing() || !other || other == tensor || &other->library() != &library) refuse();
  for (std::string_view each : alike) {
    const TensorMetadata* one = observedMetadata(translator, tensor, each);
    const TensorMetadata* two = one ? observedMetadata(translator, other, each) : nullptr;
    if (!two) return false;
    Ref<> first = library.attribute(*one, each), second = library.attribute(*two, each);
    int isSame = PyObject_RichCompareBool(first.get(), second.get(), Py_EQ);
    if (isSame < 0) throw PendingPythonException();
    if (!isSame) refuse();
  }
  requireOneVariable(translator, tensor);
  const TensorMetadata* before = observedMetadata(translator, tensor, "requires_grad");
  if (before) before = observedMetadata(translator, tensor, "is_leaf");
  if (!before) return false;
  bool requiresGrad = before->requiresGrad, isLeaf = before->isLeaf;
  bool isParameter = before->isParameter;
  if (!translator.effects.concerns(tensor)) refuse();
  Value source(other);
  if (Value assigned = assignedMemory(translator, other)) source = assigned;
  CallRule rule{.kind = CallKind::GraphOperation, .returnsOneArray = true};
  Value view =
      translator.callGraphOperation(library, NodeOperation::CallFunction, getattrFunction(), rule,
                                    {source, Value::constant(name)}, nullptr);
  if (!view) return false;
  Node* node = requireKind<TensorVariable>(view)->node;
  const TensorMetadata* seen = library.metadata(node, translator);
  if (!seen) {
    translator.raiseFromPython();
    return false;
  }
  auto metadata = std::make_shared<TensorMetadata>(*seen);
  metadata->requiresGrad = requiresGrad;
  metadata->isLeaf = isLeaf;
  metadata->isParameter = isParameter;
  node->metadata = std::move(metadata);
  Ref<> function = boundPrivateFunction<assign>("assign", found.object);
  if (!function) throw PendingPythonException();
  translator.effects.append(
      {EffectKind::Call, tensor, Value::constant(function.get()), Value(other)});
  assignTrailed(translator.trail, tensor->node, node);
  return true;
}

Value assignedMemory(Translator& translator, TensorVariable* tensor) {
  if (!isAssigned(tensor)) return Value();
  const Library& library = tensor->library();
  return translator.make<TensorVariable>(library.arrayType(), tensor->node, &library);
}

void requireOwnMemory(const Value& value) {
  auto* tensor = trackerOf<TensorVariable>(value);
  if (!tensor || !isAssigned(tensor)) return;
  throw GraphBreak(GraphBreakKind::AssignmentToArray, describe(value),
                   "It is given other memory when the graph has run.");
}

}  // namespace armature

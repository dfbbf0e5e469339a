#include "variables/tensors/tensor_attributes.h"

#include <optional>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"
#include "graph/attribute_read.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/functions.h"
#include "variables/objects/instance_dict.h"
#include "variables/operation_modes.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/assigned_memory.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// Breaks if the array may be the very object of an input, which has attributes that the variable
// does not know. What the trace has made has none, whatever variables stand for it: nothing puts
// any there (tensorInstanceDict).
void requireNewObject(Translator& translator, TensorVariable* tensor) {
  if (tensor->existing() || tensor->library().isImmutable(tensor->type())) return;
  const Node* maker = tensor->library().identityOf(tensor->node, translator);
  if (maker == tensor->node || maker->operation != NodeOperation::Placeholder) return;
  throw GraphBreak(GraphBreakKind::IdentityOfResults, describe(Value(tensor)));
}

bool isEmptyDict(Translator& translator, PyObject* dict) {
  // One that the trace knows may have been written.
  return !dict || (PyDict_Check(dict) && PyDict_GET_SIZE(dict) == 0 && !translator.known(dict));
}

// What the program has put into the array's own __dict__. Null where there is nothing, as nearly
// always: that is guarded without making a dict.
DictVariable* attributesOf(Translator& translator, TensorVariable* tensor) {
  // What the program puts onto a result, Python does.
  if (!tensor->existing() || !cpython::hasInstanceDict(tensor->type())) return nullptr;
  PyObject** place = cpython::instanceDictPlace(tensor->existing());
  if (place && !isEmptyDict(translator, *place)) return existingInstanceDict(translator, tensor);
  if (!tensor->attributesObserved) {
    assignTrailed(translator.trail, tensor->attributesObserved, true);
    for (Node* input : translator.graph->placeholders()) {
      if (input->source == tensor->source()) translator.observe(input, ObservedNoAttributes);
    }
  }
  return nullptr;
}

// Inputs that the node may be, where it and what it takes return their first arguments.
constexpr int kMostSteps = 16;

llvm::SmallVector<Node*, 4> inputsBehind(const Node* node) {
  llvm::SmallVector<Node*, 4> inputs;
  for (int steps = 0; steps < kMostSteps; ++steps) {
    const Node* first = nullptr;
    forEachInput(*node, [&](Node* input) {
      if (!first) first = input;
      if (input->operation == NodeOperation::Placeholder && !llvm::is_contained(inputs, input)) {
        inputs.push_back(input);
      }
    });
    if (!first || first->operation == NodeOperation::Placeholder) break;
    node = first;
  }
  return inputs;
}

// Breaks if the program has put something in the place of a method onto an input that the result
// may be.
void requireNothingHidden(Translator& translator, TensorVariable* tensor, PyObject* name) {
  if (tensor->existing() || tensor->library().isImmutable(tensor->type())) return;
  for (Node* node : inputsBehind(tensor->node)) {
    Value known = node->example ? translator.known(node->example.get()) : Value();
    auto* input = trackerOf<TensorVariable>(known);
    DictVariable* attributes = input ? attributesOf(translator, input) : nullptr;
    if (attributes && attributes->get(translator, name)) requireNewObject(translator, tensor);
  }
}

// What the attribute holds, by the library's descriptor.
Value heldValue(Translator& translator, const Value& self, const Found& found, PyObject* name,
                const HeldAttribute& attribute) {
  auto* tensor = requireKind<TensorVariable>(self);
  const TensorMetadata* metadata = observedMetadata(translator, tensor, attribute.readable);
  if (!metadata) return Value();
  // Guards read it, too, which a mode in force would hear of.
  bool isReadable = tensor->library().attribute(*metadata, attribute.readable).get() == Py_True &&
                    (!tensor->existing() || (tensor->source() && !withoutOperationModes(Py_None)));
  if (!isReadable) {
    throw GraphBreak(GraphBreakKind::AttributeOfArray, describe(self) + "." + printable(name));
  }
  if (tensor->held) return tensor->held;
  Value value = Value::none();  // of a new one
  requireNewObject(translator, tensor);
  if (tensor->existing()) {
    descrgetfunc get = Py_TYPE(found.object)->tp_descr_get;
    Ref<> real =
        checked(get(found.object, tensor->existing(), reinterpret_cast<PyObject*>(tensor->type())));
    value = translator.wrap(
        translator.sources->item(SourceKind::Descriptor, tensor->source(), found.object), real);
  }
  assignTrailed(translator.trail, tensor->held, value);
  return value;
}

// Does the library take the array for one that the attribute of the other one can hold? Nothing
// with an exception pending.
std::optional<bool> areAlike(Translator& translator, TensorVariable* a, TensorVariable* b,
                             const HeldAttribute& attribute) {
  for (std::string_view each : attribute.alike) {
    const TensorMetadata* first = observedMetadata(translator, a, each);
    const TensorMetadata* second = first ? observedMetadata(translator, b, each) : nullptr;
    if (!second) return {};
    Ref<> one = a->library().attribute(*first, each), other = a->library().attribute(*second, each);
    int isSame = PyObject_RichCompareBool(one.get(), other.get(), Py_EQ);
    if (isSame < 0) throw PendingPythonException();
    if (!isSame) return false;
  }
  return true;
}

bool setHeld(Translator& translator, const Value& self, const Found& found, PyObject* name,
             const HeldAttribute& attribute, const Value& value) {
  auto* tensor = requireKind<TensorVariable>(self);
  Value given = translator.realized(value);
  auto refuse = [&] {
    throw GraphBreak(GraphBreakKind::AssignmentToArray, describe(self) + "." + printable(name));
  };
  if (!tensor->existing()) refuse();
  if (!given.is(Py_None)) {
    auto* other = trackerOf<TensorVariable>(given);
    if (!other || other == tensor || &other->library() != &tensor->library()) refuse();
    std::optional<bool> alike = areAlike(translator, tensor, other, attribute);
    if (!alike) return false;
    if (!*alike) refuse();
  }
  if (translator.effects.concerns(tensor)) {
    Value before = heldValue(translator, self, found, name, attribute);
    if (!before) return false;
    letGo(translator, before);
    if (!tensor->heldIsSet) {
      translator.effects.append({EffectKind::SlotSet, tensor, Value::constant(found.object), {}});
    }
  }
  assignTrailed(translator.trail, tensor->held, given);
  assignTrailed(translator.trail, tensor->heldIsSet, true);
  return true;
}

}  // namespace

void requireOwnIdentity(Translator& translator, TensorVariable* tensor) {
  if (tensor->existing() || tensor->library().isImmutable(tensor->type())) return;
  if (tensor->library().identityOf(tensor->node, translator) == tensor->node) return;
  throw GraphBreak(GraphBreakKind::IdentityOfResults, describe(Value(tensor)));
}

DictVariable* tensorInstanceDict(Translator& translator, const Value& self) {
  auto* tensor = requireKind<TensorVariable>(self);
  if (!cpython::hasInstanceDict(tensor->type())) return nullptr;
  if (tensor->existing()) return existingInstanceDict(translator, tensor);
  // It may be the argument of a later operation that returns it, and outlive its own variable so.
  throw GraphBreak(GraphBreakKind::AssignmentToArray, describe(self));
}

bool setTensorAttribute(Translator& translator, const Value& self, PyObject* name,
                        const Value& value) {
  auto* tensor = requireKind<TensorVariable>(self);
  const Library& library = tensor->library();
  PyTypeObject* type = tensor->type();
  requireNoOperationMode(translator, "setattr()");
  Found found = translator.heap.lookup(type, name);
  bool isData = found && translator.heap.isDataDescriptor(found.object);
  bool isPrograms =
      isData && !cpython::isImmutable(type) && !library.owns(type, name, found.object);
  if (isPrograms || (!isData && cpython::hasInstanceDict(type))) {
    return genericSetAttribute(translator, self, name, value);
  }
  const HeldAttribute* held = value && isData ? library.heldAttribute(printable(name)) : nullptr;
  if (held) return setHeld(translator, self, found, name, *held, value);
  const auto* alike = value && isData ? library.memoryAttribute(printable(name)) : nullptr;
  if (alike) return assignMemory(translator, tensor, found, name, *alike, value);
  throw GraphBreak(GraphBreakKind::AssignmentToArray, describe(self) + "." + printable(name));
}

void requireOwnMethod(Translator& translator, const TensorVariable* tensor, PyObject* name) {
  PyTypeObject* type = tensor->type();
  if (cpython::isImmutable(type)) return;
  if (tensor->library().owns(type, name, translator.heap.lookup(type, name).object)) return;
  throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod,
                   std::string(cpython::nameOf(type)) + "." + printable(name),
                   "The program has replaced the method of the library's class.");
}

const TensorMetadata* observedMetadata(Translator& translator, TensorVariable* tensor,
                                       std::string_view attribute) {
  Node* node = tensor->node;
  const Library& library = tensor->library();
  if (library.mayHaveChanged(*node, attribute, *translator.graph, translator)) {
    throw GraphBreak(GraphBreakKind::ChangedThroughMemory,
                     describe(Value(tensor)) + "." + std::string(attribute));
  }
  constexpr uint32_t kLayout =
      ObservedStrides | ObservedStorageOffset | ObservedIsLeaf | ObservedRequiresGrad;
  if (translator.layoutsAreUnknown() && (library.observedBy(attribute) & kLayout)) {
    throw GraphBreak(GraphBreakKind::UnknownLayout,
                     describe(Value(tensor)) + "." + std::string(attribute));
  }
  if (node->operation == NodeOperation::Placeholder) {
    translator.observe(node, library.observedBy(attribute));
    return node->metadata.get();
  }
  // Of a result, evaluation observes what other results depend on.
  if (uint32_t more = library.observedBy(attribute) & (ObservedIsLeaf | ObservedStorageOffset)) {
    for (Node* input : translator.graph->placeholders()) {
      const Library* other = findLibrary(input->library);
      if (other == &library) translator.observe(input, more);
    }
    // By which it was indexed.
    if (more & ObservedStorageOffset) translator.holdNumbers(0);
  }
  // Evaluated at once: type and rank hold already.
  constexpr uint32_t kTypeAndRank = ObservedDType | ObservedDimension;
  if (library.eager() && !(library.observedBy(attribute) & ~kTypeAndRank)) {
    return node->metadata.get();
  }
  bool asksLayout = library.observedBy(attribute) & (ObservedStrides | ObservedStorageOffset);
  const TensorMetadata* metadata =
      asksLayout ? library.layout(node, translator) : library.metadata(node, translator);
  if (!metadata) translator.raiseFromPython();
  if (library.observedBy(attribute) == ObservedStorageOffset && metadata &&
      library.placeDependsOnData(*node)) {
    throw GraphBreak(GraphBreakKind::UnknownLayout,
                     describe(Value(tensor)) + "." + std::string(attribute));
  }
  return metadata;
}

Value tensorAttribute(Translator& translator, const Value& self, PyObject* name) {
  static PyObject* const getattribute = PyUnicode_InternFromString("__getattribute__");
  static PyObject* const getattr = PyUnicode_InternFromString("__getattr__");
  auto* tensor = requireKind<TensorVariable>(self);
  const Library& library = tensor->library();
  PyTypeObject* type = tensor->type();
  Heap& heap = translator.heap;
  requireOwnMethod(translator, tensor, getattribute);
  Found found = heap.lookup(type, name);
  if (!found || !heap.isDataDescriptor(found.object)) {
    if (DictVariable* attributes = attributesOf(translator, tensor)) {
      Value value = attributes->get(translator, name);
      if (value || translator.exceptionPending()) return value;
    }
    if (found) requireNothingHidden(translator, tensor, name);
  }
  if (!found) {
    requireNewObject(translator, tensor);
    if (Found fallback = heap.lookup(type, getattr)) {
      Value method = bindTypeAttribute(translator, fallback, self, type, getattr);
      return method ? call(translator, method, {Value::constant(name)}) : method;
    }
    return translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                            nameOf(translator, type), name);
  }
  if (!cpython::isImmutable(type) && !library.owns(type, name, found.object)) {
    return bindTypeAttribute(translator, found, self, type, name);
  }
  const std::string text = printable(name);
  if (text == "__class__") return typeValue(translator, self);
  if (text == "__dict__") {
    if (DictVariable* dict = tensorInstanceDict(translator, self))
      return translator.dictValue(dict);
  }
  bool isCallable = PyFunction_Check(found.object) ||
                    Py_TYPE(found.object) == &PyMethodDescr_Type ||
                    Py_TYPE(found.object) == &PyWrapperDescr_Type;
  if (isCallable) {
    return translator.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(name), self);
  }
  std::optional<Value> taken = callOperationMode(translator, {library,
                                                              NodeOperation::CallFunction,
                                                              getattrFunction(),
                                                              {self, Value::constant(name)},
                                                              nullptr});
  if (taken) return *taken;
  if (const HeldAttribute* held = library.heldAttribute(text)) {
    return heldValue(translator, self, found, name, *held);
  }
  // FX writes them as getattr(x, "T").
  if (library.isOperationAttribute(text)) {
    CallRule rule{.kind = CallKind::GraphOperation, .returnsOneArray = true};
    Value assigned = library.memoryAttribute(text) ? assignedMemory(translator, tensor) : Value();
    const Value& array = assigned ? assigned : self;
    return translator.callGraphOperation(library, NodeOperation::CallFunction, getattrFunction(),
                                         rule, {array, Value::constant(name)}, nullptr);
  }
  // Ask the metadata only for what it can answer.
  TensorMetadata nothing;
  if (!library.attribute(nothing, text)) {
    throw GraphBreak(GraphBreakKind::AttributeOfArray, describe(self) + "." + text);
  }
  const TensorMetadata* metadata = observedMetadata(translator, tensor, text);
  if (!metadata) return Value();
  Ref<> value = library.attribute(*metadata, text);
  // Metadata may answer for some arrays only.
  if (!value && !PyErr_Occurred()) {
    throw GraphBreak(GraphBreakKind::AttributeOfArray, describe(self) + "." + text);
  }
  return translator.fromPython(value.release());
}

}  // namespace armature

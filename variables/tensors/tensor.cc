#include "variables/tensors/tensor.h"

#include <string_view>

#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

void recordTensorMutation(Translator& translator, TensorVariable* tensor) {
  if (!SideEffects::concerns(tensor)) return;
  if (translator.effects.last(tensor) != SideEffects::kNone) return;
  translator.effects.append({EffectKind::TensorMutation, tensor, {}, {}});
}

namespace {

TensorVariable* tensorOf(const Value& value) { return trackerOf<TensorVariable>(value); }

PyObject* operatorFunction(const char* name) {
  static PyObject* const module = PyImport_ImportModule("_operator");
  return PyObject_GetAttrString(module, name);
}

// The metadata of the present value, observed for what `name` tells. Null: exception pending.
const TensorMetadata* observedMetadata(Translator& translator, TensorVariable* tensor,
                                       std::string_view name) {
  Node* node = tensor->node;
  if (node->operation == NodeOperation::Placeholder) {
    translator.observe(node, tensor->library().observedBy(name));
    return node->metadata.get();
  }
  // Evaluated at once: type and rank hold already.
  constexpr uint32_t kTypeAndRank = ObservedDType | ObservedDimension;
  if (tensor->library().eager() && !(tensor->library().observedBy(name) & ~kTypeAndRank)) {
    return node->metadata.get();
  }
  const TensorMetadata* metadata = tensor->library().metadata(node, translator);
  if (!metadata) translator.raiseFromPython();
  return metadata;
}

// Scalars sometimes repeat sequences instead.
bool takesSequences(const TensorVariable* tensor) {
  return tensor->library().conventions().takesSequences &&
         !tensor->library().isImmutable(tensor->type());
}

// Operands that the library's operators know: arrays of the same library, Python numbers, and
// sequences where they do.
bool isOperand(const Value& value, const TensorVariable* tensor) {
  if (auto* other = tensorOf(value)) return other->libraryKind() == tensor->libraryKind();
  if (PyObject* object = value.objectOrNull()) {
    if (PyLong_Check(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) {
      return true;
    }
    return takesSequences(tensor) && PyTuple_CheckExact(object);
  }
  return takesSequences(tensor) &&
         (trackerOf<ListVariable>(value) || trackerOf<TupleVariable>(value));
}

CallRule operatorRule(bool mutates = false) {
  CallRule rule;
  rule.kind = CallKind::GraphOperation;
  rule.returnsOneArray = true;
  rule.mutates = mutates;
  return rule;
}

// Does the operator return NotImplemented for the operand?
bool leavesToOther(Translator& translator, const TensorVariable* tensor, const Value& other) {
  if (!tensor->library().conventions().leavesOthers || !trackerOf<UserObjectVariable>(other)) {
    return false;
  }
  CallRule rule = tensor->library().dispatch(translator, operatorRule(), {other});
  if (rule.kind == CallKind::Unsupported) {
    throw GraphBreak(GraphBreakKind::OverriddenOperation, describe(other), rule.reason);
  }
  return true;
}

[[noreturn]] void unsupportedOperand(const char* operation, const Value& left, const Value& right) {
  throw GraphBreak(GraphBreakKind::ArrayAndOther,
                   std::string(operation) + ": " + describe(left) + ", " + describe(right));
}

Value tensorBinary(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  static constexpr const char* kNames[] = {
      "add",    "and_", "floordiv", "lshift", "matmul",  "mul",  "mod",       "or_",     "pow",
      "rshift", "sub",  "truediv",  "xor",    "iadd",    "iand", "ifloordiv", "ilshift", "imatmul",
      "imul",   "imod", "ior",      "ipow",   "irshift", "isub", "itruediv",  "ixor"};
  static PyObject* const* const functions = [] {
    auto* table = new PyObject*[kNumberSlotCount];
    for (int i = 0; i < kNumberSlotCount; ++i) table[i] = operatorFunction(kNames[i]);
    return table;
  }();
  TensorVariable* tensor = tensorOf(left) ? tensorOf(left) : tensorOf(right);
  bool inPlace = slot >= nb_inplace_add;
  if (inPlace && !tensorOf(left)) return Value::constant(Py_NotImplemented);
  const Value& other = tensorOf(left) ? right : left;
  if (!isOperand(other, tensor)) {
    if (leavesToOther(translator, tensor, other)) return Value::constant(Py_NotImplemented);
    unsupportedOperand(kNames[slot], left, right);
  }
  if (slot == nb_inplace_matrix_multiply &&
      !tensor->library().conventions().hasInPlaceMatrixProduct) {
    return Value::constant(Py_NotImplemented);
  }
  if (inPlace && tensor->library().isImmutable(tensor->type())) {
    return Value::constant(Py_NotImplemented);
  }
  return translator.callGraphOperation(tensor->library(), NodeOperation::CallFunction,
                                       functions[slot], operatorRule(inPlace), {left, right},
                                       nullptr);
}

Value tensorUnary(Translator& translator, UnarySlot slot, const Value& self) {
  static PyObject* const functions[] = {operatorFunction("neg"), operatorFunction("pos"),
                                        operatorFunction("invert"), operatorFunction("abs")};
  return translator.callGraphOperation(tensorOf(self)->library(), NodeOperation::CallFunction,
                                       functions[static_cast<int>(slot)], operatorRule(), {self},
                                       nullptr);
}

Value tensorCompare(Translator& translator, const Value& left, const Value& right, int op) {
  static PyObject* const functions[] = {operatorFunction("lt"), operatorFunction("le"),
                                        operatorFunction("eq"), operatorFunction("ne"),
                                        operatorFunction("gt"), operatorFunction("ge")};
  TensorVariable* tensor = tensorOf(left);
  if (!isOperand(right, tensor)) {
    if (right.is(Py_None) && tensor->library().conventions().leavesOthers &&
        (op == Py_EQ || op == Py_NE)) {
      return Value::boolean(op == Py_NE);
    }
    if (leavesToOther(translator, tensor, right)) return Value::constant(Py_NotImplemented);
    unsupportedOperand("comparison", left, right);
  }
  return translator.callGraphOperation(tensor->library(), NodeOperation::CallFunction,
                                       functions[op], operatorRule(), {left, right}, nullptr);
}

Value tensorBool(Translator&, const Value& self) {
  throw GraphBreak(GraphBreakKind::DataDependentBranching, describe(self));
}

Value tensorScalar(Translator&, const Value& self) {
  throw GraphBreak(GraphBreakKind::NumberOutOfArray, describe(self));
}

Value tensorLength(Translator& translator, const Value& self) {
  const TensorMetadata* metadata = observedMetadata(translator, tensorOf(self), "__len__");
  if (!metadata) return Value();
  if (metadata->isScalar) {
    return translator.raise(PyExc_TypeError, "object of type '%.200s' has no len()",
                            tensorOf(self)->type()->tp_name);
  }
  if (metadata->sizes.empty()) {
    return translator.raise(PyExc_TypeError, "%s",
                            tensorOf(self)->library().conventions().lengthOfScalar);
  }
  return Value::integer(metadata->sizes[0]);
}

Value tensorSubscript(Translator& translator, const Value& self, const Value& key) {
  static PyObject* const getitem = operatorFunction("getitem");
  return translator.callGraphOperation(tensorOf(self)->library(), NodeOperation::CallFunction,
                                       getitem, operatorRule(), {self, key}, nullptr);
}

bool tensorAssignSubscript(Translator& translator, const Value& self, const Value& key,
                           const Value& value) {
  static PyObject* const setitem = operatorFunction("setitem");
  if (!value) {
    throw GraphBreak(GraphBreakKind::DeletionOfArrayItem, describe(self));
  }
  // The assignment's own result is None; the array's later uses come after it in the graph.
  CallRule rule = operatorRule();
  Value result =
      translator.callGraphOperation(tensorOf(self)->library(), NodeOperation::CallFunction, setitem,
                                    rule, {self, key, value}, nullptr);
  if (!result) return false;
  recordTensorMutation(translator, tensorOf(self));
  return true;
}

Value tensorContains(Translator&, const Value& self, const Value&) {
  throw GraphBreak(GraphBreakKind::ArrayMembership, describe(self));
}

Value tensorIterator(Translator& translator, const Value& self) {
  Value length = tensorLength(translator, self);
  if (!length) {
    translator.takeException();
    if (tensorOf(self)->library().isImmutable(tensorOf(self)->type())) {
      return translator.raise(PyExc_TypeError, "'%.200s' object is not iterable",
                              tensorOf(self)->type()->tp_name);
    }
    return translator.raise(PyExc_TypeError, "iteration over a 0-d %s",
                            tensorOf(self)->library().conventions().word);
  }
  return translator.make<SequenceIteratorVariable>(&PySeqIter_Type, self);
}

Value tensorAttribute(Translator& translator, const Value& self, PyObject* name) {
  TensorVariable* tensor = tensorOf(self);
  const std::string text = printable(name);
  PyObject* found = translator.heap.lookup(tensor->type(), name).object;
  if (!found) {
    return translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                            tensor->type()->tp_name, name);
  }
  if (text == "__class__") return typeValue(translator, self);
  bool isCallable = PyFunction_Check(found) || Py_TYPE(found) == &PyMethodDescr_Type ||
                    Py_TYPE(found) == &PyWrapperDescr_Type;
  if (isCallable) {
    return translator.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(name), self);
  }
  // FX writes them as getattr(x, "T").
  if (tensor->library().isOperationAttribute(text)) {
    static PyObject* const getattr = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
    return translator.callGraphOperation(tensor->library(), NodeOperation::CallFunction, getattr,
                                         operatorRule(), {self, Value::constant(name)}, nullptr);
  }
  // Ask the metadata only for what it can answer.
  TensorMetadata nothing;
  if (!tensor->library().attribute(nothing, text)) {
    throw GraphBreak(GraphBreakKind::AttributeOfArray, describe(self) + "." + std::string(text));
  }
  const TensorMetadata* metadata = observedMetadata(translator, tensor, text);
  if (!metadata) return Value();
  Ref<> value = tensor->library().attribute(*metadata, text);
  return translator.fromPython(value.release());
}

bool tensorSetAttribute(Translator&, const Value& self, PyObject* name, const Value&) {
  throw GraphBreak(GraphBreakKind::AssignmentToArray, describe(self) + "." + printable(name));
}

TypeSlots makeTensorSlots() {
  TypeSlots slots;
  slots.nb.fill(tensorBinary);
  slots.nb_unary = tensorUnary;
  slots.nb_bool = tensorBool;
  slots.nb_index = tensorScalar;
  slots.nb_int = tensorScalar;
  slots.nb_float = tensorScalar;
  slots.mp_length = tensorLength;
  slots.mp_subscript = tensorSubscript;
  slots.mp_ass_subscript = tensorAssignSubscript;
  slots.sq_contains = tensorContains;
  slots.tp_iter = tensorIterator;
  slots.tp_hash = unimplemented::unary;
  slots.tp_richcompare = tensorCompare;
  slots.tp_getattro = tensorAttribute;
  slots.tp_setattro = tensorSetAttribute;
  return slots;
}

Value callInGraph(Translator& translator, const Value& self, PyObject* name, const CallRule& rule,
                  const CallArguments& arguments) {
  llvm::SmallVector<Value, 6> values;
  values.push_back(self);
  values.append(arguments.values.begin(), arguments.values.end());
  return translator.callGraphOperation(tensorOf(self)->library(), NodeOperation::CallMethod, name,
                                       rule, values, arguments.keywordNames);
}

// size(dim), stride(dim): one number of what the method without argument answers.
Value methodFromMetadata(Translator& translator, const Value& self, PyObject* name,
                         const CallArguments& arguments) {
  TensorVariable* tensor = tensorOf(self);
  const std::string text = printable(name);
  TensorMetadata nothing;
  if (!tensor->library().attribute(nothing, text)) {
    if (!arguments.values.empty()) {
      return callInGraph(translator, self, name, CallRule(), arguments);
    }
    throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod,
                     describe(self) + "." + std::string(text) + "()");
  }
  const TensorMetadata* metadata = observedMetadata(translator, tensor, text);
  if (!metadata) return Value();
  Value all = translator.fromPython(tensor->library().attribute(*metadata, text).release());
  if (!all || arguments.values.empty()) return all;
  const Value* index = arguments.keyword("dim");
  if (!index && arguments.positionalCount() == 1) index = &arguments.values[0];
  bool indexes = index && arguments.values.size() == 1 && PyTuple_Check(all.object());
  if (!indexes) return callInGraph(translator, self, name, CallRule(), arguments);
  Value which = translator.realized(*index);
  if (which.is(Py_None)) return all;
  which = toIndex(translator, which);
  if (!which) return which;
  int64_t position = PyLong_AsLongLong(which.object());
  auto rank = static_cast<int64_t>(PyTuple_GET_SIZE(all.object()));
  if (position < -rank || position >= rank) {
    int64_t bound = rank ? rank : 1;
    return translator.raise(PyExc_IndexError,
                            "Dimension out of range (expected to be in range of [%lld, %lld], but "
                            "got %lld)",
                            static_cast<long long>(-bound), static_cast<long long>(bound - 1),
                            static_cast<long long>(position));
  }
  return Value::constant(PyTuple_GET_ITEM(all.object(), position < 0 ? position + rank : position));
}

}  // namespace

const TypeSlots kTensorSlots = makeTensorSlots();

Value callTensorMethod(Translator& translator, const Value& self, PyObject* name,
                       CallArguments& arguments) {
  TensorVariable* tensor = tensorOf(self);
  CallRule rule = tensor->library().classifyMethod(name);
  switch (rule.kind) {
    case CallKind::GraphOperation:
      return callInGraph(translator, self, name, rule, arguments);
    case CallKind::ConstantFoldable:
      return methodFromMetadata(translator, self, name, arguments);
    case CallKind::Inline: {
      Found function = translator.heap.lookup(tensor->type(), name);
      if (function && PyFunction_Check(function.object)) {
        arguments.values.insert(arguments.values.begin(), self);
        return call(translator, translator.wrap(function.source, function.object), arguments);
      }
      [[fallthrough]];
    }
    default:
      throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod,
                       describe(self) + "." + printable(name) + "()", rule.reason);
  }
}

}  // namespace armature

#include "variables/tensors/tensor.h"
#include "cpython/imported_modules.h"
#include "variables/constants/sym_node_variable.h"

#include <llvm/ADT/SmallPtrSet.h>

#include <string>
#include <string_view>

#include "core/builtin_part.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/operator_methods.h"
#include "variables/tensors/assigned_memory.h"
#include "variables/tensors/tensor_attributes.h"

namespace armature {

void recordTensorMutation(Translator& translator, TensorVariable* tensor) {
  if (!translator.effects.concerns(tensor)) return;
  if (translator.effects.last(tensor) != SideEffects::kNone) return;
  translator.effects.append({EffectKind::TensorMutation, tensor, {}, {}});
}

void prepareChangeOfLayout(Translator& translator, TensorVariable* tensor) {
  for (int32_t i = 0; i < translator.effects.size(); ++i) {
    const Effect& effect = translator.effects[i];
    bool isArgument = effect.value.isTracker() && effect.value.tracker() == tensor;
    if (effect.kind != EffectKind::Call || (effect.target != tensor && !isArgument)) continue;
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(Value(tensor)),
                     "What is done with it when the graph has run takes it for what it was.");
  }
  // An iterator that makes its items one by one knows how many there were when it was made.
  for (VariableTracker* tracker : translator.arena.trackers()) {
    auto* iterator = llvm::dyn_cast<SequenceIteratorVariable>(tracker);
    if (!iterator || trackerOf<TensorVariable>(iterator->sequence) != tensor) continue;
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(Value(tensor)),
                     "An iterator walks over what it was.");
  }
  requireOneVariable(translator, tensor);
}

void requireOneVariable(Translator& translator, TensorVariable* tensor) {
  auto changes = [&](const Node& node, const Node* array) {
    llvm::SmallVector<Node*, 4> changed;
    if (!node.isCall()) return false;
    const Library& library = *findLibrary(node.library);
    if (library.effectOf(node) != NodeEffect::None) library.changedArrays(node, changed);
    return llvm::is_contained(changed, array);
  };
  // The nodes that are its values, from the first on.
  llvm::SmallPtrSet<const Node*, 8> own;
  const Node* first = nullptr;
  for (const Node* node = tensor->node; node != first;) {
    first = node;
    own.insert(first);
    if (!first->isCall() || first->arguments.empty()) break;
    const Argument& argument = first->arguments[0];
    bool isNode = argument.kind() == Argument::Kind::Node;
    if (isNode && changes(*first, argument.node())) node = argument.node();
  }
  auto isAnother = [&](const Node& node) {
    return node.isCall() && findLibrary(node.library)->identityOf(&node, translator) != &node;
  };
  bool isShared = isAnother(*first);
  for (const auto& node : translator.graph->nodes()) {
    if (isShared) break;
    if (!node->isCall() || own.contains(node.get())) continue;
    bool takesIt = false, changesIt = false;
    forEachInput(*node, [&](Node* input) {
      if (!own.contains(input)) return;
      takesIt = true;
      changesIt |= changes(*node, input);
    });
    if (takesIt && !changesIt) isShared = isAnother(*node);
  }
  if (isShared) throw GraphBreak(GraphBreakKind::IdentityOfResults, describe(Value(tensor)));
}

namespace {

TensorVariable* tensorOf(const Value& value) { return trackerOf<TensorVariable>(value); }

PyObject* operatorFunction(const char* name) {
  static PyObject* const module = cpython::importModule("_operator");
  return PyObject_GetAttrString(module, name);
}

// Scalars sometimes repeat sequences instead.
bool takesSequences(const TensorVariable* tensor) {
  return tensor->library().conventions().takesSequences &&
         !tensor->library().isImmutable(tensor->type());
}

// Operands that the library's operators know, or that know it: arrays, Python numbers, and
// sequences where they do.
bool isOperand(const Value& value, const TensorVariable* tensor) {
  if (tensorOf(value) || trackerOf<SymNodeVariable>(value)) return true;
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

bool takesAnyNumber(NumberSlot slot) {
  switch (slot) {
    case nb_add:
    case nb_subtract:
    case nb_multiply:
    case nb_true_divide:
    case nb_inplace_add:
    case nb_inplace_subtract:
    case nb_inplace_multiply:
    case nb_inplace_true_divide:
      return true;
    default:
      return false;
  }
}

// The operand of an operator: a number that varied stays symbolic where its type is all that
// matters.
Value operand(Translator& translator, const Library& library, Value value, bool takesAnyNumber) {
  if (trackerOf<SymNodeVariable>(value)) {
    bool isTaken =
        takesAnyNumber && !translator.usesForeignBackend() && graphNumber(translator, value);
    if (isTaken) return value;
    translator.realize(value);
  }
  return plainNumber(translator, library, value);
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

// Of both operands, as far as they are arrays.
void requireOwnOperator(Translator& translator, int slot, const Value& left, const Value& right) {
  const OperatorMethods& methods = operatorMethods();
  bool inPlace = slot >= nb_inplace_add;
  int operation = inPlace ? slot - nb_inplace_add : slot;
  if (auto* tensor = tensorOf(left)) {
    if (inPlace) requireOwnMethod(translator, tensor, methods.inPlace[operation]);
    requireOwnMethod(translator, tensor, methods.plain[operation]);
  }
  if (auto* tensor = tensorOf(right)) {
    requireOwnMethod(translator, tensor, methods.reflected[operation]);
  }
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

Value tensorBinary(Translator& translator, NumberSlot slot, const Value& givenLeft,
                   const Value& givenRight) {
  static constexpr const char* kNames[] = {
      "add",    "and_", "floordiv", "lshift", "matmul",  "mul",  "mod",       "or_",     "pow",
      "rshift", "sub",  "truediv",  "xor",    "iadd",    "iand", "ifloordiv", "ilshift", "imatmul",
      "imul",   "imod", "ior",      "ipow",   "irshift", "isub", "itruediv",  "ixor"};
  static PyObject* const* const functions = [] {
    auto* table = new PyObject*[kNumberSlotCount];
    for (int i = 0; i < kNumberSlotCount; ++i) table[i] = operatorFunction(kNames[i]);
    return table;
  }();
  TensorVariable* tensor = tensorOf(givenLeft) ? tensorOf(givenLeft) : tensorOf(givenRight);
  const Library& library = tensor->library();
  bool anyNumber = library.conventions().onlyTypesOfNumbersMatter && takesAnyNumber(slot);
  const Value left = operand(translator, library, givenLeft, anyNumber);
  const Value right = operand(translator, library, givenRight, anyNumber);
  bool inPlace = slot >= nb_inplace_add;
  if (inPlace && !tensorOf(left)) return Value::constant(Py_NotImplemented);
  requireOwnOperator(translator, slot, left, right);
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
  CallRule rule = operatorRule(inPlace);
  rule.takesAnyNumberOf = anyNumber ? 2 : 0;
  return translator.callGraphOperation(library, NodeOperation::CallFunction, functions[slot], rule,
                                       {left, right}, nullptr);
}

Value tensorUnary(Translator& translator, UnarySlot slot, const Value& self) {
  static PyObject* const functions[] = {operatorFunction("neg"), operatorFunction("pos"),
                                        operatorFunction("invert"), operatorFunction("abs")};
  requireOwnMethod(translator, tensorOf(self), unaryMethod(slot));
  return translator.callGraphOperation(tensorOf(self)->library(), NodeOperation::CallFunction,
                                       functions[static_cast<int>(slot)], operatorRule(), {self},
                                       nullptr);
}

Value tensorCompare(Translator& translator, const Value& left, const Value& given, int op) {
  static PyObject* const functions[] = {operatorFunction("lt"), operatorFunction("le"),
                                        operatorFunction("eq"), operatorFunction("ne"),
                                        operatorFunction("gt"), operatorFunction("ge")};
  static constexpr int kReflected[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  TensorVariable* tensor = tensorOf(left);
  CallRule rule = operatorRule();
  bool anyNumber = tensor->library().conventions().onlyTypesOfNumbersMatter;
  rule.takesAnyNumberOf = anyNumber ? 2 : 0;
  const Value right = operand(translator, tensor->library(), given, anyNumber);
  requireOwnMethod(translator, tensor, compareMethod(op));
  if (auto* other = tensorOf(right)) {
    requireOwnMethod(translator, other, compareMethod(kReflected[op]));
  }
  if (!isOperand(right, tensor)) {
    if (right.is(Py_None) && tensor->library().conventions().leavesOthers &&
        (op == Py_EQ || op == Py_NE)) {
      return Value::boolean(op == Py_NE);
    }
    if (leavesToOther(translator, tensor, right)) return Value::constant(Py_NotImplemented);
    unsupportedOperand("comparison", left, right);
  }
  return translator.callGraphOperation(tensor->library(), NodeOperation::CallFunction,
                                       functions[op], rule, {left, right}, nullptr);
}

Value tensorBool(Translator&, const Value& self) {
  throw GraphBreak(GraphBreakKind::DataDependentBranching, describe(self));
}

Value tensorScalar(Translator&, const Value& self) {
  throw GraphBreak(GraphBreakKind::NumberOutOfArray, describe(self));
}

Value tensorLength(Translator& translator, const Value& self) {
  static PyObject* const len = interned("__len__");
  requireNoOperationMode(translator, "len()");
  requireOwnMethod(translator, tensorOf(self), len);
  for (const char* name : tensorOf(self)->library().conventions().askedByLength) {
    if (name) requireOwnMethod(translator, tensorOf(self), interned(name));
  }
  const TensorMetadata* metadata = observedMetadata(translator, tensorOf(self), "__len__");
  if (!metadata) return Value();
  if (metadata->isScalar) {
    return translator.raise(PyExc_TypeError, "object of type '%.200s' has no len()",
                            nameOf(translator, tensorOf(self)->type()));
  }
  if (metadata->sizes.empty()) {
    return translator.raise(PyExc_TypeError, "%s",
                            tensorOf(self)->library().conventions().lengthOfScalar);
  }
  return Value::integer(metadata->sizes[0].value());
}

// Is it a number that varied, and an index in range? If so, that is guarded.
bool variesInRange(Translator& translator, TensorVariable* tensor, const Value& index) {
  bool isTaken = trackerOf<SymNodeVariable>(index) && typeOf(index) == &PyLong_Type &&
                 tensor->library().conventions().onlyTypesOfNumbersMatter &&
                 !translator.usesForeignBackend() && graphNumber(translator, index);
  if (!isTaken) return false;
  const TensorMetadata* metadata = observedMetadata(translator, tensor, "shape");
  if (!metadata || metadata->sizes.empty()) return false;
  int64_t size = metadata->sizes[0].value();
  auto holds = [&](int relation, int64_t bound) {
    Value outcome = symbolicComparison(translator, index, Value::integer(bound), relation);
    return outcome && outcome.is(Py_True);
  };
  return holds(Py_LT, size) && holds(Py_GE, -size);
}

Value tensorSubscript(Translator& translator, const Value& self, const Value& givenKey) {
  static PyObject* const getitem = operatorFunction("getitem");
  static PyObject* const method = interned("__getitem__");
  requireOwnMethod(translator, tensorOf(self), method);
  CallRule rule = operatorRule();
  Value key = givenKey;
  if (variesInRange(translator, tensorOf(self), key)) {
    rule.takesAnyNumberOf = 2;
  } else {
    translator.realize(key);
  }
  return translator.callGraphOperation(tensorOf(self)->library(), NodeOperation::CallFunction,
                                       getitem, rule, {self, key}, nullptr);
}

bool tensorAssignSubscript(Translator& translator, const Value& self, const Value& givenKey,
                           const Value& givenValue) {
  static PyObject* const setitem = operatorFunction("setitem");
  static PyObject* const method = interned("__setitem__");
  requireOwnMethod(translator, tensorOf(self), method);
  if (!givenValue) {
    throw GraphBreak(GraphBreakKind::DeletionOfArrayItem, describe(self));
  }
  Value key = givenKey, value = givenValue;
  translator.realize(value);
  // The assignment's own result is None; the array's later uses come after it in the graph.
  CallRule rule = operatorRule();
  if (variesInRange(translator, tensorOf(self), key)) {
    rule.takesAnyNumberOf = 3;
  } else {
    translator.realize(key);
  }
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
  static PyObject* const iter = interned("__iter__");
  requireNoOperationMode(translator, "iter()");
  requireOwnMethod(translator, tensorOf(self), iter);
  if (const char* name = tensorOf(self)->library().conventions().askedByIteration) {
    requireOwnMethod(translator, tensorOf(self), interned(name));
  }
  // Its items are views of the memory that it has by now.
  requireOwnMemory(self);
  Value length = tensorLength(translator, self);
  if (!length) {
    translator.dropException();
    if (tensorOf(self)->library().isImmutable(tensorOf(self)->type())) {
      return translator.raise(PyExc_TypeError, "'%.200s' object is not iterable",
                              nameOf(translator, tensorOf(self)->type()));
    }
    return translator.raise(PyExc_TypeError, "iteration over a 0-d %s",
                            tensorOf(self)->library().conventions().word);
  }
  PyTypeObject* type = tensorOf(self)->library().conventions().iterator;
  if (type != &PyTupleIter_Type) return translator.make<SequenceIteratorVariable>(type, self);
  // The items are there from now on, made in the modes of this moment.
  constexpr int64_t kMostItems = 10'000;
  int64_t count = PyLong_AsLongLong(length.object());
  if (count > kMostItems) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self),
                     "An iterator over it would take " + std::to_string(count) + " operations.");
  }
  ValueVector items;
  for (int64_t i = 0; i < count; ++i) {
    items.push_back(getItem(translator, self, Value::integer(i)));
    if (!items.back()) return Value();
  }
  return translator.make<SequenceIteratorVariable>(type, makeTuple(translator, std::move(items)));
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
  slots.tp_setattro = setTensorAttribute;
  slots.instanceDict = tensorInstanceDict;
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
  if (text == "__len__" && arguments.values.empty()) return tensorLength(translator, self);
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

Value plainNumber(Translator& translator, const Library& library, const Value& value) {
  // What makes arrays of its operands goes by their types.
  if (library.conventions().takesSequences || !trackerOf<UserObjectVariable>(value)) return value;
  PyTypeObject* layout = dataLayout(typeOf(value));
  if (layout != &PyLong_Type && layout != &PyFloat_Type) return value;
  CallRule rule = library.dispatch(translator, operatorRule(), {value});
  if (rule.kind == CallKind::Unsupported) {
    throw GraphBreak(GraphBreakKind::OverriddenOperation, describe(value), rule.reason);
  }
  return builtinData(translator, value);
}

bool leavesToArray(PyObject* callable, const CallArguments& arguments) {
  if (Py_TYPE(callable) != &PyWrapperDescr_Type || arguments.values.size() != 2 ||
      arguments.keywordCount() || !isConstantData(arguments.values[0])) {
    return false;
  }
  static constexpr PyTypeObject* kNumbers[] = {&PyLong_Type, &PyFloat_Type, &PyComplex_Type};
  bool isOfNumber = llvm::is_contained(kNumbers, PyDescr_TYPE(callable));
  if (!isOfNumber || !tensorOf(arguments.values[1])) return false;
  PyTypeObject* type = typeOf(arguments.values[1]);
  if (llvm::any_of(kNumbers, [&](PyTypeObject* each) { return PyType_IsSubtype(type, each); })) {
    return false;
  }
  const OperatorMethods& methods = operatorMethods();
  PyObject* name = PyDescr_NAME(callable);
  return llvm::is_contained(methods.plain, name) || llvm::is_contained(methods.reflected, name);
}

const TypeSlots kTensorSlots = makeTensorSlots();

Value callTensorMethod(Translator& translator, const Value& self, PyObject* name,
                       CallArguments& arguments) {
  TensorVariable* tensor = tensorOf(self);
  const Library& library = tensor->library();
  CallRule rule = library.classifyMethod(name);
  if (rule.kind == CallKind::Handled) requireNoOperationMode(translator, printable(name));
  if (translator.operationModes() && rule.kind == CallKind::ConstantFoldable) {
    llvm::SmallVector<Value, 6> values = {self};
    values.append(arguments.values.begin(), arguments.values.end());
    std::optional<Value> taken = callOperationMode(
        translator, {library, NodeOperation::CallMethod, name, values, arguments.keywordNames});
    if (taken) return *taken;
  }
  switch (rule.kind) {
    case CallKind::GraphOperation:
      return callInGraph(translator, self, name, rule, arguments);
    case CallKind::ConstantFoldable:
      return methodFromMetadata(translator, self, name, arguments);
    case CallKind::Handled:
      arguments.values.insert(arguments.values.begin(), self);
      return rule.handler(translator, Value::constant(name), arguments);
    default:
      throw GraphBreak(GraphBreakKind::UnsupportedArrayMethod,
                       describe(self) + "." + printable(name) + "()", rule.reason);
  }
}

}  // namespace armature

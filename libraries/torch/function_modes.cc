#include "libraries/torch/function_modes.h"

#include <llvm/ADT/DenseMap.h>

#include <array>
#include <optional>

#include "bytecode/private_function.h"
#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/function_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "graph/attribute_read.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/heard_call.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/nn_module.h"
#include "libraries/torch/overriding.h"
#include "libraries/torch/tree_map.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/call_result.h"
#include "variables/objects/user_defined.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/type_slots.h"

namespace armature {

namespace {

// --- The stack: tuples of a mode, the number of the effect that enters it or kBefore, and the rest
// or None. None in the place of the whole: nothing is known of it, and nothing can be done.

constexpr size_t kMode = 0, kEffect = 1, kOuter = 2;
constexpr int64_t kBefore = -1;  // it was entered before the trace
constexpr int64_t kMostModes = 8;

const ValueVector& entryOf(const Value& modes) {
  if (modes.is(Py_None))
    refuseOverridden("a TorchFunctionMode", "modes were entered, or disabled, before");
  return requireKind<TupleVariable>(modes)->items();
}

Value outerOf(const Value& modes) {
  const Value& outer = entryOf(modes)[kOuter];
  return outer.is(Py_None) ? Value() : outer;
}

int64_t countOf(Value modes) {
  int64_t count = 0;
  for (; modes; modes = outerOf(modes)) ++count;
  return count;
}

void observeModes(Translator& translator) {
  using enum TorchSetting;
  translator.observeState(settingBit(torch_function) | settingBit(torch_function_modes) |
                          settingBit(function_mode_kinds));
}

bool isTrue(const char* question) {
  BorrowedRef<> function = cpython::importedAttribute("torch._C", question);
  Ref<> answer = function ? checked(PyObject_CallNoArgs(function.get())) : nullptr;
  return answer && answer.get() == Py_True;
}

// Of those that the thread has now. While something is traced, that is at most a default device's.
int64_t countInForce() {
  BorrowedRef<> function = cpython::importedAttribute("torch._C", "_len_torch_function_stack");
  return function ? PyLong_AsLongLong(checked(PyObject_CallNoArgs(function.get())).get()) : 0;
}

// A body runs without the modes that the trace has entered around it.
void requireNoBody(Translator& translator) {
  PyTypeObject* type = TorchModule::get()->tensorType.get();
  translator.effects.changes(translator.knownClass(type).tracker());
}

PyObject* callBinding(const char* name, PyObject* const* arguments, size_t count) {
  BorrowedRef<> function = cpython::importedAttribute("torch._C", name);
  if (function) return PyObject_Vectorcall(function.get(), arguments, count, nullptr);
  PyErr_Format(PyExc_SystemError, "torch._C.%s is gone", name);
  return nullptr;
}

// enter(_, mode), and leave(_)
PyObject* enterMode(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return callBinding("_push_on_torch_function_stack", arguments + 1, 1);
}

PyObject* leaveMode(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return callBinding("_pop_torch_function_stack", arguments, 0);
}

PyObject* entering() { return privateFunction<enterMode>("enter_mode"); }

PyObject* leaving() { return privateFunction<leaveMode>("leave_mode"); }

int32_t appendEffect(Translator& translator, PyObject* function, Value mode) {
  Value marker = translator.make<CallResultVariable>(&PyBaseObject_Type, ValueVector());
  return translator.effects.append(
      {EffectKind::Call, marker.tracker(), Value::constant(function), std::move(mode)});
}

void pushMode(Translator& translator, const Value& mode) {
  if (!trackerOf<UserObjectVariable>(mode))
    refuseOverridden(describe(mode), "it is no mode that we know");
  observeModes(translator);
  const Value& outer = translator.operationModes();
  if (outer) entryOf(outer);
  if (isTrue("_is_torch_function_all_disabled"))
    refuseOverridden(describe(mode), "modes are disabled");
  requireNoBody(translator);
  int32_t effect = appendEffect(translator, entering(), mode);
  translator.setOperationModes(translator.make<TupleVariable>(
      ValueVector{mode, Value::integer(effect), outer ? outer : Value::none()}));
}

Value popMode(Translator& translator) {
  observeModes(translator);
  Value modes = translator.operationModes();
  if (!modes) refuseOverridden("_pop_torch_function_stack()", "there is no mode");
  Value mode = entryOf(modes)[kMode];
  requireNoBody(translator);
  int64_t effect = PyLong_AsLongLong(entryOf(modes)[kEffect].object());
  if (effect == kBefore) {
    appendEffect(translator, leaving(), Value());
  } else {
    translator.effects.cancel(static_cast<int32_t>(effect));
  }
  translator.setOperationModes(outerOf(modes));
  return mode;
}

Value push(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_push_on_torch_function_stack", arguments, 1, 1)) {
    return Value();
  }
  pushMode(translator, translator.realized(arguments.values[0]));
  return Value::none();
}

Value pop(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_pop_torch_function_stack", arguments, 0, 0)) {
    return Value();
  }
  return popMode(translator);
}

// with torch.device(…): enters a mode that is made for the device.
Value enterDevice(Translator& translator, const Value& self, CallArguments& arguments) {
  BorrowedRef<> found = cpython::importedAttribute("torch.utils._device", "DeviceContext");
  if (!arguments.values.empty() || !found || !PyType_Check(found.get())) {
    return unimplemented::call(translator, self, arguments);
  }
  Value type = translator.knownClass(reinterpret_cast<PyTypeObject*>(found.get()));
  Value mode = call(translator, type, {self});
  if (!mode) return mode;
  pushMode(translator, translator.realized(mode));
  return self;
}

Value leaveDevice(Translator& translator, const Value&, CallArguments&) {
  popMode(translator);
  return Value::none();
}

Value length(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_len_torch_function_stack", arguments, 0, 0)) {
    return Value();
  }
  observeModes(translator);
  return Value::integer(countInForce() + countOf(translator.operationModes()));
}

Value at(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_get_function_stack_at", arguments, 1, 1)) return Value();
  Value index = toIndex(translator, arguments.values[0]);
  if (!index) return index;
  observeModes(translator);
  Value modes = translator.operationModes();
  int64_t fromTop = countInForce() + countOf(modes) - 1 - PyLong_AsLongLong(index.object());
  if (PyErr_Occurred()) throw PendingPythonException();
  for (; modes && fromTop > 0; --fromTop) modes = outerOf(modes);
  if (!modes || fromTop < 0) refuseOverridden(describe(callable), "the mode was entered before");
  return entryOf(modes)[kMode];
}

Value isEnabled(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_is_torch_function_mode_enabled", arguments, 0, 0)) {
    return Value();
  }
  observeModes(translator);
  const Value& modes = translator.operationModes();
  if (modes) entryOf(modes);
  return Value::boolean(modes || isTrue("_is_torch_function_mode_enabled"));
}

// --- The modes in which the trace began, as guards and generated code read them: fields of the
// class TorchFunctionMode, from the bottom of the stack.

PyObject* modeAt(PyObject*, void* index) {
  auto position = reinterpret_cast<intptr_t>(index);
  PyObject* away = OperationModesAway::modes();
  if (away && position < PyList_GET_SIZE(away)) return Py_NewRef(PyList_GET_ITEM(away, position));
  Ref<> number = Ref<>::steal(PyLong_FromSsize_t(position));
  PyObject* arguments[] = {number.get()};
  if (!number) return nullptr;
  if (away || countInForce() <= position) {
    PyErr_SetObject(PyExc_LookupError, number.get());
    return nullptr;
  }
  return callBinding("_get_function_stack_at", arguments, 1);
}

PyObject* modeField(int64_t index) {
  static constexpr std::array<const char*, kMostModes> kNames = {
      "mode_0", "mode_1", "mode_2", "mode_3", "mode_4", "mode_5", "mode_6", "mode_7"};
  static std::array<PyGetSetDef, kMostModes> definitions;
  static std::array<PyObject*, kMostModes> fields;
  if (!fields[index]) {
    definitions[index] = {kNames[index], modeAt, nullptr, nullptr, reinterpret_cast<void*>(index)};
    fields[index] = checked(PyDescr_NewGetSet(&PyType_Type, &definitions[index])).release();
  }
  return fields[index];
}

void startModes(Translator& translator) {
  PyObject* away = OperationModesAway::modes();
  if (!away) {
    // They are disabled.
    if (programModesAreActive()) translator.startInOperationModes(Value::none());
    return;
  }
  int64_t count = PyList_GET_SIZE(away);
  bool isKnown = !translator.usesForeignBackend() && count <= kMostModes;
  if (!isKnown) return translator.startInOperationModes(Value::none());
  auto* type = reinterpret_cast<PyTypeObject*>(
      cpython::importedAttribute("torch.overrides", "TorchFunctionMode").get());
  if (!type) return translator.startInOperationModes(Value::none());
  const Source* stack = translator.heap.classSource(type);
  Value modes;
  for (int64_t i = 0; i < count; ++i) {
    Ref<> mode = checked(modeAt(nullptr, reinterpret_cast<void*>(i)));
    Value value = translator.wrap(
        translator.sources->item(SourceKind::Descriptor, stack, modeField(i)), mode);
    modes = translator.make<TupleVariable>(
        ValueVector{value, Value::integer(kBefore), modes ? modes : Value::none()});
  }
  translator.startInOperationModes(modes);
}

// run(arguments…): calls the function that it is bound to without modes. What else the graph sets
// stays set.
PyObject* runAlone(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  Ref<> guard = Ref<>::steal(callBinding("DisableTorchFunction", nullptr, 0));
  if (!guard) return nullptr;
  Ref<> entered = Ref<>::steal(PyObject_CallMethod(guard.get(), "__enter__", nullptr));
  if (!entered) return nullptr;
  PyObject* result = PyObject_Vectorcall(function, arguments, static_cast<size_t>(count), nullptr);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref<> left =
      Ref<>::steal(PyObject_CallMethod(guard.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  if (!left && result) Py_CLEAR(result);
  if (type) PyErr_Restore(type, value, traceback);
  return result;
}

// --- What becomes of a call.

bool holdsTensor(Translator& translator, const Value& given) {
  Value value = translator.realized(given);
  if (auto* tensor = trackerOf<TensorVariable>(value)) {
    return tensor->libraryKind() == ArrayLibraryKind::Torch;
  }
  auto* sequence = trackerOf<SequenceVariable>(value);
  return sequence && llvm::any_of(sequence->items(),
                                  [&](const Value& item) { return holdsTensor(translator, item); });
}

// What the library performs, though no mode hears of it, or the handler asks the mode itself.
bool isUnheard(BorrowedRef<> target) {
  if (findSlotCall(target)) return true;
  if (PyFunction_Check(target.get())) {
    return !TorchModule::modules().definedIn(target).empty() &&
           (findModuleHandler(target) ||
            findTreeMapHandler(callableNames().of(target).qualified()));
  }
  return PyCFunction_Check(target.get()) && findOverrideQueryHandler(target);
}

// The mode of torch.export's tracer hears of more than torch tells others.
void requireNoExport(Value modes) {
  BorrowedRef<> found = cpython::importedAttribute("torch.fx.experimental.proxy_tensor",
                                                   "PreDispatchTorchFunctionMode");
  if (!found || !PyType_Check(found.get())) return;
  auto* tracer = reinterpret_cast<PyTypeObject*>(found.get());
  for (; modes; modes = outerOf(modes)) {
    const Value& mode = entryOf(modes)[kMode];
    if (PyType_IsSubtype(typeOf(mode), tracer))
      refuseOverridden(describe(mode), "it is the mode of a tracer");
  }
}

// The function that torch hands a mode, as the program knows it.
Value functionOf(Translator& translator, const OperationCall& call, BorrowedRef<> function) {
  if (!PyFunction_Check(function.get())) return Value::constant(function.get());
  if (Value known = translator.known(function.get())) return known;
  PyTypeObject* type = TorchModule::get()->tensorType.get();
  PyObject *name, *value;
  for (Py_ssize_t i = 0; PyDict_Next(cpython::dict(type), &i, &name, &value);) {
    bool isFunction = value == function.get() && PyUnicode_CheckExact(name);
    if (isFunction) return getAttribute(translator, translator.knownClass(type), name);
  }
  refuseOverridden(targetName(call.target), "a mode would be given a function that is not known");
}

// What a function of Python's does may be heard instead of the function.
void requireHeard(const OperationCall& call, BorrowedRef<> function) {
  bool isItself = true;
  if (call.operation == NodeOperation::CallMethod) {
    PyObject* method = cpython::lookup(TorchModule::get()->tensorType.get(), call.target);
    isItself = !method || !PyFunction_Check(method) || method == function.get();
  } else if (call.target.get() == getattrFunction()) {
    isItself = findSlotCall(function) != nullptr;
  } else if (PyFunction_Check(call.target.get())) {
    isItself = function.get() == call.target.get();
  }
  if (!isItself) refuseOverridden(targetName(call.target), "a mode hears of what it does");
}

std::optional<Value> callMode(Translator& translator, const OperationCall& call) {
  observeModes(translator);
  entryOf(translator.operationModes());
  if (call.library.kind() != ArrayLibraryKind::Torch) {
    for (const Value& argument : call.arguments) {
      if (holdsTensor(translator, argument))
        refuseOverridden(targetName(call.target), "it takes tensors");
    }
    return std::nullopt;
  }
  if (call.operation == NodeOperation::CallFunction) {
    if (isUnheard(call.target)) return std::nullopt;
    if (isUnheardTransform(call.target)) {
      requireNoExport(translator.operationModes());
      return std::nullopt;
    }
    using enum TorchSetting;
    CallRule rule = call.library.classify(call.target);
    bool asksForModes =
        rule.states & (settingBit(torch_function_modes) | settingBit(function_mode_kinds) |
                       settingBit(default_device));
    if (rule.kind == CallKind::Handled || asksForModes || isAllowedInGraph(call.target)) {
      refuseOverridden(targetName(call.target),
                       "the program has entered a mode that may hear of it");
    }
  }
  HeardCall heard(translator, call);
  Ref<> given = heard.run();
  if (!given) return std::nullopt;
  BorrowedRef<> function = PyTuple_GET_ITEM(given.get(), 0);
  requireHeard(call, function);

  ValueVector types;
  BorrowedRef<> givenTypes = PyTuple_GET_ITEM(given.get(), 1);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(givenTypes.get()); ++i) {
    PyObject* type = PyTuple_GET_ITEM(givenTypes.get(), i);
    types.push_back(translator.knownClass(reinterpret_cast<PyTypeObject*>(type)));
  }
  ValueVector positional;
  BorrowedRef<> givenArguments = PyTuple_GET_ITEM(given.get(), 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(givenArguments.get()); ++i) {
    positional.push_back(heard.valueOf(PyTuple_GET_ITEM(givenArguments.get(), i)));
  }
  llvm::SmallVector<Value, 4> passed = {functionOf(translator, call, function),
                                        makeTuple(translator, std::move(types)),
                                        makeTuple(translator, std::move(positional))};
  if (PyTuple_GET_SIZE(given.get()) > 3) {
    passed.push_back(heard.keywordsOf(PyTuple_GET_ITEM(given.get(), 3)));
  }
  for (const Value& each : passed) {
    if (!each) return Value();
  }

  static PyObject* const name = staticName("__torch_function__");
  const Value modes = translator.operationModes();
  const Value outer = outerOf(modes);
  translator.setOperationModes(outer);
  Value mode = translator.realized(entryOf(modes)[kMode]);
  Value method = getAttribute(translator, mode, name);
  auto* bound = method ? trackerOf<BoundMethodVariable>(method) : nullptr;
  // A class method, for one, is an error of torch's.
  if (method && !(bound && bound->self.sameAs(mode))) {
    refuseOverridden(describe(mode), "its __torch_function__ is no plain method");
  }
  Value result = method ? armature::call(translator, method, passed) : Value();
  if (!translator.operationModes().sameAs(outer)) {
    refuseOverridden(targetName(call.target), "its mode has entered or left another one");
  }
  translator.setOperationModes(modes);
  if (result) translator.realize(result);
  if (result && result.is(Py_NotImplemented)) {
    refuseOverridden(targetName(call.target), "its mode has left it to others");
  }
  return result;
}

class FunctionModes : public OperationModes {
 public:
  void start(Translator& translator) const override { startModes(translator); }
  std::optional<Value> call(Translator& translator, const OperationCall& call) const override {
    return callMode(translator, call);
  }
  Ref<> without(BorrowedRef<> callable) const override {
    static PyMethodDef method = {"run_without_modes", cpython::asMethod(runAlone), METH_FASTCALL,
                                 nullptr};
    return checked(PyCFunction_New(&method, callable.get()));
  }
  Ref<> takeAway() const override {
    bool areHeard = !dispatchModesAreActive() && programModesAreActive() &&
                    !isTrue("_is_torch_function_all_disabled");
    if (!areHeard) return nullptr;
    Ref<> modes = checked(PyList_New(0));
    while (countInForce() > 0) {
      Ref<> mode = checked(callBinding("_pop_torch_function_stack", nullptr, 0));
      checked(PyList_Insert(modes.get(), 0, mode.get()));
    }
    return modes;
  }
  void giveBack(BorrowedRef<> modes) const override {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(modes.get()); ++i) {
      PyObject* mode = PyList_GET_ITEM(modes.get(), i);
      Ref<> pushed = Ref<>::steal(callBinding("_push_on_torch_function_stack", &mode, 1));
      if (!pushed) clearException();
    }
  }
};

// descriptor.__get__(tensor), and with a class behind it.
Value readAttribute(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto refuseRead = [&] { refuseOverridden(describe(callable), "it is no attribute of a tensor"); };
  Ref<> descriptor = checked(PyObject_GetAttrString(callable.object(), "__self__"));
  size_t count = arguments.positionalCount();
  Value self = count ? translator.realized(arguments.values[0]) : Value();
  auto* tensor = trackerOf<TensorVariable>(self);
  if (!tensor || count > 2 || arguments.keywordCount()) refuseRead();
  PyObject* name = PyDescr_NAME(descriptor.get());
  if (translator.heap.lookup(tensor->type(), name).object != descriptor.get()) refuseRead();
  return getAttribute(translator, self, name);
}

// Tensor.__setitem__(tensor, key, value)
Value assignItemOf(Translator& translator, const Value& callable, CallArguments& arguments) {
  bool isCall = arguments.positionalCount() == 3 && arguments.keywordCount() == 0;
  Value self = isCall ? translator.realized(arguments.values[0]) : Value();
  if (!trackerOf<TensorVariable>(self))
    refuseOverridden(describe(callable), "it is no item of a tensor");
  bool isSet = setItem(translator, self, arguments.values[1], arguments.values[2]);
  return isSet ? Value::none() : Value();
}

}  // namespace

void leaveFunctionModes() {
  while (countInForce() > 0) checked(callBinding("_pop_torch_function_stack", nullptr, 0));
}

LibraryCallHandler findSlotCall(BorrowedRef<> callable) {
  if (Py_TYPE(callable.get()) == &PyWrapperDescr_Type) {
    bool isSet = PyUnicode_CompareWithASCIIString(PyDescr_NAME(callable.get()), "__setitem__") == 0;
    PyTypeObject* tensorType = TorchModule::get()->tensorType.get();
    bool isTensors = isSet && PyDescr_TYPE(callable.get()) != &PyBaseObject_Type &&
                     PyType_IsSubtype(tensorType, PyDescr_TYPE(callable.get()));
    return isTensors ? assignItemOf : nullptr;
  }
  static PyTypeObject* const wrapper = Py_TYPE(PyObject_GetAttrString(Py_None, "__repr__"));
  if (Py_TYPE(callable.get()) != wrapper) return nullptr;
  Ref<> descriptor = checked(PyObject_GetAttrString(callable.get(), "__self__"));
  Ref<> name = checked(PyObject_GetAttrString(callable.get(), "__name__"));
  bool isGet = PyUnicode_CheckExact(name.get()) &&
               PyUnicode_CompareWithASCIIString(name.get(), "__get__") == 0;
  if (!isGet || Py_TYPE(descriptor.get()) != &PyGetSetDescr_Type) return nullptr;
  PyTypeObject* type = TorchModule::get()->tensorType.get();
  return PyType_IsSubtype(type, PyDescr_TYPE(descriptor.get())) ? readAttribute : nullptr;
}

void registerFunctionModes() {
  auto add = [](const char* name, BuiltinHandler handler) {
    BorrowedRef<> found = cpython::importedAttribute("torch._C", name);
    if (found && PyCFunction_Check(found.get())) registerObjectHandler(found.get(), handler);
  };
  add("_push_on_torch_function_stack", push);
  add("_pop_torch_function_stack", pop);
  add("_len_torch_function_stack", length);
  add("_get_function_stack_at", at);
  add("_is_torch_function_mode_enabled", isEnabled);
  if (BorrowedRef<> device = cpython::importedAttribute("torch", "device")) {
    auto addMethod = [&](const char* name, BuiltinHandler handler) {
      Ref<> method = Ref<>::steal(PyObject_GetAttrString(device.get(), name));
      if (method) registerObjectHandler(method.get(), handler);
      clearException();
    };
    addMethod("__enter__", enterDevice);
    addMethod("__exit__", leaveDevice);
  }
  static const FunctionModes modes;
  registerOperationModes(&modes);
}

}  // namespace armature

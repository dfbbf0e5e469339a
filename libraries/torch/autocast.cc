#include "libraries/torch/autocast.h"

#include <array>
#include <string_view>
#include <vector>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "graph/eager_code.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/inference_mode.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/own_methods.h"
#include "variables/constants/constant.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

constexpr std::array kDevices = {"cpu", "cuda"};
// Of ContextManagerVariable::previous: the region is entered.
constexpr uint32_t kEntered = uint32_t{1} << 31;

// Of Region::settings.
enum Setting { kRegionDevice, kRegionEnabled, kRegionDType, kRegionCache };

const Library& torchLibrary() { return *findLibrary(ArrayLibraryKind::Torch); }

Ref<> callOf(const char* module, const char* name, Ref<> arguments) {
  Ref<> function = Ref<>::steal(cpython::importModule(module));
  if (function) function = Ref<>::steal(PyObject_GetAttrString(function.get(), name));
  if (!function || !arguments) return nullptr;
  return Ref<>::steal(PyObject_CallObject(function.get(), arguments.get()));
}

template <class... Arguments>
Ref<> askTorch(const char* name, Arguments... arguments) {
  // What the program has put into torch itself is not asked.
  return callOf("torch._C", name, Ref<>::steal(PyTuple_Pack(sizeof...(arguments), arguments...)));
}

PyObject* target(const char* name) {
  return checked(PyObject_GetAttrString(checked(cpython::importModule("torch.amp")).get(), name))
      .release();
}

PyObject* enterTarget() {
  static PyObject* const found = target("_enter_autocast");
  return found;
}

PyObject* exitTarget() {
  static PyObject* const found = target("_exit_autocast");
  return found;
}

Value answerOf(Ref<> result) {
  if (!result) throw PendingPythonException();
  return Value::steal(result.release());
}

// What the manager is made with (ContextManagerVariable::arguments): what its attributes are, and
// what the program has written.
enum Made {
  kDevice,
  kDType,
  kBackend,
  kCacheEnabled,
  kEnabled,
  kGivenDType,
  kGivenEnabled,
  kGivenCache
};

class AutocastModel : public ContextManagerModel {
 public:
  Value enter(Translator& translator, ContextManagerVariable& manager) const override {
    requireNoOperationMode(translator, "torch.amp._enter_autocast");
    if (manager.previous & kEntered) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation, "autocast entered inside itself");
    }
    uint32_t before = translator.mode(torchLibrary());
    auto object = [&](Made part) { return Ref<>::create(manager.arguments[part].object()); };
    uint32_t number = numberOf(
        {.outer = regionOf(before),
         .kind = RegionKind::Autocast,
         .settings = {object(kDevice), object(kEnabled), object(kDType), object(kCacheEnabled)}});
    std::vector<Argument> arguments;
    for (Made part : {kDevice, kGivenDType, kGivenEnabled, kGivenCache}) {
      arguments.push_back(Argument::constant(manager.arguments[part].object()));
    }
    Node* node = translator.changeMode(torchLibrary(), enterTarget(), std::move(arguments),
                                       withGradients(number << 1, hasGradients(before)));
    assignTrailed(translator.trail, manager.previous, before | kEntered);
    assignTrailed(translator.trail, manager.node, node);
    if (!manager.instance) return &manager;
    for (const auto& [name, value] : stateBefore(manager)) {
      Ref<> attribute = Ref<>::steal(staticName(name));
      if (!setAttribute(translator, manager.instance, attribute.get(), value)) return Value();
    }
    return manager.instance;
  }
  Value exit(Translator& translator, ContextManagerVariable& manager) const override {
    requireNoOperationMode(translator, "torch.amp._exit_autocast");
    if (!(manager.previous & kEntered)) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                       "autocast is left that was not entered");
    }
    if (manager.instance) requireOwnState(translator, manager);
    uint32_t inside = translator.mode(torchLibrary());
    if (regionOf(inside) != regionOf(*manager.node->newMode)) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                       "autocast is left amid what was entered or set in it");
    }
    bool gradients = hasGradients(inside);
    std::vector<Argument> arguments = {Argument(manager.node)};
    translator.changeMode(torchLibrary(), exitTarget(), std::move(arguments),
                          withGradients(manager.previous & ~kEntered, gradients));
    assignTrailed(translator.trail, manager.previous, uint32_t{0});
    assignTrailed(translator.trail, manager.node, static_cast<Node*>(nullptr));
    return Value::boolean(false);
  }
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable& manager) const override {
    const ValueVector& made = manager.arguments;
    std::vector<std::pair<const char*, Value>> result = {{"fast_dtype", made[kDType]},
                                                         {"device", made[kDevice]},
                                                         {"custom_backend_name", made[kBackend]},
                                                         {"_cache_enabled", made[kCacheEnabled]},
                                                         {"_enabled", made[kEnabled]}};
    if (manager.previous & kEntered) {
      for (const auto& each : stateBefore(manager)) result.push_back(each);
    }
    return result;
  }

 private:
  // What __enter__ puts into the instance, for __exit__.
  static std::vector<std::pair<const char*, Value>> stateBefore(
      const ContextManagerVariable& manager) {
    ModeScope scope;
    if (!enterAutocast(scope, manager.previous & ~kEntered, true)) throw PendingPythonException();
    PyObject* device = manager.arguments[kDevice].object();
    return {{"prev_cache_enabled", answerOf(askTorch("is_autocast_cache_enabled"))},
            {"prev", answerOf(askTorch("is_autocast_enabled", device))},
            {"prev_fastdtype", answerOf(askTorch("get_autocast_dtype", device))}};
  }

  // An instance that is entered inside of itself has forgotten the state before.
  static void requireOwnState(Translator& translator, const ContextManagerVariable& manager) {
    for (const auto& [name, value] : stateBefore(manager)) {
      Value now = getAttribute(translator, manager.instance, Ref<>::steal(staticName(name)).get());
      if (!now || !translator.realized(now).sameAs(value)) {
        throw GraphBreak(GraphBreakKind::UnsupportedOperation, "autocast entered inside itself");
      }
    }
  }
};

const AutocastModel& autocastModel() {
  static const AutocastModel model;
  return model;
}

// A program's methods would be called instead of torch's.
bool isUnchanged(Translator& translator, PyTypeObject* type) {
  static PyObject* const methods[] = {staticName("__init__"), staticName("__enter__"),
                                      staticName("__exit__")};
  return hasOwnMethods(translator, type, methods);
}

[[noreturn]] void refuse(const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch.amp.autocast", reason);
}

// The instance that the call makes where the trace stands. Null if it raises or warns.
Ref<> instance(Translator& translator, PyTypeObject* type, const CallArguments& arguments) {
  ModeScope scope;
  if (!scope.hearWarnings() || !enterAutocast(scope, translator.mode(torchLibrary()), true)) {
    return nullptr;
  }
  llvm::SmallVector<PyObject*, 4> objects;
  for (const Value& value : arguments.values) objects.push_back(value.object());
  Ref<> made =
      Ref<>::steal(PyObject_Vectorcall(reinterpret_cast<PyObject*>(type), objects.data(),
                                       arguments.positionalCount(), arguments.keywordNames));
  if (!made || scope.heardWarning()) return nullptr;
  return made;
}

// Why a manager of these parts, all real objects, is not modelled; null if it is.
const char* reasonAgainst(const ValueVector& parts) {
  PyObject* device = parts[kDevice].object();
  if (!PyUnicode_CheckExact(device) || !PyBool_Check(parts[kCacheEnabled].object()) ||
      !PyBool_Check(parts[kEnabled].object())) {
    return "its arguments are not of the usual types";
  }
  bool isKnown = llvm::find(kDevices, stringView(device)) != kDevices.end();
  return isKnown ? nullptr : "the device is not known";
}

Value makeAutocast(Translator& translator, const Value& callable, CallArguments& arguments) {
  requireNoOperationMode(translator, "torch.amp.autocast");
  auto* type = reinterpret_cast<PyTypeObject*>(callable.tracker()->existing());
  for (Value& value : arguments.values) translator.realize(value);
  if (!allData(arguments)) refuse("its arguments are not constants");
  if (!isUnchanged(translator, type)) refuse("a method of it was replaced");
  translator.observeState(autocastSettings());
  Ref<> made = instance(translator, type, arguments);
  if (!made) {
    clearException();
    refuse("it warns or raises");
  }
  auto part = [&](const char* name) {
    return Value::steal(checked(PyObject_GetAttrString(made.get(), name)).release());
  };
  auto given = [&](size_t index, const char* keyword, Value standard) {
    if (index < arguments.positionalCount()) return arguments.values[index];
    const Value* value = arguments.keyword(keyword);
    return value ? *value : standard;
  };
  ValueVector parts = {part("device"),
                       part("fast_dtype"),
                       part("custom_backend_name"),
                       part("_cache_enabled"),
                       part("_enabled"),
                       given(1, "dtype", Value::none()),
                       given(2, "enabled", Value::boolean(true)),
                       given(3, "cache_enabled", Value::none())};
  if (const char* reason = reasonAgainst(parts)) refuse(reason);
  return translator.make<ContextManagerVariable>(type, callable, autocastModel(), 0,
                                                 std::move(parts));
}

// An instance that was made before the trace: a decorator has it, or a global.
Value adoptAutocast(Translator& translator, const Value& instance) {
  PyTypeObject* type = instance.tracker()->type();
  if (!isUnchanged(translator, type)) return Value();
  ValueVector parts;
  for (const char* name :
       {"device", "fast_dtype", "custom_backend_name", "_cache_enabled", "_enabled"}) {
    Value part = getAttribute(translator, instance, Ref<>::steal(staticName(name)).get());
    if (!part) {
      translator.dropException();
      return Value();
    }
    part = translator.realized(part);
    if (!part.objectOrNull()) return Value();
    parts.push_back(std::move(part));
  }
  if (reasonAgainst(parts)) return Value();
  translator.observeState(autocastSettings());
  for (Made part : {kDType, kEnabled, kCacheEnabled}) parts.push_back(parts[part]);
  auto* manager = translator.make<ContextManagerVariable>(type, translator.knownClass(type),
                                                          autocastModel(), 0, std::move(parts));
  manager->instance = instance;
  return manager;
}

// --- The state of the thread: inference mode, gradients, cache, nesting, and what each device
// does.

constexpr size_t kStateCount = 4 + 2 * kDevices.size();

Ref<> nesting() {
  Ref<> inside = askTorch("autocast_increment_nesting");
  Ref<> outside = askTorch("autocast_decrement_nesting");
  return inside ? std::move(outside) : nullptr;
}

PyObject* getState(PyObject*, PyObject*) {
  Ref<> state = Ref<>::steal(PyList_New(0));
  auto add = [&](Ref<> value) { return value && PyList_Append(state.get(), value.get()) == 0; };
  Ref<> entered = Ref<>::steal(PyLong_FromSsize_t(enteredInferenceModes()));
  bool read = state && entered && add(std::move(entered)) && add(askTorch("is_grad_enabled")) &&
              add(askTorch("is_autocast_cache_enabled")) && add(nesting());
  for (const char* name : kDevices) {
    Ref<> device = Ref<>::steal(PyUnicode_FromString(name));
    read = read && device && add(askTorch("is_autocast_enabled", device.get())) &&
           add(askTorch("get_autocast_dtype", device.get()));
  }
  return read ? state.release() : nullptr;
}

PyObject* setState(PyObject*, PyObject* state) {
  if (!PyList_CheckExact(state) || PyList_GET_SIZE(state) != kStateCount) {
    PyErr_SetString(PyExc_TypeError, "the state that was read is wanted");
    return nullptr;
  }
  auto item = [&](size_t i) { return PyList_GET_ITEM(state, i); };
  // That changes gradients.
  if (!leaveInferenceModes(PyLong_AsSsize_t(item(0)))) return nullptr;
  Ref<> now = nesting();
  bool isSet = now && askTorch("_set_grad_enabled", item(1)) &&
               askTorch("set_autocast_cache_enabled", item(2));
  long wanted = PyLong_AsLong(item(3));
  long level = now ? PyLong_AsLong(now.get()) : wanted;
  for (; isSet && level > wanted; --level) isSet = bool(askTorch("autocast_decrement_nesting"));
  if (isSet && wanted == 0) isSet = bool(askTorch("clear_autocast_cache"));
  for (size_t i = 0; isSet && i < kDevices.size(); ++i) {
    Ref<> device = Ref<>::steal(PyUnicode_FromString(kDevices[i]));
    isSet = device && askTorch("set_autocast_enabled", device.get(), item(4 + 2 * i)) &&
            askTorch("set_autocast_dtype", device.get(), item(5 + 2 * i));
  }
  if (!isSet) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

uint64_t autocastSettings() {
  using enum TorchSetting;
  return settingBit(autocast_cpu) | settingBit(autocast_cuda) | settingBit(autocast_devices) |
         settingBit(autocast_cpu_dtype) | settingBit(autocast_cuda_dtype) |
         settingBit(autocast_cache) | settingBit(autocast_device_dtypes);
}

bool enterAutocast(ModeScope& scope, uint32_t mode, bool keepsCache) {
  for (uint32_t number : regionsOf(mode)) {
    const Region& region = regionAt(number);
    if (region.kind != RegionKind::Autocast) continue;
    const auto& settings = region.settings;
    PyObject* cache = keepsCache ? settings[kRegionCache].get() : Py_False;
    if (!scope.setAutocast(settings[kRegionDevice], settings[kRegionEnabled],
                           settings[kRegionDType], cache)) {
      return false;
    }
  }
  return true;
}

void leaveAutocast(Graph& graph) {
  llvm::SmallVector<Node*, 4> entered;
  for (const auto& node : graph.nodes()) {
    if (node->operation != NodeOperation::CallFunction) continue;
    if (node->target.get() == enterTarget()) entered.push_back(node.get());
    if (node->target.get() == exitTarget()) entered.pop_back();
  }
  for (Node* enter : llvm::reverse(entered)) {
    Node* exit = graph.addCall(NodeOperation::CallFunction, exitTarget(), {Argument(enter)}, {},
                               enter->location);
    exit->library = enter->library;
    exit->mode = *enter->newMode;
    exit->newMode = enter->mode;
  }
}

std::optional<Library::ModeCall> callIntoAutocast(const Region& region) {
  if (region.kind != RegionKind::Autocast) return std::nullopt;
  auto setting = [&](Setting each) { return region.settings[each].get(); };
  Ref<> arguments = checked(PyTuple_Pack(4, setting(kRegionDevice), setting(kRegionDType),
                                         setting(kRegionEnabled), setting(kRegionCache)));
  return Library::ModeCall{Ref<>::create(enterTarget()), std::move(arguments), nullptr};
}

Library::ModeState autocastState() {
  static const Library::ModeState state = makeModeState(getState, setState, kAutocastExtent);
  return state;
}

void registerAutocast() {
  BorrowedRef<> found = cpython::importedAttribute("torch.amp.autocast_mode", "autocast");
  if (!found || !PyType_Check(found.get())) return;
  registerModeTarget(Ref<>::create(enterTarget()), autocastState());
  registerObjectHandler(found.get(), makeAutocast);
  registerManagerAdopter(reinterpret_cast<PyTypeObject*>(found.get()), adoptAutocast);
}

}  // namespace armature

#include "libraries/torch/settings.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "graph/eager_code.h"
#include "libraries/package_modules.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/regions.h"
#include "variables/operation_modes.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

// A function of torch._C that sets something, and those that say what it is.
struct Setting {
  std::string_view setter;
  const char* getter;
  uint64_t states;
  // It decides what operations are, not how they run: a backend that compiles hears of it then.
  bool isForBackends = false;
  // Of an argument that is given by name.
  const char* keyword = nullptr;
  const char* keywordGetter = nullptr;
};

using enum TorchSetting;

constexpr std::array kSettings = {
    Setting{"_set_default_dtype", "get_default_dtype", settingBit(default_dtype)},
    Setting{"_set_deterministic_algorithms", "_get_deterministic_algorithms",
            settingBit(deterministic_algorithms) | settingBit(deterministic_warn_only), false,
            "warn_only", "_get_deterministic_algorithms_warn_only"},
    Setting{"_set_math_sdp_allow_fp16_bf16_reduction", "_get_math_sdp_allow_fp16_bf16_reduction",
            settingBit(math_sdp_reduction)},
    Setting{"_set_sdp_use_cudnn", "_get_cudnn_sdp_enabled", settingBit(cudnn_sdp), true},
    Setting{"_set_sdp_use_flash", "_get_flash_sdp_enabled", settingBit(flash_sdp), true},
    Setting{"_set_sdp_use_math", "_get_math_sdp_enabled", settingBit(math_sdp), true},
    Setting{"_set_sdp_use_mem_efficient", "_get_mem_efficient_sdp_enabled",
            settingBit(mem_efficient_sdp), true},
    Setting{"_set_sdp_use_overrideable", "_get_overrideable_sdp_enabled",
            settingBit(overrideable_sdp), true},
};

constexpr std::string_view kModule = "torch._C.";

const Setting* findSetting(std::string_view name) {
  auto* found = llvm::find_if(kSettings, [&](const Setting& each) { return each.setter == name; });
  return found == kSettings.end() ? nullptr : found;
}

Ref<> binding(std::string_view name) {
  static PyObject* const module = checked(cpython::importModule("torch._C")).release();
  return Ref<>::steal(PyObject_GetAttrString(module, std::string(name).c_str()));
}

// A setting's own value, and that of its keyword, if it has one. There is one object for each.
using Values = std::vector<Ref<>>;

bool areSame(const Values& one, const Values& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Ref<>& a, const Ref<>& b) { return a.get() == b.get(); });
}

// Empty with an exception set where this torch cannot be asked.
Values valuesNow(const Setting& setting) {
  Values values;
  for (const char* getter : {setting.getter, setting.keywordGetter}) {
    if (!getter) continue;
    Ref<> function = binding(getter);
    Ref<> value = Ref<>::steal(function ? PyObject_CallNoArgs(function.get()) : nullptr);
    if (!value) return {};
    values.push_back(std::move(value));
  }
  return values;
}

Ref<> positional(const Values& values) {
  return Ref<>::steal(values.empty() ? nullptr : PyTuple_Pack(1, values[0].get()));
}

// Null where there are none.
Ref<> keywords(const Setting& setting, const Values& values) {
  if (!setting.keyword) return nullptr;
  return checked(Py_BuildValue("{s:O}", setting.keyword, values[1].get()));
}

// Its function or arguments are null, with an exception set, where this torch has no such setting.
Library::ModeCall callOf(const Setting& setting, const Values& values) {
  return {binding(setting.setter), positional(values), keywords(setting, values)};
}

bool set(const Setting& setting, const Values& values) {
  Library::ModeCall call = callOf(setting, values);
  if (!call.function || !call.arguments) return false;
  return bool(
      Ref<>::steal(PyObject_Call(call.function.get(), call.arguments.get(), call.keywords.get())));
}

bool enter(ModeScope& scope, const Setting& setting, const Values& values) {
  Values before = valuesNow(setting);
  Ref<> function = binding(setting.setter);
  if (before.empty() || !function) return false;
  scope.putBackBy(std::move(function), positional(before), keywords(setting, before));
  return set(setting, values);
}

// --- Of a region: the function that sets, by its name, and the values.

bool isSetting(const Region& region) { return region.kind == RegionKind::Setting; }

const Setting& settingOf(const Region& region) {
  return *findSetting(stringView(region.settings[0]));
}

Values valuesOf(const Region& region) {
  return {region.settings.begin() + 1, region.settings.end()};
}

// What is set in the regions up to that number; as the thread says now, outside of them.
Values valuesIn(uint32_t number, const Setting& setting) {
  for (; number; number = regionAt(number).outer) {
    const Region& region = regionAt(number);
    if (isSetting(region) && &settingOf(region) == &setting) return valuesOf(region);
  }
  return valuesNow(setting);
}

// The innermost regions of settings hold each setting once, in the order of the table, and only
// what differs from what is set around them: so that what is set back leaves no region behind.
uint32_t withSetting(uint32_t number, const Setting& setting, Values values) {
  std::vector<std::pair<const Setting*, Values>> held;
  uint32_t around = number;
  for (; around && isSetting(regionAt(around)); around = regionAt(around).outer) {
    const Setting* each = &settingOf(regionAt(around));
    if (each != &setting) held.emplace_back(each, valuesOf(regionAt(around)));
  }
  if (!areSame(valuesIn(around, setting), values)) held.emplace_back(&setting, std::move(values));
  llvm::sort(held, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [each, its] : held) {
    Region region{.outer = around, .kind = RegionKind::Setting};
    std::string name(each->setter);
    region.settings.push_back(checked(PyUnicode_InternFromString(name.c_str())));
    llvm::append_range(region.settings, its);
    around = numberOf(std::move(region));
  }
  return around;
}

// --- Calls.

[[noreturn]] void refuse(const Value& callable, const char* reason) {
  throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable), reason);
}

// A bool or dtype that a setting is given.
Ref<> settingValue(Translator& translator, const Value& callable, const Value& argument) {
  PyObject* object = translator.realized(argument).objectOrNull();
  bool isKnown = object && (PyBool_Check(object) || dtypeNumber(object) >= 0);
  if (!isKnown) refuse(callable, "it sets state to what is no constant");
  return Ref<>::create(object);
}

Value callSetter(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyObject* target = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  const Setting* setting = findSetting(callableNames().of(target).name);
  const Value* keyword = setting->keyword ? arguments.keyword(setting->keyword) : nullptr;
  if (arguments.positionalCount() != 1 || arguments.keywordCount() != (keyword ? 1 : 0)) {
    refuse(callable, "its arguments are not the usual ones");
  }
  if (translator.usesForeignBackend() && !setting->isForBackends) {
    refuse(callable, "backends forget that it is set");
  }
  Values values = {settingValue(translator, callable, arguments.values[0])};
  if (setting->keyword) {
    values.push_back(keyword ? settingValue(translator, callable, *keyword)
                             : Ref<>::create(Py_False));
  }
  requireNoOperationMode(translator, callableNames().of(target).qualified().c_str());
  const Library& library = *findLibrary(ArrayLibraryKind::Torch);
  uint32_t before = translator.mode(library);
  if (hasTransform(before)) refuse(callable, "it stands inside of a transform");
  translator.observeState(setting->states);
  Values now = valuesIn(regionOf(before), *setting);
  if (now.empty()) throw PendingPythonException();
  if (areSame(now, values)) return Value::none();
  {
    ModeScope scope;
    if (!enterSettings(scope, before) || !enter(scope, *setting, values)) {
      clearUnlessInterrupted();
      refuse(callable, "it raises");
    }
    // There may be other ways to say the same.
    if (!areSame(valuesNow(*setting), values)) {
      clearUnlessInterrupted();
      refuse(callable, "it sets something else");
    }
  }
  uint32_t region = withSetting(regionOf(before), *setting, values);
  registerModeTarget(Ref<>::create(target), transformState());
  Node* node = translator.changeMode(library, target, {Argument::constant(values[0])},
                                     withGradients(region << 1, hasGradients(before)));
  if (keyword) {
    node->keywordArguments.emplace_back(checked(PyUnicode_InternFromString(setting->keyword)),
                                        Argument::constant(values[1]));
  }
  return Value::none();
}

}  // namespace

LibraryCallHandler findSettingHandler(std::string_view qualifiedName) {
  bool isFound =
      qualifiedName.starts_with(kModule) && findSetting(qualifiedName.substr(kModule.size()));
  return isFound ? callSetter : nullptr;
}

bool changesSetting(const Node& node) {
  return node.operation == NodeOperation::CallFunction && PyCFunction_Check(node.target.get()) &&
         findSettingHandler(callableNames().of(node.target).qualified());
}

uint64_t settingsOfMode(uint32_t mode) {
  uint64_t states = 0;
  for (uint32_t number : regionsOf(mode)) {
    if (isSetting(regionAt(number))) states |= settingOf(regionAt(number)).states;
  }
  return states;
}

bool enterSettings(ModeScope& scope, uint32_t mode) {
  for (uint32_t number : regionsOf(mode)) {
    const Region& region = regionAt(number);
    if (isSetting(region) && !enter(scope, settingOf(region), valuesOf(region))) return false;
  }
  return true;
}

std::optional<Library::ModeCall> callIntoSetting(const Region& region) {
  if (!isSetting(region)) return std::nullopt;
  Library::ModeCall call = callOf(settingOf(region), valuesOf(region));
  if (!call.function || !call.arguments) throw PendingPythonException();
  return call;
}

Ref<> currentSettings() {
  Ref<> all = Ref<>::steal(PyTuple_New(kSettings.size()));
  for (size_t i = 0; all && i < kSettings.size(); ++i) {
    Values values = valuesNow(kSettings[i]);
    if (values.empty()) clearException();  // This torch has no such setting.
    Ref<> row = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
    if (!row) return nullptr;
    for (size_t k = 0; k < values.size(); ++k) {
      PyTuple_SET_ITEM(row.get(), static_cast<Py_ssize_t>(k), values[k].release());
    }
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), row.release());
  }
  return all;
}

bool setSettings(BorrowedRef<> settings) {
  bool areSettings = PyTuple_Check(settings.get()) &&
                     PyTuple_GET_SIZE(settings.get()) == static_cast<Py_ssize_t>(kSettings.size());
  for (size_t i = 0; areSettings && i < kSettings.size(); ++i) {
    areSettings = PyTuple_Check(PyTuple_GET_ITEM(settings.get(), static_cast<Py_ssize_t>(i)));
  }
  if (!areSettings) {
    PyErr_SetString(PyExc_TypeError, "the settings that were read are wanted");
    return false;
  }
  for (size_t i = 0; i < kSettings.size(); ++i) {
    PyObject* row = PyTuple_GET_ITEM(settings.get(), static_cast<Py_ssize_t>(i));
    Values wanted;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(row); ++k) {
      wanted.push_back(Ref<>::create(PyTuple_GET_ITEM(row, k)));
    }
    if (wanted.empty()) continue;
    Values now = valuesNow(kSettings[i]);
    if (now.empty() || (!areSame(now, wanted) && !set(kSettings[i], wanted))) return false;
  }
  return true;
}

}  // namespace armature

#include "libraries/torch/profiler_ranges.h"

#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/torch_module.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/context_manager.h"
#include "variables/operation_modes.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// Its `previous` says how often it is entered.
class ProfilerRangeModel : public ContextManagerModel {
 public:
  Value enter(Translator& translator, ContextManagerVariable& manager) const override {
    assignTrailed(translator.trail, manager.previous, manager.previous + 1);
    return &manager;
  }
  Value exit(Translator& translator, ContextManagerVariable& manager) const override {
    if (manager.previous == 0) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                       "record_function is left that was not entered");
    }
    assignTrailed(translator.trail, manager.previous, manager.previous - 1);
    return Value::none();
  }
  // One that is entered has not told the profiler that it began, and must not tell it that it ends.
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable& manager) const override {
    return {{"name", manager.arguments[0]},
            {"args", manager.arguments[1]},
            {"run_callbacks_on_exit", Value::boolean(!manager.previous)},
            {"record", Value::none()},
            {"_cupti_monitor_external_id", Value::none()}};
  }
};

Value makeRange(Translator& translator, const Value& callable, CallArguments& arguments) {
  static const ProfilerRangeModel model;
  requireNoOperationMode(translator, "torch.profiler.record_function");
  if (!checkArgumentCount(translator, "record_function", arguments, 1, 2)) return Value();
  auto argument = [&](size_t index, const char* keyword) {
    if (index < arguments.positionalCount()) return arguments.values[index];
    const Value* value = arguments.keyword(keyword);
    return value ? *value : Value::none();
  };
  // Ranges of torch's own (an optimizer's step) the program has not asked for.
  DictVariable* globals = translator.runningGlobals();
  bool isTorchs = globals && !TorchModule::modules().moduleOf(globals->existing()).empty();
  if (!isTorchs) {
    translator.warnings.insert(
        "torch.profiler.record_function is called by a function that armature captures. It is "
        "ignored: the profiler does not show the range.");
  }
  auto* type = reinterpret_cast<PyTypeObject*>(callable.tracker()->existing());
  return translator.make<ContextManagerVariable>(
      type, callable, model, 0, ValueVector{argument(0, "name"), argument(1, "args")});
}

// A profile is left out, as in TorchDynamo's traces: what it would show is not what the program
// runs as plain Python.
class ProfileModel : public ContextManagerModel {
 public:
  Value enter(Translator&, ContextManagerVariable& manager) const override { return &manager; }
  Value exit(Translator&, ContextManagerVariable&) const override { return Value::none(); }
  std::vector<std::pair<const char*, Value>> attributes(
      const ContextManagerVariable&) const override {
    return {};
  }
  bool isLeftOut() const override { return true; }
};

Value makeProfile(Translator& translator, const Value& callable, CallArguments&) {
  static const ProfileModel model;
  translator.warnings.insert(
      "A profiler is entered by a function that armature captures. It is ignored, unless the "
      "function uses what it shows: enter it around the call instead.");
  auto* type = reinterpret_cast<PyTypeObject*>(callable.tracker()->existing());
  return translator.make<ContextManagerVariable>(type, callable, model, 0);
}

}  // namespace

void registerProfilerRanges() {
  for (const char* module : {"torch.profiler.profiler", "torch.autograd.profiler"}) {
    BorrowedRef<> profile = cpython::importedAttribute(module, "profile");
    if (profile && PyType_Check(profile.get())) registerObjectHandler(profile.get(), makeProfile);
  }
  BorrowedRef<> found = cpython::importedAttribute("torch.autograd.profiler", "record_function");
  if (found && PyType_Check(found.get())) registerObjectHandler(found.get(), makeRange);
}

}  // namespace armature

#include "variables/functions/logging_functions.h"

#include <llvm/ADT/STLExtras.h>

#include "bytecode/private_function.h"
#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/library_calls.h"
#include "variables/objects/call_result.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

PyObject* realOf(const Value& value) {
  return value.isTracker() ? value.tracker()->existing() : value.objectOrNull();
}

// call(_, (function, names of keywords or None, *arguments))
PyObject* callKept(PyObject*, PyObject* const* given, Py_ssize_t) {
  PyObject* const* parts = &PyTuple_GET_ITEM(given[1], 0);
  PyObject* names = Py_IsNone(parts[1]) ? nullptr : parts[1];
  auto count = static_cast<size_t>(PyTuple_GET_SIZE(given[1]) - 2);
  if (names) count -= static_cast<size_t>(PyTuple_GET_SIZE(names));
  Ref<> result = Ref<>::steal(PyObject_Vectorcall(parts[0], parts + 2, count, names));
  if (!result) return nullptr;
  Py_RETURN_NONE;
}

// Does the value tell the same when the graph has run and the effects before it are replayed? What
// the trace has made is built once, as it is in the end. Arrays that the graph changes later on
// tell what they are then.
bool canWait(Translator& translator, const Value& value) {
  if (!value.isTracker() || value.tracker()->existing()) return true;
  if (llvm::isa<TensorVariable>(value.tracker())) return true;
  auto* tuple = trackerOf<TupleVariable>(value);
  if (!tuple || tuple->type() != &PyTuple_Type) return isConstantData(value);
  return llvm::all_of(tuple->items(), [&](const Value& item) { return canWait(translator, item); });
}

void keepCall(Translator& translator, const Value& callable, const CallArguments& arguments) {
  for (const Value& argument : arguments.values) {
    if (canWait(translator, argument)) continue;
    throw GraphBreak(GraphBreakKind::LoggingCall, describe(callable),
                     "Its argument " + describe(argument) + " may change until the graph has run.");
  }
  // A body of an operation may run as often as the operation likes.
  translator.effects.changes(translator.moduleDict(translator.rootGlobals()));
  ValueVector parts;
  parts.push_back(callable);
  parts.push_back(arguments.keywordNames ? Value::constant(arguments.keywordNames) : Value::none());
  parts.append(arguments.values.begin(), arguments.values.end());
  Value marker = translator.make<CallResultVariable>(&PyBaseObject_Type, ValueVector());
  PyObject* call = privateFunction<callKept>("call_kept");
  translator.effects.append({EffectKind::Call, marker.tracker(), Value::constant(call),
                             Value(translator.make<TupleVariable>(std::move(parts)))});
}

// Where nobody has said what becomes of the calls. One break each, and not one for all that these
// functions do.
template <const char* const& name>
Value breakForCall(Translator&, const Value&, CallArguments&) {
  throw GraphBreak(GraphBreakKind::LoggingCall, name);
}

constexpr const char* kWarn = "warnings.warn()";
constexpr const char* kWarnExplicit = "warnings.warn_explicit()";
constexpr const char* kLog = "logging.Logger._log()";

void registerLogging() {
  registerFunctionHandler("_warnings", "warn", breakForCall<kWarn>);
  registerFunctionHandler("_warnings", "warn_explicit", breakForCall<kWarnExplicit>);
  Ref<> module = checked(cpython::importModule("logging"));
  Ref<> logger = checked(PyObject_GetAttrString(module.get(), "Logger"));
  registerObjectHandler(checked(PyObject_GetAttrString(logger.get(), "_log")).release(),
                        breakForCall<kLog>);
}
ARMATURE_REGISTER_HANDLERS(registerLogging);

}  // namespace

void LoggingFunctions::set(const std::vector<Ref<>>& ignored, const std::vector<Ref<>>& kept) {
  known_.clear();
  auto add = [&](const Ref<>& function, LoggingCall call) {
    PyObject* object = function.get();
    bool isBound = PyMethod_Check(object);
    known_.push_back({Ref<>::create(isBound ? PyMethod_GET_FUNCTION(object) : object),
                      Ref<>::create(isBound ? PyMethod_GET_SELF(object) : nullptr), call});
  };
  for (const Ref<>& function : ignored) add(function, LoggingCall::Ignored);
  for (const Ref<>& function : kept) add(function, LoggingCall::Kept);
}

bool LoggingFunctions::knows(PyObject* function) const {
  return llvm::any_of(known_, [&](const Known& each) { return each.function.get() == function; });
}

LoggingCall LoggingFunctions::callOf(PyObject* function, const CallArguments& arguments) const {
  PyObject* first = arguments.positionalCount() ? realOf(arguments.values[0]) : nullptr;
  for (const Known& known : known_) {
    if (known.function.get() != function) continue;
    if (!known.self || known.self.get() == first) return known.call;
  }
  return LoggingCall::AsOfAny;
}

std::optional<Value> callLogging(Translator& translator, const Value& callable,
                                 const CallArguments& arguments) {
  PyObject* real = realOf(callable);
  if (!real || !translator.loggingFunctions->knows(real)) return std::nullopt;
  // Also that it is none of them, is known by what the objects are.
  guardObject(translator, callable);
  if (arguments.positionalCount()) guardObject(translator, arguments.values[0]);
  LoggingCall call = translator.loggingFunctions->callOf(real, arguments);
  if (call == LoggingCall::AsOfAny) return std::nullopt;
  if (call == LoggingCall::Kept) keepCall(translator, callable, arguments);
  return Value::none();
}

}  // namespace armature

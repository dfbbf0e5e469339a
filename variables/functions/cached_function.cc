// Calls of what functools.lru_cache has made: the trace goes through the function and leaves the
// cache alone. What tells a repeated call from a remembered one, Python does:
// changes of what the function did not make, and results that can be changed.
#include "core/checked.h"
#include "core/text.h"
#include "cpython/function_layout.h"
#include "cpython/lru_cache.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"

namespace armature {

namespace {

[[noreturn]] void refuse(const Value& wrapper, const char* reason) {
  throw GraphBreak(GraphBreakKind::CachedFunction, describe(wrapper) + ": " + reason);
}

// Its key is made of the arguments: one that cannot be hashed is a TypeError of Python's.
void requireHashable(Translator& translator, const Value& wrapper, Value argument) {
  RecursionGuard guard(translator);
  translator.realize(argument);
  if (auto* tuple = trackerOf<TupleVariable>(argument)) {
    for (const Value& item : tuple->items()) requireHashable(translator, wrapper, item);
  } else if (argument.isTracker() && !slotsOf(argument).tp_hash) {
    refuse(wrapper, "an argument cannot be hashed");
  }
}

bool canBeChanged(Translator& translator, const Value& result) {
  RecursionGuard guard(translator);
  if (!result.isTracker() || result.tracker()->existing()) return false;
  if (trackerOf<MutableSequenceVariable>(result) || trackerOf<DictVariable>(result) ||
      trackerOf<UserObjectVariable>(result)) {
    return true;
  }
  if (auto* set = trackerOf<SetVariable>(result)) return set->type() == &PySet_Type;
  auto* sequence = trackerOf<SequenceVariable>(result);
  if (!sequence) return false;
  for (const Value& item : sequence->items()) {
    if (canBeChanged(translator, item)) return true;
  }
  return false;
}

// Nothing is said of the libraries' own functions.
void warn(Translator& translator, PyObject* function) {
  for (const Library* library : registeredLibraries()) {
    if (library->classify(function).kind != CallKind::NotOurs) return;
  }
  PyCodeObject* code = cpython::codeOf(function);
  translator.warnings.insert(
      printable(cpython::read(function, cpython::FunctionField::QualifiedName)) + " (" +
      printable(code->co_filename) + ":" + std::to_string(code->co_firstlineno) +
      ") is called by a function that armature captures. Its functools.lru_cache is ignored: the "
      "captured code does what the function does, in each call anew.");
}

// compile() of a cached function keeps its cache: what stands for it asks the function with it.
bool isCallOfStandIn(Translator& translator) {
  static PyObject* const name = staticName("__name__");
  Value module = translator.realized(translator.runningGlobals()->get(translator, name));
  PyObject* text = module.objectOrNull();
  return text && PyUnicode_Check(text) &&
         PyUnicode_CompareWithASCIIString(text, "armature._caller") == 0;
}

Value callCached(Translator& translator, const Value& self, CallArguments& arguments) {
  VariableTracker* wrapper = self.isTracker() ? self.tracker() : nullptr;
  PyObject* existing = wrapper ? wrapper->existing() : nullptr;
  PyObject* real = existing ? cpython::cachedFunction(existing) : nullptr;
  if (!real || !PyFunction_Check(real)) refuse(self, "it calls no function of Python's");
  if (isCallOfStandIn(translator)) refuse(self, "the cached function itself was compiled");
  if (wrapper->source()) translator.addGuard(wrapper->source(), GuardType::ID_MATCH, existing);
  for (const Value& argument : arguments.values) requireHashable(translator, self, argument);
  Value function = translator.wrapOnce(translator.sources->constant(real), real);
  Value result;
  {
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    arguments.tail = false;
    result = call(translator, function, arguments);
  }
  if (result && canBeChanged(translator, result)) refuse(self, "what it returns can be changed");
  warn(translator, real);
  return result;
}

void registerCachedFunctions() {
  PyTypeObject* type = cpython::lruCacheType();
  if (!type) return;
  registerMethodHandler(type, "__call__", callCached);
  registerInstanceHandler(type, callCached);
}
ARMATURE_REGISTER_HANDLERS(registerCachedFunctions);

}  // namespace

}  // namespace armature

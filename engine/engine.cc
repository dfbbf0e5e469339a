#include "armature/engine.h"

#include "cpython/self_test.h"
#include "engine/errors.h"
#include "engine/outcomes.h"
#include "runtime/compiled_function.h"
#include "runtime/own_functions.h"

namespace armature::api {

namespace {

// The types and functions that compiled functions need, once in a process. They live in a module
// that nobody sees, and for ever.
bool prepare() {
  static bool prepared = false;
  if (prepared) return true;
  prepareForOutOfMemory();
  if (cpython::verifyInterpreter() < 0) return false;
  PyObject* module = PyModule_New("armature.engine");
  prepared = module && addCompiledFunctionTypes(module) == 0 && addOwnFunctions(module) == 0;
  return prepared;
}

std::vector<PyObject*> positional(PyObject* arguments) {
  std::vector<PyObject*> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i)
    values.push_back(PyTuple_GET_ITEM(arguments, i));
  return values;
}

// As a vectorcall wants them: the values behind the positional ones, the names in a tuple.
Ref<> addKeywords(PyObject* keywords, std::vector<PyObject*>& values) {
  if (!keywords) return nullptr;
  Ref<> names = Ref<>::steal(PyTuple_New(PyDict_GET_SIZE(keywords)));
  if (!names) throw PendingPythonException();
  PyObject *name, *value;
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; PyDict_Next(keywords, &position, &name, &value); ++i) {
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(name));
    values.push_back(value);
  }
  return names;
}

bool areArguments(PyObject* arguments, PyObject* keywords) {
  if (!arguments || !PyTuple_Check(arguments) || (keywords && !PyDict_Check(keywords))) {
    PyErr_SetString(PyExc_TypeError, "a call is captured with a tuple and a dict of arguments");
    return false;
  }
  return true;
}

}  // namespace

Result<Engine> Engine::create(Options options) {
  return attempt<Engine>([&]() -> Result<Engine> {
    if (!prepare()) return takeError();
    Engine engine;
    engine.state_ = std::make_shared<EngineState>();
    engine.state_->compileWhileTracing = options.compileWhileTracing;
    engine.options_ = std::make_shared<const Options>(std::move(options));
    return engine;
  });
}

Result<Object> Engine::compile(PyObject* function) const {
  return attempt<Object>([&]() -> Result<Object> {
    auto settings = std::make_shared<Settings>();
    settings->engine = state_;
    PyObject* backend = options_->backend.get();
    if (backend && backend != Py_None) settings->backend = Ref<>::create(backend);
    settings->fullGraph = options_->fullGraph;
    settings->recompileLimit = options_->recompileLimit;
    Ref<> compiled = makeCompiledFunction(function, std::move(settings));
    if (!compiled) return takeError();
    return Object::steal(compiled.release());
  });
}

Result<Outcome> Engine::capture(PyObject* compiled, PyObject* arguments, PyObject* keywords) const {
  return attempt<Outcome>([&]() -> Result<Outcome> {
    if (!areArguments(arguments, keywords)) return takeError();
    std::vector<PyObject*> values = positional(arguments);
    size_t positionalCount = values.size();
    Ref<> names = addKeywords(keywords, values);
    Outcome outcome;
    int found = translateCall(compiled, values.data(), positionalCount, names.get(),
                              [&](const CacheEntry& entry) { outcome = outcomeOf(entry); });
    if (found < 0) return takeError();
    return outcome;
  });
}

Result<std::vector<Outcome>> Engine::translations(PyObject* compiled) const {
  return attempt<std::vector<Outcome>>([&]() -> Result<std::vector<Outcome>> {
    std::optional<CodeCache::Caches> family = familyOf(compiled);
    if (!family) return takeError();
    std::vector<Outcome> outcomes;
    for (const std::shared_ptr<CodeCache>& member : *family)
      member->visitEntries([&](const CacheEntry& entry) { outcomes.push_back(outcomeOf(entry)); });
    return outcomes;
  });
}

void Engine::onTranslation(std::function<void(const Outcome&)> listener) const {
  if (!listener) {
    state_->hooks.translated = nullptr;
    return;
  }
  state_->hooks.translated = [listener = std::move(listener)](const CacheEntry& entry) {
    listener(outcomeOf(entry));
  };
}

Result<bool> Engine::reset(PyObject* compiled) const {
  return attempt<bool>([&]() -> Result<bool> {
    std::optional<CodeCache::Caches> family = familyOf(compiled);
    if (!family) return takeError();
    CodeCache::clear(std::move(*family));
    return true;
  });
}

}  // namespace armature::api

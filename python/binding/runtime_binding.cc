#include "python/binding/runtime_binding.h"

#include <cstring>
#include <optional>
#include <utility>

#include "core/fault_injection.h"
#include "core/graph_break.h"
#include "cpython/c_functions.h"
#include "runtime/compiled_function.h"
#include "runtime/dict_builder.h"
#include "runtime/failure.h"
#include "runtime/own_functions.h"
#include "runtime/settings.h"
#include "runtime/translation_family.h"
#include "variables/functions/stand_ins.h"

namespace armature {

namespace {

PyObject* graphBreakKinds(PyObject*, PyObject*) {
  Ref<> result = Ref<>::steal(PyList_New(0));
  if (!result) return nullptr;
  for (const GraphBreakEntry& entry : graphBreakRegistry()) {
    Ref<> hints = Ref<>::steal(*entry.hint ? Py_BuildValue("[s]", entry.hint) : PyList_New(0));
    if (!hints) return nullptr;
    Ref<> row = Ref<>::steal(
        Py_BuildValue("(sssO)", entry.identifier, entry.gbType, entry.explanation, hints.get()));
    if (!row || PyList_Append(result.get(), row.get()) < 0) return nullptr;
  }
  return result.release();
}

// A list to which `append` adds what there is to say of each cache of the compiled function; false
// with the exception set.
template <class Append>
PyObject* listOverFamily(PyObject* function, Append append) {
  return forPython([&]() -> PyObject* {
    std::optional<CodeCache::Caches> family = familyOf(function);
    if (!family) return nullptr;
    Ref<> result = Ref<>::steal(PyList_New(0));
    if (!result) return nullptr;
    for (const std::shared_ptr<CodeCache>& cache : *family) {
      if (!append(*cache, result)) return nullptr;
    }
    return result.release();
  });
}

PyObject* entries(PyObject*, PyObject* function) {
  return listOverFamily(
      function, [](CodeCache& cache, const Ref<>& list) { return cache.describeEntries(list); });
}

PyObject* graphModules(PyObject*, PyObject* function) {
  return listOverFamily(function, [](CodeCache& cache, const Ref<>& list) {
    for (const std::shared_ptr<const Graph>& graph : cache.graphs()) {
      Ref<> module = toTorchGraphModule(*graph);
      if (!module || PyList_Append(list.get(), module.get()) < 0) return false;
    }
    return true;
  });
}

PyObject* internalErrors(PyObject*, PyObject* function) {
  return listOverFamily(function, [](CodeCache& cache, const Ref<>& list) {
    for (const std::string& message : cache.internalErrors()) {
      Ref<> text = DictBuilder::text(message);
      if (!text || PyList_Append(list.get(), text.get()) < 0) return false;
    }
    return true;
  });
}

PyObject* reset(PyObject*, PyObject* function) {
  std::optional<CodeCache::Caches> family = familyOf(function);
  if (!family) return nullptr;
  CodeCache::clear(std::move(*family));
  Py_RETURN_NONE;
}

PyObject* forgetUnused(PyObject*, PyObject* keepMore) {
  int truth = PyObject_IsTrue(keepMore);
  if (truth < 0) return nullptr;
  TranslationFamily::forgetUnused(truth);
  Py_RETURN_NONE;
}

PyObject* onCollection(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  constexpr long kFull = 2;
  if (count != 2 || !PyUnicode_Check(arguments[0]) || !PyDict_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "on_collection() takes what gc.callbacks are called with");
    return nullptr;
  }
  PyObject* generation = PyDict_GetItemString(arguments[1], "generation");
  bool isFull = generation && PyLong_Check(generation) && PyLong_AsLong(generation) == kFull;
  bool isStart = PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0;
  if (isFull && isStart) TranslationFamily::forgetUnused(true);
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NONE;
}

PyObject* setCompileWhileTracing(PyObject*, PyObject* value) {
  int truth = PyObject_IsTrue(value);
  if (truth < 0) return nullptr;
  packageEngine()->compileWhileTracing = truth;
  Py_RETURN_NONE;
}

PyObject* setVerifiesTranslations(PyObject*, PyObject* value) {
  int truth = PyObject_IsTrue(value);
  if (truth < 0) return nullptr;
  packageEngine()->verifiesTranslations = truth;
  Py_RETURN_NONE;
}

PyObject* setMeasuresBreaks(PyObject*, PyObject* value) {
  int truth = PyObject_IsTrue(value);
  if (truth < 0) return nullptr;
  packageEngine()->measuresBreaks = truth;
  Py_RETURN_NONE;
}

PyObject* setSkipModules(PyObject*, PyObject* names) {
  return forPython([&]() -> PyObject* {
    Ref<> items = Ref<>::steal(PySequence_Tuple(names));
    if (!items) return nullptr;
    std::vector<Ref<>> modules;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      PyObject* name = PyTuple_GET_ITEM(items.get(), i);
      if (!PyUnicode_CheckExact(name)) {
        return PyErr_Format(PyExc_TypeError, "the name of a module is a str, not '%.200s'",
                            Py_TYPE(name)->tp_name);
      }
      modules.push_back(Ref<>::create(name));
    }
    packageEngine()->skippedModules.set(std::move(modules));
    Py_RETURN_NONE;
  });
}

bool readCallables(PyObject* given, std::vector<Ref<>>& callables) {
  Ref<> items = Ref<>::steal(PySequence_Tuple(given));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!PyCallable_Check(item)) {
      PyErr_Format(PyExc_TypeError, "expected functions, not '%.200s'", Py_TYPE(item)->tp_name);
      return false;
    }
    callables.push_back(Ref<>::create(item));
  }
  return true;
}

PyObject* setLoggingFunctions(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return forPython([&]() -> PyObject* {
    std::vector<Ref<>> ignored, kept;
    if (count != 2) {
      return PyErr_Format(PyExc_TypeError, "set_logging_functions() takes 2 arguments (%zd given)",
                          count);
    }
    if (!readCallables(arguments[0], ignored) || !readCallables(arguments[1], kept)) return nullptr;
    packageEngine()->loggingFunctions.set(ignored, kept);
    Py_RETURN_NONE;
  });
}

PyObject* addStandIns(PyObject*, PyObject* dict) {
  return forPython([&]() -> PyObject* {
    if (!PyDict_Check(dict)) {
      return PyErr_Format(PyExc_TypeError, "expected a dict, not '%.200s'", Py_TYPE(dict)->tp_name);
    }
    std::vector<std::pair<Ref<>, Ref<>>> functions;
    PyObject *real, *standIn;
    for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &real, &standIn);) {
      if (!PyFunction_Check(standIn)) {
        return PyErr_Format(PyExc_TypeError, "expected a function, not '%.200s'",
                            Py_TYPE(standIn)->tp_name);
      }
      functions.emplace_back(Ref<>::create(real), Ref<>::create(standIn));
    }
    setStandIns(functions);
    Py_RETURN_NONE;
  });
}

// The globals of the modules; throws RaisedForUser.
std::vector<Ref<>> globalsOf(PyObject* modules) {
  Ref<> items = Ref<>::steal(PySequence_Tuple(modules));
  if (!items) throw RaisedForUser();
  std::vector<Ref<>> globals;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* module = PyTuple_GET_ITEM(items.get(), i);
    if (!PyModule_Check(module)) {
      PyErr_Format(PyExc_TypeError, "expected modules, not '%.200s'", Py_TYPE(module)->tp_name);
      throw RaisedForUser();
    }
    globals.push_back(Ref<>::create(PyModule_GetDict(module)));
  }
  return globals;
}

PyObject* skipAlways(PyObject*, PyObject* modules) {
  return forPython([&]() -> PyObject* {
    packageEngine()->skippedModules.setAlways(globalsOf(modules));
    Py_RETURN_NONE;
  });
}

PyObject* captureWhole(PyObject*, PyObject* modules) {
  return forPython([&]() -> PyObject* {
    packageEngine()->skippedModules.setWhole(globalsOf(modules));
    Py_RETURN_NONE;
  });
}

PyObject* accepts(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "accepts() needs a compiled function");
    return nullptr;
  }
  return forPython([&] {
    int accepted = acceptsCall(arguments[0], arguments + 1, count - 1, names);
    return accepted < 0 ? nullptr : PyBool_FromLong(accepted);
  });
}

PyObject* setHooks(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"compiled", "recompile_limit", "unsupported", "internal_error",
                                nullptr};
  PyObject *compiled = Py_None, *limit = Py_None, *unsupported = Py_None, *internal = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OOOO:set_hooks",
                                   const_cast<char**>(names), &compiled, &limit, &unsupported,
                                   &internal)) {
    return nullptr;
  }
  for (PyObject* hook : {compiled, limit, unsupported, internal}) {
    if (hook == Py_None || PyCallable_Check(hook)) continue;
    return PyErr_Format(PyExc_TypeError, "a hook is a callable or None, not '%.200s'",
                        Py_TYPE(hook)->tp_name);
  }
  Hooks& hooks = packageEngine()->hooks;
  auto set = [](Ref<>& hook, PyObject* value) {
    hook = value == Py_None ? Ref<>() : Ref<>::create(value);
  };
  set(hooks.compiled, compiled);
  set(hooks.recompileLimit, limit);
  set(hooks.unsupported, unsupported);
  set(hooks.internalError, internal);
  Py_RETURN_NONE;
}

PyObject* injectFault(PyObject*, PyObject* arguments) {
  static constexpr std::pair<const char*, Fault> kFaults[] = {
      {"error", Fault::Error},
      {"break", Fault::Break},
      {"MemoryError", Fault::MemoryError},
      {"out of memory", Fault::OutOfMemory},
      {"break every", Fault::BreakEvery},
  };
  const char* name;
  unsigned long long number;
  if (!PyArg_ParseTuple(arguments, "sK:inject_fault", &name, &number)) return nullptr;
  for (const auto& [faultName, fault] : kFaults) {
    if (std::strcmp(name, faultName) != 0) continue;
    if (fault == Fault::BreakEvery && number == 0) {
      PyErr_SetString(PyExc_ValueError, "breaks come at every first instruction or less often");
      return nullptr;
    }
    armFault(fault, number);
    Py_RETURN_NONE;
  }
  return PyErr_Format(PyExc_ValueError, "there is no fault '%s'", name);
}

PyObject* clearFault(PyObject*, PyObject*) {
  FaultReport report = disarmFault();
  return Py_BuildValue("(OK)", report.happened ? Py_True : Py_False,
                       static_cast<unsigned long long>(report.sitesPassed));
}

PyMethodDef methods[] = {
    {"graph_break_kinds", graphBreakKinds, METH_NOARGS,
     "graph_break_kinds()\n--\n\n"
     "The identifier, gb_type, explanation and hints of each kind of graph break."},
    {"entries", entries, METH_O,
     "entries(compiled, /)\n--\n\nA dict for each translation of a compiled function."},
    {"graph_modules", graphModules, METH_O,
     "graph_modules(compiled, /)\n--\n\n"
     "The graphs of all translations, each as a torch.fx.GraphModule."},
    {"reset", reset, METH_O, "reset(compiled, /)\n--\n\nDrops all translations of a function."},
    {"forget_unused", forgetUnused, METH_O,
     "forget_unused(keep_more, /)\n--\n\n"
     "Drops the translations of functions that are no more, which are kept for the next time that "
     "their code is compiled; and whether to keep any from here on."},
    {"on_collection", cpython::asMethod(onCollection), METH_FASTCALL,
     "on_collection(phase, info, /)\n--\n\n"
     "For gc.callbacks: what nobody uses any more dies with a full collection."},
    {"accepts", cpython::asMethod(accepts), METH_FASTCALL | METH_KEYWORDS,
     "accepts(compiled, /, *args, **kwargs)\n--\n\n"
     "Whether a call with these arguments would run a translation that exists."},
    {"set_hooks", cpython::asMethod(setHooks), METH_VARARGS | METH_KEYWORDS,
     "set_hooks(compiled=None, recompile_limit=None, unsupported=None, internal_error=None)\n"
     "--\n\n"
     "Sets what is called when a translation is finished, when a function reaches its recompile "
     "limit, to make the exception of fullgraph=True, and when a compilation fails by an error of "
     "the engine."},
    {"internal_errors", internalErrors, METH_O,
     "internal_errors(compiled, /)\n--\n\n"
     "What went wrong in compilations of a function that failed by an error of the engine."},
    {"set_compile_while_tracing", setCompileWhileTracing, METH_O,
     "set_compile_while_tracing(value, /)\n--\n\n"
     "Whether compiled functions are captured although a trace or profile function is set."},
    {"set_verifies_translations", setVerifiesTranslations, METH_O,
     "set_verifies_translations(value, /)\n--\n\n"
     "Whether each call that a translation is found for is traced once more from now on; where "
     "something else comes of it, a guard is missing, which is reported as an internal error."},
    {"set_measures_breaks", setMeasuresBreaks, METH_O,
     "set_measures_breaks(value, /)\n--\n\n"
     "Whether all that is compiled from now on counts its graph breaks."},
    {"set_skip_modules", setSkipModules, METH_O,
     "set_skip_modules(names, /)\n--\n\n"
     "The modules of which no function is captured; drops no translation."},
    {"set_logging_functions", cpython::asMethod(setLoggingFunctions), METH_FASTCALL,
     "set_logging_functions(ignored, kept, /)\n--\n\n"
     "The functions of which calls are left out, and of which they are made when the graph has "
     "run; drops no translation."},
    {"add_stand_ins", addStandIns, METH_O,
     "add_stand_ins(functions, /)\n--\n\n"
     "Python functions of one module that traces call in the place of others, by those."},
    {"skip_always", skipAlways, METH_O,
     "skip_always(modules, /)\n--\n\n"
     "Modules of which no function is captured, whatever set_skip_modules() is told."},
    {"capture_whole", captureWhole, METH_O,
     "capture_whole(modules, /)\n--\n\n"
     "Modules of which each function is captured whole or not at all."},
    {"inject_fault", injectFault, METH_VARARGS,
     "inject_fault(kind, number, /)\n--\n\n"
     "Makes the number-th site from here fail, once, by 'error', 'break', 'MemoryError' or "
     "'out of memory'."},
    {"clear_fault", clearFault, METH_NOARGS,
     "clear_fault()\n--\n\n"
     "Takes inject_fault() back. Whether the site was reached, and how many were passed."},
    {},
};

}  // namespace

int addRuntimeFunctions(PyObject* module) {
  if (addCompiledFunctionTypes(module) < 0) return -1;
  if (PyModule_AddFunctions(module, methods) < 0) return -1;
  return addOwnFunctions(module);
}

}  // namespace armature

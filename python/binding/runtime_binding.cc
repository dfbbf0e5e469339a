#include "python/binding/runtime_binding.h"

#include "cpython/c_functions.h"
#include "runtime/compiled_function.h"
#include "runtime/own_functions.h"

namespace armature {

namespace {

PyObject* entries(PyObject*, PyObject* function) {
  CodeCache* cache = cacheOf(function);
  if (!cache) return nullptr;
  Ref<> result = Ref<>::steal(PyList_New(0));
  if (!result) return nullptr;
  for (const std::shared_ptr<CodeCache>& member : cache->family()) {
    for (const std::unique_ptr<CacheEntry>& entry : member->entries()) {
      Ref<> dict = member->describe(*entry);
      if (PyList_Append(result.get(), dict.get()) < 0) return nullptr;
    }
  }
  return result.release();
}

PyObject* graphModules(PyObject*, PyObject* function) {
  CodeCache* cache = cacheOf(function);
  if (!cache) return nullptr;
  Ref<> result = Ref<>::steal(PyList_New(0));
  for (const std::shared_ptr<CodeCache>& member : cache->family()) {
    for (const std::unique_ptr<CacheEntry>& entry : member->entries()) {
      if (!result) return nullptr;
      if (!entry->graph || entry->graph->empty()) continue;
      Ref<> module = toTorchGraphModule(*entry->graph);
      if (!module || PyList_Append(result.get(), module.get()) < 0) return nullptr;
    }
  }
  return result.release();
}

PyObject* reset(PyObject*, PyObject* function) {
  CodeCache* cache = cacheOf(function);
  if (!cache) return nullptr;
  for (const std::shared_ptr<CodeCache>& member : cache->family()) member->clear();
  Py_RETURN_NONE;
}

PyObject* accepts(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "accepts() needs a compiled function");
    return nullptr;
  }
  int accepted = acceptsCall(arguments[0], arguments + 1, count - 1, names);
  return accepted < 0 ? nullptr : PyBool_FromLong(accepted);
}

PyObject* setHooks(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"compiled", "recompile_limit", "unsupported", nullptr};
  PyObject *compiled = Py_None, *limit = Py_None, *unsupported = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OOO:set_hooks", const_cast<char**>(names),
                                   &compiled, &limit, &unsupported)) {
    return nullptr;
  }
  auto set = [](Ref<>& hook, PyObject* value) {
    hook = value == Py_None ? Ref<>() : Ref<>::create(value);
  };
  set(hooks().compiled, compiled);
  set(hooks().recompileLimit, limit);
  set(hooks().unsupported, unsupported);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"entries", entries, METH_O,
     "entries(compiled, /)\n--\n\nA dict for each translation of a compiled function."},
    {"graph_modules", graphModules, METH_O,
     "graph_modules(compiled, /)\n--\n\n"
     "The graphs of all translations, each as a torch.fx.GraphModule."},
    {"reset", reset, METH_O, "reset(compiled, /)\n--\n\nDrops all translations of a function."},
    {"accepts", cpython::asMethod(accepts), METH_FASTCALL | METH_KEYWORDS,
     "accepts(compiled, /, *args, **kwargs)\n--\n\n"
     "Whether a call with these arguments would run a translation that exists."},
    {"set_hooks", cpython::asMethod(setHooks), METH_VARARGS | METH_KEYWORDS,
     "set_hooks(compiled=None, recompile_limit=None, unsupported=None)\n--\n\n"
     "Sets what is called when a translation is finished, when a function reaches its recompile "
     "limit, and to make the exception of fullgraph=True."},
    {},
};

}  // namespace

int addRuntimeFunctions(PyObject* module) {
  if (addCompiledFunctionTypes(module) < 0) return -1;
  if (PyModule_AddFunctions(module, methods) < 0) return -1;
  return addOwnFunctions(module);
}

}  // namespace armature

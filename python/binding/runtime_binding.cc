#include "python/binding/runtime_binding.h"

#include "runtime/compiled_function.h"

namespace armature {

namespace {

PyObject* entries(PyObject*, PyObject* function) {
  CodeCache* cache = cacheOf(function);
  if (!cache) return nullptr;
  Ref<> result = Ref<>::steal(PyList_New(0));
  if (!result) return nullptr;
  for (const std::shared_ptr<CodeCache>& member : cache->family()) {
    for (const std::unique_ptr<CacheEntry>& entry : member->entries()) {
      Ref<> dict = entry->describe();
      Ref<> start = Ref<>::steal(PyLong_FromLong(member->entry().start));
      PyDict_SetItemString(dict.get(), "name", member->entry().code->qualifiedName.get());
      PyDict_SetItemString(dict.get(), "resumes_at", start.get());
      if (PyList_Append(result.get(), dict.get()) < 0) return nullptr;
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

PyObject* isCompilingNow(PyObject*, PyObject*) { return PyBool_FromLong(isCompiling()); }

PyObject* setHooks(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"compiled", "recompile_limit", "unsupported", nullptr};
  PyObject *compiled = Py_None, *limit = Py_None, *unsupported = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OOO:set_hooks",
                                   const_cast<char**>(names), &compiled, &limit, &unsupported)) {
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
    {"reset", reset, METH_O, "reset(compiled, /)\n--\n\nDrops all translations of a function."},
    {"is_compiling", isCompilingNow, METH_NOARGS,
     "is_compiling()\n--\n\nTrue while this thread traces."},
    {"set_hooks", _PyCFunction_CAST(setHooks), METH_VARARGS | METH_KEYWORDS,
     "set_hooks(compiled=None, recompile_limit=None, unsupported=None)\n--\n\n"
     "Sets what is called when a translation is finished, when a function reaches its recompile "
     "limit, and to make the exception of fullgraph=True."},
    {},
};

}  // namespace

int addRuntimeFunctions(PyObject* module) {
  if (addCompiledFunctionTypes(module) < 0) return -1;
  return PyModule_AddFunctions(module, methods);
}

}  // namespace armature

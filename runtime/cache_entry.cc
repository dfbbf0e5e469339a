#include "runtime/cache_entry.h"

#include "runtime/settings.h"

namespace armature {

Hooks& hooks() {
  static auto* instance = new Hooks;  // Never destroyed: Python may be gone first.
  return *instance;
}

namespace {

class DictBuilder {
 public:
  DictBuilder() : dict_(Ref<>::steal(PyDict_New())) {}
  void set(const char* key, PyObject* stolen) {
    if (!stolen) {
      PyErr_Clear();
      stolen = Py_NewRef(Py_None);
    }
    PyDict_SetItemString(dict_.get(), key, stolen);
    Py_DECREF(stolen);
  }
  void set(const char* key, const std::string& text) {
    set(key, PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  }
  Ref<> take() { return std::move(dict_); }

 private:
  Ref<> dict_;
};

}  // namespace

Ref<> describe(const BreakReason& reason) {
  DictBuilder dict;
  dict.set("gb_type", reason.gbType);
  dict.set("context", reason.context);
  dict.set("explanation", reason.explanation);
  PyObject* hints = PyList_New(0);
  for (const std::string& hint : reason.hints) {
    Ref<> text = Ref<>::steal(PyUnicode_FromString(hint.c_str()));
    PyList_Append(hints, text.get());
  }
  dict.set("hints", hints);
  dict.set("filename", reason.filename);
  dict.set("function", reason.function);
  dict.set("line", PyLong_FromLong(reason.line));
  return dict.take();
}

Ref<> CacheEntry::describe() const {
  DictBuilder dict;
  dict.set("graph", graph && !graph->empty() ? toString(*graph) : std::string());
  dict.set("operations", PyLong_FromSize_t(graph ? graph->operationCount() : 0));
  dict.set("guards", guards ? guards->toString() : std::string());
  dict.set("guard_count", PyLong_FromSize_t(guards ? guards->guards().size() : 0));
  dict.set("guard_program", guards ? guards->programText() : std::string());
  dict.set("bytecode", generated ? toString(*generated) : std::string());
  dict.set("break_reason", reason ? armature::describe(*reason).release() : Py_NewRef(Py_None));
  dict.set("recompile_reason", recompileReason);
  dict.set("trace_seconds", PyFloat_FromDouble(traceSeconds));
  dict.set("backend_seconds", PyFloat_FromDouble(backendSeconds));
  dict.set("instructions", PyLong_FromUnsignedLongLong(instructionCount));
  dict.set("valid", PyBool_FromLong(!guards || guards->valid()));
  return dict.take();
}

}  // namespace armature

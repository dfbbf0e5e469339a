#include "runtime/cache_entry.h"

#include "runtime/dict_builder.h"
#include "runtime/failure.h"

namespace armature {

int traverseFunction(BorrowedRef<> function, visitproc visit, void* arg) {
  Py_VISIT(function.get());
  if (!function || Py_REFCNT(function.get()) != 1) return 0;
  PyObject* code = PyFunction_GET_CODE(function.get());
  if (Py_REFCNT(code) == 1) Py_VISIT(reinterpret_cast<PyCodeObject*>(code)->co_consts);
  return 0;
}

int CacheEntry::traverse(visitproc visit, void* arg) const {
  if (int stop = traverseFunction(function, visit, arg)) return stop;
  if (guards) {
    if (int stop = guards->traverse(visit, arg)) return stop;
  }
  // What a program in C++ shares is held from outside. So it is with the sources.
  if (generated.use_count() == 1) {
    for (const Ref<>& constant : generated->constants) Py_VISIT(constant.get());
  }
  if (graph.use_count() != 1) return 0;
  if (int stop = graph->traverse(visit, arg)) return stop;
  std::shared_ptr<const SourceTable> sources = graph->sources();
  constexpr long kOwners = 3;  // guards, graph, and the variable above
  return sources.use_count() == kOwners ? sources->traverse(visit, arg) : 0;
}

Ref<> CacheEntry::describe() const {
  DictBuilder dict;
  dict.set("graph", graph && !graph->empty() ? toString(*graph) : std::string());
  dict.set("operations", Ref<>::steal(PyLong_FromSize_t(graph ? graph->operationCount() : 0)));
  dict.set("guards", guards ? guards->toString() : std::string());
  dict.set("guard_count", Ref<>::steal(PyLong_FromSize_t(guards ? guards->guards().size() : 0)));
  dict.set("guard_program", guards ? guards->programText() : std::string());
  dict.set("bytecode", generated ? toString(*generated) : std::string());
  dict.set("break_reason", reason ? armature::describe(*reason) : Ref<>::create(Py_None));
  dict.set("break_statistics", breakStatistics ? breakStatistics : Ref<>::create(Py_None));
  dict.set("recompile_reason", recompileReason);
  dict.set("trace_seconds", Ref<>::steal(PyFloat_FromDouble(traceSeconds)));
  dict.set("backend_seconds", Ref<>::steal(PyFloat_FromDouble(backendSeconds)));
  dict.set("instructions", Ref<>::steal(PyLong_FromUnsignedLongLong(instructionCount)));
  dict.set("valid", Ref<>::create(!guards || guards->valid() ? Py_True : Py_False));
  return dict.take();
}

}  // namespace armature

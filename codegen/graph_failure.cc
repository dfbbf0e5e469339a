#include "codegen/graph_failure.h"

#include <frameobject.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <utility>

#include "bytecode/private_function.h"
#include "core/pending_python_exception.h"
#include "graph/eager_code.h"

namespace armature {

namespace {

// Owned. A pointer, as what a thread leaves behind must not be released without the GIL.
thread_local GraphFailure* pendingFailure = nullptr;

// The self of a recorder.
struct Recorder {
  Ref<> code;  // the graph's
  // Weak: the cache entry owns the graph, and shows what it holds to the garbage collector.
  std::weak_ptr<const Graph> graph;
  int32_t firstEffect;
};

constexpr const char* kRecorderName = "armature.graph_failure_recorder";

void deleteRecorder(PyObject* capsule) {
  delete static_cast<Recorder*>(PyCapsule_GetPointer(capsule, kRecorderName));
}

// The traceback entry of the frame that ran `code`, the outermost; null if there is none.
PyTracebackObject* entryOf(BorrowedRef<> traceback, BorrowedRef<> code) {
  for (PyObject* object = traceback.get(); object && PyTraceBack_Check(object);) {
    auto* entry = reinterpret_cast<PyTracebackObject*>(object);
    Ref<> running = Ref<>::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(entry->tb_frame)));
    if (running.get() == code.get()) return entry;
    object = reinterpret_cast<PyObject*>(entry->tb_next);
  }
  return nullptr;
}

// Is `code` that of a body of the graph with the code `graph`, or of a body in that?
bool isBodyOf(BorrowedRef<> graph, BorrowedRef<> code) {
  PyObject* constants = reinterpret_cast<PyCodeObject*>(graph.get())->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    PyObject* constant = PyTuple_GET_ITEM(constants, i);
    if (!isEagerFunction(constant)) continue;
    PyObject* body = PyFunction_GetCode(constant);
    if (body == code.get() || isBodyOf(body, code)) return true;
  }
  return false;
}

// Where the code of graphs stands: the ordinal of a node; -1 if that is not known.
int32_t ordinalAt(BorrowedRef<> code, const PyTracebackObject* entry) {
  int line, column, endLine, endColumn;
  bool isKnown = PyCode_Addr2Location(reinterpret_cast<PyCodeObject*>(code.get()), entry->tb_lasti,
                                      &line, &column, &endLine, &endColumn);
  return isKnown ? column : -1;
}

// The entries of a traceback, those of the bodies of `graph` with their code.
struct Entry {
  Ref<> entry;
  Ref<> body;  // null for another's
};
llvm::SmallVector<Entry, 8> entriesIn(BorrowedRef<> graph, PyTracebackObject* first) {
  llvm::SmallVector<Entry, 8> entries;
  for (PyTracebackObject* entry = first; entry; entry = entry->tb_next) {
    Ref<> code = Ref<>::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(entry->tb_frame)));
    if (!isBodyOf(graph, code)) code = nullptr;
    entries.push_back({Ref<>::create(reinterpret_cast<PyObject*>(entry)), std::move(code)});
  }
  return entries;
}

PyObject* record(PyObject* self, PyObject* exception) {
  auto* recorder = static_cast<Recorder*>(PyCapsule_GetPointer(self, kRecorderName));
  if (!recorder) return nullptr;
  Ref<> traceback = Ref<>::steal(PyException_GetTraceback(exception));
  PyTracebackObject* entry = entryOf(traceback, recorder->code);
  if (!entry) Py_RETURN_FALSE;
  int32_t failed = ordinalAt(recorder->code, entry);
  if (failed < 0) Py_RETURN_FALSE;
  if (failed < recorder->firstEffect) Py_RETURN_TRUE;
  std::shared_ptr<const Graph> graph = recorder->graph.lock();
  if (!graph) Py_RETURN_FALSE;  // the entry was dropped during the call
  Ref<> locals = Ref<>::steal(PyFrame_GetLocals(entry->tb_frame));
  if (!locals) return nullptr;
  auto failure = std::make_unique<GraphFailure>();
  failure->graph = graph;
  failure->failed = failed;
  for (const Entry& inner : entriesIn(recorder->code, entry->tb_next)) {
    if (!inner.body) continue;
    failure->failedInBody =
        ordinalAt(inner.body, reinterpret_cast<PyTracebackObject*>(inner.entry.get()));
  }
  failure->exception = Ref<>::create(exception);
  failure->code = recorder->code;
  for (const auto& node : graph->nodes()) {
    PyObject* value = PyDict_GetItemWithError(locals.get(), valueName(node->index).get());
    if (value) failure->values[node->ordinal] = Ref<>::create(value);
  }
  if (PyErr_Occurred()) return nullptr;
  delete std::exchange(pendingFailure, failure.release());
  Py_RETURN_TRUE;
}

PyMethodDef recordMethod = {"graph_failed", record, METH_O, nullptr};

// restore(set, state)
PyObject* restore(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  if (pendingFailure) Py_RETURN_NONE;  // It goes on with the numbers that were drawn.
  return PyObject_CallOneArg(arguments[0], arguments[1]);
}

// take_exception(), of a list with the exception that an operation has raised. What the operation
// had raised as its causes was raised where the program handles what it handles now.
PyObject* takeException(PyObject* list, PyObject*) {
  Ref<> exception = Ref<>::steal(PyObject_CallMethod(list, "pop", nullptr));
  Ref<> handled = Ref<>::steal(PyErr_GetHandledException());
  if (!exception || !handled) return exception.release();
  Ref<> cause = Ref<>::steal(PyException_GetCause(exception.get()));
  while (cause && cause.get() != handled.get()) {
    Ref<> context = Ref<>::steal(PyException_GetContext(cause.get()));
    if (context) break;
    PyException_SetContext(cause.get(), Py_NewRef(handled.get()));
    cause = Ref<>::steal(PyException_GetCause(cause.get()));
  }
  return exception.release();
}

PyMethodDef takeMethod = {"take_exception", takeException, METH_NOARGS, nullptr};

}  // namespace

void GraphFailure::clearFrames() const {
  Ref<> traceback = Ref<>::steal(PyException_GetTraceback(exception.get()));
  PyTracebackObject* last = entryOf(traceback, code);
  auto* entry = last ? reinterpret_cast<PyTracebackObject*>(traceback.get()) : nullptr;
  for (bool isLast = false; entry && !isLast; entry = entry->tb_next) {
    isLast = entry == last;
    Ref<> cleared = Ref<>::steal(
        PyObject_CallMethod(reinterpret_cast<PyObject*>(entry->tb_frame), "clear", nullptr));
    if (!cleared) clearException();
  }
}

Ref<> GraphFailure::exceptionOfOperation(Frames inBody) const {
  Ref<> traceback = Ref<>::steal(PyException_GetTraceback(exception.get()));
  PyTracebackObject* entry = entryOf(traceback, code);
  llvm::SmallVector<Entry, 8> entries = entriesIn(code, entry ? entry->tb_next : nullptr);
  auto outermost = llvm::find_if(entries, [](const Entry& inner) { return inner.body; });
  // Those behind the first body from the innermost on, without other bodies.
  Ref<> shown;
  for (auto inner = entries.end(); inner != entries.begin();) {
    --inner;
    if (inner == outermost) {
      shown = inBody(std::move(shown));
      if (!shown && PyErr_Occurred()) return nullptr;
    } else if (!inner->body) {
      if (outermost != entries.end() && PyObject_SetAttrString(inner->entry.get(), "tb_next",
                                                               shown ? shown.get() : Py_None) < 0) {
        return nullptr;
      }
      shown = std::move(inner->entry);
    }
  }
  if (PyException_SetTraceback(exception.get(), shown ? shown.get() : Py_None) < 0) return nullptr;
  Ref<> list = Ref<>::steal(PyList_New(1));
  if (!list) return nullptr;
  PyList_SET_ITEM(list.get(), 0, Py_NewRef(exception.get()));
  return Ref<>::steal(PyCFunction_New(&takeMethod, list.get()));
}

PyObject* randomNumbersRestorer() { return privateFunction<restore>("restore"); }

PyObject* graphFailure() {
  static PyObject* const failure =
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return failure;
}

std::unique_ptr<GraphFailure> takeGraphFailure() {
  return std::unique_ptr<GraphFailure>(std::exchange(pendingFailure, nullptr));
}

Ref<> graphFailureRecorder(BorrowedRef<> compiled, std::shared_ptr<const Graph> graph,
                           int32_t firstEffect) {
  auto recorder = std::make_unique<Recorder>();
  recorder->code = Ref<>::create(PyFunction_GetCode(compiled.get()));
  recorder->graph = std::move(graph);
  recorder->firstEffect = firstEffect;
  Ref<> self = Ref<>::steal(PyCapsule_New(recorder.get(), kRecorderName, deleteRecorder));
  if (!self) return nullptr;
  recorder.release();
  return Ref<>::steal(PyCFunction_New(&recordMethod, self.get()));
}

}  // namespace armature

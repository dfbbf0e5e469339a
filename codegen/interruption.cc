#include "codegen/interruption.h"

#include <utility>

#include "codegen/graph_failure.h"
#include "core/checked.h"

namespace armature {

namespace {

// Owned. A pointer, as what a thread leaves behind must not be released without the GIL.
thread_local PyObject* pending = nullptr;

// The frame of generated code is none of the program's.
PyObject* noteInterruption(PyObject*, PyObject* exception) {
  Ref<> traceback = Ref<>::steal(PyException_GetTraceback(exception));
  if (traceback && PyTraceBack_Check(traceback.get())) {
    auto* next = reinterpret_cast<PyTracebackObject*>(traceback.get())->tb_next;
    PyObject* inner = next ? reinterpret_cast<PyObject*>(next) : Py_None;
    if (PyException_SetTraceback(exception, inner) < 0) return nullptr;
  }
  Py_XDECREF(std::exchange(pending, Py_NewRef(exception)));
  return Py_NewRef(graphFailure());
}

PyMethodDef noteMethod = {"note_interruption", noteInterruption, METH_O, nullptr};

}  // namespace

void emitInterruption(Assembler& assembler) {
  static PyObject* const function = checked(PyCFunction_New(&noteMethod, nullptr)).release();
  int32_t exception = assembler.addFreshLocal("exception");
  assembler.emit(Opcode::STORE_FAST, exception);
  assembler.emit(Opcode::PUSH_NULL);
  assembler.emitLoadConst(function);
  assembler.emit(Opcode::LOAD_FAST, exception);
  assembler.emit(Opcode::DELETE_FAST, exception);
  assembler.emitCall(1);
  assembler.emit(Opcode::RETURN_VALUE);
}

Ref<> takeInterruption() { return Ref<>::steal(std::exchange(pending, nullptr)); }

bool isInterrupted() { return pending; }

}  // namespace armature
